"""Route a person's judgements of regressions, and offer the form for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse

from service.domain.trunk.regression import CHOOSABLE, RegressionState
from service.domain.values.errors import BadInput
from service.domain.values.text import brief, plain
from service.ports.trunk import RegressionChange
from service.steps.trunk.judge_regressions import judge_regressions
from service.web.access.authenticate import find_actor, person_of
from service.web.access.forms import Form, bug_in, form_of
from service.web.access.tickets import TicketedForm, check_ticket

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.ports.store import Store
    from service.ports.trunk import RegressionReading
    from service.steps.access.override_rights import OverrideRights

    RegressionReadingOf = Callable[[Request], RegressionReading]

PATH: Final = "/regressions"
_SEE_OTHER: Final = 303
_MAX_NAME: Final = 100
_MAX_NOTE: Final = 500
_MOST: Final = 100  # rows of a page
_BOX: Final = "regression-"
_DIGITS: Final = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionForm(TicketedForm):
    """The form of a list, or of one regression."""

    path: str = PATH
    states: tuple[RegressionState, ...] = CHOOSABLE


class PageRegressions:
    """The judgements that the callers of the pages may make.

    Args:
        store: keeps the regressions.
        rights: of the people who judge.
        reading_of: returns the regressions that the caller of a request may see.
    """

    def __init__(self, store: Store, rights: OverrideRights, reading_of: RegressionReadingOf) -> None:
        self._store = store
        self._rights = rights
        self.reading_of = reading_of

    def form_for(self, request: Request, regression: int | None = None) -> RegressionForm | None:
        """Return the form of a regression, or of a list (None), whose groups decide when it is sent.

        Returns None if the caller may not act at all.
        """
        person = find_actor(request)
        if person is None or regression is None:
            return None if person is None else RegressionForm(person=person)
        judges = self.reading_of(request).judges_of([regression])
        missing = self._rights.refusal(person.email, judges.instances[0], judges.groups)
        return RegressionForm(person=person, missing=str(missing or ""))

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
        judges = self.reading_of(request).judges_of(chosen)
        if len(judges.instances) > 1:
            raise BadInput("must be of one review server", "regressions")
        account = self._rights.account_for(person.email, judges.instances[0], judges.groups)
        judge_regressions(self._store, chosen, change, account, signed_in_as=person.subject)
        where = _list_in(form) if "list" in form else f"{PATH}/{chosen[0]}"
        return RedirectResponse(where, _SEE_OTHER)


def create_triage(page: PageRegressions) -> APIRouter:
    """Create the route that receives the form."""
    router = APIRouter(include_in_schema=False)

    @router.post(PATH)
    def change(request: Request, form: Annotated[Form, Depends(form_of)]) -> RedirectResponse:
        return page.change(request, form)

    return router


def _list_in(form: Form) -> str:
    """Return the address of the list that the form came from."""
    shown = {name: form.get(name, "")[:_MAX_NAME] for name in ("list", "q", "before")}
    return f"{PATH}?{urlencode({name: value for name, value in shown.items() if value})}"


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
    """Read the new values; what the page showed, and what is empty in a list, stays as it is."""
    state = _new(form, "state", form.get("state", ""))
    if state and state not in {each.value for each in CHOOSABLE}:
        raise BadInput(f"must be one of {', '.join(CHOOSABLE)}, not {brief(state)}", "state")
    change = RegressionChange(
        state=RegressionState(state) if state else None,
        assignee=_new(form, "assignee", plain(form.get("assignee", ""), _MAX_NAME)),
        bug=_new(form, "bug", bug_in(form)),
        note=_new(form, "note", plain(form.get("note", ""), _MAX_NOTE)),
    )
    if "list" in form and change == RegressionChange():
        raise BadInput("is missing: choose one, or fill in another field", "state")
    return change


def _new(form: Form, name: str, value: str) -> str | None:
    return None if value == form.get(f"was-{name}", "") else value
