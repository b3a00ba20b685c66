"""Show the account of the person who signed in, and the audit log with its export."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from dashboards.export import csv_lines
from dashboards.rendering import Pages
from service.domain.access.audit import AuditKind
from service.domain.values.errors import BadInput
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fastapi import Request
    from fastapi.responses import HTMLResponse

    from service.domain.access.audit import AuditEntry
    from service.ports.access import AuditLog
    from service.steps.runs.check_health import HealthCheck

_PAGE: Final = 100
_BATCH: Final = 1000  # entries that an export holds in memory
_COLUMNS: Final = ("id", "at", "kind", "actor", "subject", "body", "previous", "hash")
_HEADERS: Final = {"Cache-Control": "private, no-store"}

Kind = Annotated[str, Query(max_length=30, description="of the entries; empty: all")]
Before = Annotated[int | None, Query(ge=1, le=(1 << 63) - 1)]


def create_audit(log: AuditLog, health: HealthCheck) -> APIRouter:
    """Create the routes of the page and its exports; the table of rights admits only operators.

    Args:
        log: the audit log.
        health: the check whose problems every page shows.
    """
    pages = Pages(health)
    router = APIRouter(include_in_schema=False)

    @router.get("/audit")
    def audit(request: Request, kind: Kind = "", before: Before = None) -> HTMLResponse:
        chosen = _kind(kind)
        newest = log.newest(_PAGE + 1, chosen, before)
        return pages.render(
            request,
            "audit.html",
            entries=newest[:_PAGE],
            kinds=tuple(AuditKind),
            kind=chosen or "",
            is_newest=before is None,
            before=newest[_PAGE - 1].id if len(newest) > _PAGE else None,
            faults=log.protection_faults(),
        )

    @router.get("/audit.csv")
    def audit_as_csv(kind: Kind = "") -> StreamingResponse:
        name = {"Content-Disposition": 'attachment; filename="benchgate-audit.csv"'}
        rows = (tuple(_values(entry).values()) for entry in _all(log, _kind(kind)))
        lines = csv_lines(_COLUMNS, rows)
        return StreamingResponse(lines, headers=_HEADERS | name, media_type="text/csv; charset=utf-8")

    @router.get("/audit.jsonl")
    def audit_as_json_lines(kind: Kind = "") -> StreamingResponse:
        name = {"Content-Disposition": 'attachment; filename="benchgate-audit.jsonl"'}
        lines = (f"{json.dumps(_values(entry), ensure_ascii=False)}\n" for entry in _all(log, _kind(kind)))
        return StreamingResponse(lines, headers=_HEADERS | name, media_type="application/jsonl")

    return router


def _kind(text: str) -> AuditKind | None:
    if not text:
        return None
    try:
        return AuditKind(text)
    except ValueError:
        raise BadInput(f"{plain(text, 30)!r} is not one of: {', '.join(AuditKind)}", "kind") from None


def _all(log: AuditLog, kind: AuditKind | None) -> Iterator[AuditEntry]:
    """Read all entries, oldest first, a batch at a time."""
    after = 0
    while batch := log.entries(after, _BATCH, kind):
        yield from batch
        after = batch[-1].id


def _values(entry: AuditEntry) -> dict[str, str | int]:
    """Return the fields of an entry, hashes as hexadecimal digits: all that a check of the chain needs."""
    values = {name: getattr(entry, name) for name in _COLUMNS}
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in values.items()}


def account_renderer(
    health: HealthCheck, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Callable[[Request, object], HTMLResponse]:
    """Return the renderer of the account page, which takes the page's view; ``now`` is the clock."""
    pages = Pages(health)
    return lambda request, view: pages.render(request, "account.html", view=view, now=now())
