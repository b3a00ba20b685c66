import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, mock, test } from "node:test";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

const PLUGIN = fileURLToPath(new URL("../plugin", import.meta.url));
const BENCHGATE = "https://perf.example.com:8443/benchgate";
const SOURCE = execFileSync(PLUGIN, [BENCHGATE], { encoding: "utf8" });
const SHA = "c0ffee12".repeat(5);

const RUN = {
  change: 4712,
  patchset: 2,
  attempt: 1,
  externalId: "kv-engine-cv-perf/5904",
  checkName: "kv-engine-cv-perf",
  checkLink: "https://perf.example/job/kv-engine-cv-perf/5904/",
  status: "COMPLETED",
  statusDescription: "slower",
  labelName: "Verified",
  scheduledTimestamp: "2026-11-21T02:06:00Z",
  startedTimestamp: "2026-11-21T02:08:00.250000Z",
  finishedTimestamp: "2026-11-21T02:16:40Z",
  results: [
    {
      externalId: "kv-engine-cv-perf/5904",
      category: "ERROR",
      summary: "2 of 21 slower",
      message: "2 of 21 slower\n\n1 of 21 faster",
      tags: [{ name: "−12.3 %", tooltip: "OneShot items/s", color: "pink" }],
      links: [{ url: "https://perf.example/runs/41", tooltip: "All builds", primary: true, icon: "external" }],
    },
  ],
};

/** Gerrit's page with the plugin in it, and the requests to both servers. */
class Page {
  isSignedIn = true;
  posted = [];
  updates = 0;
  asked = [];
  opened = []; // windows
  listeners = [];
  prompts = [];
  answers = []; // to prompts, in order
  answer = () => json({ responseCode: "OK", runs: [RUN] });
  post = async () => ({});

  constructor() {
    const tab = {
      register: (provider, config) => Object.assign(this, { provider, config }),
      announceUpdate: () => this.updates++,
    };
    const rest = {
      getLoggedIn: async () => this.isSignedIn,
      post: async (url, body) => {
        this.posted.push([url, body]);
        return this.post();
      },
    };
    globalThis.window = {
      Gerrit: { install: (callback) => callback({ checks: () => tab, restApi: () => rest }) },
      open: (...opened) => this.opened.push([String(opened[0]), ...opened.slice(1)]),
      addEventListener: (name, listener, options) => this.listeners.push([name, listener, options]),
    };
    globalThis.location = {
      pathname: "/c/kv_engine/+/4712/2",
      search: "?tab=checks",
      hash: "#x",
      assign: (address) => (this.wentTo = address),
    };
    globalThis.fetch = async (url, options) => {
      this.asked.push([String(url), options]);
      return this.answer();
    };
    globalThis.prompt = (question) => {
      this.prompts.push(question);
      return this.answers.shift() ?? null;
    };
    vm.runInThisContext(SOURCE, { filename: PLUGIN });
  }

  fetch(more = {}) {
    return this.provider.fetch({
      changeNumber: 4712,
      patchsetNumber: 2,
      patchsetSha: SHA,
      repo: "kv engine",
      changeInfo: { status: "NEW", current_revision_number: 2 },
      ...more,
    });
  }

  async run(more = {}, change = {}) {
    this.answer = () => json({ responseCode: "OK", runs: [{ ...RUN, ...more }] });
    return (await this.fetch(change)).runs[0];
  }
}

function json(body, status = 200) {
  return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });
}

function press(action) {
  return action.callback(4712, 2, 1, RUN.externalId, RUN.checkName, action.name);
}

function named(actions, name) {
  return actions.find((action) => action.name === name);
}

let page;
beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  page = new Page();
});
afterEach(() => mock.timers.reset());

test("its parts share a scope of their own, so Gerrit's pages get none of their names", () => {
  const before = Object.getOwnPropertyNames(globalThis);
  new Page();
  assert.deepEqual(Object.getOwnPropertyNames(globalThis), before);
  assert.equal(vm.runInThisContext("typeof Commands"), "undefined");
});

for (const address of [[], [""], ["perf.example.com"], ["https://"], ['https://perf.example.com"'], ["https://a&b"]]) {
  test(`the command refuses the address ${JSON.stringify(address)}`, () => {
    const { status, stdout, stderr } = spawnSync(PLUGIN, address, { encoding: "utf8" });
    assert.deepEqual([status, stdout], [2, ""]);
    assert.match(stderr, /^usage: /);
  });
}

test("the command prints nothing else, even if the shell searches for directories", () => {
  const [cwd, file] = [dirname(dirname(PLUGIN)), join(basename(dirname(PLUGIN)), "plugin")];
  const env = { ...process.env, CDPATH: "." };
  assert.equal(execFileSync("sh", [file, BENCHGATE], { cwd, env, encoding: "utf8" }), SOURCE);
});

test("it is one classic script that Gerrit can load without a build", () => {
  assert.doesNotThrow(() => new vm.Script(SOURCE));
  assert.doesNotMatch(SOURCE, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b/);
});

test("the provider is registered once and polls every minute", () => {
  assert.equal(page.config.fetchPollingIntervalSeconds, 60);
});

test("a request names number, revision and project of the patch set, and has the session of Benchgate", async () => {
  await page.fetch();
  const [[url, options]] = page.asked;
  assert.equal(url, `${BENCHGATE}/api/v1/gerrit/checks?change=4712&patchset=2&sha=${SHA}&repo=kv+engine`);
  assert.equal(options.credentials, "include");
  assert.equal(options.headers, undefined);
  assert.ok(options.signal instanceof AbortSignal);
});

test("a run comes through with its times as dates", async () => {
  const { responseCode, runs } = await page.fetch();
  assert.equal(responseCode, "OK");
  const { actions, results, ...run } = runs[0];
  const { results: sent, ...expected } = RUN;
  assert.deepEqual(run, {
    ...expected,
    scheduledTimestamp: new Date("2026-11-21T02:06:00Z"),
    startedTimestamp: new Date("2026-11-21T02:08:00.250Z"),
    finishedTimestamp: new Date("2026-11-21T02:16:40Z"),
  });
  const { actions: buttons, message, ...result } = results[0];
  const { message: text, ...rest } = sent[0];
  assert.deepEqual(result, rest);
  assert.equal(message, `\`\`\`\n${text}\n\`\`\``);
});

test("a missing or invalid time is left out", async () => {
  const run = await page.run({ startedTimestamp: undefined, finishedTimestamp: "soon", results: undefined });
  assert.equal(run.startedTimestamp, undefined);
  assert.equal(run.finishedTimestamp, undefined);
  assert.deepEqual(run.results, []);
});

test("an unknown patch set has no runs", async () => {
  page.answer = () => json({ status: 404 }, 404);
  assert.deepEqual(await page.fetch(), { responseCode: "OK", runs: [], links: [] });
});

test("an unknown patch set of a private change links Benchgate's page, where people sign in", async () => {
  page.answer = () => json({ status: 404 }, 404);
  const { responseCode, runs, links } = await page.fetch({ changeInfo: { status: "NEW", is_private: true } });
  assert.deepEqual([responseCode, runs], ["OK", []]);
  assert.deepEqual(links.map(({ url, primary }) => [url, primary]), [[`${BENCHGATE}/changes/4712/2`, true]]);
});

test("a Benchgate that asks its readers to sign in opens its page, and the tab is updated afterwards", async () => {
  page.answer = () => json({ status: 401, detail: "reading needs a sign-in" }, 401);
  const { responseCode, loginCallback } = await page.fetch();
  assert.equal(responseCode, "NOT_LOGGED_IN");
  loginCallback();
  assert.deepEqual(page.opened, [[`${BENCHGATE}/changes/4712/2`, "_blank", "noopener"]]);
  assert.equal(page.wentTo, undefined);
  const [[event, returned, { once }]] = page.listeners;
  assert.deepEqual([event, once, page.updates], ["focus", true, 0]);
  returned();
  assert.equal(page.updates, 1);
});

test("an edit has no number and is not requested", async () => {
  assert.deepEqual(await page.fetch({ patchsetNumber: 0 }), { responseCode: "OK", runs: [] });
  assert.deepEqual(page.asked, []);
});

test("a problem is shown with its detail", async () => {
  page.answer = () => json({ detail: "the database does not answer" }, 503);
  assert.deepEqual(await page.fetch(), {
    responseCode: "ERROR",
    errorMessage: "Benchgate answered 503: the database does not answer",
  });
  page.answer = () => new Response("<h1>Bad gateway</h1>", { status: 502 });
  assert.deepEqual(await page.fetch(), { responseCode: "ERROR", errorMessage: "Benchgate answered 502" });
});

test("an unreachable service and an unreadable answer are errors", async () => {
  page.answer = () => Promise.reject(new TypeError("Failed to fetch"));
  const { responseCode, errorMessage } = await page.fetch();
  assert.equal(responseCode, "ERROR");
  assert.equal(errorMessage, `Benchgate cannot be reached at ${BENCHGATE}: Failed to fetch`);
  page.answer = () => new Response("<html>", { status: 200 });
  assert.equal((await page.fetch()).responseCode, "ERROR");
});

test("a person who is not signed in signs in and returns to the page", async () => {
  page.isSignedIn = false;
  const { responseCode, loginCallback } = await page.fetch();
  assert.equal(responseCode, "NOT_LOGGED_IN");
  assert.deepEqual(page.asked, []);
  loginCallback();
  assert.equal(page.wentTo, "/login/%2Fc%2Fkv_engine%2F%2B%2F4712%2F2%3Ftab%3Dchecks%23x");

  globalThis.window.CANONICAL_PATH = "/r";
  globalThis.location.pathname = "/r/c/kv_engine/+/4712/2";
  loginCallback();
  assert.equal(page.wentTo, "/r/login/%2Fc%2Fkv_engine%2F%2B%2F4712%2F2%3Ftab%3Dchecks%23x");
});

test("values that Gerrit's API does not define do not reach it", async () => {
  const hostile = {
    status: "<b>",
    checkLink: "javascript:alert(1)",
    checkDescription: "[click](https://evil.example)",
    attempt: "1",
    actions: [{ name: "Run" }],
    results: [
      {
        category: "FATAL",
        summary: { toString: "x" },
        codePointers: [{ path: "/etc/passwd" }],
        fixes: [{}],
        tags: ["x", null, { name: "<i>perf</i>" }],
        links: [{ url: "javascript:alert(1)" }, { url: "//evil.example" }, { url: "https://perf.example/" }],
      },
      "not a result",
    ],
  };
  const run = await page.run(hostile);
  assert.equal(run.status, "COMPLETED");
  assert.equal(run.checkLink, undefined);
  assert.equal(run.attempt, undefined);
  assert.ok(!("checkDescription" in run));
  assert.deepEqual(run.actions.map((action) => typeof action.callback), ["function"]);
  const [result, empty] = run.results;
  assert.deepEqual([result.category, result.summary], ["INFO", ""]);
  assert.ok(!("codePointers" in result || "fixes" in result));
  assert.deepEqual(result.tags.map((tag) => tag.name), ["", "", "<i>perf</i>"]);
  assert.deepEqual(result.links.map((link) => [link.url, link.primary]), [["https://perf.example/", false]]);
  assert.deepEqual([empty.summary, empty.tags, empty.links], ["", [], []]);
});

test("a message is never Markdown, whatever names it contains", async () => {
  const message = "BM_Map<char*, char*> and [click](https://evil.example)\n```\n````\n# x";
  const [result] = (await page.run({ results: [{ ...RUN.results[0], message }] })).results;
  assert.equal(result.message, `\`\`\`\`\`\n${message}\n\`\`\`\`\``);
});

test("long lines of a message are wrapped and lose nothing", async () => {
  const message = `${"word ".repeat(60)}\n\n${"é𝄞".repeat(150)}`;
  const [result] = (await page.run({ results: [{ ...RUN.results[0], message }] })).results;
  const lines = result.message.split("\n").slice(1, -1);
  assert.ok(lines.every((line) => [...line].length <= 100));
  assert.equal(lines.join("").replaceAll(" ", ""), message.replaceAll(/\s/g, ""));
});

test("Run posts the command as the signed-in person, and updates the tab twice", async () => {
  const run = await page.run();
  const { message } = await press(named(run.actions, "Run"));
  assert.deepEqual(page.posted, [
    ["/changes/4712/revisions/2/review", { message: "recheck kv-engine-cv-perf" }],
  ]);
  assert.match(message, /^Posted "recheck kv-engine-cv-perf"/);
  assert.equal(page.updates, 1);
  mock.timers.tick(5000);
  assert.equal(page.updates, 2);
});

test("an unfinished build can be cancelled, a finished one cannot", async () => {
  for (const status of ["SCHEDULED", "RUNNING"]) {
    const run = await page.run({ status, results: [] });
    assert.deepEqual(run.actions.map((action) => action.name), ["Cancel"]);
  }
  const run = await page.run({ status: "RUNNING", results: [] });
  // Several runs are selected: the patch set is cancelled once.
  await Promise.all([press(run.actions[0]), press(run.actions[0])]);
  assert.deepEqual(page.posted, [["/changes/4712/revisions/2/review", { message: "cancel" }]]);
  await press(run.actions[0]);
  assert.equal(page.posted.length, 2);
  const done = await page.run();
  assert.deepEqual(done.actions.map((action) => action.name), ["Run"]);
});

test("an error can be overridden with a bug and a reason", async () => {
  const run = await page.run();
  page.answers = [" MB-123 ", " known\n noise "];
  await press(named(run.results[0].actions, "Override"));
  assert.deepEqual(page.posted, [
    ["/changes/4712/revisions/2/review", { message: "override kv-engine-cv-perf MB-123 known noise" }],
  ]);
  const warned = await page.run({ results: [{ ...RUN.results[0], category: "WARNING" }] });
  assert.deepEqual(warned.results[0].actions, []);
});

test("a cancelled override posts nothing", async () => {
  const override = named((await page.run()).results[0].actions, "Override");
  for (const answers of [[], ["MB-123"]]) {
    page.answers = answers;
    assert.equal(press(override), undefined);
  }
  assert.deepEqual([page.posted, page.updates], [[], 0]);
});

test("an override without a bug or a reason is not posted, and says why", async () => {
  const override = named((await page.run()).results[0].actions, "Override");
  for (const [answers, reason] of [
    [["soon", "known noise"], /write the bug as MB-123/],
    [["MB-1 x", "known noise"], /write the bug as MB-123/],
    [["#12", "  "], /needs a reason/],
  ]) {
    page.answers = answers;
    assert.match((await press(override)).message, reason);
  }
  assert.deepEqual(page.posted, []);
});

test("a name that could be another command gets no buttons", async () => {
  for (const checkName of ["a\noverride MB-1 x", "two words", "", undefined]) {
    const run = await page.run({ checkName });
    assert.deepEqual([run.actions, run.results[0].actions], [[], []]);
  }
});

test("buttons appear only if their commands have an effect", async () => {
  const attempts = [{ ...RUN }, { ...RUN, attempt: 2, status: "RUNNING", results: [] }];
  page.answer = () => json({ responseCode: "OK", runs: attempts });
  const shown = (await page.fetch()).runs.map((run) => run.actions.map((action) => action.name));
  assert.deepEqual(shown, [[], ["Cancel"]]);

  for (const changeInfo of [
    { status: "MERGED", current_revision_number: 2 },
    { status: "ABANDONED", current_revision_number: 2 },
    { status: "NEW", current_revision_number: 3 },
  ]) {
    assert.deepEqual((await page.run({}, { changeInfo })).actions, []);
  }
  assert.equal((await page.run({}, { changeInfo: { status: "NEW" } })).actions.length, 1);
});

test("a comment that Gerrit rejects is an error message", async () => {
  const run = await page.run();
  page.post = () => Promise.reject(new Error("403: not permitted"));
  const { message } = await press(run.actions[0]);
  assert.equal(message, 'Gerrit rejected the comment "recheck kv-engine-cv-perf": 403: not permitted');
  assert.equal(page.updates, 0);
});

test("a person who signed out meanwhile posts nothing and is offered to sign in", async () => {
  const run = await page.run();
  page.isSignedIn = false;
  const { message } = await press(run.actions[0]);
  assert.match(message, /not signed in/);
  assert.deepEqual([page.posted, page.updates], [[], 1]);
});
