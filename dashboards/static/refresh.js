// Reloads the part of a page that waits for something, and keeps the scroll position. It needs polling.js.

const part = () => document.querySelector("[data-refresh]");

function secondsToWait() {
  return part() ? Number(part().dataset.refresh) : null;
}

// A part of the page is asked for by its name, so that the rest need not be made.
function address() {
  const page = new URL(location.href);
  if (part().localName !== "main") page.searchParams.set("part", part().id);
  return page.href;
}

function replaceContent(page) {
  const shown = part();
  // A form that a person opened stays until they close it.
  const isUsed = shown.contains(document.activeElement) || shown.querySelector("details.action[open]");
  const fresh = page.getElementById(shown.id);
  if (shown.querySelector(".next-steps[open]")) fresh?.querySelector(".next-steps")?.setAttribute("open", "");
  if (!isUsed && fresh && fresh.outerHTML !== shown.outerHTML) shown.replaceWith(fresh);
  return secondsToWait();
}

poll(secondsToWait(), { address, take: replaceContent });
