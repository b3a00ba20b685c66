// Keys for the search and the rows of a page; "?" lists them. Rows are marked by data-row.

const dialog = document.getElementById("keys");
const choice = document.getElementById("use-keys");
const MOST = 30; // rows that one key opens: each reads its samples

function handleOf(row) {
  return row.querySelector("button.expand:not(:disabled)") || row.querySelector('th[scope="row"] a');
}

function currentRow() {
  const row = document.activeElement?.closest("tr");
  return row?.classList.contains("samples") ? row.previousElementSibling : row;
}

function move(by) {
  const rows = [...document.querySelectorAll("[data-row]")].filter(handleOf);
  if (rows.length === 0) return;
  const at = rows.indexOf(currentRow());
  const next = at < 0 && by < 0 ? rows.length - 1 : Math.min(Math.max(at + by, 0), rows.length - 1);
  handleOf(rows[next]).focus();
}

function openAll() {
  const buttons = [...document.querySelectorAll("button.expand:not(:disabled)")];
  const closed = buttons.filter((button) => button.getAttribute("aria-expanded") !== "true");
  for (const button of closed.length ? closed.slice(0, MOST) : buttons) button.click();
}

function search() {
  const field = document.getElementById("search");
  field?.focus();
  field?.select();
}

const KEYS = {
  "/": search,
  j: () => move(1),
  k: () => move(-1),
  o: () => currentRow()?.matches("[data-row]") && handleOf(currentRow())?.click(),
  e: openAll,
  "?": () => dialog.showModal(),
};

function isTyping(target) {
  const field = 'input:not([type="checkbox"], [type="radio"]), textarea, select';
  return target instanceof HTMLElement && (target.isContentEditable || target.matches(field));
}

document.addEventListener("keydown", (event) => {
  const key = Object.hasOwn(KEYS, event.key) && KEYS[event.key];
  if (!key || !choice.checked || dialog.open || isTyping(event.target)) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  key();
});

document.querySelector("button[data-keys]").addEventListener("click", () => dialog.showModal());

// Who speaks to a computer, or types with a hand that shakes, can switch the keys off.
choice.checked = localStorage.getItem("keys") !== "off";
choice.addEventListener("change", () => localStorage.setItem("keys", choice.checked ? "on" : "off"));
