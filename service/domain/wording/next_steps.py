"""Next steps: the commands to copy after a run that is not simply green, each with its purpose."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.project.job_kinds import OWN_FILE
from service.domain.project.project_file import Permission
from service.domain.review.comment_commands import filter_text
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from service.domain.project.job_kinds import JobKind

MORE_PAIRS: Final = 64  # twice the pairs after which most benchmarks are decided or far from it
_MOST_JOBS: Final = 5  # in one line; a plain `recheck` is shorter
_SHORTEST_PREFIX: Final = 4  # a shorter filter says nothing about what it chooses
ANY: Final = "*"
_PLACEHOLDER: Final = "FILTER"


class Place(StrEnum):
    """The places where a line can be used."""

    SHELL = "in a checkout of the patch set"
    COMMENT = "in a comment on the change"
    PROJECT_FILE = "in benchgate.yaml on the target branch"


class Step(StrEnum):
    """The kinds of next steps."""

    GATE = "gate"
    CHECK = "check"
    RECHECK = "recheck"
    MORE_PAIRS = "benchmark"
    ACCEPT = "accept"
    OVERRIDE = "override"
    ENABLE = "enable"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedBuild:
    """The part of a finished build that its next steps depend on.

    Args:
        job: the name of its job.
        kind: the kind of its job.
        outcome: how it ended.
        seed: of its random choices; may be empty.
        slower: the benchmarks that vote −1, because they are slower or removed.
        undecided: the benchmarks that more pairs may decide.
        is_voting: its outcome counts in the vote.
        is_waived: a person overrode its failure.
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
    """A line to copy, its purpose, and the place where it can be used."""

    step: Step
    purpose: str
    place: Place
    line: str


# Without a default on purpose: a new outcome must say what its reader can do.
_STEPS: Final[Mapping[Outcome, tuple[Step, ...]]] = MappingProxyType(
    {
        Outcome.PASSED: (),
        Outcome.FAILED: (Step.GATE, Step.CHECK, Step.OVERRIDE),
        Outcome.SLOWER: (Step.GATE, Step.RECHECK, Step.ACCEPT, Step.OVERRIDE),
        Outcome.MEASURED_NOTHING: (Step.GATE, Step.OVERRIDE),
        Outcome.BROKEN: (Step.GATE, Step.OVERRIDE),
        Outcome.REMOVED: (Step.ACCEPT, Step.OVERRIDE),
        Outcome.UNDECIDED: (Step.GATE, Step.MORE_PAIRS),
        Outcome.UNDECIDED_WITHHELD: (Step.GATE, Step.MORE_PAIRS),
        Outcome.NO_PARENT: (),
        Outcome.PARENT_BROKEN: (Step.GATE, Step.RECHECK),
        Outcome.MISCONFIGURED: (Step.CHECK, Step.RECHECK),
        Outcome.INFRASTRUCTURE: (Step.RECHECK,),
        Outcome.CANCELLED: (Step.RECHECK,),
        Outcome.NOT_BUILT: (),
    }
)
_PURPOSES: Final[Mapping[Step, tuple[str, Place]]] = MappingProxyType(
    {
        Step.GATE: ("Repeat it on your machine", Place.SHELL),
        Step.CHECK: ("Check the project file before the next push", Place.SHELL),
        Step.RECHECK: ("Run it again", Place.COMMENT),
        Step.MORE_PAIRS: ("Measure the undecided results longer", Place.COMMENT),
        Step.ACCEPT: ("Accept what is slower or removed, with a reason", Place.COMMENT),
        Step.OVERRIDE: (
            "If the patch did not cause the failure, override it with a bug and a reason",
            Place.COMMENT,
        ),
        Step.ENABLE: ("No comment command is enabled; enable them", Place.PROJECT_FILE),
    }
)
_PERMISSIONS: Final[Mapping[Step, Permission]] = MappingProxyType(
    {
        Step.RECHECK: Permission.RERUN,
        Step.MORE_PAIRS: Permission.RERUN,
        Step.ACCEPT: Permission.OVERRIDE,
        Step.OVERRIDE: Permission.OVERRIDE,
    }
)
_ENABLE: Final = "commands: {rerun: GROUP, override: GROUP}"


def next_steps(
    builds: Sequence[EndedBuild], permissions: Collection[Permission], *, is_open: bool = True
) -> tuple[NextStep, ...]:
    """List what the reader can do about builds that ended, most useful first; empty if all is green.

    Args:
        builds: the finished builds of a run, in its order.
        permissions: those that the project file gives to a group.
        is_open: comment commands work; False for an outdated patch set and a closed change.
    """
    by_step = builds_by_step(builds)
    useful = [(step, line) for step, write in _LINES.items() for line in write(by_step[step])]
    usable = [(step, line) for step, line in useful if is_open or step not in _PERMISSIONS]
    found = [each for each in usable if _PERMISSIONS.get(each[0]) in {None, *permissions}]
    if usable and not found:
        found = [(Step.ENABLE, _ENABLE)]
    return tuple(NextStep(step, *_PURPOSES[step], line) for step, line in found)


def builds_by_step(builds: Sequence[EndedBuild]) -> Mapping[Step, Sequence[EndedBuild]]:
    """List, for each step, the builds after which it is useful; those whose failure is waived are left out.

    A failure that does not vote is neither accepted nor overridden, and another CI repeats its own builds.
    """
    counting = [build for build in builds if not build.is_waived]
    concerned = {step: [build for build in counting if step in _STEPS[build.outcome]] for step in Step}
    for step in (Step.ACCEPT, Step.OVERRIDE):
        concerned[step] = [build for build in concerned[step] if build.is_voting]
    concerned[Step.RECHECK] = [build for build in concerned[Step.RECHECK] if not build.kind.is_external]
    return concerned


def common_filter(names: Sequence[str]) -> str:
    """Return the longest filter that chooses all these benchmarks; ``*`` if their names begin differently."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(min(names), max(names), strict=False))
    common = "".join(letter for letter, _ in alike).strip()
    return common if len(common) >= _SHORTEST_PREFIX else ANY


def last_line(steps: Sequence[NextStep]) -> str:
    """Write the most useful step as the line of a message before its link; empty if there is none."""
    if not steps:
        return ""
    first = steps[0]
    verb = "comment " if first.place is Place.COMMENT else ""
    others = "; the page has other ways:" if len(steps) > 1 else ""
    return f"Next: {first.purpose[0].lower()}{first.purpose[1:]}: {verb}`{first.line}`{others}"


def _gate(builds: Sequence[EndedBuild]) -> Iterator[str]:
    """Yield the line for the worst build alone: its results are those that the reader asks about."""
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
    """Name the jobs of builds to run again; none if there are so many that `recheck` alone is shorter."""
    return tuple(build.job for build in builds) if len(builds) <= _MOST_JOBS else ()


def job_to_override(builds: Sequence[EndedBuild]) -> str:
    """Name the job of a single failure; empty for several, which the command overrides without a job.

    The check of the project file itself is no job.
    """
    return builds[0].job if len(builds) == 1 and builds[0].kind != OWN_FILE else ""


def _more_pairs(builds: Sequence[EndedBuild]) -> Iterator[str]:
    if names := _names(builds, lambda build: build.undecided):
        yield f"benchmark {_filter(names)} x{MORE_PAIRS}"


def _accept(builds: Sequence[EndedBuild]) -> Iterator[str]:
    if names := _names(builds, lambda build: build.slower):
        # `accept *` would accept what nobody looked at.
        chosen = _filter(names)
        yield f"accept {_PLACEHOLDER if chosen == ANY else chosen} REASON"


def _override(builds: Sequence[EndedBuild]) -> Iterator[str]:
    if builds:
        yield " ".join(filter(None, ("override", job_to_override(builds), "BUG-ID REASON")))


def _names(builds: Sequence[EndedBuild], of: Callable[[EndedBuild], tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(name for build in builds for name in of(build)))


def _filter(names: Sequence[str]) -> str:
    return filter_text(common_filter(names)) or _PLACEHOLDER


_LINES: Final[Mapping[Step, Callable[[Sequence[EndedBuild]], Iterator[str]]]] = MappingProxyType(
    {
        Step.GATE: _gate,
        Step.CHECK: _check,
        Step.RECHECK: _recheck,
        Step.MORE_PAIRS: _more_pairs,
        Step.ACCEPT: _accept,
        Step.OVERRIDE: _override,
    }
)
