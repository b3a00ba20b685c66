"""Define a job of the project file: something to run for a patch set."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

import pathspec

from service.domain.project.benchmark import BenchmarkConfiguration
from service.domain.project.benchmark_names import BenchmarkName
from service.domain.project.configuration import Configuration  # noqa: TC001 - keys_of reads it
from service.domain.project.forms import Name, about, after, text
from service.domain.project.job_kinds import JobKind  # noqa: TC001 - keys_of reads it
from service.domain.project.policy import Policy
from service.domain.values.identity import digest_of
from service.domain.values.text import MAIL_ADDRESS

_PATTERNS: Final = "patterns as in .gitignore that do not begin with a slash"


def _pattern(pattern: str) -> str:
    try:
        pathspec.PathSpec.from_lines("gitignore", [pattern])
    except (ValueError, re.error):
        raise ValueError(f"{pattern!r} is not allowed; allowed are {_PATTERNS}") from None
    return pattern


def _consistent(policy: Policy) -> Policy:
    if policy.floor > policy.same_within:
        raise ValueError("floor must not exceed same_within")
    return policy


_Pattern = Annotated[str, text(r"(?!/)[^\x00\n]{1,500}", _PATTERNS), after(_pattern)]
Paths = Annotated[tuple[_Pattern, ...], about("patterns as in .gitignore; default: every change concerns it")]


EVERY_BENCHMARK: Final = "*"
"""The entry of ``owners`` for benchmarks that no other one covers."""
_Address = Annotated[str, text(MAIL_ADDRESS, "e-mail addresses, such as a@example.com")]
Owners = Annotated[
    dict[BenchmarkName, tuple[_Address, ...]],
    about("e-mail addresses by name of benchmarks, or `*`: whom to tell of a slower merged commit"),
]
PathOwners = Annotated[
    dict[_Pattern, tuple[_Address, ...]],
    about("e-mail addresses by pattern of files, as in `paths`: whom to tell if a slower commit changed one"),
]
LINE_COMMENTS: Final = "true: comment on the touched line that made a benchmark slower, if one is known"


@dataclass(frozen=True, slots=True)
class Job:
    """Something to run for a patch set.

    Args:
        name: unique in the project.
        kind: decides who runs it and how.
        configuration: of the kind's own type.
        pool: empty if another CI runs the job.
        paths: patterns of files that concern the job; empty: all.
        policy: thresholds and budgets.
        voting: whether its result counts.
        owners: whom Benchgate tells when a merged commit makes benchmarks slower.
        path_owners: whom it also tells, by patterns of the files that the commit changed.
        line_comments: whether Benchgate comments on the touched line that made a benchmark slower.
        source: the job as written, which is stored with each build.
        problem: why this version cannot run the job, with line and key; empty if it can.
    """

    name: str
    kind: JobKind
    configuration: Configuration
    pool: Annotated[Name, about("the machines that run the job")] = "perf"
    paths: Paths = ()
    policy: Annotated[Policy, after(_consistent), about("sizes and budgets")] = field(default_factory=Policy)
    voting: Annotated[bool, about("false: run and shown, without weight in the vote")] = True
    owners: Owners = field(default_factory=dict, hash=False)
    path_owners: PathOwners = field(default_factory=dict, hash=False)
    line_comments: Annotated[bool, about(LINE_COMMENTS)] = False
    source: dict[str, Any] = field(default_factory=dict)
    problem: str = field(default="", compare=False)

    @property
    def compares(self) -> bool:
        """Return whether builds of the job compare two sides, which a job with a problem never does."""
        return self.configuration.compares and not self.problem

    @property
    def builds(self) -> bool:
        """Return whether the job runs build commands, which need all repositories of the project."""
        return self.configuration.build is not None

    @property
    def benchmark(self) -> BenchmarkConfiguration:
        """The programs that the job measures on both sides.

        Raises:
            TypeError: the job compares nothing.
        """
        found = self.configuration.as_benchmark
        if not isinstance(found, BenchmarkConfiguration):
            raise TypeError(f"job {self.name} of kind {self.kind} compares nothing")
        return found

    @property
    def unfiltered(self) -> Job | None:
        """The job with only those benchmark programs that have a filter, without it; None if none has one.

        The filters of tests stay: what they leave out may not be fit to run.
        """
        own = self.configuration
        if not (self.compares and isinstance(own, BenchmarkConfiguration)):
            return None
        suites = tuple(replace(each, filter="") for each in own.suites if each.filter)
        return replace(self, configuration=replace(own, suites=suites)) if suites else None

    @property
    def config_hash(self) -> str:
        """A digest of the configuration; results are reused only for an equal one."""
        told = {"owners", "path_owners", "line_comments"}  # they decide no result
        source = {key: value for key, value in self.source.items() if key not in told}
        return digest_of({"job": self.name, "config": source})

    @property
    def build_hash(self) -> str:
        """A digest of the build commands; part of a binary's key."""
        return digest_of({"build": self.source.get("build", {}), "programs": [*self.configuration.programs]})
