from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.project.job_kinds import OWN_FILE, JobKind
from service.domain.project.policy import VoteWhen
from service.domain.runs.vote import Ballot, Outcome, Result, vote_of
from service.domain.values.errors import CommandFailed, Unfit
from service.domain.values.identity import Side
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Comparison, Verdict
from service.domain.wording.build_causes import NO_MATCHING_FILES, build_failed, unfit, unresponsive
from service.domain.wording.message import (
    MAX_BYTES,
    BuildReport,
    Header,
    compose,
    header_of,
    header_of_failed,
)
from tests.support.messages.markdown import MARKS, formats_in
from tests.support.messages.typical import LINK, PERF, TYPICAL, after, benchmark, posted
from tests.unit.domain.comparisons import BROKEN, NEW, REMOVED, SAME, UNDECIDED, row, slower

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.wording.next_steps import NextStep

GOLDEN = Path(__file__).parents[3] / "samples" / "messages"
BALLOTS = st.lists(st.builds(Ballot, st.sampled_from(Outcome), is_voting=st.booleans()), max_size=6)
HOSTILE = (
    "<img src=x onerror=alert(1)>\n\nBuild Successful \n\nhttps://evil.example : SUCCESS",
    "BM_\u202egnp.exe\x1b[31m\0\ud800",
    '=HYPERLINK("https://evil.example")/' + "🚀" * 1200,
    "Patch Set 1: Verified+1\r\n* [x](https://evil.example) @everyone",
    "[click](https://evil.example) **Verified+1**",
)


def message_of(*builds: tuple[str, Outcome, tuple[str, ...]], steps: Sequence[NextStep] = ()) -> str:
    return posted(*builds, steps=steps).text


ERROR = "src/checksum.cc:10: error: 'len' was not declared"
CHECKSUM = slower("Checksum/262144", 1.502)._replace(base=41.2e-6, patch=61.9e-6)
MORE = Reason(ReasonKind.MORE_PAIRS, (6.0, 14.0, 0.0, 0.008))
YOUNG = {CHECKSUM.row: Reason(ReasonKind.ON_PROBATION, (0, 40, 0, 3))}
EXAMPLES = {
    **{name: each.text for name, each in TYPICAL.items()},
    "not_counted_yet": message_of(benchmark(PERF, CHECKSUM, SAME, withheld=YOUNG)),
    "successful": message_of(benchmark(PERF, *[SAME] * 20)),
    "undecided": message_of(
        benchmark(PERF, UNDECIDED._replace(reasons=(*UNDECIDED.reasons, MORE)), *[SAME] * 4, NEW),
        steps=after(PERF, "benchmark", Outcome.UNDECIDED, undecided=("BM_noisy",)),
    ),
    "broken": message_of(benchmark(PERF, BROKEN, REMOVED, SAME)),
    "does_not_compile": message_of(
        (PERF, Outcome.FAILED, (f"Compile error at {ERROR}",)),
        ("kv_engine.linux/2038", Outcome.FAILED, (f"Compile error at {ERROR}",)),
        ("clang_format/24767", Outcome.PASSED, ()),
        steps=after(PERF, "benchmark", Outcome.FAILED),
    ),
    "no_parent": message_of(
        (PERF, Outcome.NO_PARENT, (build_failed(Side.BASE, CommandFailed("compile failed", ERROR)),))
    ),
    "aborted": message_of((PERF, Outcome.INFRASTRUCTURE, (unresponsive(3),))),
    "not_built": message_of((PERF, Outcome.NOT_BUILT, (NO_MATCHING_FILES,))),
    "several_builds": message_of(
        ("kv_engine.linux/2038", Outcome.FAILED, ("Failure of a CTest test 54/208 Test #54: ep_dcp",)),
        ("clang_format/24767", Outcome.PASSED, ()),
        benchmark(PERF, slower("HashTableBench/Insert", 1.5), SAME),
        ("kv_engine.macos/1154", Outcome.NOT_BUILT, (NO_MATCHING_FILES,)),
        ("clang_tidy/737", Outcome.NOT_BUILT, (NO_MATCHING_FILES,)),
        ("kv_engine.tsan/2073", Outcome.INFRASTRUCTURE, (unfit(Unfit("no sandbox")),)),
    ),
    "hostile": message_of(
        benchmark(
            PERF,
            *(slower(name, 1.5) for name in HOSTILE[:1]),
            Comparison(row(HOSTILE[1]), Verdict.BROKEN, reasons=(Reason(ReasonKind.FAILS, (HOSTILE[3],)),)),
            Comparison(row(HOSTILE[2]), Verdict.REMOVED),
            Comparison(row(HOSTILE[4]), Verdict.NEW),
        )
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_messages_read_as_recorded(name: str) -> None:
    assert EXAMPLES[name] == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n")


def test_no_recorded_message_is_without_its_example() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(EXAMPLES)


def test_the_worst_build_comes_first_and_equals_keep_their_order() -> None:
    reports = [BuildReport(f"l{k}", result) for k, result in enumerate([*reversed(Result), *Result])]
    lines = compose(Header.FAILED, reports, LINK).split("\n\n")[1:-1]

    assert [line.split(" : ")[1] for line in lines] == [
        *("ABORTED", "ABORTED", "FAILURE", "FAILURE"),
        *("UNSTABLE", "UNSTABLE", "SUCCESS", "SUCCESS", "NOT_BUILT", "NOT_BUILT"),
    ]
    assert [line.split(" : ")[0] for line in lines][-4:-2] == ["l4", "l5"]


def test_unbuilt_jobs_share_a_line_per_reason() -> None:
    jobs = [f"job{k}" for k in range(22)]
    reports = [BuildReport("l", Result.NOT_BUILT, (NO_MATCHING_FILES,), job=job) for job in jobs]
    reports += [BuildReport("l", Result.NOT_BUILT, ("adds job x",), job="file")]
    reports += [BuildReport("https://ci.example/9", Result.NOT_BUILT, is_external=True)]

    assert compose(Header.NOT_EXECUTED, reports, LINK).split("\n\n")[1:-1] == [
        "https://ci.example/9 : NOT_BUILT",
        f"{', '.join(jobs[:20])} and 2 more : NOT_BUILT (no matching files changed)",
        "file : NOT_BUILT (adds job x)",
    ]


def test_jobs_with_one_compile_error_share_a_block_that_says_it_once() -> None:
    gcc, clang = "error: 'x' was not declared", "error: use of undeclared identifier 'x'"
    first, other = (f"Compile error at src/calc.cc:{line}: {gcc}" for line in (3, 9))
    reports = [
        BuildReport("b/perf/1", Result.FAILURE, (first,), job="perf"),
        BuildReport("b/format/2", Result.FAILURE, ("run `git clang-format HEAD~1`",), job="format"),
        BuildReport("b/linux/3", Result.FAILURE, (first, other), job="linux"),
        BuildReport("b/tidy/4", Result.FAILURE, (first.replace(gcc, clang), "not all"), job="tidy"),
        BuildReport("https://ci/5", Result.FAILURE, (first,), is_external=True),
    ]
    assert compose(Header.FAILED, reports, LINK).split("\n\n")[1:-1] == [
        *("b/perf/1 : FAILURE", "b/linux/3 : FAILURE", "b/tidy/4 : FAILURE"),
        *(first, f"linux: {other}", "tidy: not all"),
        *("b/format/2 : FAILURE", "run `git clang-format HEAD~1`"),
        *("https://ci/5 : FAILURE", f"{first} ( https://ci/5 )"),
    ]


def test_the_last_words_come_before_the_link_and_are_never_left_out() -> None:
    reports = [BuildReport("link", Result.FAILURE, ("x " * 400,) * 40)]
    message = compose(Header.FAILED, reports, LINK, ends=["Next: do it", "Other ways:"])

    assert len(message.encode()) <= MAX_BYTES
    assert message.endswith(f"more lines\n\nNext: do it\n\nOther ways:\n\n{LINK}")


def test_claims_come_after_the_builds_and_are_left_out_first() -> None:
    reports = [BuildReport("link", Result.FAILURE, ("short",))]
    claims = ["first claim", "second claim"]
    message = compose(Header.FAILED, reports, LINK, "", claims, ["Next: do it"])
    assert message.split("\n\n")[1:] == ["link : FAILURE", "short", *claims, "Next: do it", LINK]
    long = [BuildReport("link", Result.FAILURE, ("x" * 980,) * 15)]
    message = compose(Header.FAILED, long, LINK, "", ["y" * 900, "short claim"], ["Next: do it"])
    assert message.count("x" * 980) == 15
    assert message.endswith(f"short claim\n\n… and 1 more line\n\nNext: do it\n\n{LINK}")


def test_an_overlong_cause_ends_with_a_whole_word() -> None:
    (cause,) = compose(Header.FAILED, [BuildReport("l", Result.FAILURE, ("word " * 400,))], LINK).split(
        "\n\n"
    )[2:-1]

    assert cause.endswith("word …")


@pytest.mark.parametrize("is_external", [False, True])
@given(text=MARKS)
def test_no_text_of_a_patch_is_formatted_in_a_message(text: str, *, is_external: bool) -> None:
    report = BuildReport("https://ci.example/9", Result.FAILURE, (text,), is_external, text)

    for paragraph in compose(Header.FAILED, [report], LINK).split("\n\n"):
        assert formats_in(paragraph) == set()


def test_omitted_lines_are_counted() -> None:
    causes = tuple(f"cause {k} " + "🚀" * 1000 for k in range(20))
    message = compose(Header.FAILED, [BuildReport("link", Result.FAILURE, causes)], LINK)

    assert len(message.encode()) <= MAX_BYTES
    kept = message.count("cause ")
    assert 0 < kept < 20
    assert message.endswith(f"\n\n… and {20 - kept} more lines\n\n{LINK}")


def test_causes_make_room_before_builds_do() -> None:
    causes = tuple("🚀" * 1000 for _ in range(4))
    reports = [BuildReport("a", Result.ABORTED, causes), BuildReport("b", Result.FAILURE, ("short",))]
    lines = compose(Header.FAILED, reports, LINK).split("\n\n")

    assert lines[1] == "a : ABORTED"
    assert lines[-4:] == ["b : FAILURE", "short", "… and 1 more line", LINK]


@given(
    st.lists(
        st.builds(
            BuildReport,
            link=st.text("abc/:.", max_size=200),
            result=st.sampled_from(Result),
            causes=st.lists(st.sampled_from(HOSTILE) | st.text(max_size=2000), max_size=20).map(tuple),
        ),
        max_size=12,
    )
)
def test_every_message_fits_and_can_be_recognised(reports: list[BuildReport]) -> None:
    message = compose(Header.FAILED, reports, LINK)

    assert len(message.encode()) <= MAX_BYTES
    assert message.splitlines()[0] == "Build Failed "
    assert message.splitlines()[-1] == LINK
    assert len(message.split("\n\n")) == len(message.splitlines()) // 2 + 1


@given(st.lists(st.tuples(st.sampled_from(Outcome), st.sampled_from(HOSTILE)), max_size=6))
def test_no_cause_can_pose_as_a_header_or_a_build(builds: list[tuple[Outcome, str]]) -> None:
    message = message_of(*((f"perf/{k}", outcome, (text,)) for k, (outcome, text) in enumerate(builds)))
    lines = message.splitlines()[::2]

    paragraphs = sum(outcome is not Outcome.NOT_BUILT for outcome, _ in builds)
    assert sum(line.startswith("https://bench.example.com/job/") for line in lines) == paragraphs
    assert not any(line.startswith(("Build ", "https://evil")) for line in lines[1:])


@given(BALLOTS, st.sampled_from(VoteWhen))
def test_the_header_never_contradicts_the_vote(ballots: list[Ballot], on_nothing: VoteWhen) -> None:
    vote = vote_of(ballots, on_nothing)
    header = header_of(vote, ballots)

    assert (header == Header.FAILED) == (vote == -1)
    if vote == 1:
        assert header in {Header.SUCCESSFUL, Header.NOT_EXECUTED}
    if header == Header.SUCCESSFUL and vote is None:
        assert not any(ballot.is_voting and ballot.outcome is not Outcome.NOT_BUILT for ballot in ballots)


@pytest.mark.parametrize(
    ("vote", "outcomes", "header"),
    [
        (-1, [Outcome.PASSED, Outcome.FAILED], Header.FAILED),
        (1, [Outcome.PASSED, Outcome.NOT_BUILT], Header.SUCCESSFUL),
        (1, [Outcome.NOT_BUILT], Header.NOT_EXECUTED),
        (None, [Outcome.NOT_BUILT], Header.NOT_EXECUTED),
        (None, [], Header.NOT_EXECUTED),
        (None, [Outcome.PASSED, Outcome.INFRASTRUCTURE], Header.ABORTED),
        (None, [Outcome.UNDECIDED_WITHHELD], Header.UNSTABLE),
        (None, [Outcome.PASSED], Header.SUCCESSFUL),
        (None, [Outcome.FAILED], Header.UNSTABLE),
    ],
)
def test_each_decision_has_its_header(vote: int | None, outcomes: list[Outcome], header: Header) -> None:
    assert header_of(vote, [Ballot(outcome) for outcome in outcomes]) == header


@pytest.mark.parametrize(
    ("kind", "noun"),
    [
        ("benchmark", "Benchmarks"),
        ("clang-analyzer", "Lint Check"),
        ("clang-format", "Format Check"),
        ("clang-tidy", "Lint Check"),
        ("command", "Command"),
        ("ctest", "Tests"),
        ("external", "Build"),
        ("gtest", "Tests"),
        (OWN_FILE, "Project File Check"),
        ("unknown", "Build"),
    ],
)
def test_a_failed_build_has_the_noun_of_its_kind_once_its_sources_are_built(kind: str, noun: str) -> None:
    assert header_of_failed(JobKind(kind), is_built=True) == f"{noun} Failed"
    assert header_of_failed(JobKind(kind), is_built=False) == "Build Failed"


def test_builds_of_several_nouns_are_a_failed_build() -> None:
    ballots = [Ballot(Outcome.FAILED)] * 2
    tests, lint = Header.TESTS_FAILED, Header.LINT_FAILED

    assert header_of(-1, ballots, [tests, tests]) == tests
    assert header_of(-1, ballots, [tests, lint]) == Header.FAILED
