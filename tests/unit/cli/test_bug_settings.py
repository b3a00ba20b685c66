"""Settings of the bug tracker."""

from __future__ import annotations

import pytest

from service.adapters.failures.jira import JiraTracker
from service.config.control import ControlSettings
from service.domain.values.errors import BadInput
from service.wiring.control import bug_tracker

TRACKER = {"URL": "https://bugs.example.com/jira", "USER": "bot@example.com", "TOKEN": "hunter2-of-the-bot"}


def settings(monkeypatch: pytest.MonkeyPatch, **variables: str) -> ControlSettings:
    for name, value in variables.items():
        monkeypatch.setenv(f"BENCHGATE_BUGS_{name}", value)
    return ControlSettings()


def test_by_default_no_bug_tracker_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(monkeypatch)
    assert bug_tracker(found) is None
    assert not found.bugs_post


def test_an_address_is_that_of_a_jira(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(bug_tracker(settings(monkeypatch, **TRACKER)), JiraTracker)
    assert settings(monkeypatch, **TRACKER, POST="true").bugs_post


@pytest.mark.parametrize("url", ["http://bugs.example.com", "bugs.example.com", "ftp://bugs"])
def test_a_token_is_never_sent_where_others_can_read_it(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    with pytest.raises(BadInput, match=r"^BENCHGATE_BUGS_URL: must begin with https://"):
        settings(monkeypatch, URL=url)


@pytest.mark.parametrize("missing", ["URL", "TOKEN"])
def test_comments_need_an_address_and_a_token(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    given = {name: value for name, value in TRACKER.items() if name != missing}
    with pytest.raises(BadInput, match=r"^BENCHGATE_BUGS_POST: also needs BENCHGATE_BUGS_URL and"):
        settings(monkeypatch, **given, POST="true")


@pytest.mark.parametrize(("name", "value"), [("URL", "https://a:hunter2@bugs"), ("USER", "a:b")])
def test_values_that_cannot_be_sent_are_refused_without_the_secret(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    with pytest.raises(BadInput, match="bug tracker's") as caught:
        bug_tracker(settings(monkeypatch, **{**TRACKER, name: value}))
    assert "hunter2" not in str(caught.value)
