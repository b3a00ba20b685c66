// Received values: an answer of Benchgate may have anything in it.

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
