// The page of one view: controls on one side, the answer for them on the other, redrawn while a slider moves.
import { makeAnswer, scriptsReady } from "./answers.js";
import { makeControls } from "./controls.js";
import { copyButton } from "./copying.js";
import { make } from "./elements.js";
import { addressOf, makeAddressKeeper, queryOf } from "./permalinks.js";
import { makeUpload } from "./upload.js";

const PACE = 75; // milliseconds between two requests at least
const NO_SERVER = "The server does not answer; it may have been stopped. Start genlaws explore again.";

// Sends one request at a time; of those that come meanwhile only the newest is sent.
function makeRequester(name, busy, answered, failed) {
  const stop = new AbortController();
  let sending = false;
  let waiting = null;

  async function request(query) {
    waiting = query;
    if (sending) return;
    sending = true;
    busy(true);
    while (waiting !== null && !stop.signal.aborted) {
      const next = waiting;
      const pause = new Promise((done) => { window.setTimeout(done, PACE); });
      waiting = null;
      await send(next);
      await pause;
    }
    sending = false;
    busy(false);
  }

  async function send(query) {
    try {
      const reply = await fetch(`/api/views/${name}${query}`, { signal: stop.signal });
      const content = await reply.json();
      await scriptsReady;
      if (stop.signal.aborted) return;
      if (reply.ok) answered(content, query);
      else failed(content.error, content.setting ?? null, query);
    } catch (problem) {
      if (stop.signal.aborted) return;
      failed(problem instanceof TypeError || problem instanceof SyntaxError ? NO_SERVER : String(problem), null, query);
    }
  }
  return { request, stop: () => stop.abort() };
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
      controls.showError(missing.setting, missing.error);
      return;
    }
    requester.request(queryOf(view.schema, controls.values()));
  });

  function answered(content) {
    if (first) controls.set(content.settings);
    first = false;
    controls.clear();
    if (!notice.dataset.pinned) notice.textContent = "";
    delete notice.dataset.pinned;
    keeper.keep(content.settings);
    waiting.remove();
    answer.show(content);
  }

  function failed(sentence, setting, query) {
    if (first && query === firstQuery && sentence !== NO_SERVER) {
      first = false;
      notice.textContent = `The settings in the address cannot be used, so the defaults are shown. ${sentence}`;
      notice.dataset.pinned = "yes";
      requester.request("");
      return;
    }
    controls.clear();
    waiting.remove();
    const shown = setting !== null && controls.showError(setting, sentence);
    notice.textContent = shown ? "" : sentence;
  }

  const requester = makeRequester(view.name, (busy) => results.setAttribute("aria-busy", busy), answered, failed);
  const link = () => window.location.origin + addressOf(view, controls.values());
  const answer = makeAnswer([copyButton("Copy link", link)]);
  const waiting = make("p", { class: "soft" }, "Computing…");
  const results = make("div", { class: "results" }, waiting, answer.element);
  const reset = make("button", {
    type: "button",
    click: () => { controls.reset(); controls.clear(); notice.textContent = ""; requester.request(""); },
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
  requester.request(firstQuery);

  // Following a link stores the newest settings in the old address first; going back has already left it.
  return ({ keep }) => {
    if (keep) keeper.write();
    keeper.stop();
    requester.stop();
    upload?.stop();
  };
}
