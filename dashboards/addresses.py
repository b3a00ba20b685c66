"""Parts of the pages' addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Query

JobName = Annotated[str, Path(max_length=100)]
Number = Annotated[int, Path(ge=1, le=(1 << 31) - 1)]
Search = Annotated[str, Query(max_length=200)]
Show = Annotated[str, Query(max_length=20)]


@dataclass(frozen=True, slots=True)
class RowChoice:
    """The rows of a build that a reader asked for: search, filter, and the column that orders them."""

    q: str = ""
    show: str = ""
    sort: str = ""


def _chosen_rows(q: Search = "", show: Show = "", sort: Show = "") -> RowChoice:
    return RowChoice(q, show, sort)


ChosenRows = Annotated[RowChoice, Depends(_chosen_rows)]
