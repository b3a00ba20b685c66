"""Route a person's new patterns of known failures, and offer the form for them.

The form is in two steps: the page first shows what the pattern would have matched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse

from service.domain.failures.known import DEFAULT_DAYS, MOST_DAYS, Scope, pattern_of
from service.domain.review.comment_commands import MAX_REASON, MIN_REASON
from service.domain.values.errors import BadInput, NotFound
from service.domain.values.text import plain
from service.ports.failures.storing import NewKnown
from service.web.access.authenticate import find_actor, person_of
from service.web.access.forms import Form, bug_in, form_of
from service.web.access.tickets import TicketedForm, check_ticket
from service.web.failures.fields import days_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.ports.failures.reading import FailureReading, PatternMatches
    from service.steps.access.override_rights import OverrideRights
    from service.steps.failures.change_known import KnownChanges

    FailureReadingOf = Callable[[Request], FailureReading]

PATH: Final = "/failures/new"
FIELDS: Final = ("project", "branch", "job", "host", "pattern", "bug", "reason", "days")
_SEE_OTHER: Final = 303
_MAX_NAME: Final = 200
_NO_BUILD: Final = "no build ran there in 30 days; check the branch, the job and the machine"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternForm(TicketedForm):
    """The form of a new pattern.

    Args:
        projects: those to choose from, as ``INSTANCE~NAME``.
        values: of the fields, as the person wrote them.
        problem: why these values cannot be used; empty if they can, or there are none.
        found: what the pattern would have matched; None without usable values.
    """

    path: str = PATH
    projects: Sequence[str]
    values: Mapping[str, str]
    problem: str = ""
    found: PatternMatches | None = None
    most_days: int = MOST_DAYS


class PagePatterns:
    """The patterns that the callers of the pages may add.

    Args:
        changes: of known failures.
        rights: of the people who make them.
        reading_of: returns the known failures that the caller of a request may see.
    """

    def __init__(self, changes: KnownChanges, rights: OverrideRights, reading_of: FailureReadingOf) -> None:
        self._changes = changes
        self._rights = rights
        self._reading_of = reading_of

    def may_begin(self, request: Request) -> bool:
        """Return whether the caller's role admits it; the review server's groups decide later."""
        return find_actor(request) is not None

    def form_for(self, request: Request) -> PatternForm:
        """Return the form with the values of the query, and what they would have matched."""
        person, reading = person_of(request), self._reading_of(request)
        values = {name: request.query_params.get(name, "") for name in FIELDS}
        projects = [f"{instance}~{name}" for instance, name in reading.projects()]
        if not any(values.values()):
            values["days"] = str(DEFAULT_DAYS)
            return PatternForm(person=person, projects=projects, values=values)
        try:
            new = _new_of(values)
            groups = _groups(reading, new.scope)
            found = reading.matching(pattern_of(new.pattern), new.scope)
        except BadInput as error:
            return PatternForm(person=person, projects=projects, values=values, problem=str(error))
        missing = self._rights.refusal(person.email, new.scope.instance, groups)
        return PatternForm(
            person=person, projects=projects, values=values, problem=str(missing or ""), found=found
        )

    def add(self, request: Request, form: Form) -> RedirectResponse:
        """Make the failures that a pattern matches known, and send the browser to the page about them.

        Raises:
            NotAllowed: the form is not of this session and page, or the person is not in each group.
            BadInput: a value cannot be used.
            Transient: the review server cannot be asked.
        """
        person = person_of(request)
        # The ticket is not kept: the same pattern twice is renewed.
        check_ticket(person, f"POST {PATH}", form.get("ticket", ""))
        new = _new_of(form)
        groups = _groups(self._reading_of(request), new.scope)
        account = self._rights.account_for(person.email, new.scope.instance, groups)
        known = self._changes.add(new, account, signed_in_as=person.subject)
        return RedirectResponse(f"/failures/{known}", _SEE_OTHER)


def create_patterns(page: PagePatterns) -> APIRouter:
    """Create the route that receives the form."""
    router = APIRouter(include_in_schema=False)

    @router.post(PATH)
    def add(request: Request, form: Annotated[Form, Depends(form_of)]) -> RedirectResponse:
        return page.add(request, form)

    return router


def _groups(reading: FailureReading, scope: Scope) -> tuple[str, ...]:
    try:
        return reading.groups_of(scope)
    except NotFound:
        raise BadInput(_NO_BUILD, "scope") from None


def _new_of(form: Form) -> NewKnown:
    instance, _, project = form.get("project", "").partition("~")
    if not project:
        raise BadInput("is missing: choose one", "project")
    branch, job, host = (plain(form.get(name, ""), _MAX_NAME) for name in ("branch", "job", "host"))
    pattern, bug, reason = form.get("pattern", ""), bug_in(form), plain(form.get("reason", ""), MAX_REASON)
    pattern_of(pattern)
    if not bug:
        raise BadInput("is missing: name it like MB-123, #123 or by its URL", "bug")
    if len(reason) < MIN_REASON:
        raise BadInput(f"must have at least {MIN_REASON} characters", "reason")
    return NewKnown(
        pattern=pattern,
        scope=Scope(instance=instance, project=project, branch=branch, job=job, host=host),
        bug=bug,
        reason=reason,
        days=days_in(form) or DEFAULT_DAYS,
    )
