"""Route a person's request to measure two commits together, and offer the form for it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse

from service.domain.trunk.reference import parse_reference
from service.ports.commits import BranchName
from service.steps.trunk.ask_to_compare import ask_to_compare
from service.web.access.authenticate import find_actor, person_of
from service.web.access.forms import Form, form_of
from service.web.access.tickets import TicketedForm, check_ticket

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.ports.commits import CommitPair, CommitReading
    from service.ports.store import Store
    from service.steps.access.override_rights import OverrideRights

    CommitReadingOf = Callable[[Request], CommitReading]

PATH: Final = "/compare"
_SEE_OTHER: Final = 303


class PageCommits:
    """The measurements that the callers of the pages may ask for.

    Args:
        store: keeps the runs.
        rights: of the people who ask.
        reading_of: returns the commits that the caller of a request may see.
    """

    def __init__(self, store: Store, rights: OverrideRights, reading_of: CommitReadingOf) -> None:
        self._store = store
        self._rights = rights
        self.reading_of = reading_of

    def form_for(self, request: Request, pair: CommitPair) -> TicketedForm | None:
        """Return the form for two commits; None if the caller may not act at all."""
        person = find_actor(request)
        if person is None:
            return None
        missing = self._rights.refusal(person.email, pair.branch.instance, pair.groups)
        return TicketedForm(person=person, path=PATH, missing=str(missing or ""))

    def ask(self, request: Request, form: Form) -> RedirectResponse:
        """Start the measurement, and send the browser back.

        Raises:
            NotFound: the caller cannot see the commits.
            NotAllowed: the form is not of this session and page, or the person is not in a group.
            BadInput: no pool can take it now.
            Transient: the review server cannot be asked.
        """
        person = person_of(request)
        # The ticket is not kept: a pool takes one measurement at a time.
        check_ticket(person, f"POST {PATH}", form.get("ticket", ""))
        branch = BranchName(*(form.get(name, "") for name in ("instance", "project", "branch")))
        ends = (parse_reference(form.get(name, ""), branch.branch, name) for name in ("base", "patch"))
        pair = self.reading_of(request).pair(branch, *ends)
        account = self._rights.account_for(person.email, branch.instance, pair.groups)
        ask_to_compare(self._store, pair, account, signed_in_as=person.subject)
        shown = {**asdict(branch), "base": pair.base.revision, "patch": pair.patch.revision}
        return RedirectResponse(f"{PATH}?{urlencode(shown)}", _SEE_OTHER)


def create_comparing(page: PageCommits) -> APIRouter:
    """Create the route that receives the form."""
    router = APIRouter(include_in_schema=False)

    @router.post(PATH)
    def ask(request: Request, form: Annotated[Form, Depends(form_of)]) -> RedirectResponse:
        return page.ask(request, form)

    return router
