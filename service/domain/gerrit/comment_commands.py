"""Reads the commands that people write into messages on a change, one on a line of its own.

What is no command is prose and stays without an answer, for people talk about rechecking, overriding and
accepting all day. Where the words alone cannot tell, a line counts only if it cannot well be a sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

MAX_COMMANDS: Final = 20  # of a message; nobody writes more, and each costs work
MAX_REASON: Final = 500
MAX_FILTER: Final = 200
MAX_MORE_PAIRS: Final = 1000
# In capitals, so that neither "gcc-12" nor "step-1" is one.
BUG_KEY: Final = r"[A-Z][A-Z0-9]{1,19}-[0-9]{1,12}"
_BUG: Final = re.compile(rf"{BUG_KEY}|#[0-9]{{1,12}}|https?://[!#-;=?-~]{{1,300}}")
_MORE: Final = re.compile(r"[xX×]([1-9][0-9]{0,3})")
# What names of benchmarks have and English words do not.
_STRUCTURE: Final = re.compile(r"[/_*]|\w[:<]\w|[a-z][A-Z]")
_CAPITALISED: Final = re.compile(r"[A-Z][a-z][A-Za-z0-9]+")
# Before a person's own words the server says what happened, and how many comments came with it.
_HEADER: Final = re.compile(r"(?:Patch Set|Uploaded patch set) [0-9]{1,9}\b.*")
_COUNT: Final = re.compile(r"\([0-9]{1,9} (?:inline )?comments?\)")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_INDENTED: Final = re.compile(r" {4}| {0,3}\t")  # Markdown's other way to write code


@dataclass(frozen=True, slots=True)
class RecheckCommand:
    """Run again: all builds, those of the named jobs, or with neither those that failed."""

    jobs: tuple[str, ...] = ()
    is_all: bool = False


@dataclass(frozen=True, slots=True)
class MorePairsCommand:
    """Measure the benchmarks that the filter chooses longer, by so many pairs; None: the service's choice."""

    filter: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class CancelCommand:
    """Stop the run."""


@dataclass(frozen=True, slots=True)
class OverrideCommand:
    """The failed builds of a job do not count; without a job those of all."""

    bug: str
    reason: str
    job: str = ""


@dataclass(frozen=True, slots=True)
class UndoOverrideCommand:
    """Take back what was overridden and accepted."""


@dataclass(frozen=True, slots=True)
class AcceptCommand:
    """The benchmarks that the filter chooses may be slower."""

    filter: str
    reason: str


@dataclass(frozen=True, slots=True)
class OkToTestCommand:
    """The code of this revision may be run."""


@dataclass(frozen=True, slots=True)
class Misspelt:
    """A message that is one line, meant as a command and none; ``expected`` says how it is written."""

    line: str
    expected: str


ReviewCommand: TypeAlias = (
    RecheckCommand
    | MorePairsCommand
    | CancelCommand
    | OverrideCommand
    | UndoOverrideCommand
    | AcceptCommand
    | OkToTestCommand
)


def commands_in(text: str, jobs: Collection[str]) -> tuple[ReviewCommand | Misspelt, ...]:
    """The commands of a message in their order, the first :data:`MAX_COMMANDS` of them.

    Never raises. ``text`` is as in :class:`~service.domain.gerrit.change.PostedMessage`; what is quoted or
    code is left out. ``jobs`` are the names of the jobs there are: a line that names another is prose.
    """
    lines = written_lines(text)
    message = _Message(frozenset(jobs), is_alone=sum(1 for line in lines if line.strip()) == 1)
    found: list[ReviewCommand | Misspelt] = []
    for line in _spoken(lines):
        command = _command(line, message) or _misspelt(line, message)
        if command is not None:
            found.append(command)
        if len(found) == MAX_COMMANDS:
            break
    return tuple(found)


def may_be_command(text: str) -> bool:
    """Whether a message may hold a command: some line begins with the word of one."""
    return any(_first(line)[0].rstrip(".!").lower() in _PARSERS for line in _spoken(written_lines(text)))


def written_lines(text: str) -> Sequence[str]:
    """The lines of a message without those that the server puts before its author's."""
    # Only at "\n": a quoted line that held another separator would end in a line without its ">".
    lines = text.split("\n")
    for by_server in (_HEADER, _COUNT):
        first = next((number for number, line in enumerate(lines) if line.strip()), None)
        if first is not None and by_server.fullmatch(lines[first].strip()):
            lines = lines[first + 1 :]
    return lines


@dataclass(frozen=True, slots=True)
class _Message:
    """What a line is read against; ``is_alone``: the message has no other."""

    jobs: frozenset[str]
    is_alone: bool


def _spoken(lines: Sequence[str]) -> Iterator[str]:
    """The lines that say something: neither blank nor code. A quoted one begins with no command's word."""
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            is_end = mark is not None and mark[1].startswith(fence) and not mark[2].strip()
            fence = "" if is_end else fence
        elif mark and "`" not in mark[2]:
            fence = mark[1]
        elif line.strip() and not _INDENTED.match(line):
            yield line


def _command(line: str, message: _Message) -> ReviewCommand | None:
    word, rest = _first(line)
    parse = _PARSERS.get(word.lower())
    return parse(rest, message) if parse else None


def _misspelt(line: str, message: _Message) -> Misspelt | None:
    word = _first(line)[0].rstrip(".!")
    if not message.is_alone or word not in _EXPECTED:
        return None
    names = ", ".join(sorted(message.jobs)) if word in {"recheck", "override"} else ""
    return Misspelt(plain(line), _EXPECTED[word] + (f"; the jobs are {plain(names, 300)}" if names else ""))


def _first(text: str) -> tuple[str, str]:
    """The first word and what follows it; empty where there is none."""
    word, rest, *_ = [*text.split(None, 1), "", ""]
    return word, rest.strip()


def _recheck(rest: str, message: _Message) -> RecheckCommand | None:
    if rest.lower() == "all":
        return RecheckCommand(is_all=True)
    names = dict.fromkeys(rest.split())
    return RecheckCommand(tuple(names)) if message.jobs.issuperset(names) else None


def _more_pairs(rest: str, message: _Message) -> MorePairsCommand | None:
    chosen, rest = _filter(rest)
    if chosen is None:
        return None
    if not rest:
        return MorePairsCommand(chosen.text) if chosen.is_name(message) else None
    more = _MORE.fullmatch(rest)
    count = int(more[1]) if more else 0
    return MorePairsCommand(chosen.text, count) if 1 <= count <= MAX_MORE_PAIRS else None


def _override(rest: str, message: _Message) -> OverrideCommand | UndoOverrideCommand | None:
    if rest.lower() == "undo":
        return UndoOverrideCommand()
    job, after = _first(rest)
    return (_override_of(after, job) if job in message.jobs else None) or _override_of(rest)


def _override_of(text: str, job: str = "") -> OverrideCommand | None:
    bug, rest = _first(text)
    bug, reason = bug.removesuffix(":"), plain(rest, MAX_REASON)
    return OverrideCommand(bug, reason, job) if reason and _BUG.fullmatch(bug) else None


def _accept(rest: str, message: _Message) -> AcceptCommand | None:
    chosen, rest = _filter(rest)
    reason = plain(rest, MAX_REASON)
    return AcceptCommand(chosen.text, reason) if chosen and reason and chosen.is_name(message) else None


def _cancel(rest: str, _: _Message) -> CancelCommand | None:
    return None if rest else CancelCommand()


def _ok_to_test(rest: str, _: _Message) -> OkToTestCommand | None:
    return None if rest else OkToTestCommand()


@dataclass(frozen=True, slots=True)
class _Filter:
    text: str
    is_in_quotes: bool

    def is_name(self, message: _Message) -> bool:
        """Whether it must be (the part of) a benchmark's name, not the next word of a sentence."""
        if self.is_in_quotes or _STRUCTURE.search(self.text):
            return True
        return message.is_alone and _CAPITALISED.fullmatch(self.text) is not None


def _filter(text: str) -> tuple[_Filter | None, str]:
    """The filter at the beginning, in quotes or one word, and what follows it."""
    if text.startswith('"'):
        chosen, end, rest = text[1:].partition('"')
        is_whole = bool(end) and (not rest or rest[0].isspace())
    else:
        (chosen, rest), is_whole = _first(text), True
    is_usable = is_whole and chosen != "" and plain(chosen, MAX_FILTER) == chosen
    return (_Filter(chosen, text.startswith('"')) if is_usable else None), rest.strip()


_PARSERS: Final[Mapping[str, Callable[[str, _Message], ReviewCommand | None]]] = MappingProxyType(
    {
        "recheck": _recheck,
        "benchmark": _more_pairs,
        "cancel": _cancel,
        "override": _override,
        "accept": _accept,
        "ok-to-test": _ok_to_test,
    }
)
_EXPECTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "recheck": "write `recheck` (failed builds), `recheck all` or `recheck JOB…`",
        "benchmark": "write `benchmark FILTER` or `benchmark FILTER xN`, N from 1 to 1000, "
        'a FILTER that is a plain word as "WORD"',
        "cancel": "write `cancel` alone",
        "override": "write `override BUG-ID REASON`, `override JOB BUG-ID REASON` or `override undo`, "
        "the bug id as MB-123, #123 or a URL",
        "accept": 'write `accept FILTER REASON`, a FILTER that is a plain word as "WORD"',
        "ok-to-test": "write `ok-to-test` alone",
    }
)
