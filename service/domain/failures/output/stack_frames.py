"""Parse stack frames in sanitizer reports, and tell the project's from foreign ones."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.log_lines import decoded
from service.domain.failures.output.source_names import source_name

if TYPE_CHECKING:
    from collections.abc import Iterable

_FRAME: Final = Pattern(r"^\s*#(\d{1,4}) (?:0x[0-9a-fA-F]+ )?(?:in )?(.+)$")
_MODULE: Final = Pattern(r" \(([^()]*)\+0x[0-9a-fA-F]+\)(?: \(BuildId: [0-9a-f]+\))?$")
_UNKNOWN_FILE: Final = Pattern(r" \?\?:[0-9?]+(?::[0-9?]+)?$")
_FILE: Final = Pattern(r"^(.*) ((?:[A-Za-z]:)?[^ :]*[/\\.][^ :]*)(?::(\d+))?(?::\d+)?$")
_FOREIGN_FILE: Final = Pattern(
    r"^(?:/usr/|/lib|\.\./(?:sysdeps|csu|nptl)/|\./(?:nptl|csu|sysdeps|malloc|stdlib)/)|"
    r"libsanitizer|compiler-rt|sanitizer_common|/include/c\+\+/|/googletest/|/googlemock/|/g(?:test|mock)/"
)
_FOREIGN_MODULE: Final = Pattern(r"(?:^|/)(?:lib(?:c|m|pthread|stdc\+\+|c\+\+|[a-z]+san|gcc_s)\b|ld-)")
_FOREIGN_NAME: Final = Pattern(
    r"^(?:<null>|_start$|clone3?$|start_thread$|__|_M_|operator (?:new|delete)|_Z(?:n[wa]|d[la])|_ZN6__asan|"
    r"(?:[a-z_ ]+ )?(?:std|testing|__gnu_cxx)::|"
    r"[A-Za-z]{0,2}_?(?:malloc|calloc|realloc|free|strdup)$|"  # also `xmalloc` and `cb_free`, which call them
    r"(?:posix_memalign|memcpy|memmove|memset|memcmp|strlen|strcpy|strcmp|"
    r"pthread_\w+|raise|abort|read|write|send|recv|printf|vsnprintf)$)"
)
_CLOSING: Final = {"<": ">", "(": ")", "[": "]"}
_KEPT_WORDS: Final = (
    "(anonymous namespace)",
    "operator()",
    "operator<",
    "operator>",
    "operator[]",
    "operator->",
)
_LONGEST_NAME: Final = 1000


class Frame(NamedTuple):
    """One frame of a stack.

    Args:
        number: counts from 0 in each stack.
        function: its name without parameters and template arguments.
        path: of the source file; empty if unknown.
        line: in that file; empty if unknown.
        is_foreign: it belongs to a library or the language runtime.
    """

    number: int
    function: str
    path: str
    line: str
    is_foreign: bool

    def shown(self) -> str:
        """Return the function with the name of its file."""
        return f"{self.function} ({posixpath.basename(self.path)})" if self.path else self.function

    def place(self) -> str:
        """Return file and line; empty if either is unknown."""
        return f"{self.path}:{self.line}" if self.path and self.line else ""


def frame_of(text: bytes, roots: Iterable[str]) -> Frame | None:
    """Parse a line of a stack; return None for any other line."""
    if not (found := _FRAME.groups(text)):
        return None
    number, rest = found
    data = rest.rstrip()[:_LONGEST_NAME].encode(errors="replace")
    module = _MODULE.groups(data)
    if cut := _MODULE.search(data):
        data = data[: cut[0]]
    data = _UNKNOWN_FILE.replaced(data, b"")
    name, path, line = _FILE.groups(data) or (decoded(data), "", "")
    name = name.removesuffix(" <null>").strip()
    is_foreign = (
        _FOREIGN_NAME.search(name.encode(errors="replace")) is not None
        or (bool(path) and _FOREIGN_FILE.search(path.encode(errors="replace")) is not None)
        or (not path and module is not None and _FOREIGN_MODULE.search(module[0].encode()) is not None)
    )
    return Frame(
        int(number), plain_function(name), source_name(path, roots) if path else "", line, is_foreign
    )


def plain_function(name: str) -> str:
    """Strip parameters, template arguments and compiler suffixes from a function's name."""
    kept: list[str] = []
    open_until: list[str] = []
    at = 0
    name = name.removesuffix(" const").split(" [clone", 1)[0]
    while at < len(name):
        word = next((word for word in _KEPT_WORDS if name.startswith(word, at)), "")
        if word:
            at += len(word)
            if not open_until:
                kept.append(word)
            continue
        letter = name[at]
        at += 1
        if letter in _CLOSING:
            open_until.append(_CLOSING[letter])
        elif open_until:
            if letter == open_until[-1]:
                open_until.pop()
        else:
            kept.append(letter)
    return " ".join("".join(kept).removesuffix(" const").split()).removesuffix(" const")
