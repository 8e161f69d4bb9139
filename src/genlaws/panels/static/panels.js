// Draws panels (see panel.py) with plotly, in the colours of the page, and draws them again when these change.
"use strict";

const genlawsPanels = (() => {
  // Okabe and Ito's colours; ink and grey follow the page, and those too dark or too pale for it are shifted.
  const PALETTE = {
    light: {
      ink: "#1a1a1a", grey: "#7f7f7f", orange: "#E69F00", sky: "#56B4E9", green: "#009E73", yellow: "#B8A800",
      blue: "#0072B2", vermillion: "#D55E00", purple: "#CC79A7", paper: "#ffffff", line: "#d0d0d0",
    },
    dark: {
      ink: "#ececec", grey: "#9a9a9a", orange: "#E69F00", sky: "#7cc4f0", green: "#1fc191", yellow: "#F0E442",
      blue: "#4aa3df", vermillion: "#ff7f2a", purple: "#e29bc3", paper: "#17181a", line: "#44474c",
    },
  };
  const drawn = new Map(); // element -> panel
  const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");

  // A page may fix its colours with data-theme on the root; else the reader's system decides. Paper is always light.
  let printing = false;
  function theme() {
    if (printing) return "light";
    const fixed = document.documentElement.dataset.theme;
    return fixed === "light" || fixed === "dark" ? fixed : darkQuery.matches ? "dark" : "light";
  }

  function transparent(colour, alpha) {
    const part = (at) => parseInt(colour.slice(at, at + 2), 16);
    return `rgba(${part(1)},${part(3)},${part(5)},${alpha})`;
  }

  function hover(curve, panel) {
    const lines = [`${panel.x.label}: %{x:.4g}`, `${panel.y.label}: %{y:.4g}`];
    if (curve.low) lines.push("interval: %{customdata[0]:.4g} to %{customdata[1]:.4g}");
    if (curve.notes) lines.push("%{text}");
    return `<b>${curve.name}</b><br>${lines.join("<br>")}<extra></extra>`;
  }

  function trace(curve, panel, colours) {
    const colour = colours[curve.colour];
    const one = {
      type: "scatter", name: curve.name, x: curve.x, y: curve.y, connectgaps: false,
      hovertemplate: hover(curve, panel), text: curve.notes || undefined,
    };
    if (curve.low) one.customdata = curve.low.map((low, at) => [low, curve.high[at]]);
    if (curve.kind === "run" || curve.kind === "mark") {
      one.mode = "markers";
      one.marker = curve.kind === "mark"
        ? { color: colour, size: 13, symbol: "diamond", line: { color: colours.paper, width: 1.5 } }
        : { color: colour, size: 7, line: { color: colours.paper, width: 0.5 } };
      if (curve.low) {
        const up = curve.high.map((high, at) => (high === null || curve.y[at] === null ? null : high - curve.y[at]));
        const down = curve.low.map((low, at) => (low === null || curve.y[at] === null ? null : curve.y[at] - low));
        one.error_y = {
          type: "data", symmetric: false, array: up, arrayminus: down, color: transparent(colour, 0.7),
          thickness: 1.4, width: 3,
        };
      }
    } else {
      one.mode = "lines";
      const dash = { theory: "solid", paper: "dash", chance: "dot" }[curve.kind];
      one.line = { color: colour, width: curve.kind === "chance" ? 1.3 : 2.4, dash };
    }
    return one;
  }

  // A band between low and high of a line, drawn before the line itself.
  function band(curve, colours) {
    const keep = curve.x.map((_, at) => at).filter((at) => curve.low[at] !== null && curve.high[at] !== null);
    return {
      type: "scatter", mode: "lines", x: [...keep.map((at) => curve.x[at]), ...keep.map((at) => curve.x[at]).reverse()],
      y: [...keep.map((at) => curve.high[at]), ...keep.map((at) => curve.low[at]).reverse()],
      fill: "toself", fillcolor: transparent(colours[curve.colour], 0.2), line: { width: 0 },
      hoverinfo: "skip", showlegend: false,
    };
  }

  function traces(panel, colours) {
    return panel.curves.flatMap((curve) => {
      const one = trace(curve, panel, colours);
      return curve.low && one.mode === "lines" ? [band(curve, colours), one] : [one];
    });
  }

  function axis(given, colours) {
    const range = given.range && (given.log ? given.range.map(Math.log10) : given.range);
    return {
      title: { text: given.label, standoff: 8 }, type: given.log ? "log" : "linear", range: range || undefined,
      autorange: !range, gridcolor: transparent(colours.line, 0.5), linecolor: colours.line, zeroline: false,
      ticks: "outside", tickcolor: colours.line, automargin: true, exponentformat: "power",
      minor: { ticks: given.log ? "outside" : "", ticklen: 3, tickcolor: colours.line },
      ...(given.log ? { dtick: range && Math.abs(range[1] - range[0]) < 1.3 ? undefined : 1 } : {}),
    };
  }

  function layout(panel, colours) {
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 13, color: colours.ink },
      margin: { l: 56, r: 14, t: 8, b: 48 }, hovermode: "closest", dragmode: false,
      xaxis: axis(panel.x, colours), yaxis: axis(panel.y, colours),
      legend: { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", font: { size: 12 } },
      hoverlabel: { bgcolor: colours.paper, bordercolor: colours.line, font: { color: colours.ink }, align: "left" },
      showlegend: true, uirevision: "kept",
    };
  }

  function draw(element, panel) {
    const colours = PALETTE[theme()];
    drawn.set(element, panel);
    return Plotly.react(element, traces(panel, colours), layout(panel, colours), {
      displayModeBar: false, responsive: true, doubleClick: false, showTips: false, scrollZoom: false,
    });
  }

  function redraw() {
    for (const [element, panel] of drawn) element.isConnected ? draw(element, panel) : drawn.delete(element);
  }

  // A picture for a file is always in the colours of paper.
  async function image(element, format) {
    const panel = drawn.get(element);
    const colours = PALETTE.light;
    const paper = { ...layout(panel, colours), paper_bgcolor: "#ffffff", title: { text: panel.title, font: { size: 15 } } };
    paper.margin = { ...paper.margin, t: 90 };
    const figure = { data: traces(panel, colours), layout: paper };
    return Plotly.toImage(figure, { format, width: 900, height: 600, scale: format === "png" ? 2 : 1 });
  }

  function table(panel) {
    const cell = (value) => {
      const text = value === null || value === undefined ? "" : String(value);
      return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const rows = panel.curves.flatMap((curve) => curve.x.map((x, at) => [
      curve.name, curve.kind, x, curve.y[at], curve.low ? curve.low[at] : null, curve.high ? curve.high[at] : null,
    ]));
    return [["curve", "kind", "x", "y", "low", "high"], ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
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
  return { draw, redraw, download, table, theme };
})();
