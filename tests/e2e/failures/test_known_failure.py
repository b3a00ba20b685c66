"""An intermittent test: overridden once with its bug, then known on the next patch sets, until it expires."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from tests.support.access.page_forms import form_of, signed_in

if TYPE_CHECKING:
    from tests.e2e.conftest import RunningSite

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

CHANGE = 14


def upload(running: RunningSite, patch_set: int, **files: str) -> int | None:
    """Upload a patch set with these files; return its vote."""
    named = {f"{name}.case": content for name, content in files.items()}
    before = len(running.messages(CHANGE)) if patch_set > 1 else 0
    running.feed(running.project.propose(CHANGE, named, patch_set).event())
    running.wait(lambda: len(running.messages(CHANGE)) > before, f"the message on patch set {patch_set}")
    return running.vote(CHANGE)


def override(running: RunningSite, **fields: str) -> None:
    """Send the override form of the change's page."""
    with signed_in(running, "Ada") as browser:
        path, hidden = form_of(browser, CHANGE, "override")
        assert browser.post(path, data={**hidden, **fields}).status_code == 303


def last(running: RunningSite, start: str) -> str:
    """The last message on the change with these words."""
    return [text for text in running.messages(CHANGE) if start in text][-1].replace("\\", "")


def test_a_known_failure_from_the_first_minus_one_to_its_expiry(running: RunningSite) -> None:
    assert upload(running, 1, late="17") == -1
    assert re.search(r"(?m)^replication: waited 17 ms$", last(running, "Tests Failed"))

    override(running, bug="MB-37948", reason="known intermittent failure", known="yes")
    running.wait(lambda: running.vote(CHANGE) == 1, "the +1")
    assert "known intermittent failure (MB-37948)" in last(running, "Build Successful")

    assert upload(running, 2, late="23", note="other code") == 1
    assert "known failure MB-37948 (local, until " in last(running, "Build Successful")

    assert upload(running, 3, late="99", broken="yes") == -1
    assert re.search(r"(?m)^store: \S", last(running, "Tests Failed"))

    assert upload(running, 4, late="for the wrong node, not") == -1, "the same test, another reason"
    assert "known failure" not in last(running, "Tests Failed")

    with running.plane.engine.begin() as connection:
        connection.execute(text("UPDATE known_failure SET expires_at = now()"))
    assert upload(running, 5, late="31", note="third code") == -1
    assert "known failure" not in last(running, "Tests Failed")
    assert "was known as MB-37948 until " in last(running, "Tests Failed")
