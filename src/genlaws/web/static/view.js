// The page of one view: controls at one side, the answer for them at the other, redrawn while a slider moves.
import { makeAnswer, scriptsReady } from "./answers.js";
import { makeControls } from "./controls.js";
import { copyButton } from "./copying.js";
import { make } from "./elements.js";
import { addressOf, makeAddressKeeper, queryOf } from "./permalinks.js";
import { makeUpload } from "./upload.js";

const PACE = 75; // milliseconds between two questions at least
const SILENT = "The server does not answer; it may have been stopped. Start genlaws explore again.";

// Asks one question at a time; of those that come meanwhile only the newest is asked.
function makeAsker(name, busy, answered, refused) {
  const stop = new AbortController();
  let asking = false;
  let waiting = null;

  async function ask(query) {
    waiting = query;
    if (asking) return;
    asking = true;
    busy(true);
    while (waiting !== null && !stop.signal.aborted) {
      const asked = waiting;
      const pause = new Promise((done) => { window.setTimeout(done, PACE); });
      waiting = null;
      await put(asked);
      await pause;
    }
    asking = false;
    busy(false);
  }

  async function put(query) {
    try {
      const reply = await fetch(`/api/views/${name}${query}`, { signal: stop.signal });
      const content = await reply.json();
      await scriptsReady;
      if (stop.signal.aborted) return;
      if (reply.ok) answered(content, query);
      else refused(content.error, content.setting ?? null, query);
    } catch (problem) {
      if (stop.signal.aborted) return;
      refused(problem instanceof TypeError || problem instanceof SyntaxError ? SILENT : String(problem), null, query);
    }
  }
  return { ask, stop: () => stop.abort() };
}

// Shows a view in an element, at first with the settings of the address; returns what to call before leaving it.
export function showView(view, main, firstQuery) {
  const keeper = makeAddressKeeper(view);
  const notice = make("p", { class: "error", "aria-live": "polite" });
  let first = firstQuery !== "";

  const controls = makeControls(view.schema, () => {
    const missing = controls.missing();
    notice.textContent = "";
    if (missing) {
      controls.refuse(missing.setting, missing.error);
      return;
    }
    asker.ask(queryOf(view.schema, controls.values()));
  });

  function answered(content) {
    if (first) controls.set(content.settings);
    first = false;
    controls.clear();
    if (!notice.dataset.kept) notice.textContent = "";
    delete notice.dataset.kept;
    keeper.keep(content.settings);
    waiting.remove();
    answer.show(content);
  }

  function refused(sentence, setting, query) {
    if (first && query === firstQuery && sentence !== SILENT) {
      first = false;
      notice.textContent = `The settings in the address cannot be used, so the usual ones are shown. ${sentence}`;
      notice.dataset.kept = "yes";
      asker.ask("");
      return;
    }
    controls.clear();
    waiting.remove();
    const shown = setting !== null && controls.refuse(setting, sentence);
    notice.textContent = shown ? "" : sentence;
  }

  const asker = makeAsker(view.name, (asking) => results.setAttribute("aria-busy", asking), answered, refused);
  const link = () => window.location.origin + addressOf(view, controls.values());
  const answer = makeAnswer([copyButton("Copy link", link)]);
  const waiting = make("p", { class: "soft" }, "Computing…");
  const results = make("div", { class: "results" }, waiting, answer.element);
  const reset = make("button", {
    type: "button",
    click: () => { controls.reset(); controls.clear(); notice.textContent = ""; asker.ask(""); },
  }, "Reset");
  const form = make("form", { class: "settings", "aria-label": "Settings", submit: (event) => event.preventDefault() },
    make("div", { class: "settings-head" }, make("h2", {}, "Settings"), reset), notice, ...controls.elements);
  const upload = view.name === "semanticity" ? makeUpload() : null;
  main.replaceChildren(
    make("div", { class: "intro" }, make("h1", { tabindex: -1 }, view.title),
      make("p", { class: "question" }, view.question), make("p", {}, view.about)),
    make("div", { class: "workbench" }, form, results),
    ...(upload ? [upload.element] : []),
  );
  asker.ask(firstQuery);

  // Going on by a link keeps the newest settings in the address left behind; going back has left it already.
  return ({ keep }) => {
    if (keep) keeper.write();
    keeper.stop();
    asker.stop();
    upload?.stop();
  };
}
