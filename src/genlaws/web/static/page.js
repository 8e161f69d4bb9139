// Starts the page: the list of views, the address, and the colors.
import { make } from "./elements.js";
import { showHome } from "./home.js";
import { place } from "./permalinks.js";
import { showView } from "./view.js";

const main = document.getElementById("main");
const THEMES = ["system", "light", "dark"];

// A browser may forbid storage; then the choice lasts until the page is closed.
function storedTheme() {
  try {
    return window.localStorage.getItem("genlaws-theme");
  } catch {
    return null;
  }
}

function storeTheme(theme) {
  try {
    window.localStorage.setItem("genlaws-theme", theme);
  } catch {
    // Nothing to do: see above.
  }
}

function startTheme() {
  const button = document.getElementById("theme");
  let theme = THEMES.includes(storedTheme()) ? storedTheme() : "system";
  function apply() {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Colors: ${theme}`;
  }
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    storeTheme(theme);
    apply();
    genlawsPanels.redraw();
  });
  apply();
}

let leave = () => {};

// Shows what the address names.
function show(views) {
  const { name, query } = place();
  const view = views.find((one) => one.name === name);
  leave = () => {};
  document.title = view ? `${view.title} – genlaws` : "genlaws";
  for (const link of document.querySelectorAll("#views a")) {
    if (view && link.getAttribute("href") === `/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (view) leave = showView(view, main, query);
  else showHome(views, main);
}

// Follows a link to another part of this page without loading it again.
function follow(event, views) {
  const link = event.target.closest("a[data-inside]");
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  leave({ keep: true });
  window.history.pushState(null, "", link.getAttribute("href"));
  show(views);
  window.scrollTo(0, 0);
  main.querySelector("h1").focus({ preventScroll: true });
}

// The link past the top moves the reader and leaves the address alone.
function startSkipLink() {
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
}

async function start() {
  startTheme();
  startSkipLink();
  let content;
  try {
    const reply = await fetch("/api/views");
    content = await reply.json();
    if (!reply.ok) throw new Error(content.error);
  } catch (problem) {
    const sentence = `The views could not be read. ${problem.message}`;
    main.replaceChildren(make("p", { class: "error", role: "alert" }, sentence));
    return;
  }
  const { version, views } = content;
  document.getElementById("version").textContent = `genlaws ${version}. `;
  document.getElementById("views").replaceChildren(...views.map((view) => make("li", {},
    make("a", { href: `/${view.name}`, "data-inside": true }, view.title))));
  document.addEventListener("click", (event) => follow(event, views));
  window.addEventListener("popstate", () => { leave({ keep: false }); show(views); });
  show(views);
}

start();
