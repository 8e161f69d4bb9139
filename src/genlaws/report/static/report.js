// Draws the panels of the report when they come near the window, the others when the browser is idle, and saves them.
"use strict";

(() => {
  const panels = new Map(JSON.parse(document.getElementById("panels").textContent).map((one) => [one.name, one]));
  const places = [...document.querySelectorAll("[data-panel]")];
  const shown = new Set();
  // With pictures on the page, the tables of their numbers are left out on paper.
  document.documentElement.classList.add("scripted");

  function show(place) {
    if (shown.has(place)) return;
    shown.add(place);
    genlawsPanels.draw(place, panels.get(place.dataset.panel));
  }

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      near.unobserve(entry.target);
      show(entry.target);
    }
  }, { rootMargin: "400px" });
  places.forEach((place) => near.observe(place));

  const later = window.requestIdleCallback || ((work) => window.setTimeout(work, 50));
  function rest() {
    const next = places.find((place) => !shown.has(place));
    if (!next) return;
    show(next);
    later(rest);
  }
  later(rest);

  // Paper is narrower than the window: drawings shrink as a whole.
  window.addEventListener("beforeprint", () => {
    places.forEach(show);
    for (const svg of document.querySelectorAll(".panel-plot .main-svg")) {
      svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
    }
  });
  window.addEventListener("afterprint", () => {
    for (const svg of document.querySelectorAll(".panel-plot .main-svg")) svg.removeAttribute("viewBox");
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-save]");
    if (!button) return;
    const place = places.find((one) => one.dataset.panel === button.dataset.of);
    show(place);
    genlawsPanels.download(place, button.dataset.save);
  });
})();
