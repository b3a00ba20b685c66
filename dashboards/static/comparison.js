// The tables of comparisons and test cases: search while typing, filters without a reload, samples on demand. The URL holds all state.

const SVG = "http://www.w3.org/2000/svg";
let typing = 0;
let newest = 0;

function svgElement(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function htmlElement(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

// --- filters ---

async function show(url) {
  const turn = ++newest;
  history.replaceState(null, "", url);
  const answer = await fetch(url, { headers: { Accept: "text/html" } });
  const text = await answer.text();
  if (turn !== newest || !answer.ok) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  for (const table of document.querySelectorAll(".comparison, .patch-sets, .test-cases")) {
    const fresh = page.getElementById(table.id);
    if (fresh) table.replaceWith(fresh);
  }
  openNamedRows();
}

function changed(name, value, isDefault) {
  const url = new URL(location.href);
  if (isDefault) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  return url;
}

// The focus stays on the column, whose link then leads to the opposite order.
async function sort(link) {
  const [table, at] = [link.closest(".comparison").id, link.closest("th").cellIndex];
  await show(changed("sort", link.dataset.sort, link.dataset.sort === ""));
  document.querySelector(`#${table} thead`)?.rows[0].cells[at].querySelector("a").focus();
}

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest("a[data-show]");
  if (link) {
    event.preventDefault();
    show(changed("show", link.dataset.show, link.dataset.show === "significant"));
    return;
  }
  const order = event.target.closest("a[data-sort]");
  if (order) {
    event.preventDefault();
    sort(order);
    return;
  }
  const button = event.target.closest("button.expand");
  if (button) toggleAll([button.closest("tr")]);
});

// The key that opens all rows is in keys.js.
document.addEventListener("toggle-rows", (event) => toggleAll(event.detail));

document.addEventListener("input", (event) => {
  if (!(event.target instanceof HTMLInputElement) || event.target.id !== "search") return;
  clearTimeout(typing);
  const value = event.target.value.trim();
  typing = setTimeout(() => show(changed("q", value, value === "")), 150);
});

document.addEventListener("submit", (event) => {
  const search = event.target.querySelector("#search");
  if (!search) return;
  event.preventDefault();
  clearTimeout(typing);
  const value = search.value.trim();
  show(changed("q", value, value === ""));
});

// --- samples ---

function openRows() {
  return (new URL(location.href).searchParams.get("open") || "").split(",").filter(Boolean);
}

// The address is written once.
function toggleAll(rows) {
  const open = new Set(openRows());
  for (const row of rows) {
    toggle(row);
    const isOpen = row.querySelector("button.expand").getAttribute("aria-expanded") === "true";
    open[isOpen ? "add" : "delete"](row.dataset.series);
  }
  const url = changed("open", [...open].join(","), open.size === 0);
  history.replaceState(null, "", url.href.replaceAll("%2C", ","));
}

function openNamedRows() {
  for (const series of openRows()) {
    if (!/^\d+$/.test(series)) continue;
    for (const row of document.querySelectorAll(`tr.row[data-series="${series}"]`)) {
      if (!row.nextElementSibling?.classList.contains("samples")) toggle(row);
    }
  }
}

async function toggle(row) {
  const button = row.querySelector("button.expand");
  if (!button || button.disabled) return;
  const isOpen = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(isOpen));
  const next = row.nextElementSibling;
  if (next && next.classList.contains("samples")) next.remove();
  if (!isOpen) return;
  const place = htmlElement("tr", undefined, "samples");
  const cell = htmlElement("td");
  cell.colSpan = row.cells.length;
  const why = row.dataset.why ? [htmlElement("p", row.dataset.why, "why")] : [];
  const show = (...parts) => cell.replaceChildren(...why, ...parts);
  place.append(cell);
  row.after(place);
  show();
  if (row.dataset.bare !== undefined) return; // no samples
  show(htmlElement("p", "Loading samples …", "hint"));
  const { job, number } = row.closest(".comparison").dataset;
  const url = `/api/v1/builds/${encodeURIComponent(job)}/${number}/samples?series=${row.dataset.series}`;
  try {
    const answer = await fetch(url);
    const body = await answer.json();
    if (!answer.ok) throw new Error(`${body.detail || body.title} (request ${body.request_id})`);
    show(...samplesView(body));
  } catch (error) {
    const again = htmlElement("button", "Try again");
    again.type = "button";
    again.addEventListener("click", () => { place.remove(); button.setAttribute("aria-expanded", "false"); toggle(row); });
    show(htmlElement("p", `The samples could not be read: ${error.message} `, "hint"), again);
  }
}

function scaled(unit) {
  const name = unit === "1/s" ? "/s" : unit;
  return (value) => {
    if (value === null || value === undefined) return "–";
    const steps = unit === "s" ? [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]] : [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
    const [size, prefix] = steps.find(([size]) => Math.abs(value) >= size) || (unit === "s" ? [1e-9, "n"] : [1, ""]);
    return `${Number((value / size).toPrecision(4))} ${prefix}${name}`.trim();
  };
}

function samplesView(samples) {
  const pairs = samples.patch.length > samples.base.length ? samples.patch : samples.base;
  const both = [...samples.base, ...samples.patch].filter((value) => value !== null);
  if (both.length === 0) return [htmlElement("p", "All samples were discarded.", "hint")];
  const format = scaled(samples.unit);
  return [strip(samples, pairs.length, both, format), legend(), numbers(samples, pairs.length, format)];
}

function strip(samples, count, both, format) {
  const [left, right, top, bottom] = [92, 10, 12, 22];
  const [width, height] = [900, 190];
  const low = Math.min(...both);
  const high = Math.max(...both);
  const room = (high - low) * 0.08 || Math.abs(high) * 0.01 || 1;
  const x = (pair) => left + ((pair + 0.5) / count) * (width - left - right);
  const y = (value) => top + (1 - (value - low + room) / (high - low + 2 * room)) * (height - top - bottom);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, class: "strip", role: "img", "aria-label": "Samples of base and patch, pair by pair; the table below holds the numbers" });
  for (const value of [low, (low + high) / 2, high]) {
    svg.append(svgElement("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
    svg.append(svgElement("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, format(value)));
  }
  const every = Math.max(1, Math.ceil(count / 16));
  for (let pair = 0; pair < count; pair += 1) {
    const base = samples.base[pair] ?? null;
    const patch = samples.patch[pair] ?? null;
    if (pair % every === 0) svg.append(svgElement("text", { x: x(pair), y: height - 6, "text-anchor": "middle" }, pair + 1));
    if (base !== null && patch !== null) svg.append(svgElement("line", { class: "pair", x1: x(pair), x2: x(pair), y1: y(base), y2: y(patch) }));
    if (base !== null) svg.append(svgElement("circle", { class: "base", cx: x(pair), cy: y(base), r: 4 }));
    if (patch !== null) svg.append(svgElement("rect", { class: "patch", x: x(pair) - 3.5, y: y(patch) - 3.5, width: 7, height: 7 }));
  }
  return svg;
}

function legend() {
  const text = htmlElement("p", undefined, "legend");
  const key = (className) => {
    const svg = svgElement("svg", { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true", class: "strip-key" });
    svg.append(className === "base" ? svgElement("circle", { class: "base", cx: 6, cy: 6, r: 4 }) : svgElement("rect", { class: "patch", x: 2.5, y: 2.5, width: 7, height: 7 }));
    return svg;
  };
  text.append(key("base"), " base ", key("patch"), " patch, one column per pair in the order measured");
  return text;
}

function numbers(samples, count, format) {
  const details = htmlElement("details");
  details.append(htmlElement("summary", "Exact numbers"));
  const table = htmlElement("table");
  const head = htmlElement("tr");
  for (const name of ["Pair", "Base", "Patch", "Patch ÷ base"]) {
    const cell = htmlElement("th", name, "number");
    cell.scope = "col";
    head.append(cell);
  }
  table.append(htmlElement("thead"), htmlElement("tbody"));
  table.tHead.append(head);
  for (let pair = 0; pair < count; pair += 1) {
    const [base, patch] = [samples.base[pair] ?? null, samples.patch[pair] ?? null];
    const row = htmlElement("tr");
    row.append(htmlElement("td", pair + 1, "number"));
    for (const value of [base, patch]) {
      const cell = htmlElement("td", value === null ? "discarded" : String(value), "number");
      cell.title = format(value);
      row.append(cell);
    }
    row.append(htmlElement("td", base && patch !== null ? (patch / base).toFixed(4) : "–", "number"));
    table.tBodies[0].append(row);
  }
  const scroll = htmlElement("div", undefined, "scroll");
  scroll.tabIndex = 0; // so that the keyboard can scroll it
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", "Exact numbers");
  scroll.append(table);
  details.append(scroll);
  return details;
}

// A link to a row opens it.
function openTarget() {
  const row = document.getElementById(location.hash.slice(1));
  if (!row?.matches("tr.row")) return;
  if (!row.nextElementSibling?.classList.contains("samples")) toggle(row);
  row.scrollIntoView({ block: "center" });
}

addEventListener("hashchange", openTarget);
openNamedRows();
openTarget();
