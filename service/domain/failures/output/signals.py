"""Normalise the names of signals that end programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SIGNALS: Final = (
    "Segmentation fault",
    "Aborted",
    "Bus error",
    "Floating point exception",
    "Illegal instruction",
    "Trace/breakpoint trap",
)
"""The words of shells on Linux for the signals that end a program by a fault of its own."""
SIGNAL_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("segmentation fault", "segfault", "sigsegv", "11", "access violation"), "segmentation fault"
    ),
    **dict.fromkeys(("aborted", "abort trap", "sigabrt", "abort", "6"), "aborted"),
    **dict.fromkeys(("bus error", "sigbus", "7"), "bus error"),
    **dict.fromkeys(("floating point exception", "sigfpe", "numerical", "8"), "floating point exception"),
    **dict.fromkeys(("illegal instruction", "sigill", "illegal", "4"), "illegal instruction"),
    **dict.fromkeys(("trace/breakpoint trap", "trace/bpt trap", "sigtrap", "5"), "trap"),
    **dict.fromkeys(("killed", "sigkill", "9"), "killed"),
    **dict.fromkeys(("terminated", "sigterm", "15"), "terminated"),
}
"""The usual name of a signal, by each of the words and numbers that programs use."""
_NUMBERS: Final[Mapping[str, str]] = {"SIGHUP": "1", "SIGINT": "2", "SIGQUIT": "3", "SIGPIPE": "13"}


def signal_word(word: str) -> str:
    """Return the usual name of a signal; an unknown word stays."""
    return SIGNAL_WORDS.get(word.strip().lower(), word.strip())


def signal_headline(word: str) -> str:
    """Return the headline of a crash: the usual name of the signal, or else its number, ``signal 13``."""
    name = signal_word(word)
    number = _NUMBERS.get(name, name)
    return f"signal {number}" if number.isdigit() else number
