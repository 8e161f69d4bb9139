// What a reader takes away: texts through the clipboard, and pictures with their numbers as files.
import { announce, make } from "./elements.js";

const SHOWN = 1800; // milliseconds that a button says what it did

async function write(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages that do not come from this machine have no clipboard; the older way may still do.
  const area = make("textarea", { class: "hidden", readonly: true });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser does not allow it");
  return undefined;
}

// Says on a button for a moment what it did.
function tell(button, words) {
  button.dataset.words ??= button.textContent;
  button.textContent = words;
  announce(words, 0);
  window.clearTimeout(Number(button.dataset.timer));
  button.dataset.timer = window.setTimeout(() => { button.textContent = button.dataset.words; }, SHOWN);
}

// A button that copies what `text` returns.
export function copyButton(words, text) {
  const button = make("button", {
    type: "button",
    click: async () => {
      try {
        await write(text());
        tell(button, "Copied");
      } catch {
        tell(button, "Copying is not allowed here");
      }
    },
  }, words);
  return button;
}

// A button that saves the panel drawn in an element as "csv", "png" or "svg".
export function downloadButton(plot, format, title) {
  const words = format.toUpperCase();
  const button = make("button", {
    type: "button", class: "small", "aria-label": `Download ${words}: ${title}`,
    click: async () => {
      try {
        await genlawsPanels.download(plot, format);
        announce(`${words} saved`, 0);
      } catch {
        tell(button, "failed");
      }
    },
  }, words);
  return button;
}
