"""Print waits, growth, CPU and memory, what saturates first, and a table on paper of larger fleets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import click

from bench.fleet.counts import faults
from bench.fleet.traffic import project_of
from bench.timing import met, quantile, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from bench.fleet.counts import Ended, Records
    from bench.fleet.machines import Seen
    from bench.fleet.usage import Usage

CLAIM_GOAL: Final = 1.0  # seconds, of 95 in 100
VOTE_GOAL: Final = 3.0
MIB: Final = 1 << 20
STATEMENTS: Final = 12
TABLES: Final = 8
FAULTS: Final = 10  # that are named
SCALES: Final = (1, 10, 100)
# A part with one thread of Python saturates at one CPU, whatever the machine has.
_CPUS_OF: Final = {"web": 1.0, "schedule": 1.0, "valkey": 1.0}


@dataclass(slots=True)
class Fed:
    """The changes that were pushed: when each was, and which belong to the stack."""

    moments: dict[int, datetime] = field(default_factory=dict)
    stack: tuple[int, ...] = ()
    beside: int = 0


@dataclass(frozen=True, slots=True)
class Period:
    """The time of the traffic: its seconds, those until all work was done, and what the parts used."""

    seconds: float
    drained: float
    before: Mapping[str, Usage]
    after: Mapping[str, Usage]
    machines_cpu: float  # of this process, which simulates the machines
    connections: int

    def cpu(self, part: str) -> float:
        """Return the CPU seconds that a part used."""
        return self.after[part].cpu - self.before[part].cpu


@dataclass(frozen=True, slots=True)
class Finished:
    """A run of the fleet."""

    period: Period
    records: Records
    sizes_before: Mapping[str, int]
    sizes_after: Mapping[str, int]
    seen: Seen
    messages: Mapping[int, int]
    artifacts: int  # bytes

    def growth(self, name: str) -> int:
        """Return by how many bytes the database, its log of changes or a table grew."""
        return self.sizes_after[name] - self.sizes_before.get(name, 0)


def report(run: Finished, fed: Fed) -> None:
    """Print everything."""
    builds = run.records.builds()
    _say_waits(run, fed, builds)
    _say_fairness(fed, builds)
    _say_faults(run, fed, builds)
    _say_growth(run, len(builds))
    _say_usage(run.period)
    _say_statements(run.records)
    _say_scales(run, len(builds))


def _say_waits(run: Finished, fed: Fed, builds: Sequence[Ended]) -> None:
    crowded = project_of(fed.beside).pools
    planned = {each.change: each.created_at for each in builds}
    say("\nSeconds, p50 and p95:")
    _line("event → planned", [_between(fed.moments[n], at) for n, at in planned.items()])
    free = [each for each in builds if each.pool not in crowded and each.started_at]
    _line("planned → claimed, pools without the stack", [_between(e.created_at, e.started_at) for e in free])
    _line("peek and claim of a build", run.seen.claims, CLAIM_GOAL)
    _line("peek and claim without one", run.seen.idle)
    analysed = [each for each in builds if each.executed_at and each.finished_at]
    _line("executed → analysed", [_between(each.executed_at, each.finished_at) for each in analysed])
    ends: dict[int, list[float]] = {}
    for each in analysed:
        if each.posted_at:
            ends.setdefault(each.change, []).append(_between(each.executed_at, each.posted_at))
    posted = [min(each) for each in ends.values()]  # from the end of the last build
    _line("last build executed → vote posted", posted, VOTE_GOAL)


def _line(name: str, seconds: Sequence[float], goal: float | None = None) -> None:
    if not seconds:
        say(f"  {name:<44} none")
        return
    p95 = quantile(seconds, 0.95)
    said = "" if goal is None else f"  goal p95 < {goal:g} s: {met(p95 < goal)}"
    figures = f"{quantile(seconds, 0.5):7.2f} {p95:7.2f}  max {max(seconds):7.2f}  n {len(seconds):5d}"
    say(f"  {name:<44} {figures}{said}")


def _say_fairness(fed: Fed, builds: Sequence[Ended]) -> None:
    say("\nSeconds from planned to claimed, beside thirty changes that another person pushed 5 s before:")
    for pool in project_of(fed.beside).pools:
        own = [each for each in builds if each.pool == pool and each.started_at]
        beside = [_between(each.created_at, each.started_at) for each in own if each.change == fed.beside]
        stack = [_between(each.created_at, each.started_at) for each in own if each.change in fed.stack]
        if beside and stack:
            say(
                f"  {pool:<10} one change {max(beside):6.1f}; the stack: median {quantile(stack, 0.5):6.1f}, "
                f"last {max(stack):6.1f}"
            )


def _say_faults(run: Finished, fed: Fed, builds: Sequence[Ended]) -> None:
    found = faults(fed.moments, builds, run.records.decisions(), run.messages)
    stored, recorded = run.records.stored_pairs(), run.seen.pairs
    if stored != recorded:
        found.append(f"{recorded} pairs were recorded, and {stored} are stored")
    found += [f"a machine lost build {name}" for name in run.seen.lost]
    say(
        f"\n{len(fed.moments)} changes, {len(builds)} builds, {stored} pairs, {sum(run.messages.values())} "
        f"messages: lost or doubled: {len(found)}; calls that the database did not answer: {run.seen.away}"
    )
    for each in found[:FAULTS]:
        say(f"  {each}")


def _say_growth(run: Finished, builds: int) -> None:
    kib = 1024 * max(1, builds)
    say(
        f"\nGrowth for each build: {run.growth('all') / kib:.1f} KiB of the database, "
        f"{run.growth('WAL') / kib:.1f} KiB of its log, {run.artifacts / kib:.1f} KiB of artifacts"
    )
    names = sorted(set(run.sizes_after) - {"all", "WAL"}, key=run.growth, reverse=True)
    say("  " + ", ".join(f"{name} {run.growth(name) / kib:.1f}" for name in names[:TABLES]))


def _say_usage(period: Period) -> None:
    say(f"\nCPUs and MiB of each part during {period.seconds:.0f} s; {period.connections} connections then:")
    for part, after in period.after.items():
        before = period.before[part]
        say(
            f"  {part:<9} {period.cpu(part) / period.seconds:6.3f} CPUs, {before.memory / MIB:6.0f} → "
            f"{after.memory / MIB:.0f} MiB in {after.processes} processes"
        )
    say(f"  {'machines':<9} {period.machines_cpu / (period.seconds + period.drained):6.3f} CPUs, all of them")


def _say_statements(records: Records) -> None:
    say("\nStatements that took the longest in all:")
    for each in records.statements(STATEMENTS):
        say(f"  {each.seconds:7.1f} s {each.calls:7d} × {each.mean:8.2f} ms  {each.query[:110]}")


def _say_scales(run: Finished, builds: int) -> None:
    """Say on paper what more of it would take, as if everything grew with the builds."""
    period = run.period
    say("\nOn paper, if all of it grows with the builds: CPUs of each part, and GiB in a day")
    say(f"  {'':<9}" + "".join(f"{scale:>9}×" for scale in SCALES))
    for part in period.after:
        cpus = period.cpu(part) / period.seconds
        say(f"  {part:<9}" + "".join(f"{cpus * scale:>10.2f}" for scale in SCALES))
    rate = builds / period.seconds * 86_400 / (1 << 30) / max(1, builds)
    for name, size in (("database", run.growth("all")), ("artifacts", run.artifacts)):
        say(f"  {name:<9}" + "".join(f"{size * rate * scale:>10.1f}" for scale in SCALES))
    room = {
        part: _CPUS_OF.get(part, 2.0) / max(1e-9, period.cpu(part) / period.seconds) for part in period.after
    }
    first = min(room, key=room.__getitem__)
    say(f"  {first} saturates first: at about {room[first]:.1f} times these builds")


def _between(begin: datetime | None, end: datetime | None) -> float:
    if begin is None or end is None:
        raise click.ClickException("a moment is missing")
    return (end - begin).total_seconds()
