// Shown checks: Benchgate's builds, as Gerrit's Checks tab takes them.

// The only setting: the address under which browsers reach Benchgate. The command `plugin` replaces it.
const BENCHGATE = "https://benchgate.example.com";

const POLLING_SECONDS = 60;
const PATIENCE = 10_000; // milliseconds, for one answer
const LINE = 100; // characters

const STATUSES = ["RUNNABLE", "SCHEDULED", "RUNNING", "COMPLETED"];
const CATEGORIES = ["SUCCESS", "INFO", "WARNING", "ERROR"];
// As Benchgate reads it in a command: it would take anything else for prose.
const JOB = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/;

/**
 * Fetch the builds of a patch set. Never rejects: an error becomes an answer that Gerrit shows.
 *
 * @param {RestPluginApi} gerrit
 * @param {Commands} commands
 * @param {ChangeData} change
 * @returns {Promise<FetchResponse>}
 */
async function fetchChecks(gerrit, commands, change) {
  try {
    if (!(await gerrit.getLoggedIn())) {
      return { responseCode: code("NOT_LOGGED_IN"), loginCallback: signIn };
    }
    const isNumbered = Number.isInteger(change.patchsetNumber) && change.patchsetNumber > 0;
    return isNumbered ? await ask(commands, change) : shown([]); // an edit has no number
  } catch (error) {
    return failed(`Benchgate cannot be reached at ${BENCHGATE}: ${reasonOf(error)}`);
  }
}

/**
 * @param {Commands} commands
 * @param {ChangeData} change
 * @returns {Promise<FetchResponse>}
 */
async function ask(commands, change) {
  const signal = AbortSignal.timeout(PATIENCE);
  // Browsers send Benchgate's cookie from a Gerrit on the same site only, so from others nobody is signed in.
  // No extra header: with one, the browser would send a preflight request first.
  const answer = await fetch(addressFor(change), { credentials: "include", signal });
  if (answer.status === 401) {
    const page = pageOf(change, answer);
    return { responseCode: code("NOT_LOGGED_IN"), loginCallback: () => openPage(commands.tab, page) };
  }
  if (answer.status === 404) return { ...shown([]), links: linksToUnknown(change, answer) };
  if (!answer.ok) return failed(`Benchgate answered ${answer.status}${await detailOf(answer)}`);
  const runs = objects(objectIn(await answer.json()).runs);
  return shown(runs.map((run) => runFrom(run, runs, commands, change)));
}

/** @param {ChangeData} change */
function addressFor(change) {
  const address = addressOf("/api/v1/gerrit/checks");
  address.searchParams.set("change", String(change.changeNumber));
  address.searchParams.set("patchset", String(change.patchsetNumber));
  if (change.patchsetSha) address.searchParams.set("sha", change.patchsetSha);
  if (change.repo) address.searchParams.set("repo", change.repo);
  return address;
}

/**
 * Several Gerrits may have one number: Benchgate then answers with the name of this one.
 *
 * @param {ChangeData} change
 * @param {Response} answer
 */
function pageOf(change, answer) {
  const instance = answer.headers.get("Benchgate-Instance");
  const prefix = instance === null ? "" : `${encodeURIComponent(instance)}~`;
  return addressOf(`/changes/${prefix}${change.changeNumber}/${change.patchsetNumber}`);
}

/** @param {string} path */
function addressOf(path) {
  return new URL(BENCHGATE.replace(/\/+$/, "") + path);
}

/**
 * Open Benchgate's page of a patch set, which asks people to sign in, and update the tab when they return.
 *
 * @param {ChecksPluginApi} tab
 * @param {URL} page
 */
function openPage(tab, page) {
  window.open(page, "_blank", "noopener");
  window.addEventListener("focus", () => tab.announceUpdate(), { once: true });
}

/**
 * Benchgate does not say whether it knows a change that is not public; its page asks people to sign in.
 *
 * @param {ChangeData} change
 * @param {Response} answer
 * @returns {Link[]}
 */
function linksToUnknown(change, answer) {
  const tooltip = "Benchgate shows the builds of a private change to people who signed in there";
  const link = { url: pageOf(change, answer).href, tooltip, primary: true, icon: /** @type {LinkIcon} */ ("external") };
  return change.changeInfo.is_private ? [link] : [];
}

/**
 * Only the properties listed here reach Gerrit, so that no received text is taken for code or Markdown.
 *
 * @param {Json} run
 * @param {Json[]} all
 * @param {Commands} commands
 * @param {ChangeData} change
 * @returns {CheckRun}
 */
function runFrom(run, all, commands, change) {
  const job = text(run.checkName) ?? "";
  const offered = takesCommands(change) && JOB.test(job) && isNewest(run, all);
  const status = /** @type {RunStatus} */ (known(STATUSES, run.status, "COMPLETED"));
  return {
    change: change.changeNumber,
    patchset: change.patchsetNumber,
    attempt: typeof run.attempt === "number" ? run.attempt : undefined,
    externalId: text(run.externalId),
    checkName: job,
    checkLink: webAddress(run.checkLink),
    status,
    statusDescription: text(run.statusDescription),
    labelName: text(run.labelName),
    scheduledTimestamp: date(run.scheduledTimestamp),
    startedTimestamp: date(run.startedTimestamp),
    finishedTimestamp: date(run.finishedTimestamp),
    actions: offered ? commands.forRun(job, status) : [],
    results: objects(run.results).map((result) =>
      resultFrom(result, offered ? commands.forResult(job, result) : []),
    ),
  };
}

/**
 * @param {Json} result
 * @param {Action[]} actions
 * @returns {CheckResult}
 */
function resultFrom(result, actions) {
  return {
    externalId: text(result.externalId),
    category: /** @type {Category} */ (known(CATEGORIES, result.category, "INFO")),
    summary: text(result.summary) ?? "",
    message: literally(text(result.message)),
    tags: objects(result.tags).map(tagFrom),
    links: objects(result.links).flatMap(linkFrom),
    actions,
  };
}

/**
 * @param {Json} tag
 * @returns {Tag}
 */
function tagFrom(tag) {
  const color = /** @type {TagColor | undefined} */ (text(tag.color));
  return { name: text(tag.name) ?? "", tooltip: text(tag.tooltip), color };
}

/**
 * @param {Json} link
 * @returns {Link[]} none if the link leads to no page
 */
function linkFrom(link) {
  const url = webAddress(link.url);
  const icon = /** @type {LinkIcon} */ (text(link.icon) ?? "external");
  return url ? [{ url, tooltip: text(link.tooltip), primary: link.primary === true, icon }] : [];
}

/**
 * Show a message as it is. Gerrit renders messages as Markdown, which would remove the stars of a name;
 * it keeps code unchanged, but does not wrap it.
 *
 * @param {string | undefined} message
 */
function literally(message) {
  if (message === undefined) return undefined;
  const fitting = new RegExp(`.{1,${LINE}}(?:\\s|$)|.{1,${LINE}}`, "gu");
  const lines = message.split("\n").flatMap((line) => line.match(fitting) ?? [""]);
  // Nothing inside may end the code: no run of backticks is as long.
  const longest = Math.max(2, ...(message.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return [fence, ...lines.map((line) => line.trim()), fence].join("\n");
}

/**
 * @param {Json} run
 * @param {Json[]} all
 */
function isNewest(run, all) {
  const sameJob = all.filter((other) => other.checkName === run.checkName);
  return sameJob.every((other) => Number(other.attempt) <= Number(run.attempt));
}

/**
 * Whether commands have an effect: on the newest patch set of an open change.
 *
 * @param {ChangeData} change
 */
function takesCommands({ changeInfo, patchsetNumber }) {
  const newest = changeInfo.current_revision_number ?? patchsetNumber; // older servers omit it
  return changeInfo.status === "NEW" && newest === patchsetNumber;
}

window.Gerrit.install((plugin) => {
  const gerrit = plugin.restApi();
  const tab = plugin.checks();
  const commands = new Commands(gerrit, tab);
  tab.register(
    { fetch: (change) => fetchChecks(gerrit, commands, change) },
    { fetchPollingIntervalSeconds: POLLING_SECONDS },
  );
});
