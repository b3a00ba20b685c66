"""``make bench-busy``: judge unchanged and slower benchmarks beside builds, a database and a measurement.

Each kind of benchmark is measured with and without priority over the others, alternately.
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
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from typing_extensions import override

from bench.busy.neighbours import busy
from bench.timing import say, say_load
from bench.verdicts.engine import POLICY, compare_programs, job_of
from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.domain.project.benchmark import Suite
from service.domain.project.policy import VoteWhen
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


class Case(NamedTuple):
    """A change of the patch, the seconds of machine time, and the verdict that is right."""

    change: str
    flags: tuple[str, str]
    seconds: float
    right: Verdict


USUAL: Final = ("-DPERCENT=100", "-DOWN_THREAD=0")
CASES: Final = (
    Case("nothing", USUAL, 180.0, Verdict.SAME),
    Case("10 % more work", ("-DPERCENT=110", "-DOWN_THREAD=0"), 300.0, Verdict.SLOWER),
    Case("a busy thread", ("-DPERCENT=100", "-DOWN_THREAD=1"), 300.0, Verdict.SLOWER),
)
# By the end of the benchmarks' names. The best of twenty short repetitions does not meet a thread of its own.
CASES_OF: Final = MappingProxyType({"1$": CASES[:2], ".+0": CASES})
_SOURCE: Final = Path(__file__).with_name("computing.cpp")


class Equal(Sandbox):
    """A sandbox that runs measured programs with the priority of all others."""

    def __init__(self, inner: Sandbox) -> None:
        self._inner = inner

    @override
    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        return self._inner.run(replace(command, has_priority=False), log=log, watch=watch)

    @override
    def in_force(self) -> Mapping[str, str]:
        return self._inner.in_force()


def main() -> int:
    """Print a table; return 1 if a change was judged the wrong way round, or a slow-down the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--count", type=int, default=4, help="compilers, and clients of the database")
    parser.add_argument("--first", action="store_true", help="only with priority")
    given = parser.parse_args()
    ways = (True,) if given.first else (False, True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the others must end, too
    total: Counter[tuple[str, bool, Verdict]] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        programs = {case.flags: _build(work / f"computing{k}", case.flags) for k, case in enumerate(CASES)}
        with busy(work, programs[USUAL], given.count):
            say_load("beside the others")
            say("| benchmarks | patch adds | priority | slower | same | undecided | faster | pairs | s |")
            say("|---|---|---|---|---|---|---|---|---|")
            for number, (kind, times) in enumerate(product(given.kinds, CASES_OF)):
                names = f"^{kind}/[1-5]/{times}"
                for case in CASES_OF[times]:
                    # Each way is the first one for half of them.
                    for is_first in ways if number % 2 else ways[::-1]:
                        found = _measure(work, programs, names, case, is_first=is_first)
                        total.update(_print_row(names, case, found, is_first=is_first))
            say_load("at the end")
    say("")
    for case in CASES:
        for is_first in ways:
            asked = [count for (of, how, _), count in total.items() if (of, how) == (case.change, is_first)]
            found_right = total[case.change, is_first, case.right]
            say(f"{case.change}, {_words(is_first)}: {found_right} of {sum(asked)} {case.right}")
    wrong = sum(
        count
        for (change, is_first, verdict), count in total.items()
        for case in CASES
        if case.change == change and is_first and verdict not in {case.right, Verdict.UNDECIDED}
    )
    say(f"judged wrong: {wrong}")
    return 1 if wrong else 0


def _build(program: Path, flags: tuple[str, str]) -> Path:
    libraries = ("-lbenchmark", "-lpthread")
    argv = ["g++", "-O2", "-std=c++17", *flags, str(_SOURCE), "-o", str(program), *libraries]
    subprocess.run(argv, check=True)
    return program


def _measure(
    work: Path, programs: Mapping[tuple[str, str], Path], names: str, case: Case, *, is_first: bool
) -> Found:
    """Measure in the real sandbox."""
    sides = {Side.BASE: {"computing": programs[USUAL]}, Side.PATCH: {"computing": programs[case.flags]}}
    job = job_of(Suite("computing", "", filter=names))
    policy = replace(POLICY, machine_time=case.seconds, on_undecided=VoteWhen.NONE)
    job = replace(job, policy=policy)
    sandbox: Sandbox = BubblewrapSandbox()
    if not is_first:
        sandbox = Equal(sandbox)
    found = compare_programs(work / "sides", sides, job, f"{names} {case.change}", sandbox=sandbox)
    shutil.rmtree(work / "sides")
    return found


def _print_row(names: str, case: Case, found: Found, *, is_first: bool) -> Counter[tuple[str, bool, Verdict]]:
    """Print a case; a benchmark is slower if one of its rows is, and decided if all are."""
    verdicts: dict[str, set[Verdict]] = {}
    for each in found.comparisons:
        verdicts.setdefault(each.row.benchmark, set()).add(each.verdict)
    order = (Verdict.SLOWER, Verdict.UNDECIDED, Verdict.FASTER, Verdict.SAME)
    count = Counter(next(each for each in order if each in own) for own in verdicts.values())
    cells = [
        f"`{names}`",
        case.change,
        _words(is_first),
        *(str(count[each]) for each in (Verdict.SLOWER, Verdict.SAME, Verdict.UNDECIDED, Verdict.FASTER)),
        str(found.pairs),
        f"{found.seconds:.0f}",
    ]
    say(f"| {' | '.join(cells)} |")
    sys.stdout.flush()
    return Counter({(case.change, is_first, verdict): number for verdict, number in count.items()})


def _words(is_first: bool) -> str:  # noqa: FBT001 - a word for a value
    return "first" if is_first else "equal"


if __name__ == "__main__":
    raise SystemExit(main())
