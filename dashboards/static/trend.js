// Draws the figure that the page names; the zoom is part of the URL.

const chart = document.getElementById("chart");
const LARGE = 12; // size of a marker with a verdict, in pixels
const NEAR = 9; // pixels

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function themed() {
  return {
    "font.color": colour("--text"),
    "font.family": "system-ui, sans-serif",
    "xaxis.linecolor": colour("--line"),
    "xaxis.color": colour("--quiet"),
    "yaxis.gridcolor": colour("--line"),
    "yaxis.color": colour("--quiet"),
    "hoverlabel.bgcolor": colour("--raised"),
    "hoverlabel.bordercolor": colour("--line"),
    "hoverlabel.font.color": colour("--text"),
    "hoverlabel.align": "left",
    "modebar.bgcolor": "rgba(0,0,0,0)",
    "modebar.color": colour("--quiet"),
    "modebar.activecolor": colour("--text"),
  };
}

function zoomOf(url) {
  const moments = ["from", "to"].map((name) => url.searchParams.get(name) || "");
  return moments.every((text) => /^\d{4}-\d\d-\d\d[\d:. TZ-]*$/.test(text)) ? moments : null;
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

// The marker of a verdict near the pointer: the dots around it, which are closer to each other than to see, yield.
function verdictNear(pointer) {
  const plot = chart.querySelector(".nsewdrag")?.getBoundingClientRect();
  if (!plot || pointer?.clientX === undefined) return null;
  const { xaxis, yaxis } = chart._fullLayout;
  let nearest = null;
  let within = NEAR;
  chart.data.forEach((trace, curveNumber) => {
    if (!Array.isArray(trace.marker?.size) || trace.visible === "legendonly") return;
    trace.marker.size.forEach((size, pointNumber) => {
      if (size < LARGE) return;
      const x = plot.left + xaxis.d2p(trace.x[pointNumber]) - pointer.clientX;
      const y = plot.top + yaxis.d2p(trace.y[pointNumber]) - pointer.clientY;
      if (Math.hypot(x, y) < within) {
        within = Math.hypot(x, y);
        nearest = { curveNumber, pointNumber };
      }
    });
  });
  return nearest;
}

async function draw() {
  const answer = await fetch(chart.dataset.figure);
  const figure = await answer.json();
  if (!answer.ok) throw new Error(figure.detail || figure.title);
  const range = zoomOf(new URL(location.href));
  if (range) Object.assign(figure.layout.xaxis, { range, autorange: false });
  await window.Plotly.newPlot(chart, figure.data, figure.layout, {
    responsive: true,
    displaylogo: false,
    modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  });
  await window.Plotly.relayout(chart, themed());
  chart.on("plotly_relayout", rememberZoom);
  let tapped = null;
  chart.on("plotly_hover", (event) => {
    const near = verdictNear(event.event);
    const { curveNumber, pointNumber } = event.points[0];
    if (near && (near.curveNumber !== curveNumber || near.pointNumber !== pointNumber)) window.Plotly.Fx.hover(chart, [near]);
  });
  chart.on("plotly_click", (event) => {
    const near = verdictNear(event.event);
    const page = near ? chart.data[near.curveNumber].customdata[near.pointNumber] : event.points[0]?.customdata;
    if (typeof page !== "string" || !page.startsWith("/")) return;
    // Without a mouse, the first tap shows the values and the second one opens the page.
    const isFirst = tapped !== page && matchMedia("(hover: none)").matches;
    tapped = page;
    if (!isFirst) location.assign(page);
    else if (near) window.Plotly.Fx.hover(chart, [near]);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.Plotly.relayout(chart, themed()));
  chart.dataset.state = "drawn";
}

if (chart) {
  draw().catch((error) => {
    chart.textContent = `The chart could not be drawn: ${error.message}`;
    chart.dataset.state = "failed";
  });
}
