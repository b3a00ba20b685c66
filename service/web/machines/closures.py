"""Route an operator's closing and reopening of a host, and offer the form for it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse

from service.domain.access.needs import Need
from service.domain.machines.closures import closing_of, moment_in
from service.steps.machines.close_hosts import close_hosts, reopen_hosts
from service.web.access.authenticate import find_actor, person_of
from service.web.access.forms import Form, form_of
from service.web.access.tickets import TicketedForm, check_ticket

if TYPE_CHECKING:
    from service.ports.store import Store

PATH: Final = "/machines"
_SEE_OTHER: Final = 303


class PageClosures:
    """The closures that operators make on the page of machines.

    Args:
        store: keeps the closures.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def form_for(self, request: Request) -> TicketedForm | None:
        """Return the form of every host; None if the caller is no operator."""
        person = find_actor(request, Need.OPERATE)
        return None if person is None else TicketedForm(person=person, path=PATH)

    def change(self, request: Request, form: Form) -> RedirectResponse:
        """Close or reopen a host, and send the browser back.

        Raises:
            NotFound: no machine of the host ever registered.
            NotAllowed: the form is not of this session and page.
            BadInput: the reason says too little, or a moment cannot be used.
        """
        person = person_of(request)
        # The ticket is not kept: a host that is closed twice is reopened once.
        check_ticket(person, f"POST {PATH}", form.get("ticket", ""))
        hosts = [form.get("host", "")]
        if "reopen" in form:
            reopen_hosts(self._store, hosts, person.subject)
        else:
            begins_at, ends_at = (moment_in(form.get(name, ""), name) for name in ("from", "until"))
            # Everybody may read this; the audit log has the person.
            closed_by = "an operator" if not person.name or "@" in person.name else person.name
            closing = closing_of(form.get("reason", ""), closed_by, datetime.now(UTC), begins_at, ends_at)
            close_hosts(self._store, hosts, closing, person.subject)
        return RedirectResponse(PATH, _SEE_OTHER)


def create_closing(page: PageClosures) -> APIRouter:
    """Create the route that receives the form."""
    router = APIRouter(include_in_schema=False)

    @router.post(PATH)
    def change(request: Request, form: Annotated[Form, Depends(form_of)]) -> RedirectResponse:
        return page.change(request, form)

    return router
