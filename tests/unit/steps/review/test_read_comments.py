"""Choice of the comments that are read as commands."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from service.domain.review.change import ChangeStatus
from service.domain.review.comment_commands import MAX_COMMANDS
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, PROJECT_FILE, Service, change_at, project
from tests.unit.steps.review.commenting import RIGHTS, builds, comment, say, voted


@pytest.fixture
def service() -> Service:
    return voted()


class TestInlineComments:
    def test_a_command_runs_once(self, service: Service) -> None:
        assert comment(service, "why int?", "recheck") == []
        assert builds(service, 2) == [1, 3]
        assert comment(service, "done") == []
        assert len(service.store.memory.builds) == 3

    def test_each_is_read_alone(self, service: Service) -> None:
        (answer,) = comment(service, "why int?\nMine is long", "rerun")
        assert "rerun: write `recheck` (failed builds)" in answer

    def test_the_same_line_twice_in_a_review_is_one_command(self, service: Service) -> None:
        assert len(comment(service, "overide MB-1 flaky", "overide MB-1 flaky")) == 1

    def test_a_quoted_command_is_ignored(self, service: Service) -> None:
        assert comment(service, "> recheck\n\nWhy?") == []
        assert service.store.memory.comment == []

    def test_a_comment_by_the_service_itself_is_ignored(self, service: Service) -> None:
        assert comment(service, "recheck", who=service.server.account) == []
        assert service.store.memory.comment == []

    @pytest.mark.parametrize(("minutes", "is_read"), [(-1, True), (0, False), (1, False)])
    def test_one_that_a_version_before_passed_over_stays_unread(
        self, service: Service, minutes: int, *, is_read: bool
    ) -> None:
        cursors = service.store.memory.sync_cursors
        passed = WRITTEN + timedelta(minutes=minutes)
        cursors["gerrit"] = replace(cursors["gerrit"], inline_after=passed)
        comment(service, "recheck all")
        assert [each.text for each in service.store.memory.comment] == ["recheck all"] * is_read
        say(service, "recheck other")
        assert service.store.memory.comment[-1].text == "recheck other"

    def test_a_review_has_a_limited_number_of_them(self, service: Service) -> None:
        comment(service, *(f"overide MB-{number} flaky" for number in range(MAX_COMMANDS + 1)))
        assert len(service.store.memory.comment) == MAX_COMMANDS
        service.reconcile(is_full=True)
        assert len(service.store.memory.comment) == MAX_COMMANDS


class TestIgnoredComments:
    def test_a_comment_by_the_service_itself_is_ignored(self, service: Service) -> None:
        assert say(service, "recheck", who=service.server.account) == []
        assert service.store.memory.comment == []

    def test_a_comment_from_before_the_first_contact_is_ignored(self) -> None:
        service = Service(source=project(PROJECT_FILE + RIGHTS))
        service.server.put(change_at(1, updated=WRITTEN))
        service.server.say(KEY, "bob", "Patch Set 1:\n\nrecheck")
        service.see(service.server.changes[KEY])
        assert service.store.memory.comment == []

    def test_a_comment_on_a_closed_change_is_ignored(self, service: Service) -> None:
        service.server.put(change_at(1, minutes=1, updated=WRITTEN, status=ChangeStatus.ABANDONED))
        assert say(service, "recheck") == []

    def test_a_comment_on_an_outdated_patch_set_is_ignored(self, service: Service) -> None:
        service.see(change_at(2, updated=WRITTEN))
        assert say(service, "recheck") == []

    def test_a_malformed_command_gets_a_reply(self, service: Service) -> None:
        (answer,) = say(service, "override because I say so")
        assert "write `override BUG-ID REASON`" in answer

    def test_a_reply_quotes_a_comment_without_its_formats(self, service: Service) -> None:
        (answer,) = say(service, "overide [click](https://evil.example) **Verified+1**")
        assert r"overide [click]\(https://evil.example) \*\*Verified+1\*\*: write `override" in answer

    def test_prose_is_ignored(self, service: Service) -> None:
        assert say(service, "I would not recheck this.\nLooks good otherwise") == []
