"use strict";
// The pages behind the links in our mails. They ask before they post: mail
// scanners follow links, and a token must not be used up by one.

const token = new URLSearchParams(location.search).get("token");
if (token) history.replaceState(null, "", location.pathname); // not for the next glance at the address bar

const answer = document.getElementById("answer");

async function post(path, body, bearer) {
  const headers = { "Content-Type": "application/json" };
  if (bearer) headers.Authorization = "Bearer " + bearer;
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const said = await response.json();
  if (!said.success) {
    const problem = said.details;
    if (problem && problem.field === "token") throw new Error("This link is not valid any more. Please ask for a new one.");
    throw new Error(problem ? problem.field + " " + problem.message : said.error);
  }
  return said;
}

for (const form of document.querySelectorAll("form")) {
  if (form.dataset.page !== location.pathname) continue;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    const fields = Object.fromEntries(new FormData(form));
    button.disabled = true;
    answer.textContent = "";
    try {
      let said;
      if ("login" in form.dataset) {
        const session = await post("/api/auth/login", fields);
        said = await post(form.dataset.post, { token }, session.data.accessToken);
      } else {
        said = await post(form.dataset.post, location.pathname === "/forgot-password" ? fields : { token, ...fields });
      }
      for (const shown of document.querySelectorAll("form")) shown.hidden = true;
      answer.textContent = said.message + ".";
    } catch (problem) {
      answer.textContent = problem.message;
      button.disabled = false;
    }
  });
}
