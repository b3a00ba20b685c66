// Asks for a page again while its tab is shown, and less and less often while Benchgate does not answer.

const MOST_SECONDS = 60; // between two attempts

// The same request will get this answer again for now: the session has ended, or the page is gone. 429 passes.
function isFinal(status) {
  return status >= 400 && status < 500 && status !== 429;
}

// Returns the status, and the text of a page; 0 without an answer.
async function read(address) {
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    return [answer.status, answer.ok ? await answer.text() : null];
  } catch {
    return [0, null]; // The service may be restarting.
  }
}

// Asks for the page at `address()` after so many seconds. `take` gets it, and returns the seconds until the next
// request, or null to end. `fail` gets the status of a final answer, after which the page is asked for again only
// when somebody returns to its tab; 0 if there will be another attempt.
function poll(seconds, { address, take, fail = () => {} }) {
  let failures = 0;

  function askOnReturn() {
    document.addEventListener("visibilitychange", ask, { once: true });
  }

  async function ask() {
    if (document.hidden) {
      askOnReturn();
      return;
    }
    const [status, text] = await read(address());
    if (isFinal(status)) {
      fail(status);
      askOnReturn();
    } else if (text === null) {
      fail(0);
      plan(Math.min(seconds * 2 ** failures, MOST_SECONDS));
      failures += 1;
    } else {
      failures = 0;
      plan(take(new DOMParser().parseFromString(text, "text/html")));
    }
  }

  function plan(wait) {
    if (wait !== null) setTimeout(ask, 1000 * wait);
  }

  plan(seconds);
}
