"""Route a person's actions on a change, and offer the forms for them."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - FastAPI reads the annotation
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import RedirectResponse

from service.domain.project.job_kinds import JobKind
from service.domain.review.form_commands import command_from
from service.domain.values.identity import ADDRESS, ChangeAddress
from service.steps.review.request_command import request_command
from service.web.access.authenticate import find_actor, person_of
from service.web.access.forms import form_of
from service.web.access.tickets import TicketedForm, check_ticket

if TYPE_CHECKING:
    from service.ports.reading import BuildReading
    from service.ports.review.shown import PatchSetDetail
    from service.ports.store import Store
    from service.steps.review.offered_actions import ActionOffers, Compared, OfferedActions
    from service.web.api import ReadingOf

_SEE_OTHER: Final = 303


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionForms(TicketedForm):
    """A person's forms on a patch set's page, one for each action; each gets a ticket of its own."""

    offered: OfferedActions


class PageActions:
    """The actions that people may use on the page of a patch set.

    Args:
        store: keeps the requests until they run.
        offers: the actions by the groups of a person.
        reading_of: returns the read ports that the caller of a request may use.
    """

    def __init__(self, store: Store, offers: ActionOffers, reading_of: ReadingOf) -> None:
        self._store = store
        self._offers = offers
        self.reading_of = reading_of

    def forms_for(self, request: Request, page: PatchSetDetail, compared: Compared) -> ActionForms | None:
        """Return the forms of a page; None if its caller may not act at all."""
        person = find_actor(request)
        if person is None:
            return None
        offered = self._offers.offered(person.email, page, compared)
        return ActionForms(person=person, path=_path(page), offered=offered)

    def act(self, request: Request, change: str, patch_set: int, form: Mapping[str, str]) -> RedirectResponse:
        """Store the request of a form, and send the browser back to the page, which shows it.

        Raises:
            NotFound: the caller cannot see such a patch set.
            NotAllowed: the form is not of this session and page, or the person has no account on the
                review server.
            BadInput: the form is no command, or the command makes no sense for the patch set now.
            Transient: the review server cannot be asked for the account.
        """
        person = person_of(request)
        reading = self.reading_of(request)
        page = reading.patch_set(ChangeAddress.parse(change), patch_set)
        ticket = check_ticket(person, f"POST {_path(page)}", form.get("ticket", ""))
        command = command_from(form)
        account = self._offers.account_for(person.email, page, _compared(reading, page), command)
        number = request_command(
            self._store, page, account, command, signed_in_as=person.subject, ticket=ticket
        )
        place = "requests" if number is None else f"m{number}"
        return RedirectResponse(f"{_page(page)}#{place}", _SEE_OTHER)


def create_actions(actions: PageActions) -> APIRouter:
    """Create the route that receives the forms."""
    router = APIRouter(include_in_schema=False)

    @router.post("/changes/{change}/{patch_set}/actions")
    def act(
        request: Request,
        change: Annotated[str, Path(pattern=ADDRESS)],
        patch_set: Annotated[int, Path(ge=1, le=(1 << 31) - 1)],
        form: Annotated[Mapping[str, str], Depends(form_of)],
    ) -> RedirectResponse:
        return actions.act(request, change, patch_set, form)

    return router


def _page(page: PatchSetDetail) -> str:
    return f"/changes/{page.change.address}/{page.patch_set.number}"


def _path(page: PatchSetDetail) -> str:
    return f"{_page(page)}/actions"


def _compared(reading: BuildReading, page: PatchSetDetail) -> Compared:
    return [
        (
            build,
            build.waived_by,
            reading.comparisons(build.id, build.created_at) if JobKind(build.kind).may_compare else (),
        )
        for build in page.builds
    ]
