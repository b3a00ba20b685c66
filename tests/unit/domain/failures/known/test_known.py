"""Known failures: what they match, and that a new failure is never waived."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import (
    ACTIVE,
    TRANSITIONS,
    Ends,
    KnownFailure,
    KnownMatches,
    Match,
    Scope,
    TriageState,
    compiled,
    complete,
    match,
    only_ends,
    pattern_of,
    require_transition,
)
from service.domain.failures.naming import names_cause
from service.domain.failures.output.ends import is_specific
from service.domain.failures.signature import Signature, signature_of
from service.domain.values.errors import BadInput

AT = datetime(2026, 11, 23, 4, tzinfo=UTC)
PLACE = Scope(instance="review", project="kv", branch="master", job="linux", host="vm-1")
TEST = Failure(
    FailureKind.TEST, "ep_perf.expiry", "Expected: (x) < (3), actual: 4 vs 3", "1/9 Test #4: ep_perf.expiry"
)
OTHER = Failure(FailureKind.TEST, "ep_perf.eviction", "Expected: (x) < (3), actual: 4 vs 3")
VAGUE = Failure(FailureKind.COMMAND, "make", "Error 2", "make: *** [all] Error 2")
ENDS = (
    Failure(
        FailureKind.LINK, "", "linker failed", "Linker error: collect2: error: ld returned 1 exit status"
    ),
    Failure(FailureKind.COMPILE, "", "all warnings being treated as errors"),
    Failure(FailureKind.CONFIGURE, "", "Configuring incomplete, errors occurred!"),
    Failure(FailureKind.SANITIZER, "", "AddressSanitizer: SEGV", "AddressSanitizer: SEGV"),
)
texts = st.text(max_size=20)
failures = st.builds(Failure, st.sampled_from(FailureKind), texts, texts, texts)


def known_of(failure: Failure, **others: object) -> KnownFailure:
    whole = Scope(instance="review", project="kv", branch="master", job="linux")
    made = KnownFailure(
        id=1,
        signature=signature_of(failure).digest,
        pattern="",
        scope=whole,
        bug="MB-37948",
        reason="intermittent",
        owner="Ada L",
        assignee="",
        state=TriageState.CONFIRMED,
        expires_at=AT + timedelta(days=30),
    )
    return replace(made, **others)  # type: ignore[arg-type]


def by_pattern(pattern: str) -> KnownFailure:
    return known_of(TEST, signature=None, pattern=pattern)


def is_waived(found: list[Failure], *known: KnownFailure, at: datetime = AT, place: Scope = PLACE) -> bool:
    return complete([each.known for each in match(found, place, known, at)], is_cut=False) is not None


class TestMatching:
    def test_a_failure_with_the_signature_is_waived(self) -> None:
        again = replace(TEST, headline="Expected: (x) < (3), actual: 9 vs 3", line="2/9 Test #4")
        assert is_waived([again], known_of(TEST))

    def test_another_test_with_the_same_text_is_not(self) -> None:
        assert not is_waived([OTHER], known_of(TEST))

    def test_a_pattern_searches_the_line(self) -> None:
        assert is_waived([TEST], by_pattern(r"Test +#\d+: ep_perf\.expiry"))
        assert not is_waived([OTHER], by_pattern(r"Test +#\d+: ep_perf\.expiry"))

    def test_a_pattern_searches_subject_and_headline_of_a_failure_without_a_line(self) -> None:
        assert is_waived([OTHER], by_pattern("eviction: Expected"))

    def test_a_pattern_that_this_version_cannot_read_matches_nothing(self) -> None:
        assert not is_waived([TEST], by_pattern("(?=x)"))

    def test_each_of_a_thousand_patterns_is_compiled_once(self) -> None:
        known = [by_pattern(f"pattern {number}") for number in range(1000)]
        for _ in range(2):
            assert match([TEST], PLACE, known, AT) == (Match(),)
        before = compiled.cache_info().misses
        assert match([TEST], PLACE, known, AT) == (Match(),)
        assert compiled.cache_info().misses == before

    @pytest.mark.parametrize(
        "other",
        [
            {"project": "other"},
            {"instance": "other"},
            {"branch": "morpheus"},
            {"job": "windows"},
        ],
    )
    def test_a_build_elsewhere_is_not_waived(self, other: dict[str, str]) -> None:
        assert not is_waived([TEST], known_of(TEST), place=replace(PLACE, **other))

    def test_a_host_can_be_named(self) -> None:
        of_host = known_of(TEST, scope=replace(PLACE, host="vm-1"))
        assert is_waived([TEST], of_host)
        assert not is_waived([TEST], of_host, place=replace(PLACE, host="vm-2"))

    def test_an_empty_part_of_the_scope_is_any(self) -> None:
        anywhere = known_of(TEST, scope=Scope(instance="review", project="kv"))
        assert is_waived([TEST], anywhere, place=replace(PLACE, branch="b", job="j", host="h"))

    def test_the_first_known_failure_counts(self) -> None:
        first, second = known_of(TEST), known_of(TEST, id=2)
        assert match([TEST], PLACE, [first, second], AT) == (Match(first),)

    def test_the_first_of_a_signature_and_a_pattern_counts(self) -> None:
        first, second = by_pattern("expiry"), known_of(TEST, id=2)
        assert match([TEST], PLACE, [first, second], AT) == (Match(first),)
        assert match([TEST], PLACE, [second, first], AT) == (Match(second),)

    def test_one_that_names_no_cause_waives_nothing_and_looks_alike(self) -> None:
        node = Failure(FailureKind.TEST, "ep_perf.node", "no answer from node 3")
        first, second = known_of(node), known_of(node, id=2)
        assert match([node], PLACE, [first, second], AT) == (Match(None, first),)
        assert not is_waived([node], first)

    def test_a_pattern_waives_it_because_a_person_wrote_that(self) -> None:
        node = Failure(FailureKind.TEST, "ep_perf.node", "no answer from node 3")
        known, pattern = known_of(node), by_pattern("no answer from node")
        assert is_waived([node], known, pattern)

    def test_the_signature_of_a_failure_is_made_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """However much is known: it would take seconds while the run is locked."""
        made: list[Failure] = []

        def counted(failure: Failure) -> Signature:
            made.append(failure)
            return signature_of(failure)

        known = [known_of(OTHER, id=number) for number in range(50)]
        monkeypatch.setattr("service.domain.failures.known.signature_of", counted)
        assert match([TEST, OTHER], PLACE, known, AT) == (Match(), Match(known[0]))
        assert made == [TEST, OTHER]

    def test_each_known_failure_is_named_once(self) -> None:
        known = known_of(TEST)
        assert KnownMatches((known, known)).distinct == (known,)


class TestNothingNewIsWaived:
    @given(failures, failures)
    def test_a_new_failure_beside_a_known_one(self, old: Failure, new: Failure) -> None:
        assume(signature_of(old) != signature_of(new))
        assert not is_waived([old, new], known_of(old))
        assert not is_waived([new, old], known_of(old))

    @given(st.lists(failures, min_size=1, max_size=5), st.lists(failures, max_size=3))
    def test_a_build_is_waived_exactly_if_all_its_failures_are_known(
        self, found: list[Failure], others: list[Failure]
    ) -> None:
        known = [known_of(each, id=number) for number, each in enumerate(others)]
        digests = {each.signature for each in known}
        expected = all(
            is_specific(each)
            and names_cause(signature_of(each), each.line)
            and signature_of(each).digest in digests
            for each in found
        )
        assert is_waived(found, *known) is expected

    @given(failures)
    def test_a_cut_list(self, failure: Failure) -> None:
        known = known_of(failure)
        assert complete([known], is_cut=True) is None
        assert complete((known, known), is_cut=True) is None

    def test_a_build_without_failures(self) -> None:
        assert complete((), is_cut=False) is None

    @pytest.mark.parametrize(
        "failure",
        [
            VAGUE,
            Failure(FailureKind.COMMAND, "check.sh", "exit code 1"),
            Failure(FailureKind.TIMEOUT, "", "timeout"),
            Failure(FailureKind.CRASH, "", "SIGKILL"),
            Failure(FailureKind.TEST, "", "Failed"),
            Failure(FailureKind.MEMORY, "", "out of memory"),
            *ENDS,
        ],
    )
    def test_a_failure_that_does_not_say_what_failed(self, failure: Failure) -> None:
        assert not is_waived([failure], known_of(failure))

    @pytest.mark.parametrize("end", ENDS)
    def test_the_end_of_a_tool_is_matched_by_no_pattern(self, end: Failure) -> None:
        assert not is_waived([end], by_pattern("SEGV|ld returned|errors"))

    def test_a_report_without_a_function_is_matched_by_the_name_of_its_test(self) -> None:
        line = "Failure of a CTest test 1/1 Test #1: store ....***Failed 0.1 sec"
        end = replace(ENDS[3], line=line)
        assert is_waived([end], by_pattern(r"Test #\d+: store "))
        assert not is_waived([end], known_of(end))

    def test_nor_is_a_command_that_ends_with_it(self) -> None:
        end = Failure(
            FailureKind.COMMAND, "sh", "exit code 1", "sh ended with exit code 1: 1 error generated."
        )
        assert not is_waived([end], by_pattern("sh ended"))

    def test_another_last_line_of_a_command_is(self) -> None:
        end = Failure(FailureKind.COMMAND, "sh", "exit code 1", "sh ended with exit code 1: no cache")
        assert is_waived([end], by_pattern("no cache"))

    def test_a_build_without_anything_to_make_known_has_its_ends(self) -> None:
        bye = Failure(FailureKind.COMMAND, "sh", "exit code 1", "sh ended with exit code 1: bye")
        assert only_ends([bye, ENDS[1], bye]) == Ends((bye.line, ENDS[1].headline), may_match=False)
        assert only_ends([bye]) == Ends((bye.line,), may_match=True)
        assert only_ends([VAGUE, TEST]) is only_ends([]) is None


class TestTime:
    def test_the_moment_of_expiry_is_too_late(self) -> None:
        known = known_of(TEST, expires_at=AT)
        assert not is_waived([TEST], known, at=AT)
        assert is_waived([TEST], known, at=AT - timedelta(microseconds=1))

    @given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
    def test_only_moments_before_the_expiry_are_waived(self, at: datetime, end: datetime) -> None:
        assert known_of(TEST, expires_at=end).waives(at) is (at < end)


class TestStates:
    @pytest.mark.parametrize("state", TriageState)
    def test_only_confirmed_and_infrastructure_waive(self, state: TriageState) -> None:
        assert is_waived([TEST], known_of(TEST, state=state)) is (state in ACTIVE)

    def test_without_a_bug_nothing_is_waived(self) -> None:
        assert not is_waived([TEST], known_of(TEST, bug=""))

    def test_every_state_says_where_it_leads(self) -> None:
        assert set(TRANSITIONS) == set(TriageState)

    def test_an_invalid_known_failure_stays_invalid(self) -> None:
        with pytest.raises(BadInput, match="it is invalid; allowed: none"):
            require_transition(TriageState.INVALID, TriageState.CONFIRMED)

    def test_nobody_proposes_by_hand(self) -> None:
        assert all(TriageState.UNTRIAGED not in targets for targets in TRANSITIONS.values())

    def test_a_state_may_be_kept(self) -> None:
        require_transition(TriageState.INVALID, TriageState.INVALID)


class TestPatterns:
    def test_a_pattern_names_more_than_a_kind_of_failure(self) -> None:
        assert pattern_of("No space left on device").text == "No space left on device"

    @pytest.mark.parametrize(
        "text",
        [".", "Failure of a CTest", "error", r"Test\s+#\d+", "Failed$", "x+", r"make.*\*\*\*", "ninja"],
    )
    def test_a_pattern_for_everything_is_refused(self, text: str) -> None:
        with pytest.raises(BadInput, match="failures of any kind"):
            pattern_of(text)

    @pytest.mark.parametrize("text", ["a\tb", "a\0", "a\u202eb", "a\nb"])
    def test_a_pattern_that_pages_cannot_show_is_refused(self, text: str) -> None:
        with pytest.raises(BadInput, match=r"write them like \\x09"):
            pattern_of(text)
