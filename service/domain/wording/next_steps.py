"""Suggest commands to copy after a run that is not green, each with its purpose."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.project.job_kinds import OWN_FILE
from service.domain.project.project_file import Permission
from service.domain.review.change import OTHER_WAYS
from service.domain.review.comment_commands import filter_text
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from service.domain.project.job_kinds import JobKind

MORE_PAIRS: Final = 64  # twice the pairs after which most benchmarks are decided or far from it
_MOST_JOBS: Final = 5  # in one line; a plain `recheck` is shorter
_SHORTEST_PREFIX: Final = 4  # a shorter filter is too vague
ANY: Final = "*"
_PLACEHOLDER: Final = "FILTER"


class Destination(StrEnum):
    """Places to paste a line."""

    SHELL = "in a checkout of the patch set"
    COMMENT = "in a comment on the change"
    PROJECT_FILE = "in benchgate.yaml on the target branch"


class NextStepKind(StrEnum):
    """Kinds of next steps."""

    GATE = "gate"
    CHECK = "check"
    RECHECK = "recheck"
    MORE_PAIRS = "benchmark"
    ACCEPT = "accept"
    OVERRIDE = "override"
    ENABLE = "enable"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedBuild:
    """Facts of a finished build that its next steps depend on.

    Args:
        job: the name of its job.
        kind: the kind of its job.
        outcome: how it ended.
        seed: of its random choices; may be empty.
        slower: the slower and removed benchmarks that vote −1.
        undecided: the benchmarks that more pairs may decide.
        is_voting: its outcome counts in the vote.
        is_waived: its failure does not count.
    """

    job: str
    kind: JobKind
    outcome: Outcome
    seed: str = ""
    slower: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    is_voting: bool = True
    is_waived: bool = False


@dataclass(frozen=True, slots=True)
class NextStep:
    """A line to copy, its purpose, and the place to paste it."""

    step: NextStepKind
    purpose: str
    place: Destination
    line: str


# No default on purpose: every outcome must state what its reader can do.
_STEPS: Final[Mapping[Outcome, tuple[NextStepKind, ...]]] = MappingProxyType(
    {
        Outcome.PASSED: (),
        Outcome.FAILED: (NextStepKind.GATE, NextStepKind.CHECK, NextStepKind.OVERRIDE),
        Outcome.SLOWER: (NextStepKind.GATE, NextStepKind.RECHECK, NextStepKind.ACCEPT, NextStepKind.OVERRIDE),
        Outcome.MEASURED_NOTHING: (NextStepKind.GATE, NextStepKind.OVERRIDE),
        Outcome.BROKEN: (NextStepKind.GATE, NextStepKind.OVERRIDE),
        Outcome.REMOVED: (NextStepKind.ACCEPT, NextStepKind.OVERRIDE),
        Outcome.UNDECIDED: (NextStepKind.GATE, NextStepKind.MORE_PAIRS),
        Outcome.UNDECIDED_WITHHELD: (NextStepKind.GATE, NextStepKind.MORE_PAIRS),
        Outcome.NO_PARENT: (),
        Outcome.CONFLICT: (),
        Outcome.PARENT_BROKEN: (NextStepKind.GATE, NextStepKind.RECHECK),
        Outcome.MISCONFIGURED: (NextStepKind.CHECK, NextStepKind.RECHECK),
        Outcome.INFRASTRUCTURE: (NextStepKind.RECHECK,),
        Outcome.CANCELLED: (NextStepKind.RECHECK,),
        Outcome.NOT_BUILT: (),
    }
)
_PURPOSES: Final[Mapping[NextStepKind, tuple[str, Destination]]] = MappingProxyType(
    {
        NextStepKind.GATE: ("Repeat it on your machine", Destination.SHELL),
        NextStepKind.CHECK: ("Check the project file before the next push", Destination.SHELL),
        NextStepKind.RECHECK: ("Run it again", Destination.COMMENT),
        NextStepKind.MORE_PAIRS: ("Measure the undecided results longer", Destination.COMMENT),
        NextStepKind.ACCEPT: ("Accept what is slower or removed, with a reason", Destination.COMMENT),
        NextStepKind.OVERRIDE: (
            "If the patch did not cause the failure, override it with a bug and a reason",
            Destination.COMMENT,
        ),
        NextStepKind.ENABLE: ("No comment command is enabled; enable them", Destination.PROJECT_FILE),
    }
)
_PERMISSIONS: Final[Mapping[NextStepKind, Permission]] = MappingProxyType(
    {
        NextStepKind.RECHECK: Permission.RERUN,
        NextStepKind.MORE_PAIRS: Permission.RERUN,
        NextStepKind.ACCEPT: Permission.OVERRIDE,
        NextStepKind.OVERRIDE: Permission.OVERRIDE,
    }
)
_ENABLE: Final = "commands: {rerun: GROUP, override: GROUP}"


def next_steps(
    builds: Sequence[EndedBuild], permissions: Collection[Permission], *, is_open: bool = True
) -> tuple[NextStep, ...]:
    """List what the reader can do about finished builds, most useful first; empty if all is green.

    Args:
        builds: the finished builds of a run, in its order.
        permissions: those that the project file grants to a group.
        is_open: comment commands work; False for an outdated patch set or a closed change.
    """
    by_step = builds_by_step(builds)
    useful = [(step, line) for step, write in _LINES.items() for line in write(by_step[step])]
    usable = [(step, line) for step, line in useful if is_open or step not in _PERMISSIONS]
    found = [each for each in usable if _PERMISSIONS.get(each[0]) in {None, *permissions}]
    if usable and not found:
        found = [(NextStepKind.ENABLE, _ENABLE)]
    voting = (build for build in builds if build.is_voting and not build.is_waived)
    if not any(CONSEQUENCES[build.outcome].counts is Counts.FAIL for build in voting):
        # More pairs tell in seconds what another machine, with other noise, may not.
        found.sort(key=lambda each: each[0] is not NextStepKind.MORE_PAIRS)
    return tuple(NextStep(step, *_PURPOSES[step], line) for step, line in found)


def builds_by_step(builds: Sequence[EndedBuild]) -> Mapping[NextStepKind, Sequence[EndedBuild]]:
    """Map each step to the builds that it is useful for, without those that are waived.

    A failure that does not vote needs no accept or override, and another CI repeats its own builds.
    """
    counting = [build for build in builds if not build.is_waived]
    concerned = {
        step: [build for build in counting if step in _STEPS[build.outcome]] for step in NextStepKind
    }
    for step in (NextStepKind.ACCEPT, NextStepKind.OVERRIDE):
        concerned[step] = [build for build in concerned[step] if build.is_voting]
    concerned[NextStepKind.RECHECK] = [
        build for build in concerned[NextStepKind.RECHECK] if not build.kind.is_external
    ]
    return concerned


def common_filter(names: Sequence[str]) -> str:
    """Find the longest common prefix of these benchmarks; ``*`` if it is too short for a filter."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(min(names), max(names), strict=False))
    common = "".join(letter for letter, _ in alike).strip()
    return common if len(common) >= _SHORTEST_PREFIX else ANY


def last_lines(steps: Sequence[NextStep]) -> tuple[str, ...]:
    """Write the most useful step, and that the link after it leads to others, if any."""
    if not steps:
        return ()
    first = steps[0]
    verb = "comment " if first.place is Destination.COMMENT else ""
    line = f"Next: {first.purpose[0].lower()}{first.purpose[1:]}: {verb}`{first.line}`"
    return (line, OTHER_WAYS) if len(steps) > 1 else (line,)


def _gate(builds: Sequence[EndedBuild]) -> Iterator[str]:
    """Yield a line for the worst build only, which is the one that the reader asks about."""
    ours = [build for build in builds if build.kind.is_known and not build.kind.is_external]
    for build in sorted(ours, key=lambda each: CONSEQUENCES[each.outcome].counts is not Counts.FAIL)[:1]:
        seed = f" --seed {shlex.quote(build.seed)}" if build.seed else ""
        yield f"benchgate gate --job {shlex.quote(build.job)}{seed}"


def _check(builds: Sequence[EndedBuild]) -> Iterator[str]:
    if any(build.kind == OWN_FILE or build.outcome is Outcome.MISCONFIGURED for build in builds):
        yield "benchgate check benchgate.yaml"


def _recheck(builds: Sequence[EndedBuild]) -> Iterator[str]:
    if builds:
        yield " ".join(("recheck", *jobs_to_recheck(builds)))


def jobs_to_recheck(builds: Sequence[EndedBuild]) -> tuple[str, ...]:
    """Name the jobs to run again; none if there are so many that a plain `recheck` is shorter."""
    return tuple(build.job for build in builds) if len(builds) <= _MOST_JOBS else ()


def job_to_override(builds: Sequence[EndedBuild]) -> str:
    """Name the job of a single failure; empty for several, which `override` covers without a job.

    It is empty for the check of the project file too, which is no job.
    """
    return builds[0].job if len(builds) == 1 and builds[0].kind != OWN_FILE else ""


def _more_pairs(builds: Sequence[EndedBuild]) -> Iterator[str]:
    if names := _names(builds, lambda build: build.undecided):
        yield f"benchmark {_filter(names)} x{MORE_PAIRS}"


def _accept(builds: Sequence[EndedBuild]) -> Iterator[str]:
    if names := _names(builds, lambda build: build.slower):
        # `accept *` would accept benchmarks that nobody looked at.
        chosen = _filter(names)
        yield f"accept {_PLACEHOLDER if chosen == ANY else chosen} REASON"


def _override(builds: Sequence[EndedBuild]) -> Iterator[str]:
    if builds:
        yield " ".join(filter(None, ("override", job_to_override(builds), "BUG-ID REASON")))


def _names(builds: Sequence[EndedBuild], of: Callable[[EndedBuild], tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(name for build in builds for name in of(build)))


def _filter(names: Sequence[str]) -> str:
    return filter_text(common_filter(names)) or _PLACEHOLDER


_LINES: Final[Mapping[NextStepKind, Callable[[Sequence[EndedBuild]], Iterator[str]]]] = MappingProxyType(
    {
        NextStepKind.GATE: _gate,
        NextStepKind.CHECK: _check,
        NextStepKind.RECHECK: _recheck,
        NextStepKind.MORE_PAIRS: _more_pairs,
        NextStepKind.ACCEPT: _accept,
        NextStepKind.OVERRIDE: _override,
    }
)
