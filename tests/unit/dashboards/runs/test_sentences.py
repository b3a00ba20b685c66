from __future__ import annotations

from dataclasses import replace

import pytest

from dashboards.runs.sentences import delivery, override_text
from service.domain.runs.overrides import OverrideKind
from service.domain.values.identity import ChangeAddress
from service.ports.runs.decisions import ReviewState
from tests.support.reading.sample_project import REGRESSION, sample_project
from tests.support.reading.views import override_view

FOUND = sample_project().patch_set(ChangeAddress(REGRESSION))


@pytest.mark.parametrize("kind", OverrideKind)
def test_every_kind_of_override_has_a_text(kind: OverrideKind) -> None:
    assert override_text(override_view(kind, "Bob", filter="{who}\u202e")) != ""


def test_an_accept_names_its_filter_on_one_line() -> None:
    accepted = override_view(OverrideKind.ACCEPT, "Bob", filter="HTB/{0}\n\u202e*")
    assert override_text(accepted) == "accepted that HTB/{0} * is slower or removed"


@pytest.mark.parametrize(
    ("state", "note", "line"),
    [
        (ReviewState.PENDING, "503 from the server", "not posted yet; 503 from the server"),
        (ReviewState.SENT, "label not granted: Verified", "posted; label not granted: Verified"),
        (ReviewState.SUPERSEDED, "the change moved on", "not posted; the change moved on"),
        (ReviewState.REFUSED, "409: change is closed", "refused by the review server; 409: change is closed"),
        (ReviewState.DEAD, "there is no change 7", "could not be posted; there is no change 7"),
    ],
)
def test_a_decisions_delivery_has_its_state_and_note(state: ReviewState, note: str, line: str) -> None:
    assert delivery(replace(FOUND.decisions[0], review_state=state, review_note=note)) == line
