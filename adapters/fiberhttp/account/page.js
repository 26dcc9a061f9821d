"use strict";
// The pages that mails link to. They post only after a click, because mail scanners
// follow links and must not use up a token.

const token = new URLSearchParams(location.search).get("token");
if (token) history.replaceState(null, "", location.pathname); // remove the token from the address bar

const answer = document.getElementById("answer");

async function post(path, body, bearer) {
  const headers = { "Content-Type": "application/json" };
  if (bearer) headers.Authorization = "Bearer " + bearer;
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const result = await response.json();
  if (!result.success) {
    const problem = result.details;
    if (problem && problem.field === "token") throw new Error("This link is not valid any more. Please request a new one.");
    throw new Error(problem ? problem.field + " " + problem.message : result.error);
  }
  return result;
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
      let result;
      if ("login" in form.dataset) {
        const session = await post("/api/auth/login", fields);
        result = await post(form.dataset.post, { token }, session.data.accessToken);
      } else {
        result = await post(form.dataset.post, location.pathname === "/forgot-password" ? fields : { token, ...fields });
      }
      for (const shown of document.querySelectorAll("form")) shown.hidden = true;
      answer.textContent = result.message + ".";
    } catch (problem) {
      answer.textContent = problem.message;
      button.disabled = false;
    }
  });
}
