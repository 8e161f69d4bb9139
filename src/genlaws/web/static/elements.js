// Small pieces that every part of the page uses.

// Makes an element. Attributes that are false or absent are left out; a function is called on the event of its name.
export function make(tag, attributes = {}, ...children) {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") one.addEventListener(name, value);
    else one.setAttribute(name, value === true ? "" : value);
  }
  one.append(...children.filter((child) => child !== null && child !== undefined));
  return one;
}

let count = 0;

// A name that no other element of the page has.
export function uniqueId(stem) {
  count += 1;
  return `${stem}-${count}`;
}

let announcement;

// Announces a sentence to screen readers, once nothing newer has come for a moment.
export function announce(sentence, delay = 700) {
  window.clearTimeout(announcement);
  announcement = window.setTimeout(() => { document.getElementById("status").textContent = sentence; }, delay);
}

const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// A number for reading: four digits, with a power of ten where it is very small or large.
export function readable(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-3 && size < 1e5)) return String(Number(value.toPrecision(4))).replace("-", "−");
  const [mantissa, exponent] = value.toExponential(2).split("e");
  const power = [...String(Number(exponent))].map((letter) => SUPERSCRIPTS[letter]).join("");
  return `${Number(mantissa)} × 10${power}`.replace("-", "−");
}

// A table with named columns, in a region that scrolls by itself.
export function scrollingTable(label, columns, rows) {
  const head = make("tr", {}, ...columns.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell))));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
}
