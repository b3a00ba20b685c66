"""Route a person's changes of a known failure, and offer the form for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import RedirectResponse

from service.domain.failures.known import MOST_DAYS, TRANSITIONS, TriageState
from service.domain.values.errors import BadInput
from service.domain.values.text import brief, plain
from service.ports.failures.storing import KnownChange
from service.web.access.authenticate import find_actor, person_of
from service.web.access.forms import Form, bug_in, form_of
from service.web.access.tickets import TicketedForm, check_ticket
from service.web.failures.fields import days_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.ports.failures.reading import FailureReading, KnownDetail
    from service.steps.access.override_rights import OverrideRights
    from service.steps.failures.change_known import KnownChanges

    FailureReadingOf = Callable[[Request], FailureReading]

_SEE_OTHER: Final = 303
_MAX_NAME: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownForm(TicketedForm):
    """The form of a known failure's page, with the states that a person may choose."""

    states: Sequence[TriageState]
    most_days: int = MOST_DAYS


class PageKnownChanges:
    """The changes that the callers of the page may make.

    Args:
        changes: of known failures.
        rights: of the people who make them.
        reading_of: returns the known failures that the caller of a request may see.
    """

    def __init__(self, changes: KnownChanges, rights: OverrideRights, reading_of: FailureReadingOf) -> None:
        self._changes = changes
        self._rights = rights
        self.reading_of = reading_of

    def form_for(self, request: Request, detail: KnownDetail) -> KnownForm | None:
        """Return the form of a page, or why the person has none; None if the caller may not act at all."""
        person = find_actor(request)
        if person is None:
            return None
        missing = self._rights.refusal(person.email, detail.row.instance, detail.groups)
        state = detail.row.state
        states = [each for each in TriageState if each is state or each in TRANSITIONS[state]]
        path = f"/failures/{detail.row.id}"
        return KnownForm(person=person, path=path, missing=str(missing or ""), states=states)

    def change(self, request: Request, known_id: int, form: Form) -> RedirectResponse:
        """Change a known failure by a form, and send the browser back to the page.

        Raises:
            NotFound: the caller cannot see such a known failure.
            NotAllowed: the form is not of this session and page, or the person is not in the group.
            BadInput: a value cannot be used.
            Transient: the review server cannot be asked.
        """
        person = person_of(request)
        # The ticket is not kept: the same change twice does no harm.
        check_ticket(person, f"POST /failures/{known_id}", form.get("ticket", ""))
        detail = self.reading_of(request).known_failure(known_id)
        account = self._rights.account_for(person.email, detail.row.instance, detail.groups)
        self._changes.change(known_id, _change_of(form), account, signed_in_as=person.subject)
        return RedirectResponse(f"/failures/{known_id}", _SEE_OTHER)


def create_known_changes(page: PageKnownChanges) -> APIRouter:
    """Create the route that receives the form."""
    router = APIRouter(include_in_schema=False)

    @router.post("/failures/{known_id}")
    def change(
        request: Request,
        known_id: Annotated[int, Path(ge=1, le=(1 << 63) - 1)],
        form: Annotated[Form, Depends(form_of)],
    ) -> RedirectResponse:
        return page.change(request, known_id, form)

    return router


def _change_of(form: Form) -> KnownChange:
    state = form.get("state", "")
    if state not in TriageState.__members__.values() or state == TriageState.UNTRIAGED:
        raise BadInput(f"must be a state, not {brief(state)}", "state")
    return KnownChange(
        state=TriageState(state),
        bug=bug_in(form),
        assignee=plain(form.get("assignee", ""), _MAX_NAME),
        days=days_in(form),
    )
