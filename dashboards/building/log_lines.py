"""The lines of a log as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from service.domain.building.logs.colours import PLAIN, styled_lines

if TYPE_CHECKING:
    from service.domain.building.logs.colours import Style
    from service.domain.building.logs.stored_log import LogPiece

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
