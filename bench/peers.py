"""Measure LLVM's LNT on the same machine, in the same session, with the work of Benchgate's store."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.filling import BENCHMARKS, SAMPLES
from bench.timing import Timing, quantile, say, say_load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PACKAGE: Final = "llvm-lnt==0.4.20"
INSTALL_SECONDS: Final = 600
MEASURE_SECONDS: Final = 900
# About 10,000 results in all: it stores some hundred a second. A series gets its 200 points from small runs.
SMALL_RUNS: Final = 188
SMALL_TESTS: Final = 10
LARGE_RUNS: Final = 6  # of each way to import
CALLS: Final = 15
# What each way leaves out of what it does by itself; the last one is what submitting a run does.
_WAYS: Final[Mapping[str, Mapping[str, bool]]] = {
    "storing alone": {"disable_report": True, "ignore_regressions": True},
    "without looking for regressions": {"ignore_regressions": True},
    "as it comes": {},
}
_CHILD: Final = Path(__file__).with_name("lnt_measure.py")
# Its page beside ours: what a person sees who asks the same question.
_PAGES: Final = {
    "run page, 500 tests": "/changes/n/1?show=all (500 rows)",
    "compare page, 500 tests": "/changes/n/1?show=all (500 rows)",
    "series page, 200 points": "/trends?series=n",
    "series as JSON, 200 points": "/api/v1/series/n (200 points)",
}


class NotInstalled(Exception):
    """The peer cannot be had on this machine."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of each import of a large run by the way of importing, and of each answer by page."""

    imports: Mapping[str, Sequence[float]]
    pages: Mapping[str, Timing]


def measure_peers(rate: float, timings: Mapping[str, Timing]) -> None:
    """Measure LNT and print ratios.

    Args:
        rate: results a second that our store takes.
        timings: our queries and pages by name, as the same session measured them.
    """
    say(f"\n== LNT ({PACKAGE}) on SQLite, about 10,000 results in all; ours hold what the last section says")
    say_load("now")
    with tempfile.TemporaryDirectory(prefix="benchgate-bench-lnt-") as directory:
        try:
            python = _install(Path(directory))
            measured = _measure(Path(directory), python)
        except NotInstalled as error:
            say(f"  LNT could not be measured here, so there is no comparison: {error}")
            return
    _say_ingest(rate, measured)
    _say_pages(timings, measured)


def _say_ingest(rate: float, measured: Measured) -> None:
    say("  Its result is one value of one test; ours are counted in rows of 16 samples, and in samples.")
    for way, seconds in measured.imports.items():
        rates = [BENCHMARKS / each for each in seconds]
        theirs = quantile(rates, 0.5)
        say(
            f"  ingest, {way}: median {theirs:,.0f} results/s (from {min(rates):,.0f} to {max(rates):,.0f}); "
            f"ours / theirs: {rate / theirs:,.1f}× in results, {rate * SAMPLES / theirs:,.0f}× in samples"
        )


def _say_pages(timings: Mapping[str, Timing], measured: Measured) -> None:
    for name, theirs in measured.pages.items():
        say(theirs.line())
        ours = timings[_PAGES[name]]
        say(
            f"    our {ours.name}: {ours.median * 1e3:.1f} ms, "
            f"theirs / ours: {theirs.median / ours.median:.1f}×"
        )


def _install(directory: Path) -> Path:
    """A virtual environment of its own; its Python."""
    python = directory / "venv" / "bin" / "python"
    say("  installing …")
    _run([sys.executable, "-m", "venv", str(directory / "venv")], INSTALL_SECONDS)
    _run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", PACKAGE], INSTALL_SECONDS)
    return python


def _measure(directory: Path, python: Path) -> Measured:
    instance = directory / "instance"
    lnt = python.with_name("lnt")
    _run(
        [str(lnt), "create", str(instance), "--name", "bench", "--url", "http://localhost/"], INSTALL_SECONDS
    )
    plan = directory / "plan.json"
    plan.write_text(json.dumps(_plan(directory)), encoding="utf-8")
    output = _run([str(python), str(_CHILD), str(instance), str(plan)], MEASURE_SECONDS)
    found: dict[str, Any] = json.loads(output)
    pages = {name: Timing(f"theirs: {name}", tuple(seconds)) for name, seconds in found["pages"].items()}
    imports = {way: [each["seconds"] for each in found["imports"] if each["way"] == way] for way in _WAYS}
    return Measured(imports, pages)


def _plan(directory: Path) -> Mapping[str, Any]:
    """The runs to import, oldest first, and the pages of the newest."""
    noise = random.Random(20)  # noqa: S311 - data to store
    kinds = [("", _WAYS["storing alone"], SMALL_TESTS)] * SMALL_RUNS
    kinds += [(way, options, BENCHMARKS) for way, options in _WAYS.items() for _ in range(LARGE_RUNS)]
    imports = [
        {"way": way, "options": options, "file": _write_run(directory, number, tests, noise)}
        for number, (way, options, tests) in enumerate(kinds, 1)
    ]
    return {"imports": imports, "pages": _pages(len(imports)), "calls": CALLS}


def _pages(newest: int) -> Mapping[str, Mapping[str, object]]:
    """Map the pages of the newest run, the two newest and the oldest series to the contents of answers."""
    root = "/db_default/v4/nts"
    test = f"executor/Schedule/{BENCHMARKS - 1}"
    graph = f"{root}/graph?plot.0=1.1.3"  # machine 1, test 1, the field of execution times
    return {
        "run page, 500 tests": {"path": f"{root}/{newest}", "holds": test, "times": 1},
        "compare page, 500 tests": {
            "path": f"{root}/{newest}?compare_to={newest - 1}", "holds": test, "times": 1,
        },
        "series page, 200 points": {"path": graph, "holds": "runID", "times": SMALL_RUNS},
        "series as JSON, 200 points": {"path": f"{graph}&json=true", "holds": "runID", "times": SMALL_RUNS},
    }  # fmt: skip


def _write_run(directory: Path, number: int, tests: int, noise: random.Random) -> str:
    begun = datetime.now(UTC) - timedelta(hours=1000 - number)
    run = {
        "format_version": "2",
        "machine": {"name": "perf-01"},
        "run": {
            "start_time": begun.strftime("%Y-%m-%dT%H:%M:%S"),
            "end_time": (begun + timedelta(minutes=10)).strftime("%Y-%m-%dT%H:%M:%S"),
            "llvm_project_revision": str(number),
        },
        "tests": [
            {"name": f"executor/Schedule/{k}", "execution_time": noise.gauss(1.2, 0.01)} for k in range(tests)
        ],
    }
    path = directory / f"run-{number}.json"
    path.write_text(json.dumps(run), encoding="utf-8")
    return str(path)


def _run(argv: Sequence[str], seconds: float) -> str:
    """Run a program and return its output; NotInstalled with its last lines if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(str(error)) from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise NotInstalled(" / ".join(last) or f"exit code {done.returncode}")
    return done.stdout
