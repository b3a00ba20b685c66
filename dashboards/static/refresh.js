// A page that waits for something looks again, without moving what is being read.

async function lookAgain() {
  const main = document.querySelector("main[data-refresh]");
  if (!main) return;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.ok && !main.contains(document.activeElement)) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("main");
      if (fresh && fresh.innerHTML !== main.innerHTML) main.replaceWith(fresh);
    }
  } catch {
    // The service is being restarted: the next look will tell.
  }
  plan();
}

function plan() {
  const main = document.querySelector("main[data-refresh]");
  if (main) setTimeout(lookAgain, 1000 * Number(main.dataset.refresh));
}

plan();
