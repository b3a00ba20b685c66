"""Make commands from the web forms."""

from __future__ import annotations

import re
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

from service.domain.project.policy import MOST_PAIRS
from service.domain.review.comment_commands import (
    KNOWN,
    MAX_FILTER,
    MAX_REASON,
    AcceptCommand,
    CancelCommand,
    Misspelt,
    MorePairsCommand,
    OverrideCommand,
    RecheckCommand,
    UndoOverrideCommand,
    expected_form,
    explains,
    filter_text,
    is_bug,
    is_reason,
)
from service.domain.values.errors import BadInput
from service.domain.values.text import brief, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from service.domain.project.project_file import Permission

FormCommand: TypeAlias = (
    RecheckCommand | MorePairsCommand | CancelCommand | OverrideCommand | UndoOverrideCommand | AcceptCommand
)
_BLANKS: Final = re.compile(" +")
_DIGITS: Final = re.compile("[0-9]{1,6}")


class Action(StrEnum):
    """Commands that have a form, by their words."""

    RECHECK = RecheckCommand.word
    MORE_PAIRS = MorePairsCommand.word
    CANCEL = CancelCommand.word
    OVERRIDE = OverrideCommand.word
    ACCEPT = AcceptCommand.word
    UNDO = UndoOverrideCommand.word

    @property
    def permission(self) -> Permission:
        """The permission that the command needs."""
        commands: Sequence[type[FormCommand]] = get_args(FormCommand)
        return next(command.permission for command in commands if command.word == self)


def command_from(form: Mapping[str, str]) -> FormCommand:
    """Make a command from the fields of a form.

    The fields are ``action``, ``job``, ``filter``, ``pairs``, ``bug``, ``reason`` and ``known`` (not empty:
    the failures become known). Outer and double blanks are dropped.
    :func:`check_command` checks what depends on the jobs.

    Raises:
        BadInput: the action is unknown, or a field is missing, not one line, too long or not a number.
    """
    word = _field(form, "action")
    if word not in _MAKERS:
        raise BadInput(f"must be one of {', '.join(Action)}, not {brief(word)}", "action")
    return _MAKERS[Action(word)](form)


def check_command(command: FormCommand, jobs: Collection[str]) -> None:
    """Check a command as the grammar of comments does; raise BadInput, which says how to write it."""
    match command:
        case RecheckCommand():
            is_allowed = set(command.jobs).issubset(jobs)
        case MorePairsCommand():
            is_allowed = command.count is None or 1 <= command.count <= MOST_PAIRS
        case OverrideCommand():
            if _reads_as_job(command, jobs):
                raise BadInput(f"{plain(command.bug)} is also a job: choose the job", command.word)
            is_here = not command.job or command.job in jobs
            is_allowed = is_bug(command.bug) and explains(command.reason) and is_here
        case AcceptCommand():
            is_allowed = is_reason(command.reason)
        case CancelCommand() | UndoOverrideCommand():
            is_allowed = True
    if not is_allowed:
        raise BadInput(expected_form(command.word.partition(" ")[0], jobs), command.word)


def _reads_as_job(command: OverrideCommand, jobs: Collection[str]) -> bool:
    """Return whether the bug would be read as a job, because the reason begins like a bug."""
    is_ambiguous = not command.job and not command.is_known and command.bug in jobs
    return is_ambiguous and is_bug(command.reason.partition(" ")[0])


def still_allowed(command: FormCommand, jobs: Collection[str]) -> FormCommand | Misspelt:
    """Return a stored command, or how to write it if a job has left the project file since."""
    try:
        check_command(command, jobs)
    except BadInput as error:
        return Misspelt(plain(line_of(command)), error.what)
    return command


def line_of(command: FormCommand) -> str:
    """Write a command as people write it in a comment."""
    words: Sequence[str] = ()
    match command:
        case RecheckCommand():
            words = ("all",) if command.is_all else command.jobs
        case MorePairsCommand():
            words = (filter_text(command.filter), "" if command.count is None else f"x{command.count}")
        case OverrideCommand():
            words = (command.job, command.bug, KNOWN if command.is_known else "", command.reason)
        case AcceptCommand():
            words = (filter_text(command.filter), command.reason)
    return " ".join((command.word, *filter(None, words)))


def _field(form: Mapping[str, str], name: str) -> str:
    text = _BLANKS.sub(" ", form.get(name, "")).strip(" ")
    if len(text) > MAX_REASON and name != "job":  # which may name all jobs
        raise BadInput(f"must have at most {MAX_REASON} characters, not {len(text)}", name)
    if plain(text, len(text)) != text:
        raise BadInput("must be one line without control characters", name)
    return text


def _needed(form: Mapping[str, str], name: str, advice: str) -> str:
    if text := _field(form, name):
        return text
    raise BadInput(f"is missing: {advice}", name)


def _filter(form: Mapping[str, str]) -> str:
    pattern = _needed(form, "filter", "write a part of the benchmark's name")
    if len(pattern) > MAX_FILTER or not filter_text(pattern):
        raise BadInput(
            f"must have at most {MAX_FILTER} characters, without quotation marks and backticks", "filter"
        )
    return pattern


def _reason(form: Mapping[str, str]) -> str:
    return _needed(form, "reason", "say why, in a word at least")


def _recheck(form: Mapping[str, str]) -> RecheckCommand:
    jobs = _field(form, "job")
    return RecheckCommand(tuple(jobs.split(" ")) if jobs else ())


def _more_pairs(form: Mapping[str, str]) -> MorePairsCommand:
    pairs = _field(form, "pairs")
    if pairs and not _DIGITS.fullmatch(pairs):
        raise BadInput(f"must be a number, not {brief(pairs)}", "pairs")
    return MorePairsCommand(_filter(form), int(pairs) if pairs else None)


def _override(form: Mapping[str, str]) -> OverrideCommand:
    bug = _needed(form, "bug", "name it like MB-123, #123 or by its URL")
    return OverrideCommand(bug, _reason(form), _field(form, "job"), is_known=bool(_field(form, "known")))


_MAKERS: Final[Mapping[Action, Callable[[Mapping[str, str]], FormCommand]]] = MappingProxyType(
    {
        Action.RECHECK: _recheck,
        Action.MORE_PAIRS: _more_pairs,
        Action.CANCEL: lambda _: CancelCommand(),
        Action.OVERRIDE: _override,
        Action.ACCEPT: lambda form: AcceptCommand(_filter(form), _reason(form)),
        Action.UNDO: lambda _: UndoOverrideCommand(),
    }
)
