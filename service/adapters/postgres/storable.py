"""Clean untrusted values for PostgreSQL: its texts refuse NUL and lone surrogates, its JSON also NaN."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import Text, TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

LARGEST_INTEGER: Final = (1 << 31) - 1
LARGEST_BIGINT: Final = (1 << 63) - 1
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_REFUSED: Final = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Replace every character that PostgreSQL refuses; lengths stay the same."""
    return _REFUSED.sub(REPLACEMENT, text)


def clean_json(value: Any) -> Any:  # noqa: ANN401 - JSON is whatever came
    """Make JSON that PostgreSQL accepts: keys and texts are cleaned, NaN and infinity become null."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {clean(str(key)): clean_json(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [clean_json(item) for item in value]
    return value


class CleanText(TypeDecorator[str]):
    """A text column that takes any Python text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Clean on the way in."""
        return None if value is None else clean(value)


class CleanJson(TypeDecorator[Any]):
    """A JSON column that takes any Python JSON; None is SQL's NULL."""

    impl = JSONB(none_as_null=True)
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:  # noqa: ANN401, ARG002
        """Clean on the way in."""
        return clean_json(value)
