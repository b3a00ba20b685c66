"""A database with failing builds, and the pages of known failures over it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from service.adapters.access.recent_answers import RecentAnswers
from service.adapters.postgres.failures.shown_failures import PostgresFailureReading
from service.adapters.postgres.store import PostgresStore
from service.domain.access.caller import Role
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import Scope
from service.domain.failures.signature import signature_of
from service.domain.review.change import Account
from service.domain.runs.vote import Outcome
from service.ports.access import Author
from service.ports.failures.storing import BuildFailures, NewKnown
from service.steps.access.override_rights import OverrideRights
from service.steps.failures.change_known import KnownChanges
from service.web.failures.changes import PageKnownChanges
from service.web.failures.patterns import PagePatterns
from tests.support.access.callers import Callers
from tests.support.fakes import FakeReviewServer
from tests.support.store_samples import change, check_run, named, start
from tests.support.web import build_failures, call

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from tests.support.postgres import Database

FLAKY: Final = Failure(FailureKind.TEST, "ep.expiry", "Which is: 3", "1/2 Test #1: ep.expiry")
SCOPE: Final = Scope(instance="review", project="kv_engine", branch="master", job="linux")
BOB: Final = Author(account="1000003", name="Bob")
SPEC: Final = {"groups": {"override": "reviewers"}}
PEOPLE: Final = {"al@example.com": Account("1000003", "Al Ray"), "eve@example.com": Account("6", "Eve")}


@dataclass
class Site:
    """A database with a failing build, and pages over it; Al is in the group that may override."""

    database: Database
    callers: Callers = field(default_factory=Callers)
    sessions: dict[tuple[Role, str], Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = PostgresStore(self.database.owner)
        self.reading = PostgresFailureReading(self.database.owner)
        accounts = FakeReviewServer(accounts=dict(PEOPLE), members={("1000003", "reviewers")})
        self.changes, rights = KnownChanges(self.store), OverrideRights(RecentAnswers({"review": accounts}))
        page = PageKnownChanges(self.changes, rights, lambda _: self.reading)
        patterns = PagePatterns(self.changes, rights, lambda _: self.reading)
        self.app = build_failures(self.callers.access(), page, patterns)

    def fail(self, number: int = 7, *found: Failure, outcome: Outcome = Outcome.FAILED) -> int:
        """Finish a build of a change; return the run."""
        with self.store.transaction() as tx:
            record = tx.changes.upsert(change(number))
            run = start(tx, check_run(record.patch_set_id, f"{number:040x}"))
            build = tx.builds.add(run, 0, named("linux", sequence="", spec=SPEC))
            tx.failures.store_failures(build, BuildFailures(found or (FLAKY,)))
            tx.builds.finish(build, outcome, [])
        return run

    def make_known(self, days: int = 30, failure: Failure = FLAKY) -> int:
        signature = signature_of(failure)
        new = NewKnown(
            signature=signature, scope=SCOPE, bug="MB-37948", reason="known intermittent", days=days
        )
        with self.store.transaction() as tx:
            return tx.known.make(new, BOB).id

    def make_pattern(self, pattern: str = "ep[.]expiry") -> int:
        new = NewKnown(pattern=pattern, scope=SCOPE, bug="MB-37948", reason="known intermittent", days=9)
        with self.store.transaction() as tx:
            return tx.known.make(new, BOB).id

    def publish(self, *numbers: int) -> None:
        with self.store.transaction() as tx:
            tx.visibility.record_visible("review", numbers, numbers)

    def read(self, path: str, role: Role = Role.REVIEWER, subject: str = "al") -> str:
        answer = call(self.app, "GET", path, headers=self.headers(role, subject))
        assert answer.status_code == 200
        return answer.text

    def headers(self, role: Role, subject: str) -> Mapping[str, str]:
        """Return the headers of a person's only session."""
        key = (role, subject)
        if key not in self.sessions:
            self.sessions[key] = self.callers.as_person(role, subject)
        return self.sessions[key]

    def save(self, subject: str = "al", ticket: str = "", **fields: str) -> httpx.Response:
        """Send the form of the known failure 1."""
        form = {"state": "confirmed", "bug": "MB-1", **fields}
        return self.send("/failures/1", "/failures/1", form, subject, ticket)

    def send(
        self, page: str, path: str, form: Mapping[str, str], subject: str = "al", ticket: str = ""
    ) -> httpx.Response:
        """Send a form with the ticket of a page."""
        ticket = ticket or self.ticket(page, subject)
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            **self.headers(Role.REVIEWER, subject),
        }
        content = urlencode({"ticket": ticket, **form})
        return call(self.app, "POST", path, content=content, headers=headers)

    def ticket(self, page: str, subject: str = "al") -> str:
        """Return the ticket of a page's only form."""
        [ticket] = re.findall(r'name="ticket" value="([^"]+)"', self.read(page, subject=subject))
        return str(ticket)


def cells(page: str) -> Mapping[str, list[str]]:
    """Return the cells of each table row with one header, by that header."""
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', page, re.DOTALL)
    return {
        re.sub("<[^>]*>", "", header): [
            re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
        ]
        for header, row in rows
    }


def figures(site: Site, known: int) -> Mapping[str, str]:
    """Return the evidence on the page of a known failure."""
    return {header: values[0] for header, values in cells(site.read(f"/failures/{known}")).items()}
