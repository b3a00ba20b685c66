"""Values from rows: each field is the column of its name."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import DataclassInstance
    from sqlalchemy import RowMapping

V = TypeVar("V", bound="DataclassInstance")


def from_row(kind: type[V], row: RowMapping, **others: object) -> V:
    """Build a value from the columns of its fields, except those given as ``others``.

    Raises:
        ValueError: a text is not a value of its field's enum.
    """
    values: dict[str, Any] = {
        name: row[name] if convert is None or row[name] is None else convert(row[name])
        for name, convert in _columns(kind)
        if name not in others
    }
    return kind(**values, **others)


@cache
def _columns(kind: type[DataclassInstance]) -> tuple[tuple[str, Callable[[Any], object] | None], ...]:
    hints = get_type_hints(kind)
    return tuple((column.name, _conversion(hints[column.name])) for column in fields(kind))


def _conversion(hint: object) -> Callable[[Any], object] | None:
    if get_origin(hint) is tuple:
        return tuple
    # An enum, or another type of text, alone or beside None.
    types = (part for part in (hint, *get_args(hint)) if isinstance(part, type))
    return next((part for part in types if issubclass(part, str) and part is not str), None)
