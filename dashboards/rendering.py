"""Render pages from templates."""

from __future__ import annotations

import time
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from dashboards import formatting
from dashboards.assets import asset_path
from dashboards.claims.pages import CLAIM_FILTERS, LEGENDS
from dashboards.machines.environment import build_facts, machine_facts, stages
from dashboards.runs.badges import badge_of, slower_uncounted
from dashboards.runs.next_steps import button_of, row_offers, title_of
from dashboards.runs.sentences import delivery, override_text
from dashboards.verdict.code_table import instruction
from dashboards.verdict.comparison_table import RowFilter, search_for, sign_of, word_of
from dashboards.verdict.sparkline import COMMITS
from service.domain.failures.known import DEFAULT_DAYS
from service.domain.project.policy import MOST_PAIRS
from service.domain.review.change import ChangeStatus
from service.domain.review.change_search import written
from service.domain.review.comment_commands import MAX_FILTER, MAX_REASON, MIN_REASON
from service.domain.review.form_commands import Action
from service.domain.review.links import Links
from service.domain.runs.states import UNFINISHED, BuildState, RunState
from service.domain.runs.vote import Result
from service.domain.values.identity import RunKind
from service.domain.values.text import plain, plain_lines, share, shortened
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.clauses import MAX_CLAUSE
from service.domain.wording.explanations import why
from service.domain.wording.next_steps import MORE_PAIRS
from service.domain.wording.standing import expected, ordinal, refuses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import Request

    from service.domain.access.caller import AccountLink
    from service.domain.verdict.explanation.assembly import CodeRow, Line
    from service.domain.verdict.explanation.explanation import Explanation
    from service.ports.runs.shown import Run
    from service.steps.runs.check_health import HealthCheck, HealthReport


class ReviewLinks:
    """The addresses of changes and commits on the review server.

    Args:
        base_url: the server's address; without one, as for the console, all addresses are empty.
    """

    def __init__(self, base_url: str) -> None:
        self._base = base_url.rstrip("/")

    def patch_set(self, project: str, change: int, patch_set: int | None) -> str:
        """Return the address of a patch set, or of the whole change without one."""
        number = str(change) if patch_set is None else f"{change}/{patch_set}"
        return f"{self._base}/c/{quote(project)}/+/{number}" if self._base else ""

    def line(self, run: Run | None, place: CodeRow | Line) -> str:
        """Return the address of a line in a run's patch set; empty if the run has none, or the line no path.

        A line of the parent is on the left of the two.
        """
        if run is None or run.change is None or not (self._base and place.path):
            return ""
        side = "b" if place.patch is None else ""
        page = self.patch_set(run.project, run.change, run.patch_set)
        return f"{page}/{quote(place.path)}#{side}{place.line}"

    def commit(self, revision: str) -> str:
        """Return an address that leads to the change of a commit."""
        return f"{self._base}/q/{quote(revision, safe='')}" if self._base else ""


_FRESH_SECONDS: Final = 5.0  # every page shows the service's condition; the database is asked this often
_TITLES: Final[Mapping[int, str]] = MappingProxyType(
    {
        401: "Not signed in",
        403: "Not allowed",
        404: "Not found",
        429: "Too many requests",
        500: "Something failed",
        503: "Temporarily not available",
    }
)
_REASONS: Final[Mapping[int, str]] = MappingProxyType({404: "there is no page at this address"})
_ADVICE: Final[Mapping[int, str]] = MappingProxyType(
    {
        401: "Go back and try again after you have signed in.",
        403: "Ask an operator of Benchgate if you need this.",
        404: "Check the address, or look for the change in the list.",
        500: "Try again. If it fails again, give the operator the id of the request, which the log has too.",
        503: "If it lasts, /readyz says what does not work.",
    }
)
_GO_BACK: Final = "Go back and try again, or start from the list."
# After a link for signing in.
_INVITATIONS: Final[Mapping[int, str]] = MappingProxyType({401: "to go on", 404: "to see what is not public"})
_ENUMS: Final = (Action, BuildState, ChangeStatus, Result, RowFilter, RunKind, RunState, Verdict)
_SAME_SITE: Final = Links("")
NO_URLS: Final[Mapping[str, str]] = MappingProxyType({})  # the console review server has no pages


class Pages:
    """Renderer of pages, each with the service's problems at its top.

    Args:
        health: the check of the service.
        review_urls: the addresses of the Gerrits by instance; the pages of no other server are linked.
        links: build the addresses that a person gives to other sites.
    """

    def __init__(
        self, health: HealthCheck, review_urls: Mapping[str, str] = NO_URLS, links: Links = _SAME_SITE
    ) -> None:
        self.links = links
        self._health = health
        self._review = {instance: ReviewLinks(url) for instance, url in review_urls.items()}
        # A database may also hold changes under an earlier name of the only server.
        self._default = next(iter(self._review.values())) if len(review_urls) == 1 else ReviewLinks("")
        self._environment = _environment()
        self._report: HealthReport | None = None
        self._checked_at = float("-inf")

    def render(
        self,
        request: Request,
        template: str,
        *,
        status: int = 200,
        instance: str = "",
        **values: Any,  # noqa: ANN401 - whatever the template shows
    ) -> HTMLResponse:
        """Render a template as a page; its commits are those of an instance."""
        shared = {
            "health": self._current_report(),
            "review": self.review_of(instance),
            "review_of": self.review_of,
            "account": account_link_of(request),
            "invitation": _INVITATIONS.get(status),
        }
        text = self._environment.get_template(template).render(**shared, **values)
        return HTMLResponse(text, status_code=status, headers={"Cache-Control": "no-cache"})

    def review_of(self, instance: str) -> ReviewLinks:
        """Return the addresses on the review server of an instance."""
        return self._review.get(instance, self._default)

    def _current_report(self) -> HealthReport:
        now = time.monotonic()
        if self._report is None or now - self._checked_at > _FRESH_SECONDS:
            self._report = self._health.report()
            self._checked_at = now
        return self._report


def account_link_of(request: Request) -> AccountLink | None:
    """Return the link to the account for the header of the page that answers a request."""
    link: AccountLink | None = request.app.state.account_link(request)
    return link


def problem_page(
    status: int,
    detail: str,
    account: AccountLink | None,
    request_id: str = "",
    retry_after: int | None = None,
    choices: Sequence[str] = (),
) -> str:
    """Render a page about an error, with what the reader can do next; it needs no database.

    Args:
        status: of the answer.
        detail: a sentence about the error.
        account: the link to the reader's account; None if nobody can sign in.
        request_id: of the request in the log.
        retry_after: the seconds after which to try again; None: no such time is known.
        choices: the addresses of the changes that the reader may have meant.
    """
    title = _TITLES.get(status, HTTPStatus(status).phrase)
    again = "" if retry_after is None else f"Try again in {formatting.counted(retry_after, 'second')}."
    reason = detail if detail and detail != HTTPStatus(status).phrase else _REASONS.get(status, title)
    return (
        _environment()
        .get_template("problem.html")
        .render(
            health=None,
            account=account,
            title=title,
            invitation=_INVITATIONS.get(status),
            reason=f"{reason[:1].upper()}{reason[1:].removesuffix('.')}.",
            advice=f"{again} {_ADVICE.get(status, '' if again else _GO_BACK)}".strip(),
            request_id=request_id,
            choices=choices,
        )
    )


def sign_in_page(*, account: AccountLink | None, begin: str, secret: str, wanted: str, sentence: str) -> str:
    """Render the page for signing in; it needs no database.

    Args:
        account: the link to the reader's account; None if nobody can sign in.
        begin: the address of the link to the identity provider; empty without one.
        secret: of the user of this machine, for the form that posts it; empty: there is no form.
        wanted: the path to return to, for that form.
        sentence: why the person is not signed in; empty at first.
    """
    template = _environment().get_template("sign_in.html")
    text = f"{sentence[:1].upper()}{sentence[1:].removesuffix('.')}." if sentence else ""
    values = {"begin": begin, "secret": secret, "wanted": wanted, "sentence": text}
    return template.render(health=None, account=account, **values)


@cache
def _environment() -> Environment:
    """Create the environment; every application of the process shares its compiled templates."""
    environment = Environment(
        loader=PackageLoader("dashboards"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(asset=asset_path, query=query_of, operator=written, UNFINISHED=UNFINISHED)
    environment.globals.update(actions=None, known="")  # pages without forms have none
    environment.globals.update(
        badge_of=badge_of,
        slower_uncounted=slower_uncounted,
        title_of=title_of,
        button_of=button_of,
        row_offers=row_offers,
        MORE_PAIRS=MORE_PAIRS,
        MAX_REASON=MAX_REASON,
        MIN_REASON=MIN_REASON,
        DEFAULT_DAYS=DEFAULT_DAYS,
    )
    environment.globals.update(
        ANSWERS=LEGENDS, COMMITS=COMMITS, MAX_CLAUSE=MAX_CLAUSE, MAX_FILTER=MAX_FILTER, MOST_PAIRS=MOST_PAIRS
    )
    environment.globals.update(tone=formatting.tone, version=version("benchgate"), instruction=instruction)
    environment.globals.update({enum.__name__: enum for enum in _ENUMS})
    environment.filters.update(
        CLAIM_FILTERS,
        quantity=formatting.quantity,
        machine_facts=machine_facts,
        build_facts=build_facts,
        stages=stages,
        moment=formatting.moment,
        ordinal=ordinal,
        stamp=formatting.stamp,
        lasting=formatting.lasting,
        refuses=refuses,
        expected=expected,
        percent=formatting.percent,
        counted=formatting.counted,
        middle_cut=formatting.middle_cut,
        breakable=formatting.breakable,
        metric_label=formatting.metric_label,
        details=formatting.details,
        explained=explained,
        points=formatting.points,
        share=share,
        plain=plain,
        shortened=shortened,
        plain_lines=plain_lines,
        sign=sign_of,
        search_for=search_for,
        word=word_of,
        override_text=override_text,
        delivery=delivery,
        segment=lambda text: quote(str(text), safe=""),
    )
    environment.tests.update(web_address=formatting.is_web_address)
    return environment


def explained(found: Explanation) -> str:
    """Write why a benchmark is slower, where its name stands already."""
    text = why(found)
    return f"{text[:1].upper()}{text[1:]}"


def query_of(**values: object) -> str:
    """Return a query string of the values that are not empty; a tuple's values follow each other."""
    given = {name: value for name, value in values.items() if value not in {None, ""}}
    return f"?{urlencode(given, doseq=True)}"
