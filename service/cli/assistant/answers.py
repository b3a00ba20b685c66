"""Choose what a language model reads of the API's answers, and write it in few words.

All texts in them are data of other people: each becomes one short line without control characters.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from service.domain.runs.states import UNFINISHED
from service.domain.values.text import plain
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Json: TypeAlias = Mapping[str, Any]

MOST_CHARACTERS: Final = 12_000
MOST_ROWS: Final = 15
_LONGEST_TEXT: Final = 300
_MOST_CAUSES: Final = 3  # of a build
# Default-ignorable marks beside the format characters: they hide text in a name.
_INVISIBLE: Final = re.compile("[\u034f\u180b-\u180f\ufe00-\ufe0f\U000e0000-\U000e0fff]+")
_WORST_FIRST: Final = (
    Verdict.SLOWER,
    Verdict.BROKEN,
    Verdict.REMOVED,
    Verdict.FAILING,
    Verdict.UNDECIDED,
    Verdict.FASTER,
)
_PLACE: Final = ("instance", "project", "branch")
_CHANGE: Final = ("address", "subject", *_PLACE, "owner", "status")
_VOTE: Final = ("patch_set", "vote", "header", "cause", "run_state", "undecided", "updated_at")
_BUILD: Final = ("job", "number", "result", "state", "phase", "waits", "place", "machine", "waived_by")
_COMMIT: Final = ("revision", "subject", "author", "landed_at", "measured_at", "run_id")
_RUN: Final = ("run_id", "kind", "state", "pool", "created_at", "counts", "is_cut_short")
_RESULT: Final = ("job", "suite", "benchmark", "metric", "verdict", "pairs", "reason", "better")
_OF_GATE: Final = ("gate_said", "weight", "series_id")
_FOUND: Final = ("id", "list", "state", *_PLACE, "revision", "subject", "author", "change_address")
_JUDGED: Final = ("found_at", "assignee", "bug", "note", "results")
_SERIES: Final = ("id", *_PLACE, "machine_class", "job", "suite", "benchmark", "metric", "unit", "better")
_KNOWN: Final = ("id", "state", "waives", "kind", "subject", "text", *_PLACE, "job", "host", "bug", "reason")
_SEEN: Final = ("assignee", "failed", "builds", "last_seen_at", "expires_at")


def as_text(answer: Json) -> str:
    """Write an answer as JSON of at most :data:`MOST_CHARACTERS`; ``left_out`` counts what did not fit."""
    kept: dict[str, Any] = _clean(answer)
    left_out = Counter[str](kept.pop("left_out", {}))
    sizes = {
        name: [len(_compact(each)) + 1 for each in value]
        for name, value in kept.items()
        if isinstance(value, list)
    }
    totals = {name: sum(each) for name, each in sizes.items()}
    empty = dict.fromkeys(sizes, ())
    fixed = len(_compact({**kept, **empty, "left_out": dict.fromkeys((*sizes, *left_out), 1 << 31)}))
    while fixed + sum(totals.values()) > MOST_CHARACTERS and any(totals.values()):
        longest = max(totals, key=lambda name: totals[name])
        kept[longest].pop()
        totals[longest] -= sizes[longest].pop()
        left_out[longest] += 1
    return _compact({**kept, "left_out": left_out} if left_out else kept)


def change_list(page: Json) -> Json:
    """Shape a page of changes."""
    return {"changes": [_some(each, (*_CHANGE, *_VOTE)) for each in page["items"]], **_more(page)}


def patch_set(found: Json) -> Json:
    """Shape a patch set: the verdict first, then its builds and the worst results."""
    measuring = [each["state"] for each in found["runs"] if each["state"] in UNFINISHED]
    return {
        "verdict": found["sentence"],
        "vote": found["vote"],
        **({"run_state": measuring[0]} if measuring else {}),
        "change": _some(found["change"], _CHANGE),
        "patch_set": found["patch_set"]["number"],
        "builds": [_build(each) for each in found["builds"]],
        "overrides": [each["sentence"] for each in found["overrides"] if each["is_active"]],
        "problems": found["problems"],
        **comparisons(rows_of(found["builds"])),
    }


def rows_of(builds: Iterable[Json]) -> list[Json]:
    """Return the results of builds that compare, each with its job; ``builds`` have ``comparisons``."""
    return [
        dict(row, job=build["job"])
        for build in builds
        if build["compares"]
        for row in build["comparisons"]
        if row["metric"] != INSTRUCTIONS.name
    ]


def comparisons(rows: Sequence[Json]) -> Json:
    """Count benchmarks by verdict, and choose the results that a reader looks at first."""
    benchmarks = {(row["verdict"], row["job"], row["suite"], row["benchmark"]) for row in rows}
    told = [row for row in rows if row["verdict"] in _WORST_FIRST]
    told.sort(key=lambda row: (_WORST_FIRST.index(row["verdict"]), -_distance(row)))
    return {
        "benchmarks_by_verdict": Counter(verdict for verdict, *_ in sorted(benchmarks)),
        **_first("worst_results", told, _result),
    }


def regression_list(page: Json) -> Json:
    """Shape a page of regressions."""
    return {"regressions": [_regression(each) for each in page["items"]], **_more(page)}


def regression(found: Json) -> Json:
    """Shape a regression with its slower results."""
    return {
        "regression": _regression(found["regression"]),
        **_first("slower_results", found["results"], lambda row: {**_result(row), **_some(row, _OF_GATE)}),
    }


def series_list(page: Json) -> Json:
    """Shape a page of series."""
    return {"series": [_some(each, _SERIES) for each in page["items"]], **_more(page)}


def trend(found: Json) -> Json:
    """Sum up a series: how far its newest commit is, and the commits and ranges that moved it most."""
    levels, steps = found["levels"], found["steps"]
    moves = [each for each in steps if each["low"] and each["high"] and not each["low"] <= 1 <= each["high"]]
    moves.sort(key=_distance, reverse=True)
    newest = {**_commit(levels[-1]), **_ratio(levels[-1]), "since": levels[-1]["since"]} if levels else None
    return {
        "series": _some(found["series"], _SERIES),
        "newest": newest,
        "commits": len(levels),
        "steps": len(steps),
        **_first("largest_moves", moves, _move),
    }


def commit_pair(pair: Json, rows: Sequence[Json]) -> Json:
    """Shape two commits, the runs that measured them together, and results of one of these runs."""
    return {
        "base": _commit(pair["base"]),
        "patch": _commit(pair["patch"]),
        "runs": [_some(each, _RUN) for each in pair["runs"]],
        **(comparisons(rows) if rows else {}),
    }


def best_run(pair: Json) -> int | None:
    """Choose the newest run with results, a complete one if there is one."""
    measured = [each for each in pair["runs"] if each["counts"]]
    best = min(measured, key=lambda run: run["is_cut_short"] or run["state"] != "finished", default=None)
    return None if best is None else best["run_id"]


def known_list(page: Json) -> Json:
    """Shape a page of known failures."""
    return {"known_failures": [_some(each, (*_KNOWN, *_SEEN)) for each in page["items"]], **_more(page)}


def benchmark_list(page: Json) -> Json:
    """Shape a page of benchmarks, with all that the API says of them."""
    return {"benchmarks": [_some(each, each) for each in page["items"]], **_more(page)}


def _build(found: Json) -> Json:
    causes = found["causes"]
    more = {"more_causes": len(causes) - _MOST_CAUSES} if len(causes) > _MOST_CAUSES else {}
    return {**_some(found, _BUILD), "causes": causes[:_MOST_CAUSES], **more}


def _regression(found: Json) -> Json:
    return {
        **_some(found, _FOUND),
        **_range(found),
        **_some(found, _JUDGED),
        "worst": _result(found["worst"]),
    }


def _result(row: Json) -> Json:
    return {**_some(row, _RESULT), **_ratio(row)}


def _move(step: Json) -> Json:
    return {**_commit(step), **_range(step), **_ratio(step), "verdict": step["verdict"]}


def _range(found: Json) -> Json:
    return {"after": found["parent"]} if found["is_range"] else {}


def _ratio(of: Json) -> Json:
    ends = [_percent(of["low"]), _percent(of["high"])]
    return {"change_percent": _percent(of["ratio"]), "interval_percent": ends}


def _commit(of: Json) -> Json:
    return _some(of, _COMMIT)


def _first(name: str, rows: Sequence[Json], shape: Callable[[Json], Json]) -> Json:
    """Shape the first rows of a list, and count the others."""
    left_out = {"left_out": {name: len(rows) - MOST_ROWS}} if len(rows) > MOST_ROWS else {}
    return {name: [shape(each) for each in rows[:MOST_ROWS]], **left_out}


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
        return plain(_INVISIBLE.sub("", value), _LONGEST_TEXT)
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return value


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
