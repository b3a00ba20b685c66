"""Store the requests that people made on a patch set's pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.review.page_commands import command_in
from service.adapters.postgres.store import PostgresStore
from service.domain.review.change import Person, PostedMessage
from service.domain.review.comment_commands import (
    AcceptCommand,
    CancelCommand,
    MorePairsCommand,
    OverrideCommand,
    RecheckCommand,
    UndoOverrideCommand,
)
from service.domain.values.identity import ChangeAddress
from service.ports.review.changes import PageRequest
from tests.support.store_samples import NOON, change

if TYPE_CHECKING:
    from service.domain.review.form_commands import FormCommand
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


def test_requests_come_newest_first_with_their_answers_and_without_comments(database: Database) -> None:
    store, reading = PostgresStore(database.owner), PostgresReading(database.owner)
    with store.transaction() as tx:
        record = tx.changes.upsert(change())
        first = tx.comments.add_request(
            PageRequest(record.patch_set_id, "1", "Bob", "s-1", CancelCommand(), b"1")
        )
        second = tx.comments.add_request(
            PageRequest(record.patch_set_id, "2", "Carol", "s-2", RecheckCommand(("perf",)), b"2")
        )
        assert first is not None
        tx.comments.answer(first, "no run is in progress")
    shown = reading.patch_set(ChangeAddress(7))
    assert shown.patch_set.id == record.patch_set_id
    assert [(each.id, each.person, each.text, each.is_pending, each.answer) for each in shown.requests] == [
        (second, "Carol", "recheck perf", True, ""),
        (first, "Bob", "cancel", False, "no run is in progress"),
    ]


@pytest.mark.parametrize(
    "command",
    [
        RecheckCommand(("perf", "docs")),
        RecheckCommand(is_all=True),
        MorePairsCommand("BM_Sort/64", 64),
        MorePairsCommand("BM_"),
        CancelCommand(),
        OverrideCommand("MB-1", 'flaky "machine" ü', "perf"),
        OverrideCommand("MB-1", "flaky machine", is_known=True),
        OverrideCommand("MB-1", "known to be flaky"),
        UndoOverrideCommand(),
        AcceptCommand("BM_", "so be it"),
    ],
)
def test_a_command_is_stored_with_its_fields(database: Database, command: FormCommand) -> None:
    with PostgresStore(database.owner).transaction() as tx:
        record = tx.changes.upsert(change())
        number = tx.comments.add_request(PageRequest(record.patch_set_id, "1", "Bob", "s-1", command, b"1"))
        assert number is not None
        assert tx.comments.lock(number).command == command


def test_a_request_of_an_earlier_version_is_a_line(database: Database) -> None:
    store = PostgresStore(database.owner)
    with store.transaction() as tx:
        record = tx.changes.upsert(change())
        number = tx.comments.add_request(
            PageRequest(record.patch_set_id, "1", "Bob", "s-1", CancelCommand(), b"1")
        )
        assert number is not None
    database.change("UPDATE heard SET text = 'override perf MB-1 flaky machine'")
    with store.transaction() as tx:
        stored = tx.comments.lock(number)
    assert (stored.command, stored.text) == (None, "override perf MB-1 flaky machine")
    (shown,) = PostgresReading(database.owner).patch_set(ChangeAddress(7)).requests
    assert shown.text == stored.text


def test_an_earlier_versions_form_wrote_its_ticked_box_into_the_reason() -> None:
    old = '{"command": "override", "bug": "MB-1", "reason": "known flaky machine", "job": "perf"}'
    assert command_in(old) == OverrideCommand("MB-1", "flaky machine", "perf", is_known=True)


def test_a_comment_cannot_pass_for_a_request(database: Database) -> None:
    text = '{"command": "cancel"}'
    with PostgresStore(database.owner).transaction() as tx:
        record = tx.changes.upsert(change())
        (number,) = tx.comments.record(record, [PostedMessage("m", 1, Person("Eve"), NOON, text)])
        assert tx.comments.lock(number).command is None
