// Draws panels (see panel.py) with plotly in the colors of the page, and redraws them when the colors change.
"use strict";

const genlawsPanels = (() => {
  // Okabe and Ito's colors; ink and gray follow the page, and those too dark or too pale for it are shifted.
  const PALETTE = {
    light: {
      ink: "#1a1a1a", gray: "#7f7f7f", orange: "#E69F00", sky: "#56B4E9", green: "#009E73", yellow: "#B8A800",
      blue: "#0072B2", vermillion: "#D55E00", purple: "#CC79A7", paper: "#ffffff", line: "#d0d0d0",
    },
    dark: {
      ink: "#ececec", gray: "#9a9a9a", orange: "#E69F00", sky: "#7cc4f0", green: "#1fc191", yellow: "#F0E442",
      blue: "#4aa3df", vermillion: "#ff7f2a", purple: "#e29bc3", paper: "#17181a", line: "#44474c",
    },
  };
  const COLUMNS = ["curve", "kind", "x", "y", "low", "high"];
  const DASHES = { theory: "solid", paper: "dash", chance: "dot" };
  const FACE = "system-ui, sans-serif";
  const TYPE = 13; // pixels
  const PIXELS_PER_LETTER = 7.3; // of that type, on average and in a wide face
  const drawn = new Map(); // element -> panel
  const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");

  // A page may fix its colors with data-theme on the root; else the reader's system decides. Paper is always light.
  let printing = false;
  function theme() {
    if (printing) return "light";
    const fixed = document.documentElement.dataset.theme;
    return fixed === "light" || fixed === "dark" ? fixed : darkQuery.matches ? "dark" : "light";
  }

  function transparent(color, alpha) {
    const part = (at) => parseInt(color.slice(at, at + 2), 16);
    return `rgba(${part(1)},${part(3)},${part(5)},${alpha})`;
  }

  // plotly reads some HTML in its texts; ours are plain. Raised or bold type is not used: it needs inline styles.
  function plain(text) {
    return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  }

  // A text broken between words into lines of so many pixels, which plotly does not do.
  function wrapped(text, pixels) {
    const longest = Math.max(12, Math.floor(pixels / PIXELS_PER_LETTER));
    const lines = [""];
    for (const word of text.split(" ")) {
      const last = lines[lines.length - 1];
      if (last && last.length + 1 + word.length > longest) lines.push(word);
      else lines[lines.length - 1] = last ? `${last} ${word}` : word;
    }
    return lines.map(plain).join("<br>");
  }

  function hover(curve, panel) {
    const lines = [`${wrapped(panel.x.label, 300)}: %{x:.4~g}`, `${wrapped(panel.y.label, 300)}: %{y:.4~g}`];
    if (curve.low) lines.push("interval: %{customdata[0]:.4~g} to %{customdata[1]:.4~g}");
    if (curve.notes) lines.push("%{text}");
    return `${wrapped(curve.name, 300)}<br>${lines.join("<br>")}<extra></extra>`;
  }

  function trace(curve, panel, colors) {
    const color = colors[curve.color];
    const one = {
      type: "scatter", name: plain(curve.name), x: curve.x, y: curve.y, connectgaps: false,
      hovertemplate: hover(curve, panel), text: curve.notes ? curve.notes.map((note) => wrapped(note, 300)) : undefined,
    };
    if (curve.low) one.customdata = curve.low.map((low, at) => [low, curve.high[at]]);
    if (curve.kind === "run" || curve.kind === "mark") {
      one.mode = "markers";
      one.marker = curve.kind === "mark"
        ? { color: color, size: 13, symbol: "diamond", line: { color: colors.paper, width: 1.5 } }
        : { color: color, size: 7, line: { color: colors.paper, width: 0.5 } };
      if (curve.low) {
        const up = curve.high.map((high, at) => (high === null || curve.y[at] === null ? null : high - curve.y[at]));
        const down = curve.low.map((low, at) => (low === null || curve.y[at] === null ? null : curve.y[at] - low));
        one.error_y = {
          type: "data", symmetric: false, array: up, arrayminus: down, color: transparent(color, 0.7),
          thickness: 1.4, width: 3,
        };
      }
    } else {
      one.mode = "lines";
      one.line = { color: color, width: curve.kind === "chance" ? 1.3 : 2.4, dash: DASHES[curve.kind] };
    }
    return one;
  }

  // A band between low and high of a line, drawn before the line itself.
  function band(curve, colors) {
    const keep = curve.x.map((_, at) => at).filter((at) => curve.low[at] !== null && curve.high[at] !== null);
    return {
      type: "scatter", mode: "lines", x: [...keep.map((at) => curve.x[at]), ...keep.map((at) => curve.x[at]).reverse()],
      y: [...keep.map((at) => curve.high[at]), ...keep.map((at) => curve.low[at]).reverse()],
      fill: "toself", fillcolor: transparent(colors[curve.color], 0.2), line: { width: 0 },
      hoverinfo: "skip", showlegend: false,
    };
  }

  function traces(panel, colors) {
    return panel.curves.flatMap((curve) => {
      const one = trace(curve, panel, colors);
      return curve.low && one.mode === "lines" ? [band(curve, colors), one] : [one];
    });
  }

  const RAISED = ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];
  function powerOfTen(power) {
    if (power >= -2 && power <= 3) return String(Number((10 ** power).toPrecision(3)));
    return `10${power < 0 ? "⁻" : ""}${[...String(Math.abs(power))].map((digit) => RAISED[Number(digit)]).join("")}`;
  }

  // The decades that a logarithmic axis shows, from and to.
  function decades(panel, name) {
    const values = panel[name].range || panel.curves.flatMap((curve) => [
      ...curve[name], ...(name === "y" && curve.low ? [...curve.low, ...curve.high] : []),
    ]).filter((value) => value > 0);
    return values.length ? [Math.log10(Math.min(...values)), Math.log10(Math.max(...values))] : [0, 1];
  }

  // Powers of ten over several decades, 1, 2 and 5 of each over fewer, and what plotly chooses within one.
  function logarithmicTicks([first, last]) {
    const count = last - first;
    if (count < 0.8) return { exponentformat: "none" };
    const every = Math.ceil(count / 7);
    const lowest = Math.floor(first) - 1;
    const powers = Array.from({ length: Math.ceil(last) - lowest + 2 }, (_, at) => lowest + at)
      .filter((power) => power % every === 0);
    const minor = { ticks: count < 8 ? "outside" : "", tickmode: "linear", tick0: 0, dtick: "D1", ticklen: 3 };
    const factors = count < 2.2 && first > -4 && last < 4 ? [1, 2, 5] : [1];
    const ticks = powers.flatMap((power) => factors.map((factor) => {
      const value = Number((factor * 10 ** power).toPrecision(3));
      return [value, factor === 1 ? powerOfTen(power) : String(value)];
    }));
    const [tickvals, ticktext] = [ticks.map(([value]) => value), ticks.map(([, text]) => text)];
    return { tickmode: "array", tickvals, ticktext, minor };
  }

  function axis(panel, name, colors, pixels) {
    const given = panel[name];
    const range = given.range && (given.log ? given.range.map(Math.log10) : given.range);
    return {
      title: { text: wrapped(given.label, pixels), standoff: 8, font: { size: TYPE } },
      type: given.log ? "log" : "linear",
      range: range || undefined, autorange: !range, fixedrange: true, zeroline: false,
      gridcolor: transparent(colors.line, 0.5), linecolor: colors.line, ticks: "outside", tickcolor: colors.line,
      automargin: true, exponentformat: "e", nticks: pixels < 320 ? 6 : undefined,
      minor: { ticks: "" },
      ...(given.log ? logarithmicTicks(decades(panel, name)) : {}),
    };
  }

  function layout(panel, colors, width, height) {
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: FACE, size: TYPE, color: colors.ink },
      margin: { l: 56, r: 14, t: 8, b: 48 }, hovermode: "closest", dragmode: false,
      xaxis: axis(panel, "x", colors, width - 80), yaxis: axis(panel, "y", colors, height - 70),
      hoverlabel: {
        bgcolor: colors.paper, bordercolor: colors.line, font: { family: FACE, color: colors.ink }, align: "left",
      },
      showlegend: false, uirevision: "constant",
    };
  }

  const SVG = "http://www.w3.org/2000/svg";
  function shape(tag, attributes) {
    const one = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    return one;
  }

  // The symbol before a name in the legend: a piece of the line, or the marker.
  function sample(curve, colors) {
    const color = colors[curve.color];
    const picture = shape("svg", { width: 26, height: 14, viewBox: "0 0 26 14", "aria-hidden": "true" });
    if (curve.kind === "mark") picture.append(shape("path", { d: "M13 1 19 7 13 13 7 7Z", fill: color }));
    else if (curve.kind === "run") picture.append(shape("circle", { cx: 13, cy: 7, r: 4, fill: color }));
    else {
      const dashes = { solid: "none", dash: "7 4", dot: "2 3" }[DASHES[curve.kind]];
      const width = curve.kind === "chance" ? 1.5 : 2.6;
      const line = { d: "M1 7H25", stroke: color, "stroke-width": width, "stroke-dasharray": dashes };
      picture.append(shape("path", line));
    }
    return picture;
  }

  // The legend is a list above the picture, so that long names wrap and cover nothing.
  function legend(element, panel, colors) {
    let list = element.previousElementSibling;
    if (!list || !list.classList.contains("panel-legend")) {
      list = document.createElement("ul");
      list.className = "panel-legend";
      element.before(list);
    }
    const entries = new Map(panel.curves.map((curve) => [`${curve.kind} ${curve.color} ${curve.name}`, curve]));
    list.replaceChildren(...[...entries.values()].map((curve) => {
      const entry = document.createElement("li");
      entry.append(sample(curve, colors), curve.name);
      return entry;
    }));
  }

  function draw(element, panel) {
    const colors = PALETTE[theme()];
    drawn.set(element, panel);
    legend(element, panel, colors);
    const look = layout(panel, colors, element.clientWidth || 500, element.clientHeight || 350);
    const done = Plotly.react(element, traces(panel, colors), look, {
      displayModeBar: false, responsive: true, doubleClick: false, showTips: false, scrollZoom: false,
    });
    // plotly measures texts in a hidden picture; hide it from screen readers.
    document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true");
    return done;
  }

  function redraw() {
    for (const [element, panel] of drawn) element.isConnected ? draw(element, panel) : drawn.delete(element);
  }

  // A picture for a file is always in the colors of paper, with its title and legend inside.
  async function image(element, format) {
    const panel = drawn.get(element);
    const colors = PALETTE.light;
    const [width, height] = [900, 600];
    const look = {
      ...layout(panel, colors, width, height), paper_bgcolor: "#ffffff", showlegend: true,
      legend: {
        orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", font: { size: 12 },
        // As the head of the legend, the title never overlaps it, however many rows it has.
        title: { text: wrapped(panel.title, width), side: "top", font: { size: 16 } },
      },
    };
    look.margin = { l: 70, r: 24, t: 20, b: 60 };
    const figure = { data: once(traces(panel, colors)), layout: look };
    return Plotly.toImage(figure, { format, width, height, scale: format === "png" ? 2 : 1 });
  }

  // One entry in the legend for each name, however many curves have it.
  function once(data) {
    const seen = new Set();
    return data.map((one) => {
      const again = one.showlegend === false || seen.has(one.name);
      seen.add(one.name);
      return { ...one, showlegend: !again };
    });
  }

  // A number with at most ten digits, written as in the tables of the server (Python's .10g).
  function digits(value) {
    if (value === null || value === undefined) return "";
    if (value === 0) return Object.is(value, -0) ? "-0" : "0";
    const [mantissa, exponent] = value.toExponential(9).split("e");
    const power = Number(exponent);
    const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
    if (power >= -4 && power < 10) return trimmed(value.toFixed(Math.max(0, 9 - power)));
    const size = String(Math.abs(power)).padStart(2, "0");
    return `${trimmed(mantissa)}e${power < 0 ? "-" : "+"}${size}`;
  }

  // The numbers behind a panel, row by row.
  function rows(panel) {
    return panel.curves.flatMap((curve) => curve.x.map((x, at) => [
      curve.name, curve.kind, ...[x, curve.y[at], curve.low?.[at], curve.high?.[at]].map(digits),
    ]));
  }

  function table(panel) {
    const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    return [COLUMNS, ...rows(panel)].map((row) => `${row.map(cell).join(",")}\n`).join("");
  }

  function save(content, name) {
    const link = document.createElement("a");
    link.href = content;
    link.download = name;
    link.click();
  }

  // Saves a panel as "png", "svg" or "csv".
  async function download(element, format) {
    const panel = drawn.get(element);
    if (format !== "csv") return save(await image(element, format), `${panel.name}.${format}`);
    const address = URL.createObjectURL(new Blob([table(panel)], { type: "text/csv" }));
    save(address, `${panel.name}.csv`);
    return URL.revokeObjectURL(address);
  }

  darkQuery.addEventListener("change", redraw);
  for (const [event, state] of [["beforeprint", true], ["afterprint", false]]) {
    window.addEventListener(event, () => { printing = state; redraw(); });
  }
  return { draw, redraw, download, table, theme, rows, COLUMNS };
})();
