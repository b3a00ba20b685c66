"""Find reports of sanitizers (ASan, LSan, MSan, TSan, UBSan) in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.failures.failure import Failure, FailureKind, failure_of
from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.source_names import source_name
from service.domain.failures.output.stack_frames import Frame, frame_of, plain_function

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SANITIZERS: Final = "(?:Thread|Address|Leak|Memory|HWAddress|UndefinedBehavior|DataFlow)Sanitizer"
_HEADER: Final = Pattern(rf"(?:ERROR|WARNING|FATAL): ({_SANITIZERS}): (.+)$")
_SUMMARY: Final = Pattern(rf"SUMMARY: ({_SANITIZERS}): (.+)$")
_UNDEFINED: Final = Pattern(r"^((?:[A-Za-z]:)?[^:]+):(\d+):\d+: runtime error: (.+)$")
# The kind of error ends before the address, the process and the place.
_KIND: Final = Pattern(
    r"^(.+?)(?: on (?:unknown )?address .*| on 0x.*| \(pid=.*|: 0x.*| \(0x.*| 0x.*| in thread .*)?$"
)
_AT: Final = Pattern(r"^(.+?) ((?:[A-Za-z]:)?[^ :]*[/\\.][^ :]*)(?::(\d+))?(?::\d+)?(?: in (.+))?$")
_IN: Final = Pattern(r"^(.+?) \(.+\+0x[0-9a-f]+\)(?: \(BuildId: .*?\))?(?: in (.+))?$")
_LEAK: Final = Pattern(r"^(Direct|Indirect) leak of ")
_LEAKED: Final = Pattern(r"byte\(s\) leaked in ")
# Stacks that say where something was made, not what it did.
_ORIGIN: Final = Pattern(
    r"^ *(?:Location is|Thread T\d+.*created|Mutex M\d+ .*created|As if synchronized|Hint: )"
)
_LONGEST: Final = 1000  # lines of a report; a longer one is ended
_MOST_STACKS: Final = 100


class SanitizerReports:
    """Finds the reports in the output of one program; ``roots`` are the folders of the sources."""

    __slots__ = ("_is_origin", "_leaks", "_lines", "_origins", "_roots", "_sanitizer", "_stacks", "_what")

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self._sanitizer = ""
        self._clear()

    @property
    def is_open(self) -> bool:
        """Return whether a report has begun and not ended."""
        return bool(self._sanitizer)

    def read(self, text: bytes) -> Iterator[Failure]:
        """Read a line; yield the failures that end with it."""
        if not self._sanitizer and b"Sanitizer: " not in text and b": runtime error: " not in text:
            return  # the usual case, and quick
        if undefined := _UNDEFINED.groups(text):
            path, line, message = undefined
            name = source_name(path, self._roots)
            headline = f"runtime error: {message}"
            yield failure_of(
                FailureKind.SANITIZER, name, headline, f"{name}:{line}: {headline}", f"{name}:{line}"
            )
            return
        if header := _HEADER.groups(text):
            yield from self.end()
            self._sanitizer, self._what = header[0], header[1]
        elif summary := _SUMMARY.groups(text):
            yield from self._summarised(*summary)
        elif self._sanitizer:
            self._lines += 1
            self._body(text)
            if self._lines > _LONGEST:
                yield from self.end()

    def end(self) -> Iterator[Failure]:
        """End the open report, and yield its failures."""
        if self._sanitizer and self._leaks:
            direct = [stack for kind, stack in self._leaks if kind == "Direct"]
            for stack in direct or [stack for _, stack in self._leaks]:
                yield self._failure("LeakSanitizer", "leak", [stack] if stack else [])
        elif self._sanitizer:
            stacks = [frame for frame in self._stacks if frame]
            origins = [frame for frame in self._origins if frame]
            yield self._failure(self._sanitizer, self._what, stacks or origins)
        self._sanitizer = ""
        self._clear()

    def _clear(self) -> None:
        self._what = ""
        self._lines = 0
        self._is_origin = False  # the current section names an origin
        self._stacks: list[Frame | None] = []  # the first frame of the project in each stack
        self._origins: list[Frame | None] = []  # the same for origins
        self._leaks: list[tuple[str, Frame | None]] = []

    def _body(self, text: bytes) -> None:
        if leak := _LEAK.groups(text):
            if len(self._leaks) < _MOST_STACKS:
                self._leaks.append((leak[0], None))
        elif frame := frame_of(text, self._roots):
            self._frame(frame)
        elif text.strip():
            self._is_origin = _ORIGIN.search(text) is not None

    def _frame(self, frame: Frame) -> None:
        if self._leaks:
            kind, known = self._leaks[-1]
            if known is None and not frame.is_foreign:
                self._leaks[-1] = (kind, frame)
            return
        stacks = self._origins if self._is_origin else self._stacks
        if frame.number == 0 or not stacks:
            if len(stacks) >= _MOST_STACKS:
                return
            stacks.append(None)
        if stacks[-1] is None and not frame.is_foreign:
            stacks[-1] = frame

    def _summarised(self, sanitizer: str, text: str) -> Iterator[Failure]:
        """End a report at its summary, or make a failure from a summary alone."""
        if sanitizer == "UndefinedBehaviorSanitizer":  # its reports are complete
            return
        if self._sanitizer:
            has_frames = any((*self._stacks, *self._origins)) or bool(self._leaks)
            if not has_frames and (frame := self._frame_in(text)[1]):
                self._stacks.append(frame)
            yield from self.end()
            return
        what, frame = self._frame_in(text)
        if _LEAKED.search(text.encode(errors="replace")):
            yield self._failure("LeakSanitizer", "leak", [])
        else:
            yield self._failure(sanitizer, what, [frame] if frame else [])

    def _frame_in(self, text: str) -> tuple[str, Frame | None]:
        data = text.encode(errors="replace")
        if without_file := _IN.groups(data):
            what, function = without_file
            return what, Frame(0, plain_function(function), "", "", is_foreign=False) if function else None
        if found := _AT.groups(data):
            what, path, line, function = found
            name = plain_function(function) or "?"
            return what, Frame(0, name, source_name(path, self._roots), line, is_foreign=False)
        return text, None

    def _failure(self, sanitizer: str, what: str, frames: Sequence[Frame]) -> Failure:
        kind = (_KIND.groups(what.encode(errors="replace")) or (what,))[0].strip()
        functions = ", ".join(sorted({frame.shown() for frame in frames}))
        headline = f"{sanitizer}: {kind}: {functions}" if functions else f"{sanitizer}: {kind}"
        place = next((place for frame in frames if (place := frame.place())), "")
        line = f"{place}: {headline}" if place else headline
        return failure_of(FailureKind.SANITIZER, "", headline, line, place)
