"""Texts of a patch set made safe to store, print and compare by eye."""

from __future__ import annotations

import re
from typing import Final

_LINE_ENDS: Final = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
# Besides the control characters proper: the marks that turn the direction of what follows, so that a
# name could be shown as another one.
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")
_LONE_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_SHOWN: Final = 60  # characters of a foreign text that a message repeats


def clean(text: str) -> str:
    """The text on one line without control characters; what is no character becomes U+FFFD.

    Tabs and line ends become one space. The result can be encoded as UTF-8 and holds no NUL.
    """
    if text.isprintable():  # the usual case, and quick
        return text
    text = _LONE_SURROGATES.sub("\ufffd", text)
    text = _LINE_ENDS.sub(" ", text)
    return _CONTROLS.sub("", text)


def brief(text: str) -> str:
    """The start of a foreign text, cleaned and in quotes, for a message."""
    return repr(clean(text[:_SHOWN]) + ("…" if len(text) > _SHOWN else ""))
