// Addresses: a view by its name, with the settings that differ from the defaults.

// The view that the address names ("" for the first page) and the settings in its query.
export function place() {
  return { name: window.location.pathname.replace(/^\/+|\/+$/g, ""), query: window.location.search };
}

export function defaultsOf(schema) {
  return Object.fromEntries(Object.entries(schema.properties).map(([name, property]) => [name, property.default]));
}

// The settings that differ from the defaults, as the part of an address after the question mark.
export function queryOf(schema, settings) {
  const defaults = defaultsOf(schema);
  const named = Object.keys(defaults).filter((name) => name in settings && settings[name] !== defaults[name]);
  const text = new URLSearchParams(named.map((name) => [name, String(settings[name])])).toString();
  return text ? `?${text}` : "";
}

export function addressOf(view, settings) {
  return `/${view.name}${queryOf(view.schema, settings)}`;
}

const PACE = 250; // milliseconds; browsers refuse addresses that change too often

// Keeps the address of the page at the newest settings while these change.
export function makeAddressKeeper(view) {
  let timer = null;
  let wanted = null;
  function write() {
    timer = null;
    if (wanted !== null) window.history.replaceState(null, "", wanted);
    wanted = null;
  }
  return {
    keep(settings) {
      wanted = addressOf(view, settings);
      timer ??= window.setTimeout(write, PACE);
    },
    write,
    stop() {
      window.clearTimeout(timer);
      wanted = null;
    },
  };
}
