"""Read and write JSON columns by their values' declarations; also read what an older version stored.

JSON has no infinity and no NaN: such a number is stored as null.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from service.domain.runs.slowdown import Slowdown
from service.domain.verdict.inference.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from _typeshed import DataclassInstance

    Stored = Iterable[Mapping[str, Any]]

_SLOWDOWNS: Final = TypeAdapter(tuple[Slowdown, ...])
_REASONS: Final = TypeAdapter(tuple[Reason, ...])


def mappings_of(values: Iterable[DataclassInstance] | None) -> list[dict[str, Any]] | None:
    """Convert values for JSON; None stays None."""
    return None if values is None else [asdict(each) for each in values]


def slowdowns_from(stored: Stored | None) -> tuple[Slowdown, ...] | None:
    """Read slow-downs; None if a previous version stored none."""
    if stored is None:
        return None
    return _SLOWDOWNS.validate_python(
        [{**each, "most": math.inf if each["most"] is None else each["most"]} for each in stored]
    )


def reasons_from(stored: Stored) -> tuple[Reason, ...]:
    """Read the reasons of a comparison.

    Raises:
        ValueError: a kind that this version does not know.
    """
    return _REASONS.validate_python(
        [{**each, "facts": [math.nan if fact is None else fact for fact in each["facts"]]} for each in stored]
    )
