"use strict";
// What a consent comes back to: it hands the code to the page that asked.
const asked = window.opener?.swaggerUIRedirectOauth2;
if (asked) {
  const answer = new URLSearchParams(location.search);
  const { auth, redirectUrl } = asked;
  const fail = (message) => asked.errCb({ authId: auth.name, source: "auth", level: "error", message });
  if (answer.get("state") !== asked.state) {
    fail("The answer belongs to another question.");
  } else if (answer.has("code")) {
    auth.code = answer.get("code"); // in the object of that page: one of this window would end with it
    asked.callback({ auth, redirectUrl });
  } else {
    fail([answer.get("error"), answer.get("error_description")].filter(Boolean).join(": "));
  }
  window.close();
}
