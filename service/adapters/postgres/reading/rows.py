"""Views from rows: each field is the column of its name."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from sqlalchemy import RowMapping

V = TypeVar("V", bound="DataclassInstance")


def view_of(view: type[V], row: RowMapping, **others: object) -> V:
    """Build a view from the columns of its fields, except those given as ``others``.

    Raises:
        ValueError: a text is not a value of its field's enum.
    """
    values: dict[str, Any] = {
        name: row[name] if enum is None or row[name] is None else enum(row[name])
        for name, enum in _columns(view)
        if name not in others
    }
    return view(**values, **others)


@cache
def _columns(view: type[DataclassInstance]) -> tuple[tuple[str, type[StrEnum] | None], ...]:
    hints = get_type_hints(view)
    return tuple((column.name, _enum_in(hints[column.name])) for column in fields(view))


def _enum_in(hint: object) -> type[StrEnum] | None:
    parts = (hint, *get_args(hint))
    return next((part for part in parts if isinstance(part, type) and issubclass(part, StrEnum)), None)
