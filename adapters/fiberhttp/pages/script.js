"use strict";
// Enhancements of pages that work without scripts.

// Adds a copy button to each code block, if the browser supports it.
if (navigator.clipboard) {
  for (const code of document.querySelectorAll("pre:not(.attempts pre), .secret")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet small copy";
    button.textContent = "Copy";
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent.trimEnd());
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not copied";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 3000);
    });
    code.after(button);
  }
}

// Prevents a second submission of forms whose response shows a secret once: the browser
// would show the second response, which does not contain it.
for (const name of document.querySelectorAll('input[name="once"]')) {
  let sent = false;
  name.form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  addEventListener("pageshow", () => { sent = false; }); // also after navigating back
}

// Moves the focus to the summary of a form's errors.
document.querySelector(".errors")?.focus();

// Completes searches as the user types.
for (const input of document.querySelectorAll("[data-suggest]")) {
  const list = document.createElement("datalist");
  list.id = input.id + "-suggestions";
  input.after(list);
  input.setAttribute("list", list.id);
  let timer, last = "";
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const text = input.value.trim();
      if (text.length < 2 || text === last) return;
      last = text;
      try {
        const response = await fetch("/api/listings/suggest?q=" + encodeURIComponent(text));
        const found = response.ok ? (await response.json()).data.suggestions : [];
        const places = input.dataset.suggest === "where";
        list.replaceChildren(...found.filter((s) => !places || s.kind === "place").map((s) => {
          const option = document.createElement("option");
          option.value = s.text;
          return option;
        }));
      } catch { /* the field works without suggestions */ }
    }, 200);
  });
}

// Remembers viewed jobs in this browser alone, and lists them on the first page.
const viewedKey = "locum.viewed";
const viewed = () => { try { return JSON.parse(localStorage.getItem(viewedKey)) || []; } catch { return []; } };
const job = document.querySelector("[data-job]");
if (job) {
  const entry = { id: job.dataset.job, title: job.dataset.title };
  try { localStorage.setItem(viewedKey, JSON.stringify([entry, ...viewed().filter((v) => v.id !== entry.id)].slice(0, 6))); } catch { /* storage is disabled */ }
}
const recent = document.getElementById("recent");
if (recent && viewed().length) {
  recent.querySelector("ul").replaceChildren(...viewed().map((v) => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = "/jobs/" + encodeURIComponent(v.id);
    link.textContent = v.title;
    item.append(link);
    return item;
  }));
  recent.hidden = false;
}

// Updates a part of the page while background work is in progress.
const refresh = async () => {
  const part = document.querySelector("[data-refresh]");
  if (!part) return;
  try {
    const response = await fetch(location.href);
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById(part.id);
    if (response.ok && fresh) part.replaceWith(document.adoptNode(fresh));
  } catch { /* the next attempt may succeed */ }
  setTimeout(refresh, 2000);
};
if (document.querySelector("[data-refresh]")) setTimeout(refresh, 1000);
