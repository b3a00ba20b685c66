// Actions: the buttons, which post commands as comments of the signed-in person.

const UNTIL_PROCESSED = 5_000; // milliseconds from a comment to its effect, usually
// As Benchgate reads it: it would take anything else for prose or for another command.
const BUG = /^(?:[A-Z][A-Z0-9]{1,19}-[0-9]{1,12}|#[0-9]{1,12}|https?:\/\/[!#-;=?-~]{1,300})$/;

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
