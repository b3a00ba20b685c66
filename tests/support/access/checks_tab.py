"""Benchgate with a public change and a private one, behind the Checks tab of a Gerrit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.access.caller import Anonymous
from service.domain.review.links import Links
from service.domain.runs.states import RunState
from service.domain.values.identity import ChangeKey
from service.web.access.authenticate import known_caller
from service.web.application import assemble
from service.web.review.checks import create_gerrit_checks
from tests.support.access.callers import BASE_URL
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import build_view, change_view

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

    from service.ports.reading import Reading
    from service.web.access.authenticate import Access

PUBLIC, PRIVATE, UNKNOWN = 7, 8, 9
PATH = "/api/v1/gerrit/checks"


def checks_app(access: Access, gerrit: str, other: str = "") -> FastAPI:
    """Create the application for the pages of one origin; everybody who signed in sees both changes.

    ``other`` is the origin of a second Gerrit.
    """
    store = FakeReading()
    for number in (PUBLIC, PRIVATE):
        change = change_view(number, "x", run_id=number, run_state=RunState.FINISHED)
        add_patch_set(store, change, [(build_view(number, 70 + number), [])])
    store.hidden.add(ChangeKey("gerrit", PRIVATE))

    def reading_of(request: Request) -> Reading:
        return store.seen_by(None) if isinstance(known_caller(request), Anonymous) else store

    origins = {gerrit: "gerrit", other: "other"} if other else {gerrit: "gerrit"}
    router = create_gerrit_checks(reading_of, Links(BASE_URL), origins)
    return assemble([router], access=access, version="0.1.0")
