"use strict";
// A button to copy each piece of code, where the browser lets pages copy.
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

// A form whose answer shows something once is sent once: a second press would have
// the browser show the answer to that, which does not.
for (const name of document.querySelectorAll('input[name="once"]')) {
  let sent = false;
  name.form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  addEventListener("pageshow", () => { sent = false; }); // also by going back
}
