// Adds the new lines of a log that still grows, and follows its end if the reader is there.

const SECONDS = 2;
const MOST_LINES = 20000;
const NO_ANSWER = "Benchgate does not answer. The page tries again every few seconds.";

async function loadNewLines() {
  const log = document.querySelector("pre[data-growing][data-last]");
  if (!log) return;
  if (document.hidden) {
    document.addEventListener("visibilitychange", loadNewLines, { once: true });
    return;
  }
  let isBehind = false;
  try {
    const address = `${location.pathname}?start=${log.dataset.next}`;
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (isFinal(answer.status)) {
      stop(answer.status);
      return;
    }
    if (answer.ok) isBehind = add(log, new DOMParser().parseFromString(await answer.text(), "text/html"));
    report(answer.ok ? "" : NO_ANSWER);
  } catch {
    report(NO_ANSWER); // The service may be restarting.
  }
  setTimeout(loadNewLines, isBehind ? 0 : 1000 * SECONDS);
}

// The same request will get this answer again: the session has ended, or the log is gone. 429 passes.
function isFinal(status) {
  return status >= 400 && status < 500 && status !== 429;
}

function stop(status) {
  document.querySelector(".title .follows")?.remove();
  report(`New lines no longer appear: Benchgate answered with status ${status}. Reload the page.`);
}

// Tells the reader, also one with a screen reader, why no new lines appear.
function report(text) {
  const place = document.querySelector("p.no-lines");
  if (place && place.textContent !== text) place.textContent = text;
}

// Returns whether there are more lines already.
function add(log, page) {
  const fresh = page.querySelector("pre[data-next]");
  // Another attempt has a log of its own.
  if (!fresh || fresh.dataset.name !== log.dataset.name) {
    location.replace(location.pathname);
    return false;
  }
  const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 40;
  log.querySelector(".unfinished")?.remove();
  // Both name the gap between them; the newer one knows its size.
  if (log.lastElementChild?.matches(".gap") && fresh.firstElementChild?.matches(".gap")) log.lastElementChild.remove();
  log.append(...fresh.childNodes);
  while (log.childElementCount > MOST_LINES) log.firstElementChild.remove();
  log.dataset.next = fresh.dataset.next;
  document.querySelector(".title .facts")?.replaceWith(page.querySelector(".title .facts"));
  const isBehind = !("last" in fresh.dataset);
  if (!isBehind && !("growing" in fresh.dataset)) {
    delete log.dataset.growing;
    document.querySelector("p.newest")?.remove();
  }
  if (isAtEnd) scrollTo(scrollX, document.documentElement.scrollHeight);
  return isBehind;
}

setTimeout(loadNewLines, 1000 * SECONDS);
