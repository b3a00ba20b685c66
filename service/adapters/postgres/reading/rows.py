"""Views from rows: each field is the column of its name."""

from __future__ import annotations

from dataclasses import fields
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
        name: row[name] if kind is None or row[name] is None else kind(row[name])
        for name, kind in _columns(view)
        if name not in others
    }
    return view(**values, **others)


@cache
def _columns(view: type[DataclassInstance]) -> tuple[tuple[str, type[str] | None], ...]:
    hints = get_type_hints(view)
    return tuple((column.name, _kind_of_text(hints[column.name])) for column in fields(view))


def _kind_of_text(hint: object) -> type[str] | None:
    # An enum, or another type of text, alone or beside None.
    types = (part for part in (hint, *get_args(hint)) if isinstance(part, type))
    return next((part for part in types if issubclass(part, str) and part is not str), None)
