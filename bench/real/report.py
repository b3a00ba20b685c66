"""Report a campaign in Markdown: projects, changes, and the totals beside the goals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench.real.scoring import STEADY, Score, score

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bench.real.projects import Change, Project
    from bench.real.results import GateResult, InitResult

WORKING: Final = 0.9  # the share of projects that must work
FOUND: Final = (
    (10.0, 0.95),
    (5.0, 0.80),
)  # percent, and the share of steady benchmarks to find from there on
_NOTHING: Final = "–"
_BUILDS: Final = "build "
_STATES: Final = {True: "met", False: "**missed**", None: "**open**"}
_AFTER: Final = frozenset({"second opinion", "confirm"})


@dataclass(frozen=True, slots=True)
class Tried:
    """A project, what `init` gave (None: not run yet), and the gates of its changes, by their names."""

    project: Project
    init: InitResult | None
    gates: Mapping[str, GateResult]

    @property
    def is_complete(self) -> bool:
        """Return whether nothing of it is left to do."""
        if self.init is None:
            return False
        return bool(self.init.failure) or len(self.gates) == len(self.project.change)

    @property
    def failures(self) -> tuple[str, ...]:
        """Say what failed, in the order of the steps."""
        if self.init is None:
            return ()
        marked = (f"{self.init.to_edit} lines to edit",) if self.init.to_edit else ()
        whole = (self.init.failure,) if self.init.failure else ()
        return (
            *marked,
            *whole,
            *(f"{name}: {why}" for name, gate in self.gates.items() if (why := self._why_failed(name, gate))),
        )

    def _why_failed(self, name: str, gate: GateResult) -> str:
        """Return why the gate of a change gave no verdicts, or not all; empty if it gave them."""
        if not gate.has_verdicts:
            return gate.outcome
        found = gate.benchmarks
        planted = [change for change in self.project.change if change.name == name and change.percent]
        if planted and not any(planted[0].affects(benchmark) for _, benchmark in found):
            return "no benchmark is one of those that it makes slower"
        every = {benchmark: None for each in self.gates.values() for benchmark in each.benchmarks}
        missing = [benchmark for benchmark in every if benchmark not in found]
        if not missing:
            return ""
        return f"{len(missing)} of {len(every)} benchmarks are missing, such as {missing[0][1]}"

    def scores(self) -> Iterator[tuple[Change, GateResult, Score]]:
        """Yield the changes that were measured, with their scores."""
        for change in self.project.change:
            gate = self.gates.get(change.name)
            if gate and gate.answer is not None:
                yield change, gate, score(change, gate.answer)


def report(tried: Sequence[Tried]) -> str:
    """Write the whole report."""
    parts = [_projects(tried), _changes(tried), _false(tried), "\n".join(_totals(tried))]
    return "\n\n".join(filter(None, parts)) + "\n"


def goals_missed(tried: Sequence[Tried]) -> tuple[str, ...]:
    """Name the goals that the results miss."""
    return tuple(line for line, is_met in _goals(tried) if is_met is False)


def _projects(tried: Sequence[Tried]) -> str:
    head = ("project", "build system", "dependencies", "needed", "init", "programs", "benchmarks", "failed")
    return _table(head, (_project(each) for each in tried))


def _project(each: Tried) -> Sequence[str]:
    project, init = each.project, each.init
    needed = "; ".join(filter(None, (project.needed, ", ".join(project.packages))))
    known = init is not None and init.programs
    counts = [count for count in init.programs.values() if count is not None] if init else []
    return (
        project.name,
        project.build_system,
        project.dependencies,
        needed or _NOTHING,
        f"{init.seconds:.0f} s" if init else _NOTHING,
        str(len(init.programs)) if init and known else _NOTHING,
        str(sum(counts)) if counts else _NOTHING,
        "; ".join(each.failures) or (_NOTHING if each.is_complete else "not tried yet"),
    )


def _changes(tried: Sequence[Tried]) -> str:
    head = (
        *("project", "change", "planted", "measured", "found", f"with spread ≤ {100 * STEADY:.0f} %"),
        *("others", "false", "pairs", "measuring", "after it", "builds"),
    )
    return _table(
        head,
        (_change(each.project, *scored) for each in tried for scored in each.scores()),
    )


def _change(project: Project, change: Change, gate: GateResult, scored: Score) -> Sequence[str]:
    phases = gate.phases
    builds = sum(seconds for name, seconds in phases.items() if name.startswith(_BUILDS))
    after = sum(seconds for name, seconds in phases.items() if name in _AFTER)
    low, high = scored.pairs or (_NOTHING, _NOTHING)  # equal programs need none
    return (
        project.name,
        change.name,
        f"{change.percent:g} %" if change.percent else _NOTHING,
        _NOTHING if scored.slowing is None else f"{100 * scored.slowing:.1f} %",
        _of(scored.found),
        _of(scored.found_steady),
        _others(scored),
        str(len(scored.false)),
        f"{low}" if low == high else f"{low} to {high}",
        f"{phases.get('measure', 0.0):.0f} s",
        f"{after:.0f} s" if after else _NOTHING,
        f"{builds:.0f} s",
    )


def _false(tried: Sequence[Tried]) -> str:
    return "\n".join(
        f"* false: {each.project.name}, {change.name}: `{row.name}` is {row.verdict}"
        f"{'' if row.slowing is None else f' ({100 * row.slowing:+.1f} %)'}, {row.pairs} pairs"
        for each in tried
        for change, _, scored in each.scores()
        for row in scored.false
    )


def _totals(tried: Sequence[Tried]) -> Iterator[str]:
    for percent, all_ in sorted(_by_percent(tried).items()):
        if percent:
            yield (
                f"* {percent:g} % slower: {_share(all_.found)} found, "
                f"{_share(all_.found_steady)} of those whose pairs spread by at most {100 * STEADY:.0f} %"
            )
    gates = [gate for each in tried for gate in each.gates.values()]
    if minutes := sorted({gate.asked["minutes"] for gate in gates if gate.asked}):
        yield f"* machine time of a gate: {', '.join(map(str, minutes))} min"
    if begun := [each.project.name for each in tried if not each.is_complete]:
        yield f"* not tried to the end, and no part of the projects that work or fail: {', '.join(begun)}"
    for line, is_met in _goals(tried):
        yield f"* {_STATES[is_met]}: {line}"


def _goals(tried: Sequence[Tried]) -> Iterator[tuple[str, bool | None]]:
    """Yield each goal with the figures that decide it, and whether they meet it; None: there are none."""
    complete = [each for each in tried if each.is_complete]
    working = sum(not each.failures for each in complete)
    share = f"{working} of {len(complete)} projects work (at least {WORKING:.0%})"
    yield share, working >= WORKING * len(complete) if complete else None
    scores = _by_percent(tried)
    everything = sum(scores.values(), Score())
    false, right = len(everything.false), len(everything.right)
    rows = (*everything.affected, *everything.others)
    counts = {"undecided": sum(row.is_open for row in rows), "of equal programs": _equal(everything)}
    more = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    left_out = f"; not counted: {more}" if more else ""
    are_false = f"{false} of {false + right} verdicts are false (none){left_out}"
    yield are_false, not false if false or right else None
    upper = float("inf")
    for least, goal in FOUND:
        planted = sum((each for percent, each in scores.items() if least <= percent < upper), Score())
        found, steady = planted.found_steady
        name = f"{least:g} % or more" if upper == float("inf") else f"{least:g} to {upper:g} %"
        yield (
            f"planted {name}: {_share((found, steady))} found (at least {goal:.0%})",
            found >= goal * steady if steady else None,
        )
        upper = least


def _by_percent(tried: Iterable[Tried]) -> Mapping[float, Score]:
    scores: dict[float, Score] = {}
    for each in tried:
        for change, _, scored in each.scores():
            scores[change.percent] = scores.get(change.percent, Score()) + scored
    return scores


def _others(scored: Score) -> str:
    counts = {
        "undecided": sum(row.is_open for row in scored.others),
        "equal": _equal(scored),
        "partly slower": len(scored.partly),
    }
    return ", ".join(
        (str(len(scored.others)), *(f"{count} {name}" for name, count in counts.items() if count))
    )


def _equal(scored: Score) -> int:
    return sum(row.is_equal for row in scored.others)


def _of(counts: tuple[int, int]) -> str:
    return f"{counts[0]} of {counts[1]}" if counts[1] else _NOTHING


def _share(counts: tuple[int, int]) -> str:
    return f"{_of(counts)} ({counts[0] / counts[1]:.0%})" if counts[1] else "0 of 0"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
