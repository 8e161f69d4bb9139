// Controls made from the schema of a view's settings: sliders with a box for the number, lists, and check boxes.
import { make, uniqueId, readable } from "./elements.js";
import { defaultsOf } from "./permalinks.js";

const MAX_NOTCHES = 5000;

// All values that a slider can take, from one end to the other; ends and default are among them.
export function notches(property) {
  const { minimum: low, maximum: high, default: usual, control } = property;
  const place = control.log ? Math.log10 : (value) => value;
  const [first, last] = [place(low), place(high)];
  const step = Math.max(control.step || (last - first) / 100, (last - first) / MAX_NOTCHES);
  const count = Math.max(1, Math.round((last - first) / step));
  const between = Array.from({ length: count - 1 }, (_, at) => {
    const here = first + (at + 1) * step;
    const value = control.log ? Number((10 ** here).toPrecision(3)) : Number(here.toPrecision(10));
    return property.type === "integer" ? Math.round(value) : value;
  });
  const inside = [...between, usual].filter((value) => value > low && value < high);
  return [...new Set([low, ...inside, high])].sort((one, other) => one - other);
}

function nearest(values, value) {
  let best = 0;
  values.forEach((one, at) => { if (Math.abs(one - value) < Math.abs(values[best] - value)) best = at; });
  return best;
}

// The frame that all kinds share: a description, and space for an error message.
function frame(kind, property, head, parts, names) {
  const about = property.description && property.description !== property.title
    ? make("p", { class: "about", id: names.about }, property.description) : null;
  const error = make("p", { class: "error", id: names.error, "aria-live": "polite" });
  return { error, element: make("div", { class: `control ${kind}` }, head, ...parts, about, error) };
}

function namesOf(name) {
  const own = uniqueId(`setting-${name}`);
  return { own, about: `${own}-about`, error: `${own}-error`, described: `${own}-about ${own}-error` };
}

function sliderControl(name, property, changed) {
  const names = namesOf(name);
  const values = notches(property);
  const range = make("input", {
    type: "range", id: names.own, min: 0, max: values.length - 1, step: 1, "aria-describedby": names.described,
    "data-setting": name,
  });
  const box = make("input", {
    type: "number", step: property.type === "integer" ? 1 : "any", min: property.minimum, max: property.maximum,
    "aria-label": `${property.title}, as a number`, "aria-describedby": names.error, inputmode: "decimal",
    "data-number": name,
  });
  const output = make("output", { for: names.own });
  function show(value) {
    range.value = nearest(values, value);
    range.setAttribute("aria-valuetext", readable(value));
    output.textContent = readable(value);
  }
  range.addEventListener("input", () => {
    const value = values[Number(range.value)];
    box.value = value;
    show(value);
    changed(value);
  });
  box.addEventListener("input", () => {
    const value = box.value === "" ? NaN : Number(box.value);
    if (Number.isFinite(value)) show(value);
    changed(value);
  });
  const head = make("div", { class: "control-head" }, make("label", { for: names.own }, property.title), output);
  const row = make("div", { class: "control-row" }, range, box);
  return {
    ...frame("slider", property, head, [row], names),
    inputs: [range, box],
    set(value) { box.value = value; show(value); },
  };
}

function choiceControl(name, property, changed) {
  const names = namesOf(name);
  const label = (value) => String(value).replaceAll(/[-_]/g, " ");
  const options = (property.enum ?? [property.const]).map((value) => make("option", { value }, label(value)));
  const list = make("select", {
    id: names.own, "aria-describedby": names.described, "data-setting": name, change: () => changed(list.value),
  }, ...options);
  const head = make("div", { class: "control-head" }, make("label", { for: names.own }, property.title));
  return { ...frame("choice", property, head, [list], names), inputs: [list], set(value) { list.value = value; } };
}

function switchControl(name, property, changed) {
  const names = namesOf(name);
  const box = make("input", {
    type: "checkbox", id: names.own, "aria-describedby": names.described, "data-setting": name,
    change: () => changed(box.checked),
  });
  const head = make("div", { class: "control-head" }, box, make("label", { for: names.own }, property.title));
  return { ...frame("switch", property, head, [], names), inputs: [box], set(value) { box.checked = value; } };
}

// Whether a setting has the value that the schema names; Python writes True where a browser writes true.
function same(value, named) {
  return String(value).toLowerCase() === String(named).toLowerCase();
}

const KINDS = { slider: sliderControl, choice: choiceControl, switch: switchControl };

// Controls for all settings of a schema; `changed` is called whenever the user moves one.
export function makeControls(schema, changed) {
  const values = defaultsOf(schema);
  const controls = new Map(Object.entries(schema.properties).map(([name, property]) => [
    name,
    KINDS[property.control.kind](name, property, (value) => { values[name] = value; arrange(); changed(); }),
  ]));

  // Some settings matter only with certain choices of others.
  function arrange() {
    for (const [name, control] of controls) {
      const when = Object.entries(schema.properties[name].control.when ?? {});
      control.element.hidden = !when.every(([other, value]) => same(values[other], value));
    }
  }

  function set(settings) {
    Object.assign(values, settings);
    for (const [name, control] of controls) control.set(values[name]);
    arrange();
  }

  function clear() {
    for (const control of controls.values()) {
      control.error.textContent = "";
      for (const input of control.inputs) input.removeAttribute("aria-invalid");
    }
  }

  // Shows the error of a setting next to its control; false if no such control is visible.
  function showError(name, sentence) {
    const control = controls.get(name);
    if (!control || control.element.hidden) return false;
    if (control.error.textContent !== sentence) control.error.textContent = sentence;
    for (const input of control.inputs) input.setAttribute("aria-invalid", "true");
    return true;
  }

  // The first setting without a value, with what it needs.
  function missing() {
    const name = Object.keys(values).find((one) => Number.isNaN(values[one]));
    if (name === undefined) return null;
    const { minimum, maximum } = schema.properties[name];
    return { setting: name, error: `Give a number from ${readable(minimum)} to ${readable(maximum)}.` };
  }

  set(values);
  const elements = [...controls.values()].map((control) => control.element);
  return { elements, values: () => ({ ...values }), set, reset: () => set(defaultsOf(schema)), clear, showError, missing };
}
