"""Find errors of CMake, which are paragraphs, in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import Failure, FailureKind, failure_of
from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.log_lines import decoded
from service.domain.failures.output.source_names import source_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ERROR: Final = Pattern(r"^CMake Error(?: (?:at|in) ([^ ].*?)(?::(\d+))?(?: \(([^()]*)\))?)?:(.*)$")
_LONGEST: Final = 8  # lines of the paragraph


class CMakeErrors:
    """Finds errors of CMake line by line; ``roots`` are the folders of the sources."""

    __slots__ = ("_lines", "_opening", "_place", "_roots", "_text")

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self._text: list[str] = []
        self._opening = self._place = ""
        self._lines = 0

    @property
    def is_open(self) -> bool:
        """Return whether the paragraph of an error has begun and not ended."""
        return bool(self._opening)

    def read(self, text: bytes) -> Iterator[Failure]:
        """Read a line; yield the error that ends with it."""
        if text.startswith(b"CMake Error") and (found := _ERROR.groups(text)):
            yield from self.end()
            path, line, command, rest = found
            name = source_name(path, self._roots) if path else ""
            self._opening = f"CMake Error ({command})" if command else "CMake Error"
            self._place = f"{name}:{line}" if name and line else name
            self._text = [rest.strip()] if rest.strip() else []
            self._lines = 0
        elif self.is_open:
            self._lines += 1
            is_text = text[:1] in {b" ", b"\t"} and bool(text.strip())
            if is_text:
                self._text.append(decoded(text).strip())
            # `Cannot find source file:` names the file in a paragraph of its own.
            is_whole = bool(self._text) and not self._text[-1].endswith(":")
            if self._lines >= _LONGEST or (not is_text and (is_whole or text.strip())):
                yield from self.end()

    def end(self) -> Iterator[Failure]:
        """End the open error, and yield it."""
        if self._opening:
            headline = f"{self._opening}: {' '.join(self._text)}"
            subject = self._place.rpartition(":")[0] or self._place
            at = f"{self._place}: " if self._place else ""
            yield failure_of(FailureKind.CONFIGURE, subject, headline, f"{at}{headline}", self._place)
        self._opening = self._place = ""
