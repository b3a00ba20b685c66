// Draws the figure that the page names; the zoom is part of the URL. It needs trend_card.js.

const chart = document.getElementById("chart");
const LARGE = 12; // size of a marker with a verdict, in pixels
const NEAR = 9; // pixels
const PLACES = /^(-?\d+(\.\d+)?(e-?\d+)?|\d{4}-\d\d-\d\d[\d:. TZ-]*)$/; // numbers of commits, or moments

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function themed() {
  return {
    "paper_bgcolor": colour("--raised"),
    "font.color": colour("--text"),
    "font.family": "system-ui, sans-serif",
    "xaxis.linecolor": colour("--line"),
    "xaxis.color": colour("--quiet"),
    "yaxis.gridcolor": colour("--line"),
    "yaxis.color": colour("--quiet"),
    "modebar.bgcolor": "rgba(0,0,0,0)",
    "modebar.color": colour("--quiet"),
    "modebar.activecolor": colour("--text"),
  };
}

function zoomOf(url, type) {
  const places = ["from", "to"].map((name) => url.searchParams.get(name) || "");
  const isKnown = places.every((text) => PLACES.test(text) && (type === "date") === /^\d{4}-\d\d-/.test(text));
  if (!isKnown) return null;
  return type === "date" ? places : places.map(Number);
}

function rememberZoom(change) {
  const url = new URL(location.href);
  if (change["xaxis.autorange"]) {
    url.searchParams.delete("from");
    url.searchParams.delete("to");
  } else if (change["xaxis.range[0]"] !== undefined) {
    url.searchParams.set("from", String(change["xaxis.range[0]"]));
    url.searchParams.set("to", String(change["xaxis.range[1]"]));
  } else {
    return;
  }
  history.replaceState(null, "", url);
}

// Where a point is in the chart, in pixels; null if the zoom leaves it out.
function placeOf({ curveNumber, pointNumber }) {
  const { xaxis, yaxis } = chart._fullLayout;
  const trace = chart.data[curveNumber];
  const x = xaxis.d2p(trace.x[pointNumber]);
  const y = yaxis.d2p(trace.y[pointNumber]);
  const isInside = x >= -1 && y >= -1 && x <= xaxis._length + 1 && y <= yaxis._length + 1;
  return isInside ? { x: chart.clientLeft + xaxis._offset + x, y: chart.clientTop + yaxis._offset + y } : null;
}

// The marker of a verdict near the pointer: the dots around it, which are closer to each other than to see, yield.
function verdictNear(pointer) {
  const frame = chart.parentElement.getBoundingClientRect();
  if (pointer?.clientX === undefined) return null;
  let nearest = null;
  let within = NEAR;
  chart.data.forEach((trace, curveNumber) => {
    if (trace.marker?.size !== LARGE || trace.visible === "legendonly") return;
    trace.x.forEach((_, pointNumber) => {
      const at = placeOf({ curveNumber, pointNumber });
      const far = at ? Math.hypot(frame.left + at.x - pointer.clientX, frame.top + at.y - pointer.clientY) : NEAR;
      if (far < within) {
        within = far;
        nearest = { curveNumber, pointNumber };
      }
    });
  });
  return nearest;
}

function spotOf(event) {
  const { curveNumber, pointNumber } = event.points[0];
  return verdictNear(event.event) || { curveNumber, pointNumber };
}

async function save(title) {
  const text = title.slice(0, 120).replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);
  const layout = { ...chart.layout, title: { text, font: { size: 14 } }, margin: { ...chart.layout.margin, t: 110 } };
  const size = { width: 1200, height: 520 };
  const address = await window.Plotly.toImage({ data: chart.data, layout }, { format: "svg", ...size });
  const content = new Blob([decodeURIComponent(address.slice(address.indexOf(",") + 1))], { type: "image/svg+xml" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = `${title.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 60) || "trend"}.svg`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function offerDownload() {
  const offered = document.getElementById("downloads");
  if (!offered) return;
  offered.hidden = false;
  offered.firstElementChild.addEventListener("click", () => save(document.getElementById("series").textContent.trim()));
}

async function draw() {
  const isEmbedded = "embedded" in chart.dataset;
  const answer = await fetch(chart.dataset.figure, { credentials: isEmbedded ? "omit" : "same-origin" });
  const figure = await answer.json();
  if (!answer.ok) throw new Error(figure.detail || figure.title);
  const range = zoomOf(new URL(location.href), figure.layout.xaxis.type);
  if (range) Object.assign(figure.layout.xaxis, { range, autorange: false });
  await window.Plotly.newPlot(chart, figure.data, figure.layout, {
    responsive: true,
    displaylogo: false,
    modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  });
  await window.Plotly.relayout(chart, themed());
  const card = new TrendCard(chart, document.getElementById("card"), document.getElementById("announced"), placeOf);
  card.cards = figure.cards;
  chart.on("plotly_relayout", rememberZoom);
  chart.on("plotly_afterplot", () => card.place());
  chart.on("plotly_hover", (event) => card.point(spotOf(event)));
  chart.on("plotly_unhover", () => card.leave());
  chart.on("plotly_click", (event) => card.strike(spotOf(event)));
  chart.tabIndex = 0;
  chart.role = "application";
  chart.ariaLabel = "Chart: the arrow keys go from commit to commit, Enter opens one, Escape closes its card";
  offerDownload();
  const notes = document.getElementById("chart-notes");
  if (notes) figure.notes.forEach((text) => (element("p", text, notes).className = "hint"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.Plotly.relayout(chart, themed()));
  chart.dataset.state = "drawn";
}

if (chart) {
  draw().catch((error) => {
    chart.textContent = `The chart could not be drawn: ${error.message}`;
    chart.dataset.state = "failed";
  });
}
