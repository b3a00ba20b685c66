from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta, timezone

import pytest

from service.domain.values.errors import BadInput
from service.ports.review.shown import Cursor


def test_decoding_an_encoded_cursor_returns_it() -> None:
    cursor = Cursor(datetime(2026, 11, 21, 2, 36, 1, 123456, tzinfo=timezone(timedelta(hours=2))), 42)
    text = cursor.encode()
    assert Cursor.decode(text) == Cursor(cursor.updated_at.astimezone(UTC), 42)
    assert text.replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize(
    "plain", ["", "x", "2026-11-21 x", "2026-11-21T00:00:00", "9999-99-99 1", "\xff\xfe 1"]
)
def test_any_other_text_is_refused(plain: str) -> None:
    for text in (plain, base64.urlsafe_b64encode(plain.encode("latin-1")).decode()):
        with pytest.raises(BadInput, match="cursor"):
            Cursor.decode(text)
