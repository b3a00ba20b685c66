// Shows Benchgate's builds in the Checks tab of Gerrit, and posts the commands of its buttons as comments.
// Gerrit loads this file as it is, as a classic script: it exports nothing and needs no build.
"use strict";

(() => {
  // The only setting: the address under which browsers reach Benchgate.
  const BENCHGATE = "https://benchgate.example.com";

  const POLLING_SECONDS = 60;
  const PATIENCE = 10_000; // milliseconds, for one answer
  const UNTIL_PROCESSED = 5_000; // milliseconds from a comment to its effect, usually
  const LINE = 100; // characters

  const STATUSES = ["RUNNABLE", "SCHEDULED", "RUNNING", "COMPLETED"];
  const CATEGORIES = ["SUCCESS", "INFO", "WARNING", "ERROR"];
  // As Benchgate reads them: it would take anything else for prose or for another command.
  const JOB = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/;
  const BUG = /^(?:[A-Z][A-Z0-9]{1,19}-[0-9]{1,12}|#[0-9]{1,12}|https?:\/\/[!#-;=?-~]{1,300})$/;

  /**
   * @typedef {import("@gerritcodereview/typescript-api/gerrit").Gerrit} Gerrit declares the global one
   * @typedef {import("@gerritcodereview/typescript-api/checks").Action} Action
   * @typedef {import("@gerritcodereview/typescript-api/checks").ActionResult} ActionResult
   * @typedef {import("@gerritcodereview/typescript-api/checks").Category} Category
   * @typedef {import("@gerritcodereview/typescript-api/checks").ChangeData} ChangeData
   * @typedef {import("@gerritcodereview/typescript-api/checks").CheckResult} CheckResult
   * @typedef {import("@gerritcodereview/typescript-api/checks").CheckRun} CheckRun
   * @typedef {import("@gerritcodereview/typescript-api/checks").ChecksPluginApi} ChecksPluginApi
   * @typedef {import("@gerritcodereview/typescript-api/checks").FetchResponse} FetchResponse
   * @typedef {import("@gerritcodereview/typescript-api/checks").Link} Link
   * @typedef {import("@gerritcodereview/typescript-api/checks").LinkIcon} LinkIcon
   * @typedef {import("@gerritcodereview/typescript-api/checks").ResponseCode} ResponseCode
   * @typedef {import("@gerritcodereview/typescript-api/checks").RunStatus} RunStatus
   * @typedef {import("@gerritcodereview/typescript-api/checks").Tag} Tag
   * @typedef {import("@gerritcodereview/typescript-api/checks").TagColor} TagColor
   * @typedef {import("@gerritcodereview/typescript-api/rest").RestPluginApi} RestPluginApi
   * @typedef {Record<string, unknown>} Json a received object, whose values may be anything
   */

  // ---- Shown checks -----------------------------------------------------------------------------------

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

  // ---- Actions ---------------------------------------------------------------------------------------

  /** The buttons: each posts a command as a comment of the signed-in person. */
  class Commands {
    /**
     * @param {RestPluginApi} gerrit
     * @param {ChecksPluginApi} tab
     */
    constructor(gerrit, tab) {
      this.gerrit = gerrit;
      this.tab = tab;
      /** @type {Map<string, Promise<ActionResult>>} */
      this.underway = new Map();
    }

    /**
     * Gerrit shows actions named "Run" and "Cancel" in places of their own.
     *
     * @param {string} job
     * @param {RunStatus} status
     * @returns {Action[]}
     */
    forRun(job, status) {
      return status === "COMPLETED"
        ? [this.action("Run", `Run ${job} again`, () => `recheck ${job}`)]
        : [this.action("Cancel", "Stop all builds of this patch set", () => "cancel")];
    }

    /**
     * @param {string} job
     * @param {Json} result
     * @returns {Action[]}
     */
    forResult(job, result) {
      if (result.category !== "ERROR") return [];
      const tooltip = "Do not count this failure; asks for a bug and a reason";
      return [this.action("Override", tooltip, () => askForOverride(job))];
    }

    /**
     * @param {string} name
     * @param {string} tooltip
     * @param {() => string | Complaint | undefined} commandOf undefined: the person cancelled it
     * @returns {Action}
     */
    action(name, tooltip, commandOf) {
      return {
        name,
        tooltip,
        primary: true,
        callback: (change, patchset) => {
          const command = commandOf();
          if (command instanceof Complaint) return Promise.resolve({ message: command.message });
          return command === undefined ? undefined : this.post(change, patchset, command);
        },
      };
    }

    /**
     * Post a command once, even if several selected runs request it. Never rejects.
     *
     * @param {number} change
     * @param {number} patchset
     * @param {string} message
     * @returns {Promise<ActionResult>}
     */
    post(change, patchset, message) {
      const key = `${change}/${patchset} ${message}`;
      const posting = this.underway.get(key) ?? this.postNow(change, patchset, message);
      this.underway.set(key, posting);
      return posting.finally(() => this.underway.delete(key));
    }

    /**
     * @param {number} change
     * @param {number} patchset
     * @param {string} message
     * @returns {Promise<ActionResult>}
     */
    async postNow(change, patchset, message) {
      try {
        if (!(await this.gerrit.getLoggedIn())) {
          this.tab.announceUpdate(); // the tab then offers to sign in
          return { message: "Nothing was posted: you are not signed in to Gerrit." };
        }
        await this.gerrit.post(`/changes/${change}/revisions/${patchset}/review`, { message });
      } catch (error) {
        return { message: `Gerrit rejected the comment "${message}": ${reasonOf(error)}` };
      }
      this.tab.announceUpdate();
      setTimeout(() => this.tab.announceUpdate(), UNTIL_PROCESSED);
      return { message: `Posted "${message}". Benchgate processes the comment within seconds.` };
    }
  }

  /** The reason why a command cannot be posted. */
  class Complaint {
    /** @param {string} message */
    constructor(message) {
      this.message = message;
    }
  }

  /**
   * @param {string} job
   * @returns {string | Complaint | undefined}
   */
  function askForOverride(job) {
    const bug = prompt(`Override ${job}: which bug is it? (MB-123, #123 or a URL)`)?.trim();
    if (bug === undefined) return undefined;
    if (!BUG.test(bug)) return new Complaint("Nothing was posted: write the bug as MB-123, #123 or a URL.");
    const reason = prompt(`Override ${job} because of ${bug}: why does this failure not count?`);
    if (reason === null) return undefined;
    const line = reason.replace(/\s+/g, " ").trim();
    if (!line) return new Complaint("Nothing was posted: an override needs a reason.");
    return `override ${job} ${bug} ${line}`;
  }

  function signIn() {
    // The path below which Gerrit is served, from its own variable.
    const base = text(Reflect.get(window, "CANONICAL_PATH")) ?? "";
    const page = location.pathname.slice(base.length) + location.search + location.hash;
    location.assign(`${base}/login/${encodeURIComponent(page)}`);
  }

  // ---- Received values ------------------------------------------------------------------------------

  /**
   * @param {CheckRun[]} runs
   * @returns {FetchResponse}
   */
  function shown(runs) {
    return { responseCode: code("OK"), runs };
  }

  /**
   * @param {string} errorMessage
   * @returns {FetchResponse}
   */
  function failed(errorMessage) {
    return { responseCode: code("ERROR"), errorMessage };
  }

  /** @param {"OK" | "ERROR" | "NOT_LOGGED_IN"} word */
  function code(word) {
    return /** @type {ResponseCode} */ (word); // Gerrit's enumerations exist only in its own code
  }

  /** @param {Response} answer a problem (RFC 9457), or the answer of a proxy */
  async function detailOf(answer) {
    const detail = text(objectIn(await answer.json().catch(() => ({}))).detail);
    return detail ? `: ${detail}` : "";
  }

  /** @param {unknown} error */
  function reasonOf(error) {
    return error instanceof Error ? error.message : String(error);
  }

  /**
   * @param {unknown} value
   * @returns {Json}
   */
  function objectIn(value) {
    return typeof value === "object" && value !== null ? /** @type {Json} */ (value) : {};
  }

  /** @param {unknown} value */
  function objects(value) {
    return Array.isArray(value) ? value.map(objectIn) : [];
  }

  /** @param {unknown} value */
  function text(value) {
    return typeof value === "string" ? value : undefined;
  }

  /**
   * @param {string[]} words
   * @param {unknown} value
   * @param {string} otherwise
   */
  function known(words, value, otherwise) {
    return words.find((word) => word === value) ?? otherwise;
  }

  /** @param {unknown} value ISO 8601 */
  function date(value) {
    const moment = new Date(text(value) ?? NaN);
    return Number.isNaN(moment.getTime()) ? undefined : moment;
  }

  /** @param {unknown} value */
  function webAddress(value) {
    const address = text(value) ?? "";
    return /^https?:\/\//i.test(address) ? address : undefined;
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
})();
