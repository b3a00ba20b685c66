"""Route the pages of a log: some lines, matches, and the whole text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response  # noqa: TC002 - FastAPI reads the annotations
from markupsafe import Markup, escape

from dashboards.addresses import JobName, Number  # noqa: TC001 - FastAPI reads the annotations
from dashboards.building.log_text import text_response
from service.domain.building.logs.colours import PLAIN, styled_lines
from service.domain.building.logs.pages import page_around, page_before, page_from
from service.domain.building.logs.search import find
from service.domain.values.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboards.rendering import Pages
    from service.domain.building.logs.colours import Style
    from service.domain.building.logs.search import Found
    from service.domain.building.logs.stored_log import Gap, LogPiece, StoredLog, Stream
    from service.ports.reading import BuildReading

_LINE: Final = '<span class="line{}" id="L{}"><a href="#L{}">{}</a>{}</span>'


def lines_of(piece: LogPiece, *, is_newest: bool) -> Markup:
    """Return the lines of a page, each with its number, in the colours of a terminal.

    A style that began before the page is not known: the first line begins plain. If the page is the newest
    one of the log, its last line may still grow and is marked as unfinished.
    """
    lines = piece.data.decode("utf-8", "replace").split("\n")
    unfinished = len(lines) if lines[-1] and is_newest else 0
    if not lines[-1]:
        lines.pop()
    # Each text is escaped by itself; the rest is made of constants and numbers.
    return Markup(  # noqa: S704
        "".join(
            _LINE.format(" unfinished" if count == unfinished else "", number, number, number, _texts(texts))
            for count, texts in enumerate(styled_lines(lines), 1)
            for number in (piece.line + count,)
        )
    )


def _texts(texts: list[tuple[Style, str]]) -> str:
    return "".join(
        escape(text) if style == PLAIN else f'<span class="{_classes(style)}">{escape(text)}</span>'
        for style, text in texts
    )


def _classes(style: Style) -> str:
    names = [f"colour-{style.colour}"] if style.colour else []
    return " ".join(["bold", *names] if style.is_bold else names)


Place = Annotated[int | None, Query(ge=0, le=1 << 40)]


@dataclass(frozen=True, slots=True)
class ShownPart:
    """The lines of a log on a page, with what is left out next to them."""

    log: StoredLog
    piece: LogPiece

    @property
    def gap(self) -> Gap | None:
        """The gap before them."""
        found = (gap for gap in self.log.gaps if gap.end == self.piece.start)
        return next(found, None) if self.piece.data else None

    @property
    def gap_after(self) -> Gap | None:
        """The gap after them."""
        return next((gap for gap in self.log.gaps if gap.start == self.piece.end), None)

    @property
    def older(self) -> int | None:
        """End of the previous page; None on the first one."""
        before = self.gap.start if self.gap else self.piece.start
        return before or None

    @property
    def newer(self) -> int | None:
        """Beginning of the next page; None on the last one."""
        return self.piece.end if self.piece.end < self.log.size else None

    @property
    def next_line(self) -> int:
        """The place of the next line, or of the newest one of the log if that is unfinished."""
        return self.piece.start + self.piece.data.rfind(b"\n") + 1 if self.newer is None else self.newer


def add_logs(
    router: APIRouter, reading_of: Callable[[Request], BuildReading], pages: Pages, stream: Stream
) -> None:
    """Add the page of a build's log, and its text."""

    def log_of(request: Request, job: str, number: int) -> StoredLog:
        log = reading_of(request).log(job, number)
        if not (log.parts or log.name or log.is_growing):
            raise NotFound(f"the build {job}/{number} has no log")
        return log

    @router.get("/job/{job}/{number}/log")
    def log_page(
        request: Request,
        job: JobName,
        number: Number,
        start: Place = None,
        end: Place = None,
        around: Place = None,
        q: Annotated[str, Query(max_length=200)] = "",
        exact: Annotated[bool, Query()] = False,  # noqa: FBT002 - a parameter of the address
    ) -> HTMLResponse:
        log = log_of(request, job, number)
        found: Found | None = None
        if q:
            found = find(log, q, start or 0, stream, is_exact=exact)
            piece = page_before(log, 0, stream)
        elif around is not None:
            piece = page_around(log, around, stream)
        elif start is not None:
            piece = page_from(log, start, stream)
        else:
            piece = page_before(log, log.size if end is None else end, stream)
        shown = ShownPart(log, piece)
        return pages.render(
            request, "log.html", job=job, number=number, log=log, shown=shown,
            lines=lines_of(piece, is_newest=shown.newer is None), q=q, exact=exact, found=found,
        )  # fmt: skip

    @router.get("/job/{job}/{number}/log.txt")
    def log_text(job: JobName, number: Number, request: Request) -> Response:
        return text_response(request, log_of(request, job, number), stream)
