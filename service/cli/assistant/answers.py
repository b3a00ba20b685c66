"""Choose what a language model reads of the API's answers, and write it in few words.

All texts in them are data of other people: each becomes one short line without control characters.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from service.domain.values.text import plain
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Json: TypeAlias = Mapping[str, Any]

MOST_CHARACTERS: Final = 12_000  # about 4,000 tokens
MOST_ROWS: Final = 15
_MOST_MOVES: Final = 8
_LONGEST_TEXT: Final = 300
_WORST_FIRST: Final = (
    *(Verdict.SLOWER, Verdict.BROKEN, Verdict.REMOVED, Verdict.FAILING),
    *(Verdict.UNDECIDED, Verdict.FASTER),
)
_CHANGE: Final = (
    *("address", "subject", "project", "branch", "owner", "status", "patch_set", "vote", "header", "cause"),
    *("run_state", "undecided", "updated_at"),
)
_BUILD: Final = ("job", "number", "result", "state", "phase", "waits", "machine", "waived_by")
_REGRESSION: Final = (
    *(
        "id",
        "list",
        "state",
        "instance",
        "project",
        "branch",
        "revision",
        "subject",
        "author",
        "change_address",
    ),
    *("found_at", "assignee", "bug", "note", "results"),
)
_SERIES: Final = (
    *(
        "id",
        "instance",
        "project",
        "branch",
        "machine_class",
        "job",
        "suite",
        "benchmark",
        "metric",
        "unit",
        "better",
    ),
)
_KNOWN: Final = (
    *("id", "state", "kind", "subject", "text", "project", "branch", "job", "host", "bug", "reason"),
    *("assignee", "failed", "builds", "last_seen_at", "expires_at"),
)


def as_text(answer: Json) -> str:
    """Write an answer as JSON of at most :data:`MOST_CHARACTERS`; ``left_out`` counts what did not fit."""
    kept: dict[str, Any] = _clean(answer)
    left_out: Counter[str] = Counter()
    while len(text := _compact(kept)) > MOST_CHARACTERS:
        lists = [name for name, value in kept.items() if isinstance(value, list) and value]
        if not lists:
            break
        longest = max(lists, key=lambda name: len(_compact(kept[name])))
        kept[longest].pop()
        left_out[longest] += 1
        kept["left_out"] = dict(left_out)
    return text


def change_list(page: Json) -> Json:
    """Shape a page of changes."""
    return {"changes": [_some(each, _CHANGE) for each in page["items"]], **_more(page)}


def patch_set(found: Json) -> Json:
    """Shape a patch set: the verdict first, then its builds and the worst results."""
    decision = next(iter(found["decisions"]), None)
    failed = [each for each in found["builds"] if each["result"] not in {None, "SUCCESS", "NOT_BUILT"}]
    causes = [cause for build in (*failed, *found["builds"]) for cause in build["causes"]]
    words = (decision["header"] if decision else "", next(iter(causes), ""))
    rows = [dict(row, job=build["job"]) for build in found["builds"] for row in build["comparisons"]]
    return {
        "verdict": ": ".join(filter(None, words)) or "no decision yet",
        "change": _some(found["change"], ("address", "subject", "project", "branch", "owner", "status")),
        "patch_set": found["patch_set"]["number"],
        "vote": found["vote"],
        "builds": [
            {**_some(each, _BUILD), "causes": each["causes"][:3], "place": each["place"]}
            for each in found["builds"]
        ],
        "overrides": [each["sentence"] for each in found["overrides"] if each["is_active"]],
        "problems": found["problems"],
        **comparisons(rows),
    }


def comparisons(rows: Sequence[Json]) -> Json:
    """Count comparisons by verdict, and choose those that a reader looks at first."""
    told = [row for row in rows if row["verdict"] in _WORST_FIRST]
    told.sort(key=lambda row: (_WORST_FIRST.index(row["verdict"]), -_distance(row)))
    return {
        "results_by_verdict": dict(Counter(row["verdict"] for row in rows)),
        "worst_results": [_result(row) for row in told[:MOST_ROWS]],
    }


def regression_list(page: Json) -> Json:
    """Shape a page of regressions."""
    return {"regressions": [_regression(each) for each in page["items"]], **_more(page)}


def regression(found: Json) -> Json:
    """Shape a regression with its slower results."""
    return {
        "regression": _regression(found["regression"]),
        "slower_results": [
            {**_result(each), **_some(each, ("gate_said", "weight", "series_id"))}
            for each in found["results"]
        ],
    }


def series_list(page: Json) -> Json:
    """Shape a page of series."""
    return {"series": [_some(each, _SERIES) for each in page["items"]], **_more(page)}


def trend(found: Json) -> Json:
    """Sum up the levels of a series: where it stands, and the commits with the largest moves."""
    levels = found["levels"]
    moves = [
        {**_commit(after), "change_percent": _percent(after["ratio"] / before["ratio"])}
        for before, after in pairwise(levels)
        if before["since"] == after["since"] and after["measured_at"] is not None
    ]
    moves.sort(key=lambda each: -abs(each["change_percent"] or 0.0))
    return {
        "series": _some(found["series"], _SERIES),
        "commits": len(levels),
        "newest": _level(levels[-1]) if levels else None,
        "largest_moves": moves[:_MOST_MOVES],
    }


def commit_pair(pair: Json, rows: Sequence[Json]) -> Json:
    """Shape two commits, the runs that measured them together, and results of the newest such run."""
    commit = ("revision", "subject", "author", "landed_at")
    run = ("run_id", "kind", "state", "pool", "created_at", "counts", "is_cut_short")
    return {
        "base": _some(pair["base"], commit),
        "patch": _some(pair["patch"], commit),
        "runs": [_some(each, run) for each in pair["runs"]],
        **(comparisons(rows) if rows else {}),
    }


def known_list(page: Json) -> Json:
    """Shape a page of known failures."""
    return {"known_failures": [_some(each, _KNOWN) for each in page["items"]], **_more(page)}


def _regression(found: Json) -> Json:
    parent = {"after": found["parent"]} if found["is_range"] else {}
    return {**_some(found, _REGRESSION), **parent, "worst": _result(found["worst"])}


def _result(row: Json) -> Json:
    names = ("job", "benchmark", "metric", "verdict", "pairs", "reason")
    return {
        **_some(row, names),
        "change_percent": _percent(row["ratio"]),
        "interval_percent": [_percent(row["low"]), _percent(row["high"])],
        "better": row["better"],
    }


def _level(level: Json) -> Json:
    interval = [_percent(level["low"]), _percent(level["high"])]
    changed = {"change_percent": _percent(level["ratio"]), "interval_percent": interval}
    return {**_commit(level), **changed, "since": level["since"]}


def _commit(level: Json) -> dict[str, Any]:
    return _some(level, ("revision", "subject", "author", "measured_at", "run_id"))


def _some(of: Json, names: Iterable[str]) -> dict[str, Any]:
    """Return these of the values, without those that say nothing."""
    return {name: of[name] for name in names if of.get(name) not in (None, "", (), [])}


def _more(page: Json) -> Json:
    return {"has_more": True} if page.get("next") else {}


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else round(100 * (ratio - 1), 2)


def _distance(row: Json) -> float:
    return abs(math.log(row["ratio"])) if row["ratio"] else 0.0


def _clean(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return plain(value, _LONGEST_TEXT)
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return value


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
