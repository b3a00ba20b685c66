"""Store contract: failures, known failures, their matches and proposals."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.access.audit import AuditKind
from service.domain.failures.evidence import Rate
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import KnownMatches, LookAlike, Scope, TriageState
from service.domain.failures.signature import signature_of
from service.domain.runs.vote import Outcome
from service.domain.values.errors import NotFound
from service.ports.access import Author
from service.ports.failures.storing import BuildFailures, KnownChange, NewKnown, known_by_build
from service.steps.failures.match_known import keep_matches
from tests.support.store_samples import change, check_run, named, post_submit_run, start

if TYPE_CHECKING:
    from service.domain.access.audit import AuditEntry
    from service.domain.failures.known import KnownFailure
    from service.ports.access import AuditLog
    from service.ports.failures.storing import UnknownSignature
    from service.ports.store import Store, Transaction
    from tests.contract.store.sites import StoreSite

FLAKY: Final = Failure(FailureKind.TEST, "ep.expiry", "Which is: 3", "1/2 Test #1: ep.expiry", "a.cc:3")
CRASH: Final = Failure(FailureKind.CRASH, "ep.eviction", "SIGSEGV", "Failure of a test ep.eviction")
FORMAT: Final = Failure(FailureKind.FORMAT, "a.cc", "code should be clang-formatted")
SCOPE: Final = Scope(instance="review", project="kv_engine", branch="master", job="linux")
BOB: Final = Author(account="1000003", name="Bob")
EVE: Final = Author(account="1000004", name="Eve", signed_in_as="eve-sub")
BOTH: Final = BuildFailures((FLAKY, CRASH))


def finished(
    tx: Transaction, run: int, outcome: Outcome, *found: Failure, job: str = "linux", position: int = 0
) -> int:
    build = tx.builds.add(run, position, named(job, sequence=""))
    tx.failures.store_failures(build, BuildFailures(found))
    tx.builds.finish(build, outcome, [])
    return build


def checked(tx: Transaction, number: int = 7, patch_set: int = 1) -> int:
    record = tx.changes.upsert(change(number, patch_set, minutes=patch_set))
    return start(tx, check_run(record.patch_set_id, f"{number:020x}{patch_set:020x}"))


def known(tx: Transaction, failure: Failure = FLAKY, author: Author = BOB, days: int = 30) -> KnownFailure:
    new = NewKnown(signature=signature_of(failure), scope=SCOPE, bug="MB-1", reason="flaky here", days=days)
    return tx.known.make(new, author)


def acts(log: AuditLog) -> list[tuple[str, str, str]]:
    return [(each.kind, each.actor, each.subject) for each in log.entries(0, 100)]


class TestFailures:
    def test_the_failures_of_a_build_come_back_in_their_order(self, store: Store) -> None:
        with store.transaction() as tx:
            run = checked(tx)
            build, other = (finished(tx, run, Outcome.FAILED, job=job) for job in ("linux", "mac"))
            tx.failures.store_failures(build, BuildFailures((FLAKY, CRASH, FLAKY), is_cut=True))
        with store.transaction() as tx:
            found = tx.failures.failures_of([build, other])
        assert found == {build: BuildFailures((FLAKY, CRASH, FLAKY), is_cut=True)}

    def test_a_list_without_an_entry_can_be_cut(self, store: Store) -> None:
        with store.transaction() as tx:
            build = finished(tx, checked(tx), Outcome.FAILED)
            tx.failures.store_failures(build, BuildFailures((), is_cut=True))
            assert tx.failures.failures_of([build]) == {build: BuildFailures((), is_cut=True)}

    def test_storing_them_again_replaces_them(self, store: Store) -> None:
        with store.transaction() as tx:
            build = finished(tx, checked(tx), Outcome.FAILED, FLAKY, CRASH)
            tx.failures.store_failures(build, BuildFailures((CRASH,)))
            assert tx.failures.failures_of([build]) == {build: BuildFailures((CRASH,))}

    def test_failures_cleared_by_a_retry_do_not_count(self, store: Store) -> None:
        with store.transaction() as tx:
            passed, failed = (finished(tx, checked(tx, number), Outcome.PASSED) for number in (7, 8))
            tx.failures.store_failures(passed, BuildFailures(), (FLAKY,))
            tx.failures.store_failures(failed, BuildFailures((CRASH,)), (FLAKY,))
        with store.transaction() as tx:
            assert tx.failures.failures_of([passed, failed]) == {failed: BuildFailures((CRASH,))}
            tx.failures.store_failures(passed, BuildFailures((FLAKY,)))
            assert tx.failures.failures_of([passed]) == {passed: BuildFailures((FLAKY,))}

    def test_a_build_needs_no_known_failure_of_one_that_a_retry_cleared(self, store: Store) -> None:
        with store.transaction() as tx:
            run = checked(tx)
            build = finished(tx, run, Outcome.FAILED)
            tx.failures.store_failures(build, BuildFailures((FORMAT,)), (FLAKY,))
            made = known(tx, FORMAT)
            keep_matches(tx.failures, tx.runs.lock(run), [tx.builds.lock(build)])
            assert known_by_build(tx.failures, run) == {build: KnownMatches((made,))}
            known(tx, FLAKY)
            keep_matches(tx.failures, tx.runs.lock(run), [tx.builds.lock(build)])
            assert known_by_build(tx.failures, run) == {build: KnownMatches((made,))}

    def test_matches_are_kept_as_they_were_first(self, store: Store) -> None:
        with store.transaction() as tx:
            run = checked(tx)
            build = finished(tx, run, Outcome.FAILED, FLAKY, CRASH)
            first, second = known(tx), known(tx, CRASH)
            tx.failures.keep_matches(run, {(build, 0): first.id})
            tx.failures.keep_matches(run, {(build, 0): second.id, (build, 1): second.id})
            tx.failures.keep_matches(run, {})
        with store.transaction() as tx:
            assert tx.failures.matches_of(run) == {(build, 0): first, (build, 1): second}
            assert tx.failures.matches_of(run + 1) == {}

    def test_a_known_failure_has_the_text_of_its_signature(self, store: Store) -> None:
        node = Failure(FailureKind.TEST, "ep.node", "no answer from node 3")
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, node)
            assert known(tx, node).text == "no answer from node N"
            [now] = tx.failures.known_now("review", "kv_engine").known
        assert (now.text, now.is_bug_closed) == ("no answer from node N", False)

    def test_a_failure_that_names_no_cause_is_not_matched_but_shown(self, store: Store) -> None:
        node = Failure(FailureKind.TEST, "ep.node", "no answer from node 3")
        with store.transaction() as tx:
            run = checked(tx)
            build = finished(tx, run, Outcome.FAILED, node)
            known(tx, node)
            alike, _ = keep_matches(tx.failures, tx.runs.lock(run), [tx.builds.lock(build)])
            assert alike == {build: [LookAlike("linux", node, "MB-1", "no answer from node N")]}
            assert tx.failures.matches_of(run) == {}

    def test_a_match_shows_the_known_failure_as_it_is_now(self, store: Store) -> None:
        with store.transaction() as tx:
            run = checked(tx)
            build = finished(tx, run, Outcome.FAILED, FLAKY)
            made = known(tx)
            tx.failures.keep_matches(run, {(build, 0): made.id})
            tx.known.change(made.id, KnownChange(state=TriageState.FIXED, bug="MB-2", assignee=""), BOB)
            assert tx.failures.matches_of(run)[build, 0].bug == "MB-2"

    def test_a_rate_counts_the_builds_in_the_scope(self, store: Store) -> None:
        with store.transaction() as tx:
            run = checked(tx)
            finished(tx, run, Outcome.FAILED, FLAKY)
            finished(tx, run, Outcome.FAILED, FLAKY, job="mac")
            merged = start(tx, post_submit_run())
            finished(tx, merged, Outcome.PASSED)
            others = (Outcome.FAILED, Outcome.INFRASTRUCTURE, Outcome.CANCELLED, Outcome.NOT_BUILT)
            for number, outcome in enumerate(others):
                finished(tx, checked(tx, 8 + number), outcome)
            made = known(tx)
        with store.transaction() as tx:
            assert tx.failures.rates_of([made.id]) == {made.id: Rate(1, 3)}

    def test_a_rate_counts_failures_that_a_retry_cleared(self, store: Store) -> None:
        with store.transaction() as tx:
            finished(tx, checked(tx, 7), Outcome.PASSED)
            build = finished(tx, checked(tx, 8), Outcome.PASSED)
            tx.failures.store_failures(build, BuildFailures(), (FLAKY,))
            made = known(tx)
            assert tx.failures.rates_of([made.id]) == {made.id: Rate(1, 2)}

    def test_a_rate_of_a_pattern_counts_its_matches(self, store: Store) -> None:
        with store.transaction() as tx:
            run = checked(tx)
            build = finished(tx, run, Outcome.FAILED, FLAKY)
            new = NewKnown(pattern="ep.expiry", scope=SCOPE, bug="MB-1", reason="flaky here", days=30)
            made = tx.known.make(new, BOB)
            tx.failures.keep_matches(run, {(build, 0): made.id})
            assert tx.failures.rates_of([made.id]) == {made.id: Rate(1, 1)}

    def test_a_patterns_rate_counts_no_build_from_before_the_pattern(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            for number in (7, 8):
                finished(tx, checked(tx, number), Outcome.FAILED, FLAKY)
        site.wait(3600)
        with site.store.transaction() as tx:
            new = NewKnown(pattern="ep.expiry", scope=SCOPE, bug="MB-1", reason="flaky here", days=30)
            made = tx.known.make(new, BOB)
            assert tx.failures.rates_of([made.id]) == {made.id: Rate(0, 0)}
        site.wait(3600)
        with site.store.transaction() as tx:
            run = checked(tx, 9)
            build = finished(tx, run, Outcome.FAILED, FLAKY)
            finished(tx, checked(tx, 10), Outcome.PASSED)
            tx.failures.keep_matches(run, {(build, 0): made.id})
            assert tx.failures.rates_of([made.id, known(tx).id]) == {
                made.id: Rate(1, 2),
                made.id + 1: Rate(3, 4),
            }

    def test_a_rate_forgets_builds_older_than_30_days(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
            made = known(tx)
        site.wait(31 * 86400)
        with site.store.transaction() as tx:
            assert tx.failures.rates_of([made.id]) == {made.id: Rate(0, 0)}

    def test_a_rate_counts_replaced_builds(self, store: Store) -> None:
        with store.transaction() as tx:
            run = checked(tx)
            build = finished(tx, run, Outcome.FAILED, FLAKY)
            made = known(tx)
            again = tx.builds.repeat(tx.builds.lock(build), None, 60.0)
            tx.builds.put(run, 0, "linux", again, None)
            tx.builds.finish(again, Outcome.PASSED, [])
        with store.transaction() as tx:
            assert tx.failures.rates_of([made.id]) == {made.id: Rate(1, 2)}


class TestKnownFailures:
    def test_a_known_failure_is_confirmed_until_it_expires(self, store: Store) -> None:
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
            made = known(tx, days=7)
            now = tx.failures.known_now("review", "kv_engine")
        assert now.known == (made,)
        assert made.expires_at == now.at + timedelta(days=7)
        assert (made.signature, made.pattern, made.scope) == (signature_of(FLAKY).digest, "", SCOPE)
        assert (made.state, made.bug, made.reason) == (TriageState.CONFIRMED, "MB-1", "flaky here")
        assert (made.owner, made.assignee) == ("Bob", "")

    def test_an_expired_one_is_left_out_and_not_locked(self, site: StoreSite) -> None:
        with site.store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
            made = known(tx, days=1)
        site.wait(86400)
        with site.store.transaction() as tx:
            now = tx.failures.known_now("review", "kv_engine")
            assert tx.known.lock(made.id).expires_at <= now.at
        assert (now.known, [each.id for each in now.expired]) == ((), [made.id])

    def test_those_of_another_project_are_not(self, store: Store) -> None:
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
            known(tx)
            assert tx.failures.known_now("review", "other").known == ()
            assert tx.failures.known_now("other", "kv_engine").known == ()

    def test_the_same_failure_in_the_same_scope_is_renewed(self, store: Store, audit_log: AuditLog) -> None:
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
            first = known(tx, days=1)
            again = known(tx, author=EVE, days=9)
        assert (again.id, again.owner) == (first.id, "Eve")
        assert again.expires_at - first.expires_at == timedelta(days=8)
        subject = f"known failure {first.id}"
        assert acts(audit_log) == [
            (AuditKind.KNOWN_CREATED, "1000003", subject),
            (AuditKind.KNOWN_CHANGED, "1000004", subject),
        ]

    def test_a_fixed_one_that_came_back_is_confirmed_again(self, store: Store) -> None:
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
            made = known(tx)
            tx.known.change(made.id, KnownChange(state=TriageState.FIXED, bug="MB-1", assignee=""), BOB)
            assert tx.failures.known_now("review", "kv_engine").known == ()
            assert (known(tx).id, known(tx).state) == (made.id, TriageState.CONFIRMED)

    def test_one_of_the_infrastructure_stays_so(self, store: Store) -> None:
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
            state = TriageState.INFRASTRUCTURE
            tx.known.change(known(tx).id, KnownChange(state=state, bug="MB-1", assignee=""), BOB)
            assert known(tx).state is state

    def test_beside_an_invalid_one_another_is_made(self, store: Store) -> None:
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
            invalid = KnownChange(state=TriageState.INVALID, bug="MB-1", assignee="")
            first = tx.known.change(known(tx).id, invalid, BOB)
            assert known(tx).id != first.id
            assert tx.known.lock(first.id).state is TriageState.INVALID

    def test_a_change_replaces_the_values_and_is_recorded(self, store: Store, audit_log: AuditLog) -> None:
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
            made = known(tx, days=2)
            values = KnownChange(state=TriageState.CONFIRMED, bug="MB-2", assignee="Ann")
            changed = tx.known.change(made.id, values, EVE)
            values = KnownChange(state=TriageState.FIXED, bug="MB-2", assignee="Ann", days=5)
            closed = tx.known.change(made.id, values, EVE)
            assert tx.known.lock(made.id) == closed
        assert (changed.bug, changed.assignee, changed.owner) == ("MB-2", "Ann", "Bob")
        assert changed.expires_at == made.expires_at
        assert closed.expires_at - made.expires_at == timedelta(days=3)
        assert [kind for kind, *_ in acts(audit_log)][1:] == [AuditKind.KNOWN_CHANGED, AuditKind.KNOWN_CLOSED]
        entry = self.last(audit_log)
        assert entry.details["person"] == "Eve"
        assert entry.details["signed in as"] == "eve-sub"
        assert (entry.details["bug"], entry.details["state"]) == ("MB-2", "fixed")

    @staticmethod
    def last(log: AuditLog) -> AuditEntry:
        [entry] = log.newest(1)
        return entry

    def test_a_missing_known_failure_is_not_found(self, store: Store) -> None:
        with store.transaction() as tx, pytest.raises(NotFound, match="known failure 99"):
            tx.known.lock(99)

    def test_a_failure_stored_with_other_rules_can_be_made_known(self, store: Store) -> None:
        with store.transaction() as tx:
            made = known(tx)
            assert made.signature == signature_of(FLAKY).digest
            assert made.id == known(tx).id
            assert (
                tx.failures.known_now(SCOPE.instance, SCOPE.project)
                .known[0]
                .matches(signature_of(FLAKY).digest, FLAKY)
            )


class TestProposals:
    def unknown(self, store: Store) -> list[UnknownSignature]:
        with store.transaction() as tx:
            return list(tx.known.unknown_signatures())

    def test_a_signature_lists_its_builds(self, store: Store) -> None:
        with store.transaction() as tx:
            for number in (7, 8):
                finished(tx, checked(tx, number), Outcome.FAILED, FLAKY)
        [found] = self.unknown(store)
        assert (found.signature, found.scope) == (signature_of(FLAKY).digest, SCOPE)
        first, second = found.sightings
        assert first.change != second.change
        assert first.revision == f"{7:020x}{1:020x}"
        assert (first.parent, first.host) == ("p" * 40, "")
        assert (first.fails_on_parent, first.passed_on_retry) == (False, False)

    def test_failures_that_only_people_make_known_are_left_out(self, store: Store) -> None:
        vague = Failure(FailureKind.TIMEOUT, "", "timeout")
        end = Failure(FailureKind.SANITIZER, "", "AddressSanitizer: SEGV")
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FORMAT, vague, end)
        assert self.unknown(store) == []

    def test_a_parent_with_the_failure_is_noticed(self, store: Store) -> None:
        with store.transaction() as tx:
            merged = tx.runs.add(post_submit_run("p" * 40))
            assert merged is not None
            tx.runs.start(merged, tree="t" * 40, parent="o" * 40, parent_tree="q" * 40, label="Verified")
            finished(tx, merged, Outcome.FAILED, FLAKY)
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
        [found] = self.unknown(store)
        assert [each.fails_on_parent for each in found.sightings] == [False, True]

    def test_a_retry_that_passed_is_noticed(self, store: Store) -> None:
        with store.transaction() as tx:
            run = checked(tx)
            build = finished(tx, run, Outcome.FAILED, FLAKY)
            again = tx.builds.repeat(tx.builds.lock(build), None, 60.0)
            tx.builds.put(run, 0, "linux", again, None)
        assert [each.passed_on_retry for each in self.unknown(store)[0].sightings] == [False]
        with store.transaction() as tx:
            tx.builds.finish(again, Outcome.PASSED, [])
        assert [each.passed_on_retry for each in self.unknown(store)[0].sightings] == [True]

    @pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED])
    def test_a_failure_that_a_retry_in_the_build_cleared_is_noticed(
        self, store: Store, outcome: Outcome
    ) -> None:
        with store.transaction() as tx:
            build = finished(tx, checked(tx), outcome)
            counting = () if outcome is Outcome.PASSED else (CRASH,)
            tx.failures.store_failures(build, BuildFailures(counting), (FLAKY,))
        found = {each.signature: each.sightings for each in self.unknown(store)}
        assert [each.passed_on_retry for each in found[signature_of(FLAKY).digest]] == [True]
        if counting:
            assert [each.passed_on_retry for each in found[signature_of(CRASH).digest]] == [False]

    def test_a_parent_that_passed_on_a_retry_does_not_fail(self, store: Store) -> None:
        with store.transaction() as tx:
            merged = tx.runs.add(post_submit_run("p" * 40))
            assert merged is not None
            tx.runs.start(merged, tree="t" * 40, parent="o" * 40, parent_tree="q" * 40, label="Verified")
            tx.failures.store_failures(finished(tx, merged, Outcome.PASSED), BuildFailures(), (FLAKY,))
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
        [found] = self.unknown(store)
        assert [each.fails_on_parent for each in found.sightings] == [False, False]
        assert [each.passed_on_retry for each in found.sightings] == [True, False]

    def test_a_proposal_waives_nothing_and_is_made_once(self, store: Store, audit_log: AuditLog) -> None:
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
        [found] = self.unknown(store)
        with store.transaction() as tx:
            made = tx.known.propose(found, ["fails on the parent"])
            assert made is not None
            assert tx.known.propose(found, []) is None
            proposal = tx.known.lock(made)
            assert tx.failures.known_now("review", "kv_engine").known == ()
        assert (proposal.state, proposal.bug, proposal.owner) == (TriageState.UNTRIAGED, "", "")
        assert self.unknown(store) == []
        assert acts(audit_log) == [(AuditKind.KNOWN_PROPOSED, "benchgate", f"known failure {made}")]
        with store.transaction() as tx:
            assert (known(tx).id, known(tx).state) == (made, TriageState.CONFIRMED)

    def test_an_invalid_known_failure_is_not_proposed_again(self, store: Store) -> None:
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY)
            invalid = KnownChange(state=TriageState.INVALID, bug="", assignee="")
            tx.known.change(known(tx).id, invalid, BOB)
        assert self.unknown(store) == []

    def test_a_known_failure_of_all_jobs_covers_each(self, store: Store) -> None:
        everywhere = Scope(instance="review", project="kv_engine")
        with store.transaction() as tx:
            finished(tx, checked(tx), Outcome.FAILED, FLAKY, CRASH)
            new = NewKnown(signature=signature_of(FLAKY), scope=everywhere, bug="MB-1", reason="x", days=1)
            tx.known.make(new, BOB)
        assert [each.signature for each in self.unknown(store)] == [signature_of(CRASH).digest]
