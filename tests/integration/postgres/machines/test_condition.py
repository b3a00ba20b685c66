"""Report what waits and which steps fail, by the change that each concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.runs.health import Patience, Step
from service.domain.runs.states import RunState
from service.domain.wording.health import degradation_sentences
from tests.contract.reading.site import ADDRESS, CHANGE
from tests.integration.postgres.site import PostgresSite

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def site(database: Database) -> PostgresSite:
    return PostgresSite(database)


def test_the_condition_reports_waiting_events_reviews_and_builds(site: PostgresSite) -> None:
    site.add_change()
    site.add_build(site.add_run(state=RunState.RUNNING), result=None)
    site.database.change("INSERT INTO event (instance, digest, type, body) VALUES ('g', 'd', 't', 'b')")
    site.database.change("INSERT INTO outbox (kind, payload) VALUES ('review', '{}'), ('task', '{}')")
    site.database.change("INSERT INTO setback VALUES ('vote', 1, 9, now(), true, 'x')")
    condition = site.reading.condition()
    assert (condition.unsent_reviews, condition.abandoned_steps) == (1, 1)
    assert condition.oldest_unhandled_event_at is not None
    assert "Pool perf has no machine: one build waits." in degradation_sentences(condition, Patience())


def test_an_event_of_a_change_that_nobody_may_see_has_its_status_and_nothing_else(site: PostgresSite) -> None:
    event: int = site.database.value(
        "INSERT INTO event (instance, digest, type, body, change)"
        " VALUES ('gerrit', 'd', 'patchset-created', 'b', 99) RETURNING id"
    )
    site.database.change(
        "INSERT INTO setback VALUES ('handle_event', :event, 3, now(), false,"
        " 'Refused: Gerrit answers 401: secret~99 needs a login')",
        event=event,
    )
    (failing,) = site.reading.seen_by(None).condition().failing_steps
    assert (failing.change, failing.event) == (None, "patchset-created")
    assert failing.error == "Refused: Gerrit answers 401: Unauthorized"


def test_each_failing_step_names_its_change(site: PostgresSite) -> None:
    site.add_change()
    run = site.add_run(state=RunState.RUNNING)
    build = site.add_build(run, result=None)
    site.database.change("UPDATE build SET state = 'executed' WHERE number = :of", of=build.number)
    event: int = site.database.value(
        "INSERT INTO event (instance, digest, type, body, change)"
        " VALUES ('gerrit', 'd', 't', 'b', :change) RETURNING id",
        change=CHANGE,
    )
    comment: int = site.database.value(
        "INSERT INTO heard (change_id, patch_set_id, account, person, written_at, digest, text)"
        " SELECT change_id, id, '1', 'Dana', now(), 'd', 'recheck' FROM patch_set RETURNING id"
    )
    site.database.change(
        "INSERT INTO outbox (kind, payload, attempts, last_error) VALUES"
        """ ('review', '{"instance": "gerrit", "number": 7}', 4, '502')"""
    )
    entities = {
        *((Step.VOTE, run), (Step.ANALYSE, site.database.value("SELECT id FROM build"))),
        *((Step.HANDLE_EVENT, event), (Step.RUN_COMMENT_COMMANDS, comment), (Step.RECONCILE, 0)),
    }
    for step, entity in entities:
        site.database.change(
            "INSERT INTO setback VALUES (:step, :entity, 3, now(), :is_dead, 'no route')",
            step=step,
            entity=entity,
            is_dead=step is Step.RECONCILE,
        )
    failing = {each.step: each for each in site.reading.condition().failing_steps}
    changes = {step: each.change for step, each in failing.items()}
    assert changes == dict.fromkeys([step for step, _ in entities], str(CHANGE)) | {
        Step.DELIVER: str(CHANGE),
        Step.RECONCILE: None,
    }
    assert failing[Step.HANDLE_EVENT].event == "t"
    assert (failing[Step.RECONCILE].next_at, failing[Step.RECONCILE].is_dead) == (None, False)
    problems = site.reading.patch_set(ADDRESS).problems
    assert len(problems) == len(failing) - 1
    assert problems[0].startswith("Posting on change 7 failed 4 times: 502. Next try at ")
