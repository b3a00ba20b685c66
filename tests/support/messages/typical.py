"""Messages of decisions, made by the wording from builds as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.failures.evidence import Rate
from service.domain.failures.known import KnownFailure, KnownMatches, Scope, TriageState
from service.domain.failures.output.patterns import failures_in
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Policy
from service.domain.project.project_file import Permission
from service.domain.runs.build_outcome import NOTHING_WITHHELD, judge
from service.domain.runs.vote import CONSEQUENCES, Ballot, Counts, Outcome, vote_of
from service.domain.wording.failures import failure_causes
from service.domain.wording.judgement import judgement_causes
from service.domain.wording.message import BuildReport, Header, compose, header_of, header_of_failed
from service.domain.wording.next_steps import EndedBuild, last_lines, next_steps
from service.domain.wording.overrides import waiver_sentence
from tests.unit.domain.comparisons import FASTER, SAME, row, slower

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.runs.build_outcome import Withheld
    from service.domain.verdict.inference.verdict import Comparison
    from service.domain.wording.next_steps import NextStep

    Ended = tuple[str, Outcome, tuple[str, ...]]

LINK: Final = "https://bench.example.com/runs/41#v1"
LINUX: Final = "kv_engine.linux/5895"
PERF: Final = "kv-engine-cv-perf/15630"
_PASSED: Final = (("clang_format_9/3064", Outcome.PASSED, ()), ("clang_tidy/4537", Outcome.PASSED, ()))
_KINDS: Final = {"kv-engine-cv-perf": "benchmark", "kv_engine.linux": "ctest"}  # all others are external
_UNWAIVED: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Posted:
    """A vote and its message."""

    vote: int | None
    text: str


def posted(*builds: Ended, steps: Sequence[NextStep] = (), waivers: Mapping[str, str] = _UNWAIVED) -> Posted:
    """Decide about finished builds.

    Args:
        builds: the name, outcome and causes of each.
        steps: what the reader can do.
        waivers: the sentences of the builds that do not count, by the builds' names.
    """
    ballots = [Ballot(outcome, is_waived=name in waivers) for name, outcome, _ in builds]
    reports = [
        BuildReport(
            f"https://bench.example.com/job/{name}/",
            CONSEQUENCES[outcome].result,
            causes,
            override=waivers.get(name, ""),
            job=name.rpartition("/")[0],
        )
        for name, outcome, causes in builds
    ]
    failed = [
        _header_of(name, outcome)
        for (name, outcome, _), ballot in zip(builds, ballots, strict=True)
        if ballot.counts is Counts.FAIL
    ]
    vote = vote_of(ballots)
    return Posted(
        vote,
        compose(header_of(vote, ballots, failed), reports, LINK, ends=last_lines(steps)),
    )


def _header_of(name: str, outcome: Outcome) -> Header:
    """The header of a failed build; one of benchmarks fails at once only if it does not compile."""
    kind = JobKind(_KINDS.get(name.rpartition("/")[0], "external"))
    return header_of_failed(kind, is_built=kind != "benchmark" or outcome is not Outcome.FAILED)


def benchmark(name: str, *comparisons: Comparison, withheld: Withheld = NOTHING_WITHHELD) -> Ended:
    """A build that measured these comparisons."""
    found = judge(comparisons, Policy(), (), withheld)
    return name, found.outcome, judgement_causes(found, Policy(), "perf-01")


def after(
    name: str,
    kind: str,
    outcome: Outcome,
    slower: tuple[str, ...] = (),
    undecided: tuple[str, ...] = (),
) -> Sequence[NextStep]:
    """The next steps after a build, in a project that enables all commands."""
    job = name.rpartition("/")[0]
    ended = EndedBuild(job=job, kind=JobKind(kind), outcome=outcome, slower=slower, undecided=undecided)
    return next_steps([ended], tuple(Permission))


_FOLLY: Final = "PureFollyExecutorBench"
_TEST_LOG: Final = b"""\
170/409 Test #167: ep-engine_ep_unit_tests.PersistentAndEphemeral/ConnectionTest %b***Failed   29.49 sec
[ RUN      ] PersistentAndEphemeral/ConnectionTest.TestTakeover/0
/src/engines/ep/tests/connection_test.cc:612: Failure
Expected equality of these values:
  cb::engine_errc::success
    Which is: success
  producer->step()
    Which is: too_big
[  FAILED  ] PersistentAndEphemeral/ConnectionTest.TestTakeover/0 (104 ms)
""" % (47 * b".")
_FAILED_TEST: Final = failure_causes(list(failures_in(_TEST_LOG.splitlines(keepends=True), "/src")))
_KNOWN: Final = KnownFailure(
    id=3,
    signature=bytes(32),
    pattern="",
    scope=Scope(instance="gerrit", project="kv_engine", branch="master", job="kv_engine.linux"),
    bug="MB-37948",
    reason="intermittent failure",
    owner="Ada Lane",
    assignee="",
    state=TriageState.CONFIRMED,
    expires_at=datetime(2026, 12, 23, tzinfo=UTC),
)

TYPICAL: Final[Mapping[str, Posted]] = MappingProxyType(
    {
        "failed_test": posted(
            (LINUX, Outcome.FAILED, _FAILED_TEST), *_PASSED, steps=after(LINUX, "ctest", Outcome.FAILED)
        ),
        "slower": posted(
            benchmark(
                PERF,
                slower(
                    f"{_FOLLY}/OneShotScheduleRun/real_time/threads:4", 0.877, "items_per_second"
                )._replace(base=3.82e6, patch=3.35e6),
                slower("HashTableBench/Insert", 1.034)._replace(base=41.2e-6, patch=42.6e-6),
                slower("HashTableBench/Find", 1.016)._replace(base=902e-9, patch=916e-9),
                FASTER._replace(row=row("HashTableBench/Clear"), base=1.84e-3, patch=920e-6),
                *[SAME] * 16,
            ),
            steps=after(PERF, "benchmark", Outcome.SLOWER, slower=(_FOLLY, "HashTableBench")),
        ),
        "known_failure": posted(
            (LINUX, Outcome.FAILED, _FAILED_TEST),
            *_PASSED,
            waivers={LINUX: waiver_sentence(KnownMatches((_KNOWN,)), {_KNOWN.id: Rate(12, 340)})},
        ),
    }
)
"""The messages that reviewers get most often, beside that of a patch set without a fault."""
