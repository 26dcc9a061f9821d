"use strict";
// Enhancements of pages that work without scripts. Those of enhance are also for parts that
// replace others later.

// Adds a copy button to each code block, if the browser supports it.
const addCopyButtons = (part) => {
  if (!navigator.clipboard) return;
  for (const code of part.querySelectorAll("pre:not(.attempts pre), .secret")) {
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
};

// Prevents a second submission of forms whose response shows a secret once: the browser
// would show the second response, which does not contain it.
const preventSecondSubmission = (part) => {
  for (const name of part.querySelectorAll('input[name="once"]')) {
    let sent = false;
    name.form.addEventListener("submit", (event) => {
      if (sent) event.preventDefault();
      sent = true;
    });
    addEventListener("pageshow", () => { sent = false; }); // also after navigating back
  }
};

// Shows times of day, which the server writes in UTC, in the time zone of the browser.
const showLocalTimes = (part) => {
  for (const time of part.querySelectorAll('time[datetime$="Z"]')) {
    const at = new Date(time.dateTime), utc = time.textContent;
    if (isNaN(at)) continue;
    const local = formatLocal(at, /:\d\d:/.test(utc));
    if (local === utc) continue;
    time.title = utc;
    time.textContent = local;
  }
};
const formatLocal = (at, withSeconds) => {
  const parts = { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" };
  if (withSeconds) parts.second = "2-digit";
  return new Intl.DateTimeFormat("en-GB", parts).format(at);
};

// Shows the value of a field in UTC in the time zone of the browser, if that differs.
const showLocalValues = (part) => {
  for (const input of part.querySelectorAll('input[type="datetime-local"][data-utc]')) {
    const local = document.createElement("output");
    local.className = "hint";
    const update = () => {
      const at = new Date(input.value + "Z"), isOther = !isNaN(at) && new Date(input.value).getTime() !== at.getTime();
      local.textContent = isOther ? "In your time zone: " + formatLocal(at) : "";
    };
    input.addEventListener("input", update);
    input.after(local);
    update();
  }
};

// Sends forms with files in the background and shows the progress. The response is what it is
// without scripts: a redirect, or a page that replaces this one.
const showUploads = (part) => {
  for (const form of part.querySelectorAll('form[enctype="multipart/form-data"]')) {
    if (!form.querySelector('input[type="file"]')) continue;
    const status = document.createElement("p"), bar = document.createElement("progress");
    status.setAttribute("role", "status");
    bar.setAttribute("aria-label", "Upload");
    bar.max = 100;
    bar.hidden = true;
    form.append(status, bar);
    form.addEventListener("submit", (event) => {
      const names = [...form.querySelectorAll('input[type="file"]')].flatMap((input) => [...input.files].map((file) => file.name));
      if (!names.length || event.defaultPrevented) return;
      event.preventDefault();
      if (!bar.hidden) return; // in progress
      const request = new XMLHttpRequest(), target = new URL(form.getAttribute("action"), location.href), buttons = form.querySelectorAll("button");
      const setBusy = (isBusy, text) => {
        bar.hidden = !isBusy;
        bar.value = 0;
        status.textContent = text;
        for (const button of buttons) button.setAttribute("aria-disabled", isBusy);
      };
      const fail = () => setBusy(false, "The upload failed. Check your connection and try again.");
      let announced = -1;
      request.upload.addEventListener("progress", ({ loaded, total }) => {
        bar.value = total ? Math.floor(100 * loaded / total) : 0;
        const quarter = Math.floor(bar.value / 25);
        if (quarter <= announced) return; // screen readers read each text
        announced = quarter;
        status.textContent = quarter < 4 ? `Uploading ${names.join(", ")}: ${25 * quarter}%` : "Uploaded. Checking the file…";
      });
      request.addEventListener("load", () => {
        const page = request.responseXML;
        if (request.responseURL && request.responseURL !== target.href) location.assign(request.responseURL);
        else if (page?.querySelector("main")) {
          setBusy(false, ""); // when the browser's Back button shows the form again
          showPage(page);
        } else fail();
      });
      request.addEventListener("error", fail);
      request.addEventListener("abort", fail);
      request.open("POST", target);
      request.responseType = "document";
      setBusy(true, "");
      addEventListener("pagehide", () => setBusy(false, ""), { once: true }); // the browser may show the page again
      request.send(new FormData(form, event.submitter));
    });
  }
};

// Replaces the main part of this page by that of another one. The browser's Back button shows
// the former part with its input again.
const parts = [document.querySelector("main")];
let shown = 0;
const showPart = (i) => {
  if (!parts[i] || i === shown) return;
  parts[shown].replaceWith(parts[i]);
  shown = i;
};
const showPage = (page) => {
  history.replaceState({ part: shown }, "");
  parts.length = shown + 1;
  parts.push(document.adoptNode(page.querySelector("main")));
  showPart(shown + 1);
  history.pushState({ part: shown }, "");
  document.title = page.title;
  if (!parts[shown].querySelector(".errors")) {
    scrollTo(0, 0);
    parts[shown].focus({ preventScroll: true });
  }
  enhance(parts[shown]);
};
addEventListener("popstate", ({ state }) => { if (state) showPart(state.part); });

// Completes searches as the user types.
const completeSearches = (part) => {
  for (const input of part.querySelectorAll("[data-suggest]")) {
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
};

const enhance = (part) => {
  addCopyButtons(part);
  preventSecondSubmission(part);
  showLocalTimes(part);
  showLocalValues(part);
  showUploads(part);
  completeSearches(part);
  part.querySelector(".errors")?.focus(); // the summary of a form's errors
};
enhance(document);

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
    if (response.ok && fresh) {
      part.replaceWith(document.adoptNode(fresh));
      enhance(fresh);
    }
  } catch { /* the next attempt may succeed */ }
  setTimeout(refresh, 2000);
};
if (document.querySelector("[data-refresh]")) setTimeout(refresh, 1000);
