"""``make bench-busy``: judge unchanged and slower benchmarks beside builds, a database and a measurement.

Each kind of benchmark is measured with and without counting how often it waits, by turns.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from bench.busy.neighbours import busy
from bench.timing import say, say_load
from bench.verdicts.engine import POLICY, compare_programs, job_of
from service.domain.project.benchmark import Suite
from service.domain.values.identity import Side
from service.domain.verdict.inference.verdict import Verdict
from service.ports.building import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.verdicts.engine import Found
    from service.domain.building.sandbox_command import Command, Completed
    from service.ports.building import ByteSink

KINDS: Final = (
    *("Arithmetic", "FloatingPoint", "Bytes", "Sum", "Search"),
    *("Hash", "Tree", "Allocate", "Text", "Sort"),
)
# Percent of more work, the seconds of machine time, and the verdict that is right.
CASES: Final = ((0, 180.0, Verdict.SAME), (10, 300.0, Verdict.SLOWER))
_SOURCE: Final = Path(__file__).with_name("computing.cpp")
_WRAPPER: Final = '#!/bin/sh\nSLOWER={percent} exec {program} "$@"\n'


class Uncounted(Sandbox):
    """A sandbox that does not count how often programs wait."""

    def __init__(self, inner: Sandbox) -> None:
        self._inner = inner

    @override
    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        return replace(self._inner.run(command, log=log, watch=watch), voluntary_switches=None)

    @override
    def in_force(self) -> Mapping[str, str]:
        return self._inner.in_force()


def main() -> int:
    """Print a table; return 1 if a benchmark was judged the wrong way round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--each", type=int, default=4, help="compilers, and clients of the database")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the others must end, too
    total: Counter[tuple[int, bool, Verdict]] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        program = work / "computing"
        flags = ("-O2", "-std=c++17", "-lbenchmark", "-lpthread")
        subprocess.run(["g++", str(_SOURCE), "-o", str(program), *flags], check=True)
        with busy(work, program, given.each):
            say_load("beside the others")
            say("| benchmarks | change | waits are | slower | same | undecided | faster | pairs | seconds |")
            say("|---|---|---|---|---|---|---|---|---|")
            for number, names in enumerate(
                f"^{kind}/[1-5]/{times}" for kind in given.kinds for times in ("1$", ".+0")
            ):
                for percent, seconds, _ in CASES:
                    # Each way is the first one for half of them.
                    for is_counted in (False, True) if number % 2 else (True, False):
                        measured = _measure(work, program, names, percent, seconds, is_counted=is_counted)
                        total.update(_print_row(names, percent, measured, is_counted=is_counted))
            say_load("at the end")
    say("")
    for percent, _, right in CASES:
        for is_counted in (False, True):
            asked = [count for (of, how, _), count in total.items() if (of, how) == (percent, is_counted)]
            found = total[percent, is_counted, right]
            say(f"{percent} %, waits {_words(is_counted)}: {found} of {sum(asked)} {right}")
    wrong = sum(total[percent, True, each] for percent, each in ((0, Verdict.SLOWER), (10, Verdict.FASTER)))
    say(f"judged the wrong way round: {wrong}")
    return 1 if wrong else 0


def _measure(
    work: Path, program: Path, names: str, percent: int, seconds: float, *, is_counted: bool
) -> Found:
    sides = {}
    for side, more in ((Side.BASE, 0), (Side.PATCH, percent)):
        script = work / f"{side}.sh"
        script.write_text(_WRAPPER.format(program=program, percent=more))
        script.chmod(0o755)
        sides[side] = {"computing": script}
    job = job_of(Suite("computing", "", filter=names))
    job = replace(job, policy=replace(POLICY, machine_time=seconds))
    wrap = (lambda sandbox: sandbox) if is_counted else Uncounted
    found = compare_programs(work / "sides", sides, job, f"{names} {percent}", wrap=wrap)
    shutil.rmtree(work / "sides")
    return found


def _print_row(
    names: str, percent: int, found: Found, *, is_counted: bool
) -> Counter[tuple[int, bool, Verdict]]:
    """Print a case; a benchmark is slower if one of its rows is, and decided if all are."""
    verdicts: dict[str, set[Verdict]] = {}
    for each in found.comparisons:
        verdicts.setdefault(each.row.benchmark, set()).add(each.verdict)
    order = (Verdict.SLOWER, Verdict.UNDECIDED, Verdict.FASTER, Verdict.SAME)
    count = Counter(next(each for each in order if each in own) for own in verdicts.values())
    cells = [
        f"`{names}`",
        f"{percent} %",
        _words(is_counted),
        *(str(count[each]) for each in (Verdict.SLOWER, Verdict.SAME, Verdict.UNDECIDED, Verdict.FASTER)),
        str(found.pairs),
        f"{found.seconds:.0f}",
    ]
    say(f"| {' | '.join(cells)} |")
    sys.stdout.flush()
    return Counter({(percent, is_counted, verdict): number for verdict, number in count.items()})


def _words(is_counted: bool) -> str:  # noqa: FBT001 - a word for a value
    return "counted" if is_counted else "not counted"


if __name__ == "__main__":
    raise SystemExit(main())
