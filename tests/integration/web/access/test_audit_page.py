"""Show and export the audit log."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.access.audit import AuditEntry, AuditKind, check_chain
from service.domain.access.caller import Role
from tests.support.access.callers import Callers
from tests.support.memory.audit import MemoryAudit, MemoryAuditLog
from tests.support.memory.state import Memory
from tests.support.web import build_account, call

if TYPE_CHECKING:
    import httpx

HOSTILE: Final = '=HYPERLINK("https://evil.example.com")<script>alert(1)</script>'


class Site:
    """The application with a log, and an operator who reads it."""

    def __init__(self) -> None:
        memory = Memory()
        self.audit = MemoryAudit(memory)
        self.callers = Callers()
        self.app = build_account(self.callers.access(), audit_log=MemoryAuditLog(memory))

    def get(self, path: str, role: Role = Role.OPERATOR) -> httpx.Response:
        return call(self.app, "GET", path, headers=self.callers.as_person(role))


@pytest.fixture
def site() -> Site:
    site = Site()
    site.audit.record_act(AuditKind.OVERRIDE, "1000042", "7001/3", {"bug": "MB-1", "reason": "known"})
    site.audit.record_act(AuditKind.TOKEN_CREATED, "al", "token 4", {"scopes": "read"})
    site.audit.record_act(AuditKind.SIGN_IN_REFUSED, HOSTILE, "the provider", {"reason": HOSTILE})
    return site


def test_an_operator_sees_who_did_what_the_newest_first(site: Site) -> None:
    page = site.get("/audit").text
    places = [page.index(text) for text in ("sign-in refused</td>", "token created</td>", "override</td>")]
    assert places == sorted(places)
    assert "1000042" in page
    assert "bug: MB-1" in page


@pytest.mark.parametrize(("count", "is_folded"), [(6, False), (7, True)])
def test_more_than_six_values_of_an_entry_are_folded(site: Site, count: int, *, is_folded: bool) -> None:
    values = {f"BENCHGATE_{number}": "on" for number in range(count)} | {"EMPTY": ""}
    site.audit.record_act(AuditKind.SETTINGS, "server", "start", values)
    page = site.get("/audit").text
    assert page.count("<details>") == is_folded
    assert (f"<summary>{count} values</summary>" in page) is is_folded
    assert "BENCHGATE_5: on" in page
    assert "EMPTY" not in page


def test_one_kind_can_be_chosen(site: Site) -> None:
    page = site.get("/audit?kind=override").text
    assert "1000042" in page
    assert "token 4" not in page


def test_an_unknown_kind_is_refused_with_the_known_ones(site: Site) -> None:
    answer = site.get("/audit?kind=undone")
    assert answer.status_code == 400
    assert "'undone' is not one of: override, accept, undo" in answer.json()["detail"]


def test_a_long_log_has_pages(site: Site) -> None:
    for number in range(4, 151):
        site.audit.record_act(AuditKind.UNDO, "al", f"7001/{number}", {})
    first = site.get("/audit").text
    assert 'id="e150"' in first
    assert 'id="e51"' in first
    assert 'id="e50"' not in first
    assert "/audit?before=51" in first
    second = site.get("/audit?before=51").text
    assert 'id="e50"' in second
    assert 'id="e1"' in second
    assert "Older" not in second


def test_text_of_an_entry_is_no_markup(site: Site) -> None:
    assert "<script>alert" not in site.get("/audit").text


def test_the_export_has_all_that_a_check_of_the_chain_needs(site: Site) -> None:
    lines = site.get("/audit.jsonl").text.splitlines()
    entries = [
        AuditEntry(**{**each, **{name: bytes.fromhex(each[name]) for name in ("previous", "hash")}})
        for each in map(json.loads, lines)
    ]
    chain = check_chain(entries)
    assert (chain.count, chain.fault) == (3, None)


def test_a_spreadsheet_runs_no_cell_of_the_export(site: Site) -> None:
    answer = site.get("/audit.csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert rows[2]["actor"] == f"'{HOSTILE}"
    assert answer.headers["content-disposition"] == 'attachment; filename="benchgate-audit.csv"'
    assert "no-store" in answer.headers["cache-control"]


def test_an_export_can_be_of_one_kind(site: Site) -> None:
    assert len(site.get("/audit.jsonl?kind=token%20created").text.splitlines()) == 1


def test_an_export_reads_batches_until_the_end() -> None:
    site = Site()
    for number in range(1, 2502):
        site.audit.record_act(AuditKind.UNDO, "al", f"7001/{number}", {})
    assert len(site.get("/audit.jsonl").text.splitlines()) == 2501


def test_an_empty_log_says_that_it_is_empty() -> None:
    assert "There is no entry yet." in Site().get("/audit").text
