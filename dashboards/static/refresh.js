// Reloads the content of a page that waits for something, and keeps the scroll position. It needs polling.js.

function secondsToWait() {
  const main = document.querySelector("main[data-refresh]");
  return main ? Number(main.dataset.refresh) : null;
}

function replaceContent(page) {
  const main = document.querySelector("main");
  // A form that a person opened stays until they close it.
  const isUsed = main.contains(document.activeElement) || main.querySelector("details.action[open]");
  const fresh = page.querySelector("main");
  if (!isUsed && fresh && fresh.innerHTML !== main.innerHTML) main.replaceWith(fresh);
  return secondsToWait();
}

poll(secondsToWait(), { address: () => location.href, take: replaceContent });
