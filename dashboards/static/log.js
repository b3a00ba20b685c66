// Adds the new lines of a log that still grows, and follows its end if the reader is there. It needs polling.js.

const SECONDS = 2;
const MOST_LINES = 20000;
const NO_ANSWER = "Benchgate does not answer. The page tries again, at least once a minute.";

function fail(status) {
  if (status === 0) {
    report(NO_ANSWER);
    return;
  }
  document.querySelector(".title .follows")?.remove();
  report(`New lines no longer appear: Benchgate answered with status ${status}. Reload the page.`);
}

// Tells the reader, also one with a screen reader, why no new lines appear.
function report(text) {
  const place = document.querySelector("p.no-lines");
  if (place && place.textContent !== text) place.textContent = text;
}

// Returns the seconds until the next request: 0 if there are more lines already, null if there will be none.
function add(log, page) {
  report("");
  const fresh = page.querySelector("pre[data-next]");
  // Another attempt has a log of its own.
  if (!fresh || fresh.dataset.name !== log.dataset.name) {
    location.replace(location.pathname);
    return null;
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
  const hasEnded = !isBehind && !("growing" in fresh.dataset);
  if (hasEnded) document.querySelector("p.newest")?.remove();
  if (isAtEnd) scrollTo(scrollX, document.documentElement.scrollHeight);
  if (hasEnded) return null;
  return isBehind ? 0 : SECONDS;
}

const log = document.querySelector("pre[data-growing][data-last]");
if (log) {
  poll(SECONDS, {
    address: () => `${location.pathname}?start=${log.dataset.next}`,
    take: (page) => add(log, page),
    fail,
  });
}
