// Export: texts through the clipboard, and pictures with their numbers as files.
import { announce, make } from "./elements.js";

const MESSAGE_MILLISECONDS = 1800; // how long a button shows its result

async function write(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages that do not come from this machine have no clipboard; the older method may still work.
  const area = make("textarea", { class: "hidden", readonly: true });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser does not allow it");
  return undefined;
}

// Shows the result of a click on its button for a moment.
function showResult(button, message) {
  button.dataset.label ??= button.textContent;
  button.textContent = message;
  announce(message, 0);
  window.clearTimeout(Number(button.dataset.timer));
  button.dataset.timer = window.setTimeout(() => { button.textContent = button.dataset.label; }, MESSAGE_MILLISECONDS);
}

// A button that copies what `text` returns.
export function copyButton(label, text) {
  const button = make("button", {
    type: "button",
    click: async () => {
      try {
        await write(text());
        showResult(button, "Copied");
      } catch {
        showResult(button, "Copying is not allowed here");
      }
    },
  }, label);
  return button;
}

// A button that saves the panel drawn in an element as "csv", "png" or "svg".
export function downloadButton(plot, format, title) {
  const label = format.toUpperCase();
  const button = make("button", {
    type: "button", class: "small", "aria-label": `Download ${label}: ${title}`,
    click: async () => {
      try {
        await genlawsPanels.download(plot, format);
        announce(`${label} saved`, 0);
      } catch {
        showResult(button, "failed");
      }
    },
  }, label);
  return button;
}
