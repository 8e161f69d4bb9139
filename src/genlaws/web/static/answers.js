// Shows an answer: a sentence, pictures, numbers, and the same as code.
import { announce, make, scrollingTable } from "./elements.js";
import { copyButton, downloadButton } from "./copying.js";

const MAX_ROWS = 500; // of the table below a picture; the file has all

// Resolves once the scripts that draw have loaded, which come after this one.
export const scriptsReady = new Promise((settled) => {
  if (document.readyState === "complete") settled();
  else document.addEventListener("DOMContentLoaded", settled, { once: true });
});

// A picture with its title, caption, files, and its numbers as an accessible table.
function makeFigure(name) {
  const title = make("h3");
  const plot = make("div", { class: "panel-plot", role: "img" });
  const caption = make("figcaption");
  const files = make("div", { class: "files" });
  const numbers = make("details", { toggle: () => fill() }, make("summary", {}, "Numbers behind the picture"));
  let panel = null;
  let stale = true;

  function fill() {
    if (!numbers.open || !stale || !panel) return;
    stale = false;
    const rows = genlawsPanels.rows(panel);
    const more = rows.length - MAX_ROWS;
    numbers.replaceChildren(
      numbers.firstChild,
      scrollingTable(`Numbers of: ${panel.title}`, genlawsPanels.COLUMNS, rows.slice(0, MAX_ROWS)),
      more > 0 ? make("p", { class: "soft" }, `${more} more rows are in the CSV file.`) : "",
    );
  }

  function show(given) {
    if (panel?.title !== given.title) {
      title.textContent = given.title;
      files.replaceChildren("Download ", ...["csv", "png", "svg"].map((one) => downloadButton(plot, one, given.title)));
    }
    panel = given;
    plot.setAttribute("aria-label", given.caption ? `${given.title}. ${given.caption}` : given.title);
    caption.textContent = given.caption;
    genlawsPanels.draw(plot, given);
    stale = true;
    fill();
  }

  const element = make("figure", { class: "panel", "data-panel": name }, title, plot, caption, files, numbers);
  return { name, element, show };
}

function numberRows(numbers) {
  return numbers.map((one) => make("tr", {}, make("th", { scope: "row" }, one.name),
    make("td", {}, one.value), make("td", { class: "soft" }, one.meaning)));
}

// An area of the page for answers, one after the other. `tools` are additional buttons next to the copy buttons.
export function makeAnswer(tools = []) {
  let answer = null;
  let figures = [];
  const sentence = make("p", { class: "sentence" });
  const pictures = make("div", { class: "pictures" });
  const numbers = make("table", { class: "numbers" });
  const python = make("pre", { tabindex: 0, "aria-label": "Python" });
  const command = make("pre", { tabindex: 0, "aria-label": "Command" });
  const buttons = make("div", { class: "tools" },
    copyButton("Copy as Python", () => answer.python), copyButton("Copy as command", () => answer.command), ...tools);
  const folded = make("summary", {}, "The same in Python and as a command");
  const code = make("details", { class: "code" }, folded, python, command);
  const element = make("div", { class: "answer", hidden: true },
    make("h2", { class: "hidden" }, "What it means"), sentence, buttons,
    make("h2", { class: "hidden" }, "Pictures"), pictures, make("h2", {}, "Numbers"), numbers, code);

  function show(given) {
    answer = given;
    element.hidden = false;
    const names = given.panels.map((panel) => panel.name);
    if (names.join() !== figures.map((one) => one.name).join()) {
      figures = names.map(makeFigure);
      pictures.replaceChildren(...figures.map((one) => one.element));
    }
    given.panels.forEach((panel, at) => figures[at].show(panel));
    numbers.replaceChildren(make("tbody", {}, ...numberRows(given.numbers)));
    sentence.textContent = given.sentence;
    python.textContent = given.python;
    command.textContent = given.command;
    announce(given.sentence);
  }
  return { element, show };
}
