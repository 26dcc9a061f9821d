"use strict";
// Shows the open jobs of an employer on a page of another site, in a frame after the script:
// <script src="https://jobs.example.org/widget.js" data-employer="NAME-ID" async></script>
(() => {
  const script = document.currentScript;
  const { employer, title, height } = script.dataset;
  const frame = document.createElement("iframe");
  frame.src = new URL(`/employers/${encodeURIComponent(employer)}/embed`, script.src);
  frame.title = title || "Open jobs";
  frame.style.border = "0";
  frame.style.width = "100%";
  frame.style.height = `${Number(height) || 600}px`;
  script.after(frame);
})();
