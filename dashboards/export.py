"""Write tables for spreadsheets and for texts."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from fastapi.responses import Response

from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Cell = str | int | float | None
    Row = Sequence[Cell]

# A spreadsheet runs a cell that begins so as a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_MARKS: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|~#"})
_LONGEST: Final = 1000


def csv_lines(columns: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """Yield a CSV document by lines; no text in it is a formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(columns)
    for row in rows:
        yield _taken(buffer)
        writer.writerow([_cell(value) for value in row])
    yield _taken(buffer)


def csv_response(name: str, columns: Sequence[str], rows: Iterable[Row]) -> Response:
    """Return a CSV document as a file of that name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"', "Cache-Control": "no-cache"}
    return Response("".join(csv_lines(columns, rows)), headers=headers, media_type="text/csv; charset=utf-8")


def markdown_response(columns: Sequence[str], rows: Iterable[Row]) -> Response:
    """Return a table in Markdown, to be copied into a comment."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ("| " + " | ".join(map(_marked, row)) + " |" for row in rows)
    text = "\n".join(lines) + "\n"
    return Response(text, headers={"Cache-Control": "no-cache"}, media_type="text/plain; charset=utf-8")


def _taken(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def _cell(value: Cell) -> Cell:
    # A negative number is no formula.
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _marked(value: Cell) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return plain("" if value is None else str(value), _LONGEST).translate(_MARKS)
