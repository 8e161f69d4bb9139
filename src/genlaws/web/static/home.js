// The first page: four questions, and the verdicts on the claims of the four papers.
import { make, uniqueId } from "./elements.js";

function card(view) {
  const link = make("a", { href: `/${view.name}`, "data-inside": true }, view.question);
  return make("li", { class: "card" }, make("h2", {}, link),
    make("p", { class: "card-title" }, view.title), make("p", { class: "soft" }, view.about));
}

function list(label, options, change) {
  const name = uniqueId("filter");
  const input = make("select", { id: name, change }, make("option", { value: "" }, "all"),
    ...options.map((one) => make("option", { value: one }, one)));
  return { input, element: make("div", {}, make("label", { for: name }, label), input) };
}

function claimRow(claim) {
  const where = make("span", { class: "soft where" }, ` ${claim.where}`);
  return make("tr", {}, make("td", {}, make("code", {}, claim.id), where), make("td", {}, claim.statement),
    make("td", { class: "verdict" }, claim.verdict), make("td", {}, claim.sentence));
}

// A table of claims that can be filtered by a word, a paper and a verdict.
function claimTable({ counts, papers, claims }) {
  const body = make("tbody");
  const shown = make("p", { class: "soft", role: "status" });
  const searchedIn = ["id", "kind", "statement", "where", "sentence"];
  const texts = claims.map((claim) => searchedIn.map((name) => claim[name]).join(" ").toLowerCase());
  const rows = claims.map(claimRow);
  const searched = uniqueId("search");
  const search = make("input", { type: "search", id: searched, input: narrow });
  const paper = list("Paper", Object.keys(papers), narrow);
  const verdict = list("Verdict", inOrder(counts), narrow);

  function narrow() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = claims.map((claim, at) => at).filter((at) => words.every((word) => texts[at].includes(word))
      && [paper.input.value, ""].includes(paper.input.value && claims[at].paper)
      && [verdict.input.value, ""].includes(verdict.input.value && claims[at].verdict));
    body.replaceChildren(...matching.map((at) => rows[at]));
    shown.textContent = matching.length === 1 ? "1 claim" : `${matching.length} claims`;
  }

  narrow();
  const columns = ["id", "claim of the paper", "verdict", "what was found"];
  const head = make("tr", {}, ...columns.map((one) => make("th", { scope: "col" }, one)));
  return make("details", { class: "ledger" }, make("summary", {}, "All claims"),
    make("div", { class: "filters", role: "search" },
      make("div", {}, make("label", { for: searched }, "Search"), search), paper.element, verdict.element),
    shown, make("table", { class: "claims" }, make("thead", {}, head), body));
}

// The verdicts from best to worst, as in the sentence that counts them.
const VERDICTS = {
  holds: "hold", "holds within limits": "hold within limits", corrected: "hold once corrected",
  "not reproduced": "are not reproduced", "not testable here": "are not testable here",
};

function inOrder(counts) {
  const others = Object.keys(counts).filter((one) => !(one in VERDICTS));
  return [...Object.keys(VERDICTS), ...others].filter((one) => counts[one]);
}

function countLine({ counts, claims }) {
  const parts = inOrder(counts).map((verdict) => `${counts[verdict]} ${VERDICTS[verdict] ?? `are ${verdict}`}`);
  return `Of ${claims.length} claims in the four papers, ${parts.join(", ")}. Run a check yourself: genlaws claims run.`;
}

// Shows the first page in an element.
export async function showHome(views, main) {
  const ledger = make("section", { class: "claims-section" }, make("h2", {}, "The claims"));
  main.replaceChildren(
    make("div", { class: "intro" }, make("h1", { tabindex: -1 }, "Generalizing versus remembering"),
      make("p", {}, "A learner sees examples of a rule and facts that follow none. How much of the rule will it find, "
        + "how many of the facts will it remember, and what does one cost the other? Four exact laws, each with "
        + "sliders, compared with bundled runs. Choose a question.")),
    make("ul", { class: "cards" }, ...views.map(card)), ledger);
  try {
    const reply = await fetch("/api/claims");
    if (!reply.ok) throw new Error((await reply.json()).error);
    const claims = await reply.json();
    ledger.append(make("p", {}, countLine(claims)), claimTable(claims));
  } catch (problem) {
    ledger.append(make("p", { class: "error", role: "alert" }, `The claims could not be read. ${problem.message}`));
  }
}
