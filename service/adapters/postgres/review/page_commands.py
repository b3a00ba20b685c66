"""Store the command of a page's form as JSON in the column of a comment's text.

No line of a command begins with a brace, so a request that an earlier version stored as such a line is still
recognised. An upgrade stops all parts, so that no earlier version reads JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import TypeAdapter

from service.domain.review.comment_commands import OverrideCommand
from service.domain.review.form_commands import FormCommand, line_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS: Final[Mapping[str, TypeAdapter[Any]]] = {
    kind.word: TypeAdapter(kind) for kind in get_args(FormCommand)
}


def command_text(command: FormCommand) -> str:
    """Write a command as JSON: its word as ``command``, and its fields."""
    fields = _KINDS[command.word].dump_python(command, mode="json")
    return json.dumps({"command": command.word, **fields}, ensure_ascii=False)


def command_in(text: str) -> FormCommand | None:
    """Read a command; None: an earlier version stored a line."""
    if not text.startswith("{"):
        return None
    fields = json.loads(text)
    is_current = "is_known" in fields
    command: FormCommand = _KINDS[fields.pop("command")].validate_python(fields)
    if isinstance(command, OverrideCommand) and not is_current:
        # An earlier version's form wrote its ticked box into the reason.
        return command.as_known or command
    return command


def line_in(text: str) -> str:
    """Return a stored command as people write it in a comment."""
    command = command_in(text)
    return text if command is None else line_of(command)
