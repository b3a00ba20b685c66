"""``make soak``: patch sets that change nothing, one after the other; any "slower" is a false alarm."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from service.domain.identity import Side
from service.domain.project_file import Suite
from tests.bench.verdicts.engine import POLICY, compare_programs
from tests.bench.verdicts.intervals import Share
from tests.bench.verdicts.programs import Programs, unused_function

if TYPE_CHECKING:
    from collections.abc import Sequence

PATCH_SETS: Final = 60
SUITES: Final = (
    Suite("known_effects", ""),
    Suite("hash_table", "", filter="threads:1$"),
)
_POLICY: Final = replace(POLICY, machine_time=30.0)


def soak(work: Path, patch_sets: int) -> list[dict[str, Any]]:
    """Measure what is missing of so many patch sets; what each said is kept, line by line."""
    kept = work / "soak.jsonl"
    work.mkdir(parents=True, exist_ok=True)
    found = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    if len(found) >= patch_sets:
        return found
    programs = Programs(work)
    names = [suite.name for suite in SUITES]
    base = programs.build(work / "base", names)
    for number in range(len(found), patch_sets):
        kind = _kind(number)
        seed = str(number) if kind == "relinked" else ""
        edits = unused_function(number) if kind == "unused function" else {}
        patch = base if kind == "identical" else programs.build(work / "patch", names, seed=seed, edits=edits)
        found.append(_measured(work, base, patch, number, kind))
        with kept.open("a") as file:
            file.write(json.dumps(found[-1]) + "\n")
        _say(found[-1])
    return found


def _kind(number: int) -> str:
    """Half are the same bytes; the others do the same, but lie elsewhere in memory."""
    return ("identical", "relinked", "identical", "unused function")[number % 4]


def _measured(
    work: Path, base: dict[str, Path], patch: dict[str, Path], number: int, kind: str
) -> dict[str, Any]:
    began = time.time()
    found = compare_programs(
        work / "sides", {Side.BASE: base, Side.PATCH: patch}, SUITES, f"soak {number} {began}", _POLICY
    )
    verdicts = Counter(str(each.verdict) for each in found.comparisons)
    alarms = [
        {
            "benchmark": each.row.benchmark,
            "metric": each.row.metric.name,
            "verdict": str(each.verdict),
            "ratio": each.ratio,
            "interval": each.interval,
            "pairs": each.pairs,
        }
        for each in found.comparisons
        if each.verdict.value in {"slower", "faster"}
    ]
    return {
        "number": number,
        "kind": kind,
        "rows": len(found.comparisons),
        "verdicts": dict(verdicts),
        "alarms": alarms,
        "pairs": found.pairs,
        "seconds": round(found.seconds, 1),
    }


def _say(found: dict[str, Any]) -> None:
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(found["verdicts"].items()))
    sys.stdout.write(f"{found['number'] + 1}: {found['kind']}: {verdicts}; {found['seconds']:.0f} s\n")
    sys.stdout.flush()


def _summary(found: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| patch sets | rows | slower | faster | undecided | patch sets with an alarm, 95 % | rows with one |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for name, chosen in (
        ("identical", [each for each in found if each["kind"] == "identical"]),
        ("relinked or with an unused function", [each for each in found if each["kind"] != "identical"]),
        ("all", found),
    ):
        counts: Counter[str] = Counter()
        for each in chosen:
            counts.update(each["verdicts"])
        rows = sum(each["rows"] for each in chosen)
        sets = Share.of(sum(bool(each["alarms"]) for each in chosen), len(chosen))
        alarms = Share.of(sum(len(each["alarms"]) for each in chosen), rows)
        lines.append(
            f"| {len(chosen)} {name} | {rows} "
            f"| {counts['slower']} | {counts['faster']} | {counts['undecided']} "
            f"| {sets.hits}: at most {sets.high:.1%} | {alarms.hits}: at most {alarms.high:.2%} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure and sum up; 1 where anything was called slower."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("var/soak"))
    parser.add_argument("--patch-sets", type=int, default=PATCH_SETS)
    given = parser.parse_args()
    found = soak(given.work.resolve(), given.patch_sets)
    sys.stdout.write(_summary(found))
    return int(any(alarm["verdict"] == "slower" for each in found for alarm in each["alarms"]))


if __name__ == "__main__":
    raise SystemExit(main())
