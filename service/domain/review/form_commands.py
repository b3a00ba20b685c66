"""Make commands from the web forms."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

from service.domain.review.comment_commands import (
    MIN_REASON,
    AcceptCommand,
    CancelCommand,
    MorePairsCommand,
    OverrideCommand,
    RecheckCommand,
    UndoOverrideCommand,
)
from service.domain.values.errors import BadInput
from service.domain.values.text import brief

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    the failures become known). Outer and double blanks are dropped. The values are checked later, by
    :func:`service.domain.review.comment_commands.line_of`.

    Raises:
        BadInput: the action is unknown, a field is missing, or ``pairs`` is not a number.
    """
    word = _field(form, "action")
    if word not in _MAKERS:
        raise BadInput(f"must be one of {', '.join(Action)}, not {brief(word)}", "action")
    return _MAKERS[Action(word)](form)


def _field(form: Mapping[str, str], name: str) -> str:
    return _BLANKS.sub(" ", form.get(name, "")).strip(" ")


def _needed(form: Mapping[str, str], name: str, advice: str) -> str:
    if text := _field(form, name):
        return text
    raise BadInput(f"is missing: {advice}", name)


def _filter(form: Mapping[str, str]) -> str:
    return _needed(form, "filter", "write a part of the benchmark's name")


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
    reason = _reason(form)
    command = OverrideCommand(bug, reason, _field(form, "job"))
    if not _field(form, "known") or command.is_known:
        return command
    known = replace(command, reason=f"known {reason}")
    if not known.is_known:
        raise BadInput(f"must have at least {MIN_REASON} characters", "reason")
    return known


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
