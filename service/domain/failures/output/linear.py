"""Regular expressions of RE2, which match in linear time whatever the expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import re2

from service.domain.values.errors import BadInput
from service.domain.values.text import brief, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_MEMORY: Final = 1 << 20  # bytes of a compiled pattern; the largest built-in one needs a tenth
_MAX_PATTERN: Final = 1000  # characters; nobody can check a longer one
_TABLE_MEMORY: Final = 64 << 20  # bytes of a compiled table


def _options(memory: int = _MEMORY) -> Any:  # noqa: ANN401 - re2 has no types
    options = re2.Options()
    # With UTF-8, a dot would not match an invalid byte.
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False  # it would write to the standard error output
    options.max_mem = memory
    return options


class Pattern:
    """A regular expression of RE2 over bytes, so without back references and look-around.

    Args:
        text: the expression; characters beyond ASCII match their UTF-8 bytes.

    Raises:
        BadInput: it is invalid, too large, or matches an empty line, and so every line.
    """

    __slots__ = ("_compiled", "text")

    def __init__(self, text: str) -> None:
        if len(text) > _MAX_PATTERN:
            raise BadInput(
                f"the pattern has {len(text)} characters; at most {_MAX_PATTERN} are allowed", brief(text)
            )
        try:
            self._compiled: Final[Any] = re2.compile(text.encode(), _options())
        except re2.error as error:
            raise BadInput(f"not a regular expression of RE2: {_reason(error)}", brief(text)) from None
        except UnicodeEncodeError:
            raise BadInput("the pattern has a character that UTF-8 cannot encode", brief(text)) from None
        if self._compiled.search(b"") is not None:
            raise BadInput("the pattern matches every line, even an empty one", brief(text))
        self.text: Final = text

    def search(self, line: bytes) -> tuple[int, int] | None:
        """Return the span of the first match, or None."""
        found = self._compiled.search(line)
        return None if found is None else tuple(found.span())

    def groups(self, line: bytes) -> tuple[str, ...] | None:
        """Return the groups of the first match, or None; a group that did not take part is empty."""
        found = self._compiled.search(line)
        return (
            None
            if found is None
            else tuple((part or b"").decode(errors="replace") for part in found.groups())
        )

    @property
    def group_names(self) -> frozenset[str]:
        """The names of the named groups."""
        return frozenset(name.decode() for name in self._compiled.groupindex)

    def named_groups(self, line: bytes) -> Mapping[str, str] | None:
        """Return the named groups of the first match, as :meth:`groups`."""
        found = self._compiled.search(line)
        if found is None:
            return None
        return {
            name.decode(): (part or b"").decode(errors="replace") for name, part in found.groupdict().items()
        }

    def replaced(self, line: bytes, by: bytes) -> bytes:
        r"""Replace each match; ``\1`` is the first group. Quadratic at worst, so for short lines only."""
        return line if self._compiled.search(line) is None else bytes(self._compiled.sub(by, line))

    def rewritten(self, line: bytes, change: Callable[[bytes], bytes]) -> bytes:
        """Replace each match by a function of it. Quadratic at worst, so for short lines only."""
        if self._compiled.search(line) is None:  # most rules find nothing, and `sub` takes twice as long
            return line
        return bytes(self._compiled.sub(lambda found: change(found.group()), line))


class PatternTable:
    """Searches for any number of patterns in one pass.

    Raises:
        BadInput: they are too large together.
    """

    __slots__ = ("_compiled",)

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._compiled: Final[Any] = re2.Set.SearchSet(_options(_TABLE_MEMORY))
        for pattern in patterns:
            self._compiled.Add(pattern.text.encode())
        try:
            self._compiled.Compile()
        except re2.error:
            raise BadInput("the patterns are too large together; shorten some, or use fewer") from None

    def matching(self, line: bytes) -> list[int]:
        """Return the indices of the patterns that match, in order."""
        return sorted(self._compiled.Match(line) or ())


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return plain(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason))
