"""Annotations that constrain and document the values of a project file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_SHARE: Final = r"(\d{1,3}(?:\.\d{1,6})?)\s*%"
_DURATION: Final = r"(\d{1,6}(?:\.\d{1,6})?)\s*(ms|s|m|h)"
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_LONGEST: Final = 1e7  # seconds
_SIZE: Final = r"(\d{1,6}(?:\.\d{1,6})?)\s*([MG])"
_BYTES: Final = {"M": 1 << 20, "G": 1 << 30}
_SMALLEST: Final = 1 << 20  # bytes; no program runs with less
_LARGEST: Final = 1 << 50
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")  # half of a character, which UTF-8 cannot hold


def _same(value: Any) -> Any:  # noqa: ANN401 - any YAML
    return value


@dataclass(frozen=True, eq=False)
class Form:
    """An annotation of a key.

    Args:
        before: called on the written value, before its type is checked; may raise ValueError.
        after: called on the checked value, which it may change; may raise ValueError.
        editor: keys of the JSON Schema.
    """

    before: Callable[[Any], Any] = _same
    after: Callable[[Any], Any] = _same
    editor: dict[str, Any] = field(default_factory=dict)


class Record:
    """Base class of dataclasses that are mappings in the file; a key without a value has its default."""

    __slots__ = ()


class NotAllowed(ValueError):
    """A text is none of the allowed ones."""

    def __init__(self, found: object, allowed: str) -> None:
        super().__init__(f"{str(found)[:100]!r} is not allowed; allowed are {allowed}")
        self.as_name = f"{str(found)[:100]!r} is not allowed as a name here; allowed are {allowed}"


class TooShort(ValueError):
    """A list or mapping is empty."""


def about(description: str, **editor: object) -> Form:
    """Describe a key in the JSON Schema; editors show the description."""
    return Form(editor={"description": description, **editor})


def before(function: Callable[[Any], Any], **editor: object) -> Form:
    """Call a function on the value before the other checks; it may raise ValueError."""
    return Form(before=function, editor=editor)


def after(function: Callable[[Any], Any], **editor: object) -> Form:
    """Call a function on the checked value, which it may change; it may raise ValueError."""
    return Form(after=function, editor=editor)


def text(pattern: str, words: str) -> Form:
    """Allow texts that the whole pattern matches; ``words`` describes them in errors."""
    allowed = re.compile(pattern)

    def check(value: str) -> str:
        if not allowed.fullmatch(value) or _SURROGATE.search(value):
            raise NotAllowed(value, words)
        return value

    # A bare $ also matches before a final line feed.
    return after(check, pattern=rf"^(?:{pattern})$(?!\n)", patternErrorMessage=words)


def whole(at_least: int, at_most: int) -> Form:
    """Allow whole numbers between the bounds, both included."""

    def check(value: int) -> int:
        if not at_least <= value <= at_most:
            raise ValueError(f"{value!r:.100} is out of range; allowed is {at_least} to {at_most}")
        return value

    return after(check, minimum=at_least, maximum=at_most)


def not_empty(item: str, **editor: object) -> Form:
    """Refuse an empty list or mapping; ``item`` names what it needs."""

    def check(items: Any) -> Any:  # noqa: ANN401 - a list or a mapping
        if not items:
            raise TooShort(f"at least one {item} is needed")
        return items

    return after(check, **editor)


def differ(things: str, by: str = "") -> Form:
    """Refuse a list with two equal items, or equal attributes ``by`` of items."""

    def check(items: tuple[Any, ...]) -> tuple[Any, ...]:
        names = [getattr(item, by) if by else item for item in items]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{things} must differ; twice: {', '.join(twice)}")
        return items

    return after(check)


def share_from(value: object) -> float:
    """Read ``1%`` or a plain number as 0.01."""
    if isinstance(value, str) and (match := re.fullmatch(_SHARE, value, re.ASCII)):
        share = float(match[1]) / 100
        if share <= 1:
            return share
    # A user who writes 1 means 1 %, but would get 100 %.
    elif isinstance(value, int | float) and not isinstance(value, bool) and (value == 0 or 0 < value < 1):
        return float(value)
    raise ValueError(f"{str(value)[:100]!r} is not a share; allowed are 0% to 100%, or 0.01 for 1%")


def duration_from(value: object) -> float:
    """Read ``90s``, ``10m``, ``2h`` or plain seconds as seconds."""
    if isinstance(value, str) and (match := re.fullmatch(_DURATION, value, re.ASCII)):
        return float(match[1]) * _SECONDS[match[2]]
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LONGEST:
        return float(value)
    raise ValueError(f"{str(value)[:100]!r} is not a duration; allowed are 500ms, 90s, 10m, 2h or seconds")


def size_from(value: object) -> int:
    """Read ``512M``, ``4G`` (of 1,024 MiB) or plain bytes as bytes."""
    size = 0
    if isinstance(value, str) and (match := re.fullmatch(_SIZE, value, re.ASCII)):
        size = int(float(match[1]) * _BYTES[match[2]])
    elif isinstance(value, int) and not isinstance(value, bool):
        size = value
    if _SMALLEST <= size < _LARGEST:
        return size
    raise ValueError(f"{str(value)[:100]!r} is not a size; allowed are 512M, 4G or bytes, at least 1M")


OFF: Final = before(lambda value: "off" if value is False else value)
"""For an enum with ``off``, which YAML 1.1 reads as false."""

_NUMBER: Final = {"type": ["string", "number"], "minimum": 0}
_NAME: Final = "letters, digits and . _ + - after a letter or digit, at most 100 characters"
Share = Annotated[float, before(share_from, **_NUMBER, pattern=f"^{_SHARE}$", exclusiveMaximum=1)]
Duration = Annotated[
    float, before(duration_from, **_NUMBER, pattern=f"^{_DURATION}$", exclusiveMaximum=_LONGEST)
]
Size = Annotated[
    int,
    before(
        size_from,
        type=["string", "integer"],
        minimum=_SMALLEST,
        pattern=f"^{_SIZE}$",
        exclusiveMaximum=_LARGEST,
    ),
]
Text = Annotated[str, text(r"[^\x00]{0,4096}", "texts of at most 4096 characters, without NUL")]
NAME: Final = text(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}", _NAME)  # a part of URLs, files and queues
Name = Annotated[str, NAME]
