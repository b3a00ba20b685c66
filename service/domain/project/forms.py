"""Annotations that constrain and document the values of a project file.

Pydantic calls the methods ``__get_pydantic_…__``, but only :mod:`service.domain.project.schema` imports it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

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

Core = dict[str, Any]  # a core schema of pydantic


@dataclass(frozen=True, eq=False)
class Form:
    """An annotation of a key: ``wrap`` adds a check, and ``editor`` goes into the JSON Schema."""

    wrap: Callable[[Core], Core]
    editor: dict[str, Any] = field(default_factory=dict)

    def __get_pydantic_core_schema__(self, source: object, handler: Callable[[object], Core]) -> Core:
        core = handler(source)
        # A record has already dropped null.
        return self.wrap(core["schema"] if core["type"] == "nullable" else core)

    def __get_pydantic_json_schema__(self, core: Core, handler: Callable[[Core], Core]) -> Core:
        return handler(core) | self.editor


class Record:
    """Base class of dataclasses that are mappings in the file; a key without a value has its default."""

    __slots__ = ()
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @classmethod
    def __get_pydantic_core_schema__(cls: Any, source: object, handler: Callable[[object], Core]) -> Core:
        known = {each.name for each in fields(cls)}

        def given(value: Any) -> Any:  # noqa: ANN401 - pydantic refuses other values
            if not isinstance(value, dict):
                return value
            return {key: item for key, item in value.items() if item is not None or key not in known}

        return _call("function-before", given, handler(source))


def about(description: str, **editor: object) -> Form:
    """Describe a key in the JSON Schema; editors show the description."""
    return Form(lambda core: core, {"description": description, **editor})


def limit(**limits: object) -> Form:
    """Limit values in the terms of pydantic's core schema."""
    return Form(lambda core: core | limits)


def before(function: Callable[[Any], Any], **editor: object) -> Form:
    """Call a function on the value before the other checks; it may raise ValueError."""
    return Form(lambda core: _call("function-before", function, core), editor)


def after(function: Callable[[Any], Any]) -> Form:
    """Call a function on the checked value, which it may change; it may raise ValueError."""
    return Form(lambda core: _call("function-after", function, core))


def _call(kind: str, function: Callable[[Any], Any], core: Core) -> Core:
    return {"type": kind, "function": {"type": "no-info", "function": function}, "schema": core}


def text(pattern: str, words: str) -> Form:
    """Allow texts that the whole pattern matches; ``words`` describes them in errors."""
    # A bare $ also matches before a final line feed.
    limits = {"pattern": rf"^(?:{pattern})$(?!\n)", "regex_engine": "python-re"}
    return Form(lambda core: core | limits, {"patternErrorMessage": words})


def whole(at_least: int, at_most: int) -> Form:
    """Allow whole numbers between the bounds, both included."""
    return limit(strict=True, ge=at_least, le=at_most)


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
Flag = Annotated[bool, limit(strict=True)]
Text = Annotated[str, text(r"[^\x00]{0,4096}", "texts of at most 4096 characters, without NUL")]
Name = Annotated[str, text(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}", _NAME)]  # a part of URLs, files and queues
