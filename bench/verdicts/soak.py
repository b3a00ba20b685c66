"""``make soak``: measure patch sets that change nothing; any "slower" is a false alarm."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.verdicts.intervals import Share
from bench.verdicts.patch_sets import PatchSets
from service.adapters.machines.local_build import LocalBuild
from service.domain.building.spec import BinaryKey
from service.domain.project.policy import RULE
from service.domain.project.project_file import parse_project_file
from service.domain.verdict.inference.reasons import RELINKED, has_kind
from service.domain.wording.reasons import text_of
from service.steps.runs.gate import gate, local_spec
from service.wiring.build_host import make_build_host
from tests.support.building.build_host import Silence

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from bench.verdicts.patch_sets import PatchSet
    from service.domain.building.spec import Revision
    from service.domain.project.job import Job
    from service.domain.verdict.inference.verdict import Comparison
    from service.steps.building.session import BuildHost

PATCH_SETS: Final = 60
PROJECT: Final = "soak"
JOB: Final = """
version: 1
jobs:
  soak:
    kind: benchmark
    build:
      configure: cmake --preset measure -DBUILD_TESTING=OFF
      compile: cmake --build --preset measure --target known_effects_benchmark hash_table_benchmark
    suites:
      - {name: known_effects, program: build/measure/known_effects_benchmark}
      - {name: hash_table, program: build/measure/hash_table_benchmark, filter: "threads:1$"}
    policy: {machine_time: 30s, probation: off}
"""


class Blind:
    """Looks at no program, so that those which are the same are judged like others."""

    def inspect(self, build: Path, watch: Callable[[], None]) -> None:
        """Nothing is known."""

    def digest(self, tree: Path, paths: Collection[str], watch: Callable[[], None]) -> None:
        """Nothing is known."""


def soak(work: Path, patch_sets: int) -> list[dict[str, Any]]:
    """Measure what is missing of so many patch sets; what each said is kept, line by line."""
    work.mkdir(parents=True, exist_ok=True)
    repository = PatchSets(work / "repository")
    # What was measured of other sources or by another rule is another soak.
    kept = work / f"{repository.base[:12]}-rule-{RULE}.jsonl"
    found = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    host = make_build_host(work / "home", lambda _: str(repository.path), (), is_sandboxed=False)
    host = replace(host, inspector=Blind())
    job = parse_project_file(JOB, where="the soak's job").jobs[0]
    for number in range(len(found), patch_sets):
        found.append(_measured(work, host, job, repository.make(number)))
        with kept.open("a") as file:
            file.write(json.dumps(found[-1]) + "\n")
        _say(found[-1])
    return found[:patch_sets]


def _measured(work: Path, host: BuildHost, job: Job, patch_set: PatchSet) -> dict[str, Any]:
    host.source.fetch(PROJECT, patch_set.base, patch_set.commit)
    spec = local_spec(host.source, PROJECT, patch_set.base, patch_set.commit, job)
    build = LocalBuild(spec, f"soak {patch_set.number} {time.time()}", work / "binaries")
    found = gate(spec, build, host, Silence())
    if not found.comparisons:
        raise SystemExit(f"{patch_set.number}: {found.end}: {build.log[-4000:].decode()}")
    sides = [_binary(build, host, job, each) for each in (spec.base, spec.patch) if each is not None]
    return {
        "number": patch_set.number,
        "kind": str(patch_set.kind),
        "same_bytes": len(set(sides)) == 1,
        "outcome": str(found.end.outcome),
        "rows": len(found.comparisons),
        "verdicts": dict(Counter(str(each.verdict) for each in found.comparisons)),
        "alarms": _told(each for each in found.comparisons if each.verdict.value in {"slower", "faster"}),
        "relinked": _told(each for each in found.comparisons if has_kind(each.reasons, RELINKED)),
        "pairs": max(each.pairs for each in found.comparisons),
        "seconds": {name: round(seconds, 1) for name, seconds in found.seconds.items()},
    }


def _binary(build: LocalBuild, host: BuildHost, job: Job, revision: Revision) -> str | None:
    return build.find(BinaryKey(revision.tree, job.build_hash, host.toolchain, revision.trust))


def _told(rows: Iterable[Comparison]) -> list[dict[str, Any]]:
    return [
        {
            "benchmark": each.row.benchmark,
            "metric": each.row.metric.name,
            "verdict": str(each.verdict),
            "ratio": each.ratio,
            "interval": each.interval,
            "pairs": each.pairs,
            "reason": text_of(each.reasons),
        }
        for each in rows
    ]


def _say(found: dict[str, Any]) -> None:
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(found["verdicts"].items()))
    took = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in found["seconds"].items())
    sys.stdout.write(f"{found['number'] + 1}: {found['kind']}: {verdicts}; {took}\n")
    for row in (*found["alarms"], *found["relinked"]):
        sys.stdout.write(f"    {row['benchmark']} {row['verdict']} {row['ratio']:.3f} {row['reason']}\n")
    sys.stdout.flush()


def _summary(found: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| patch sets | rows | slower | faster | undecided | sets with an alarm, 95 % | rows with one |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, chosen in (
        ("of the same bytes", [each for each in found if each["same_bytes"]]),
        ("that move code", [each for each in found if not each["same_bytes"]]),
        ("in all", found),
    ):
        if not chosen:
            continue
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
    stopped = Share.of(sum(each["outcome"] == "slower" for each in found), len(found))
    lines.append(f"\nStopped by a −1: {stopped.hits} of {stopped.trials}, at most {stopped.high:.1%}.")
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
