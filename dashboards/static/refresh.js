// Reloads the content of a page that waits for something, and keeps the scroll position.

async function reload() {
  const main = document.querySelector("main[data-refresh]");
  if (!main) return;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    // A form that a person opened stays until they close it.
    const isUsed = main.contains(document.activeElement) || main.querySelector("details.action[open]");
    if (answer.ok && !isUsed) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("main");
      if (fresh && fresh.innerHTML !== main.innerHTML) main.replaceWith(fresh);
    }
  } catch {
    // The service is restarting: the next attempt will succeed.
  }
  plan();
}

function plan() {
  const main = document.querySelector("main[data-refresh]");
  if (main) setTimeout(reload, 1000 * Number(main.dataset.refresh));
}

plan();
