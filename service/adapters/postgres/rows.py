"""Build values from rows: each field is the column of its name."""

from __future__ import annotations

import builtins
import types
from collections.abc import Mapping
from dataclasses import fields
from datetime import date, datetime
from enum import EnumType
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args, get_origin, get_type_hints

from service.domain.project.job_kinds import JobKind
from service.domain.review.change import InlineComment, Review
from service.domain.values.identity import ChangeKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from _typeshed import DataclassInstance
    from sqlalchemy import CursorResult, Row, RowMapping

V = TypeVar("V", bound="DataclassInstance")
_AS_THEY_ARE: Final = (bool, int, float, str, date, datetime, Mapping)


def from_row(kind: type[V], row: RowMapping, **others: object) -> V:
    """Build a value from the columns of its fields, except those given as ``others``.

    Raises:
        TypeError: a field is of a type that has no rule in :func:`_conversion`.
        ValueError: a text is not a value of its field's enum.
    """
    names, columns, conversions = plan_of(kind, *others)
    values: dict[str, Any] = dict(zip(names, columns(row), strict=True), **others)
    for name, convert in conversions:
        values[name] = convert(values[name])
    return kind(**values)


def from_rows(kind: type[V], found: CursorResult[Any], **others: Callable[[Row[Any]], object]) -> Iterator[V]:
    """Build values as :func:`from_row` does, quicker for many; ``others`` read their field from a row."""
    names, _, conversions = plan_of(kind, *others)
    places = {name: place for place, name in enumerate(found.keys())}
    columns = itemgetter(*(places[name] for name in names))
    for row in found.all():
        values: dict[str, Any] = dict(zip(names, columns(row), strict=True))
        for name, convert in conversions:
            values[name] = convert(values[name])
        for name, read in others.items():
            values[name] = read(row)
        yield kind(**values)


@cache
def plan_of(
    kind: type[DataclassInstance], *others: str
) -> tuple[Sequence[str], itemgetter[Any], Sequence[tuple[str, Callable[[Any], object]]]]:
    """Return a kind's columns except ``others``, their reader, and the conversions that some need.

    Raises:
        TypeError: as :func:`from_row`.
    """
    hints = get_type_hints(kind)
    names = [column.name for column in fields(kind) if column.name not in others]
    conversions = ((name, _conversion(hints[name])) for name in names)
    return names, itemgetter(*names), [(name, convert) for name, convert in conversions if convert]


def review_of(payload: Mapping[str, Any]) -> Review:
    """Build a review from its payload in the outbox."""
    return Review(
        # The version before stored no project.
        change=ChangeKey(payload["instance"], payload["number"], payload.get("project", "")),
        revision=payload["revision"],
        message=payload["message"],
        labels=payload["labels"],
        comments=tuple(InlineComment(**comment) for comment in payload.get("comments", ())),
        is_silent=payload.get("is_silent", False),
    )


def _conversion(hint: Any) -> Callable[[Any], object] | None:  # noqa: ANN401 - any annotation
    """Return the function that converts a column into a field; None if they are equal."""
    origin = get_origin(hint) or hint
    match origin, *get_args(hint):
        case builtins.tuple, item, builtins.Ellipsis:
            each = _conversion(item)
            return tuple if each is None else lambda items: tuple(map(each, items))
        case types.UnionType, item, types.NoneType:
            some = _conversion(item)
            return None if some is None else lambda value: None if value is None else some(value)
    if origin in _AS_THEY_ARE:
        return None
    if isinstance(origin, EnumType):
        return cache(origin)  # an enum's own look-up takes five times as long
    if origin is JobKind:
        return JobKind
    raise TypeError(f"no column holds a {hint}")
