// A flame graph: the words of the frame at the pointer or the focus, arrow keys between frames, and zoom.

const SVG = "http://www.w3.org/2000/svg";
const LABELLED = 30; // pixels, from which a frame has a label
const graph = document.querySelector(".flames .flame");
const line = document.getElementById("frame");
const button = document.getElementById("whole");
const numberOf = (element, name) => parseFloat(element.getAttribute(name));
const frames = [...graph.querySelectorAll("rect")].map((rect) => {
  const [name, words] = rect.textContent.split("\n");
  return { rect, name, words, x: numberOf(rect, "x"), y: numberOf(rect, "y"), width: numberOf(rect, "width"), callees: [] };
});
const [whole] = frames;
let current = whole;

// A frame comes before those that it calls. Without this script, the graph is a picture.
const path = [];
for (const frame of frames) {
  while (path.length && path.at(-1).y >= frame.y) path.pop();
  frame.caller = path.at(-1);
  frame.caller?.callees.push(frame);
  path.push(frame);
  const label = `${frame.name}, ${frame.words}`;
  set(frame.rect, { role: "treeitem", "aria-level": path.length, "aria-label": label, tabindex: frame.caller ? -1 : 0 });
}
graph.setAttribute("role", "tree");

function set(element, values) {
  for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
  return element;
}

function tell(frame) {
  line.textContent = `${frame.name}\u2002${frame.words}`;
  // The line lies over the end of the window: what gets the focus scrolls until it is above.
  document.documentElement.style.scrollPaddingBottom = `${line.parentElement.offsetHeight}px`;
}

function isWithin(frame, outer) {
  return frame === outer || (frame.caller !== undefined && isWithin(frame.caller, outer));
}

function labelOf(frame, place) {
  const text = set(document.createElementNS(SVG, "text"), { x: 4, y: 13 });
  text.textContent = (frame.rect.matches("[class*=more], [class*=less]") ? `${frame.words.split(" ")[0]} ` : "") + frame.name;
  const around = set(document.createElementNS(SVG, "svg"), { class: "label", "aria-hidden": true, ...place });
  set(around, { y: frame.y, height: frame.rect.getAttribute("height") }).append(text);
  return around;
}

// The frame gets the whole width, those around it stay above it, and the others go.
function zoom(to) {
  for (const each of graph.querySelectorAll(".label")) each.remove();
  const labels = [];
  for (const frame of frames) {
    const isAbove = frame !== to && isWithin(to, frame);
    frame.isOut = !isAbove && !isWithin(frame, to);
    const [x, width] = isAbove ? [0, 100] : [frame.x - to.x, frame.width].map((each) => (100 * each) / to.width);
    frame.rect.classList.toggle("above", isAbove);
    frame.rect.classList.toggle("out", frame.isOut);
    set(frame.rect, { x: `${x}%`, width: `${width}%` });
    if (frame.isOut || (width / 100) * graph.clientWidth < LABELLED) continue;
    labels.push(labelOf(frame, { x: `${x}%`, width: `${width}%` }));
  }
  graph.append(...labels);
  button.hidden = to === whole;
}

function focus(frame) {
  current.rect.setAttribute("tabindex", -1);
  frame.rect.setAttribute("tabindex", 0);
  current = frame;
  tell(frame);
  frame.rect.focus();
}

function beside(by) {
  const row = frames.filter((each) => each.y === current.y && !each.isOut);
  return row[row.indexOf(current) + by];
}

function zoomAndStay(to) {
  zoom(to);
  return current;
}

// Each returns the frame to go to, if there is one.
const KEYS = {
  ArrowUp: () => current.caller,
  ArrowDown: () => current.callees.filter((each) => !each.isOut).sort((a, b) => b.width - a.width)[0],
  ArrowLeft: () => beside(-1),
  ArrowRight: () => beside(1),
  Home: () => whole,
  Enter: () => zoomAndStay(current),
  " ": () => zoomAndStay(current),
  Escape: () => zoomAndStay(whole),
};

graph.addEventListener("keydown", (event) => {
  if (!Object.hasOwn(KEYS, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const next = KEYS[event.key]();
  if (next) focus(next);
});
for (const frame of frames) {
  frame.rect.addEventListener("click", () => focus((zoom(frame), frame)));
  for (const kind of ["focus", "pointerenter"]) frame.rect.addEventListener(kind, () => tell(frame));
}
graph.addEventListener("pointerleave", () => tell(current));
button.addEventListener("click", () => focus(zoomAndStay(whole)));
tell(current);
