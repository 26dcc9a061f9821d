"use strict";
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
