"""Read and write JSON columns by their values' declarations; also read what an older version stored.

JSON has no infinity and no NaN: such a number is stored as null.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from service.domain.claims.values import Claim
from service.domain.measuring.listing import Listing
from service.domain.runs.slowdown import Slowdown
from service.domain.verdict.inference.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from _typeshed import DataclassInstance

    Stored = Iterable[Mapping[str, Any]]

_LISTING: Final = TypeAdapter(Listing)
_SLOWDOWNS: Final = TypeAdapter(tuple[Slowdown, ...])
_REASONS: Final = TypeAdapter(tuple[Reason, ...])
_CLAIMS: Final = TypeAdapter(tuple[Claim, ...])


def mappings_of(values: Iterable[DataclassInstance] | None) -> list[dict[str, Any]] | None:
    """Convert values for JSON; None stays None."""
    return None if values is None else [asdict(each) for each in values]


def mappings_of_listings(listings: Iterable[Listing]) -> list[dict[str, Any]]:
    """Convert listings for JSON; most values are left out where they are the default."""
    return [
        {
            **_LISTING.dump_python(each, mode="json", exclude={"is_same_program"}, exclude_defaults=True),
            "same_program": each.is_same_program,
            "long": sorted(each.long),
        }
        for each in listings
    ]


def listings_from(stored: Stored) -> tuple[Listing, ...]:
    """Read listings, also of a version that stored fewer values."""
    return tuple(
        _LISTING.validate_python({**each, "is_same_program": each.get("same_program", False)})
        for each in stored
    )


def slowdowns_from(stored: Stored | None) -> tuple[Slowdown, ...] | None:
    """Read slow-downs; None if a previous version stored none."""
    if stored is None:
        return None
    return _SLOWDOWNS.validate_python(
        [{**each, "most": math.inf if each["most"] is None else each["most"]} for each in stored]
    )


def mappings_of_claims(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Convert claims for JSON; values are left out where they are the default."""
    return _CLAIMS.dump_python(tuple(claims), mode="json", exclude_defaults=True)  # type: ignore[no-any-return]


def claims_from(stored: Stored) -> tuple[Claim, ...]:
    """Read the claims of a revision.

    Raises:
        ValueError: they are those of a version that writes others.
    """
    return _CLAIMS.validate_python(
        [each if each.get("rounding", 0.0) is not None else {**each, "rounding": math.inf} for each in stored]
    )


def reasons_from(stored: Stored) -> tuple[Reason, ...]:
    """Read the reasons of a comparison.

    Raises:
        ValueError: a kind that this version does not know.
    """
    return _REASONS.validate_python(
        [{**each, "facts": [math.nan if fact is None else fact for fact in each["facts"]]} for each in stored]
    )
