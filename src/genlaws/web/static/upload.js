// Measures the user's representation, sent as a file to the program that serves the page.
import { makeAnswer, scriptsReady } from "./answers.js";
import { announce, make, uniqueId } from "./elements.js";

const KINDS = [["embeddings", "embeddings, one row per item"], ["distances", "distances, a square matrix"]];
const METRICS = [
  ["euclidean", "straight-line distance"], ["cosine", "angle (cosine)"], ["circle", "along a circle of length 1"],
  ["precomputed", "the places are a matrix of distances"], ["tree", "steps in a tree of groups, coarse to fine"],
];
const SELF_METRICS = ["euclidean", "cosine"]; // the distances that need no places
const SIMILARITIES = [
  ["cosine", "cosine"], ["relu-dot", "dot product, negative ones as 0"], ["dot", "dot product"],
  ["gaussian", "Gaussian of the distance"], ["threshold", "alike or not, by a threshold"],
  ["precomputed", "the file is a matrix of similarities"],
];

function field(label, about, input) {
  const name = uniqueId("upload");
  input.id = name;
  const hint = about ? make("p", { class: "about", id: `${name}-about` }, about) : null;
  if (hint) input.setAttribute("aria-describedby", hint.id);
  return make("div", { class: "control" }, make("label", { for: name }, label), input, hint);
}

function list(name, options, change) {
  return make("select", { name, change }, ...options.map(([value, label]) => make("option", { value }, label)));
}

function fileInput(name, change) {
  return make("input", { type: "file", name, accept: ".npy,.npz,.csv,.tsv,.parquet", change });
}

// Sends a form and reports its progress; resolves to the status and the JSON of the reply.
function send(address, content, progress) {
  const request = new XMLHttpRequest();
  const reply = new Promise((settled, failed) => {
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      try {
        settled({ ok: request.status === 200, content: JSON.parse(request.responseText) });
      } catch {
        failed(new Error(`The server answered with status ${request.status} and no explanation.`));
      }
    });
    request.addEventListener("error", () => failed(new Error(
      "The connection was closed: the file may be too large, or genlaws explore may have been stopped.")));
    request.open("POST", address);
    request.send(content);
  });
  return { reply, stop: () => request.abort() };
}

// The form, with room for the answer below.
export function makeUpload() {
  let running = null;
  const answer = makeAnswer();
  const error = make("p", { class: "error", "aria-live": "assertive" });
  const progress = make("progress", { max: 1, hidden: true, "aria-label": "Progress of the measurement" });
  const state = make("span", { class: "soft" });
  const button = make("button", { type: "submit" }, "Measure");
  const file = fileInput("file");
  const positions = fileInput("positions", () => arrange());
  const kind = list("kind", KINDS, () => arrange());
  const metric = list("metric", METRICS);
  const similarity = list("similarity", SIMILARITIES);

  const metricField = field("True distances between items", "", metric);
  const similarityField = field("Similarity of two embeddings", "", similarity);

  // Distances bring their own similarity; without true places the embeddings must give the true distances too.
  function arrange() {
    const own = positions.files.length === 0;
    similarityField.hidden = kind.value === "distances";
    metricField.hidden = own && kind.value === "distances";
    for (const option of metric.options) option.disabled = own && !SELF_METRICS.includes(option.value);
    for (const option of similarity.options) option.disabled = own && option.value === "precomputed";
    for (const one of [metric, similarity]) if (one.selectedOptions[0]?.disabled) one.selectedIndex = 0;
  }

  function during(sent) {
    progress.hidden = false;
    if (sent < 1) progress.value = sent;
    else progress.removeAttribute("value");
    state.textContent = sent < 1 ? `Sending: ${Math.round(100 * sent)} %` : "Measuring…";
  }

  function content() {
    const form = new FormData();
    form.append(kind.name, kind.value);
    if (!metricField.hidden) form.append(metric.name, metric.value);
    if (!similarityField.hidden) form.append(similarity.name, similarity.value);
    for (const one of [file, positions]) if (one.files.length) form.append(one.name, one.files[0]);
    return form;
  }

  async function measure(event) {
    event.preventDefault();
    if (running) return;
    error.textContent = "";
    if (!file.files.length) {
      error.textContent = "Choose a file first.";
      file.focus();
      return;
    }
    button.disabled = true;
    during(0);
    running = send("/api/measure", content(), during);
    try {
      const reply = await running.reply;
      await scriptsReady;
      answer.element.hidden = true;
      if (reply.ok) answer.show(reply.content);
      else error.textContent = reply.content.error;
    } catch (problem) {
      error.textContent = problem.message;
    }
    running = null;
    button.disabled = false;
    progress.hidden = true;
    state.textContent = "";
    if (!error.textContent) announce("Measured. The answer is below the form.", 0);
  }

  const form = make("form", { class: "upload", "aria-label": "Measure your own", submit: measure },
    field("File", "From numpy (.npy, .npz), or a table (.csv, .tsv, .parquet), with or without names; at most 2,000 items.", file),
    field("It holds", "", kind),
    field("True places (optional)", "One row per item, in a file of the same kinds. Without them the distances within the file count as true.",
      positions),
    metricField, similarityField,
    make("div", { class: "tools" }, button, progress, state), error);
  arrange();
  const element = make("section", { class: "own" }, make("h2", {}, "Measure your own representation"),
    make("p", {}, "The file stays on this machine: it goes to the program that serves this page and is not stored."),
    form, answer.element);
  return { element, stop: () => running?.stop() };
}
