"""Parse the commands that people write in comments on a change.

A command is a line of its own. Every other line is prose and gets no reply, because people often write about
rechecking, overriding and accepting. An ambiguous line is a command only if it can hardly be a sentence. The
``word`` of a command is its name in replies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from service.domain.project.policy import MOST_PAIRS
from service.domain.project.project_file import Permission
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

MAX_COMMANDS: Final = 20  # in a message; nobody needs more, and each causes work
MAX_REASON: Final = 500
MAX_FILTER: Final = 200
_SHORTEST_REASON: Final = 2  # letters or digits
MIN_REASON: Final = 10  # characters of an override's reason; a shorter one explains nothing
KNOWN: Final = "known-failure"  # hardly a person's own word, unlike "known"
_KNOWN: Final = re.compile("known[-_]failures?:?", re.IGNORECASE)
# Capitals only, so that neither "gcc-12" nor "step-1" matches.
BUG_KEY: Final = r"[A-Z][A-Z0-9]{1,19}-[0-9]{1,12}"
_BUG: Final = re.compile(rf"{BUG_KEY}|#[0-9]{{1,12}}|https?://[!#-;=?-~]{{1,300}}")
_MORE: Final = re.compile(r"[xX×]([1-9][0-9]{0,3})")
# Occurs in benchmark names but not in English words.
_STRUCTURE: Final = re.compile(r"[/_*]|\w[:<]\w|[a-z][A-Z]")
_CAPITALISED: Final = re.compile(r"[A-Z][a-z][A-Za-z0-9]+")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_INDENTED: Final = re.compile(r" {4}| {0,3}\t")  # Markdown's other form of a code block


@dataclass(frozen=True, slots=True)
class RecheckCommand:
    """Run builds again: all of them, those of the named jobs, or (by default) those that failed."""

    word: ClassVar = "recheck"
    permission: ClassVar = Permission.RERUN
    jobs: tuple[str, ...] = ()
    is_all: bool = False


@dataclass(frozen=True, slots=True)
class MorePairsCommand:
    """Measure ``count`` more pairs of the benchmarks that match the filter; None: Benchgate chooses."""

    word: ClassVar = "benchmark"
    permission: ClassVar = Permission.RERUN
    filter: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class CancelCommand:
    """Stop the run."""

    word: ClassVar = "cancel"
    permission: ClassVar = Permission.RERUN


@dataclass(frozen=True, slots=True)
class OverrideCommand:
    """Ignore the failed builds of a job; without a job, those of all jobs.

    ``is_known``: their failures become known.
    """

    word: ClassVar = "override"
    permission: ClassVar = Permission.OVERRIDE
    bug: str
    reason: str
    job: str = ""
    is_known: bool = False

    @property
    def as_known(self) -> OverrideCommand | None:
        """The command that makes the failures known, if the reason begins as that did in earlier versions."""
        first, rest = _first_word(self.reason)
        is_old = not self.is_known and first.lower() == "known" and len(rest) >= MIN_REASON
        return replace(self, reason=rest, is_known=True) if is_old else None


@dataclass(frozen=True, slots=True)
class UndoOverrideCommand:
    """Revoke all overrides and acceptances."""

    word: ClassVar = "override undo"
    permission: ClassVar = Permission.OVERRIDE


@dataclass(frozen=True, slots=True)
class AcceptCommand:
    """Accept that benchmarks that match the filter are slower or removed."""

    word: ClassVar = "accept"
    permission: ClassVar = Permission.OVERRIDE
    filter: str
    reason: str


@dataclass(frozen=True, slots=True)
class OkToTestCommand:
    """Allow the code of this revision to run."""

    word: ClassVar = "ok-to-test"
    permission: ClassVar = Permission.TRUSTED


@dataclass(frozen=True, slots=True)
class Misspelt:
    """A line that looks like a malformed command; ``expected`` is the correct form."""

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
    """Parse the commands of a message, in order, at most :data:`MAX_COMMANDS`.

    Never raises. Prose, quotes and code blocks are ignored. ``jobs`` are the names of all jobs: a line that
    names another job is prose.
    """
    lines = lines_of(text)
    message = _Message(frozenset(jobs), is_alone=sum(1 for line in lines if line.strip()) == 1)
    parsed = (_parsed(line, message) for line in _prose_lines(lines))
    return tuple(islice((command for command in parsed if command is not None), MAX_COMMANDS))


def may_be_command(text: str) -> bool:
    """Return whether a line of the message begins with a command's word, or nearly so."""
    lines = _prose_lines(lines_of(text))
    return any(_first_word(line)[0].rstrip(".!").lower() in _PARSERS or _meant_by(line) for line in lines)


def is_bug(text: str) -> bool:
    """Return whether a text names a bug: ``MB-123``, ``#123`` or a URL."""
    return _BUG.fullmatch(text) is not None


def explains(reason: str) -> bool:
    """Return whether a reason is long enough for an override, and cannot be read as the word before one."""
    is_whole = is_reason(reason) and len(reason) >= MIN_REASON
    return is_whole and _KNOWN.fullmatch(_first_word(reason)[0]) is None


def is_reason(text: str) -> bool:
    """Return whether a text has two letters or digits; less explains nothing."""
    return sum(map(str.isalnum, text)) >= _SHORTEST_REASON


def filter_text(pattern: str) -> str:
    """Quote a filter for the commands `accept` and `benchmark` if needed; empty if they cannot parse it."""
    if not pattern or '"' in pattern or "`" in pattern or plain(pattern, MAX_FILTER) != pattern:
        return ""
    return pattern if " " not in pattern and _STRUCTURE.search(pattern) else f'"{pattern}"'


def lines_of(text: str) -> Sequence[str]:
    """Split a message only at line feeds: after another separator, the rest of a quote would lose its ">"."""
    return text.split("\n")


@dataclass(frozen=True, slots=True)
class _Message:
    """The context of a line; ``is_alone``: it is the only line of the message."""

    jobs: frozenset[str]
    is_alone: bool


def _prose_lines(lines: Sequence[str]) -> Iterator[str]:
    """Drop blank lines and code blocks. Quoted lines stay, since none begins with a command's word."""
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


def _parsed(line: str, message: _Message) -> ReviewCommand | Misspelt | None:
    word, rest = _first_word(line)
    parse = _PARSERS.get(word.lower())
    if parse is not None and (command := parse(rest, message)) is not None:
        return command
    word = _meant_by(line) or word.rstrip(".!")
    if not message.is_alone or word not in _EXPECTED:
        return None
    return Misspelt(plain(line), expected_form(word, message.jobs))


def expected_form(word: str, jobs: Collection[str]) -> str:
    """Say how to write a command, with the names of the jobs if it may have some."""
    names = ", ".join(sorted(jobs)) if word in {"recheck", "override"} else ""
    return _EXPECTED[word] + (f"; the jobs are {plain(names, 300)}" if names else "")


def _meant_by(line: str) -> str:
    """Return the command that a line probably means, as in `overide MB-1 flaky` or `Recheck please`."""
    word, rest = _first_word(line)
    word, is_marked = word.lower().rstrip(".!,"), word.startswith("/")
    word = word.removeprefix("/")
    if word in _NEAR_MISSES:
        return _NEAR_MISSES[word]
    is_polite = rest.lower().rstrip(".!") in _POLITE
    return word if word in _EXPECTED and (is_marked or is_polite) else ""


def _first_word(text: str) -> tuple[str, str]:
    """Split a text into its first word and the rest; either may be empty."""
    word, rest, *_ = [*text.split(None, 1), "", ""]
    return word, rest.strip()


def _recheck(rest: str, message: _Message) -> RecheckCommand | None:
    if rest.lower() == "all":
        return RecheckCommand(is_all=True)
    names = dict.fromkeys(rest.split())
    return RecheckCommand(tuple(names)) if message.jobs.issuperset(names) else None


def _more_pairs(rest: str, message: _Message) -> MorePairsCommand | None:
    pattern, is_name, rest = _filter(rest, message)
    if not pattern:
        return None
    if not rest:
        return MorePairsCommand(pattern) if is_name else None
    more = _MORE.fullmatch(rest)
    count = int(more[1]) if more else 0
    # No sequence has more pairs than MOST_PAIRS.
    return MorePairsCommand(pattern, count) if 1 <= count <= MOST_PAIRS else None


def _override(rest: str, message: _Message) -> OverrideCommand | UndoOverrideCommand | Misspelt | None:
    if rest.lower() == "undo":
        return UndoOverrideCommand()
    job, after = _first_word(rest)
    found = (_override_of(after, job) if job in message.jobs else None) or _override_of(rest)
    if found is not None and not explains(found.reason):
        # With a bug's id this cannot be prose, so it gets a reply even in a longer message.
        return Misspelt(plain(f"override {rest}"), expected_form("override", message.jobs))
    return found


def _override_of(text: str, job: str = "") -> OverrideCommand | None:
    bug, rest = _first_word(text)
    word, after = _first_word(rest)
    is_known = _KNOWN.fullmatch(word) is not None
    bug, reason = bug.removesuffix(":"), plain(after if is_known else rest, MAX_REASON)
    is_whole = (is_known or is_reason(reason)) and _BUG.fullmatch(bug) is not None
    return OverrideCommand(bug, reason, job, is_known) if is_whole else None


def _reason(text: str) -> str:
    """Return a person's reason; empty if it has fewer than two letters or digits."""
    reason = plain(text, MAX_REASON)
    return reason if is_reason(reason) else ""


def _accept(rest: str, message: _Message) -> AcceptCommand | None:
    pattern, is_name, rest = _filter(rest, message)
    reason = _reason(rest)
    return AcceptCommand(pattern, reason) if pattern and reason and is_name else None


def _filter(text: str, message: _Message) -> tuple[str, bool, str]:
    """Split off the filter at the beginning of a text: one word, or quoted.

    Returns:
        The filter, empty if it is unusable; whether it looks like a benchmark's name rather than the next
        word of a sentence; and the rest of the text.
    """
    is_quoted = text.startswith('"')
    if is_quoted:
        pattern, end, rest = text[1:].partition('"')
        is_whole = bool(end) and (not rest or rest[0].isspace())
    else:
        (pattern, rest), is_whole = _first_word(text), True
    if not is_whole or plain(pattern, MAX_FILTER) != pattern:
        pattern = ""
    is_alone = message.is_alone and _CAPITALISED.fullmatch(pattern) is not None
    return pattern, is_quoted or _STRUCTURE.search(pattern) is not None or is_alone, rest.strip()


# Words that hardly begin a message of one line in English.
_NEAR_MISSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("rerun", "re-run", "retest", "re-test", "re-check", "rechek", "rechcek"), "recheck"),
        **dict.fromkeys(("overide", "overridde", "overrride", "ovveride", "over-ride"), "override"),
        **dict.fromkeys(("benchmrk", "benchamrk", "bechmark"), "benchmark"),
        **dict.fromkeys(("acept", "acccept"), "accept"),
        **dict.fromkeys(("cancle", "cancell"), "cancel"),
        **dict.fromkeys(("oktotest", "ok_to_test"), "ok-to-test"),
    }
)
_POLITE: Final = frozenset({"please", "pls", "thanks", "now", "again"})
_PARSERS: Final[Mapping[str, Callable[[str, _Message], ReviewCommand | Misspelt | None]]] = MappingProxyType(
    {
        "recheck": _recheck,
        "benchmark": _more_pairs,
        "cancel": lambda rest, _: None if rest else CancelCommand(),
        "override": _override,
        "accept": _accept,
        "ok-to-test": lambda rest, _: None if rest else OkToTestCommand(),
    }
)
_EXPECTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "recheck": "write `recheck` (failed builds), `recheck all` or `recheck JOB…`",
        "benchmark": f"write `benchmark FILTER` or `benchmark FILTER xN` with N from 1 to {MOST_PAIRS}; "
        'if FILTER is a plain word, quote it: "WORD"',
        "cancel": "write `cancel` alone on a line",
        "override": "write `override BUG-ID REASON`, `override JOB BUG-ID REASON`, "
        "`override BUG-ID known-failure REASON` or `override undo`; "
        f"BUG-ID is like MB-123, #123 or a URL, and REASON has at least {MIN_REASON} characters "
        f"and does not begin with {KNOWN}",
        "accept": "write `accept FILTER REASON`; REASON is at least a word; "
        'if FILTER is a plain word, quote it: "WORD"',
        "ok-to-test": "write `ok-to-test` alone on a line",
    }
)
