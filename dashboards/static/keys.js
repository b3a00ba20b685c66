// Keys for the search and the rows of a page; "?" lists them. Rows are marked by data-row.

const dialog = document.getElementById("keys");
const choice = document.getElementById("use-keys");
const MOST = 30; // rows that one key opens: each reads its samples; base.html names it

function opener(row) {
  return row.querySelector("button.expand:not(:disabled)") || (row.matches("tr.row") ? null : linkOf(row));
}

function linkOf(row) {
  return row.querySelector(".permalink") || row.querySelector('th[scope="row"] a');
}

function currentRow() {
  const row = document.activeElement?.closest("tr");
  return row?.classList.contains("samples") ? row.previousElementSibling : row;
}

function move(by) {
  const rows = [...document.querySelectorAll("[data-row]")].filter(linkOf);
  if (rows.length === 0) return false;
  const at = rows.indexOf(currentRow());
  const next = rows[at < 0 && by < 0 ? rows.length - 1 : Math.min(Math.max(at + by, 0), rows.length - 1)];
  (opener(next) || linkOf(next)).focus();
  return true;
}

function open() {
  const row = currentRow();
  const handle = row?.matches("[data-row]") && opener(row);
  handle?.click();
  return Boolean(handle);
}

// comparison.js opens the rows and writes the address once.
function openAll() {
  const isOpen = document.querySelector('button.expand[aria-expanded="true"]') !== null;
  const buttons = [...document.querySelectorAll(`button.expand[aria-expanded="${isOpen}"]:not(:disabled)`)];
  const rows = (isOpen ? buttons : buttons.slice(0, MOST)).map((button) => button.closest("tr"));
  document.dispatchEvent(new CustomEvent("toggle-rows", { detail: rows }));
  return rows.length > 0;
}

function search() {
  const field = document.getElementById("search");
  field?.focus();
  field?.select();
  return field !== null;
}

function list() {
  dialog.showModal();
  return true;
}

// Each returns whether it did something.
const KEYS = { "/": search, j: () => move(1), k: () => move(-1), o: open, e: openAll, "?": list };

function isTyping(target) {
  const field = 'input:not([type="checkbox"], [type="radio"]), textarea, select';
  return target instanceof HTMLElement && (target.isContentEditable || target.matches(field));
}

document.addEventListener("keydown", (event) => {
  const key = Object.hasOwn(KEYS, event.key) && KEYS[event.key];
  if (!key || !choice.checked || dialog.open || isTyping(event.target)) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (key()) event.preventDefault();
});

document.querySelector("button[data-keys]").addEventListener("click", list);

// Who speaks to a computer, or types with a hand that shakes, can switch the keys off. A browser may refuse to store it.
try {
  choice.checked = localStorage.getItem("keys") !== "off";
} catch {
  choice.checked = true;
}
choice.addEventListener("change", () => {
  try {
    localStorage.setItem("keys", choice.checked ? "on" : "off");
  } catch {
    // It holds for this page.
  }
});
