"""Route a person's judgements of regressions, and offer the form for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse

from service.domain.trunk.regression import CHOOSABLE, RegressionState
from service.domain.values.errors import BadInput
from service.domain.values.text import brief, plain
from service.ports.trunk import RegressionChange
from service.web.access.authenticate import find_actor, person_of
from service.web.access.forms import Form, bug_in, form_of
from service.web.access.tickets import check_ticket, ticket_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.access.caller import User
    from service.ports.trunk import RegressionDetail, RegressionReading
    from service.steps.trunk.triage_regressions import RegressionTriage

    RegressionReadingOf = Callable[[Request], RegressionReading]

PATH: Final = "/regressions"
_SEE_OTHER: Final = 303
_MAX_NAME: Final = 100
_MAX_NOTE: Final = 500
_MOST: Final = 100  # rows of a page
_BOX: Final = "regression-"
_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class RegressionForm:
    """The form of a page; ``missing`` says why the person may not send it."""

    person: User
    missing: str = ""
    path: str = PATH
    states: tuple[RegressionState, ...] = CHOOSABLE

    def ticket(self) -> str:
        """Make the ticket of the form."""
        return ticket_for(self.person, f"POST {self.path}")


class PageRegressions:
    """The judgements that the callers of the pages may make.

    Args:
        triage: applies them.
        reading_of: returns the regressions that the caller of a request may see.
    """

    def __init__(self, triage: RegressionTriage, reading_of: RegressionReadingOf) -> None:
        self._triage = triage
        self.reading_of = reading_of

    def form_for(self, request: Request, detail: RegressionDetail | None = None) -> RegressionForm | None:
        """Return the form of a regression, or of a list (the groups of its rows decide when it is sent).

        Returns None if the caller may not act at all.
        """
        person = find_actor(request)
        if person is None or detail is None:
            return None if person is None else RegressionForm(person)
        missing = self._triage.refusal(person.email, detail.regression.instance, detail.groups)
        return RegressionForm(person, str(missing or ""))

    def change(self, request: Request, form: Form) -> RedirectResponse:
        """Change the chosen regressions, all or none, and send the browser back.

        Raises:
            NotFound: the caller cannot see one of them.
            NotAllowed: the form is not of this session and page, or the person is not in a group.
            BadInput: a value cannot be used, or nothing is chosen.
            Transient: the review server cannot be asked.
        """
        person = person_of(request)
        # The ticket is not kept: the same change twice does no harm.
        check_ticket(person, f"POST {PATH}", form.get("ticket", ""))
        chosen, change = _chosen(form), _change_of(form)
        reading = self.reading_of(request)
        details = [reading.regression(each) for each in chosen]
        instance = details[0].regression.instance
        if any(each.regression.instance != instance for each in details):
            raise BadInput("must be of one review server", "regressions")
        groups = sorted({group for each in details for group in each.groups})
        account = self._triage.account_for(person.email, instance, groups)
        self._triage.change(chosen, change, account, signed_in_as=person.subject)
        is_one = len(chosen) == 1 and "list" not in form
        return RedirectResponse(f"{PATH}/{chosen[0]}" if is_one else _list_in(form), _SEE_OTHER)


def create_triage(page: PageRegressions) -> APIRouter:
    """Create the route that receives the form."""
    router = APIRouter(include_in_schema=False)

    @router.post(PATH)
    def change(request: Request, form: Annotated[Form, Depends(form_of)]) -> RedirectResponse:
        return page.change(request, form)

    return router


def _list_in(form: Form) -> str:
    of = plain(form.get("list", ""), 20)
    return f"{PATH}?list={of}" if of.isascii() and of.isalpha() else PATH


def _chosen(form: Form) -> list[int]:
    found = sorted(
        int(number)
        for name in form
        if name.startswith(_BOX)
        and (number := name.removeprefix(_BOX)).isascii()
        and number.isdigit()
        and len(number) <= _DIGITS
    )
    if not 0 < len(found) <= _MOST:
        raise BadInput(f"must be 1 to {_MOST}: tick the boxes of the rows", "regressions")
    return found


def _change_of(form: Form) -> RegressionChange:
    """Read the new values; in a list, an empty field keeps what each row has."""
    state = form.get("state", "")
    if state and state not in {each.value for each in CHOOSABLE}:
        raise BadInput(f"must be one of {', '.join(CHOOSABLE)}, not {brief(state)}", "state")
    keeps = "list" in form
    texts = (plain(form.get("assignee", ""), _MAX_NAME), bug_in(form), plain(form.get("note", ""), _MAX_NOTE))
    assignee, bug, note = (None if keeps and not each else each for each in texts)
    change = RegressionChange(
        state=RegressionState(state) if state else None, assignee=assignee, bug=bug, note=note
    )
    if change == RegressionChange():
        raise BadInput("is missing: choose one, or fill in another field", "state")
    return change
