"""Does what a person's message asks for, once, if the person may."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.commands import (
    Accept,
    Cancel,
    Misspelt,
    MorePairs,
    OkToTest,
    Override,
    Recheck,
    UndoOverride,
    commands_in,
)
from service.domain.errors import BadInput, Permanent
from service.domain.records import NewRuling, QueuedReview
from service.domain.rulings import RulingKind
from service.domain.run import RunState
from service.domain.text import plain
from service.steps.look_at_change import check_of
from service.steps.project_file import NoProjectFile, read_project_file
from service.steps.rerun import recheck
from service.steps.rule import accept, override, undo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.commands import ReviewCommand
    from service.domain.links import Links
    from service.domain.project_file import ProjectFile
    from service.domain.records import Heard, RunRecord
    from service.domain.review import Change
    from service.ports import Source, Store, Transaction
    from service.ports.reviewing import ReviewServer

# The key of `commands` in the project file that names the group for each command.
_RIGHTS: Final[Mapping[type, str]] = {
    Recheck: "rerun",
    Cancel: "rerun",
    MorePairs: "rerun",
    Override: "override",
    UndoOverride: "override",
    Accept: "override",
    OkToTest: "trusted",
}


@dataclass(frozen=True, slots=True)
class _Order:
    """A message with its change as it stands, and the answers found so far."""

    heard: Heard
    change: Change
    links: Links


def obey(store: Store, server: ReviewServer, source: Source, links: Links, heard_id: int) -> None:
    """Obey the commands of a message that was not obeyed yet; any other message is left alone.

    Who may do what is asked at that moment. No transaction is open while the server is talked to.
    """
    with store.transaction() as tx:
        heard = tx.lock_heard(heard_id)
    if not heard.is_pending:
        return
    change = server.change(heard.change)
    order = _Order(heard, change, links)
    try:
        source.fetch(change.project, f"refs/heads/{change.branch}")
        project_file = read_project_file(source, change.project, change.branch)
    except NoProjectFile:
        _answer(store, order, [])
        return
    except BadInput as error:
        _answer(store, order, [str(error)])
        return
    commands = commands_in(heard.text, [job.name for job in project_file.jobs])
    refusals = [_refusal(server, project_file, heard, each) for each in commands]
    _answer(store, order, refusals, commands)


def _refusal(
    server: ReviewServer, project_file: ProjectFile, heard: Heard, command: ReviewCommand | Misspelt
) -> str:
    """Why a person may not; empty: may."""
    if isinstance(command, Misspelt):
        return f"{command.line}: {command.expected}"
    right = _RIGHTS[type(command)]
    group = project_file.commands.get(right)
    word = _word(command)
    if group is None:
        return f"{word}: benchgate.yaml names no group that may; `commands: {{{right}: GROUP}}` does"
    try:
        may = server.is_member(heard.account, group)
    except Permanent as error:
        return f"{word}: refused, {error}"
    return "" if may else f"{word}: refused, {plain(heard.person)} is not in the group {group}"


def _answer(
    store: Store, order: _Order, refusals: list[str], commands: tuple[ReviewCommand | Misspelt, ...] = ()
) -> None:
    """Do what is not refused and say what there is to say, all in one."""
    with store.transaction() as tx:
        heard = tx.lock_heard(order.heard.id)
        if not heard.is_pending:
            return
        said = list(refusals) if not commands else []
        for command, refusal in zip(commands, refusals, strict=bool(commands)):
            said.append(refusal or _do(tx, order, command))
        text = "\n\n".join(filter(None, said))
        tx.answer(heard.id, text)
        if text:
            marker = order.links.reply(heard.change.number, heard.id)
            review = QueuedReview(heard.change, order.change.current.revision, f"{text}\n\n{marker}", marker)
            tx.queue_review(f"heard/{heard.id}", review)


def _do(tx: Transaction, order: _Order, command: ReviewCommand | Misspelt) -> str:
    """Obey one command; what to answer, empty where what follows speaks for itself."""
    change, heard, word = order.change, order.heard, _word(command)
    if change.current.number != heard.patch_set or not change.is_open:
        return f"{word}: patch set {heard.patch_set} is not open any more"
    run = tx.newest_check(heard.patch_set_id)
    match command:
        case Recheck():
            answer = _recheck(tx, order, run, command)
        case Cancel():
            answer = _cancel(tx, run)
        case Override():
            answer = override(tx, run, heard, command, order.links)
        case Accept():
            answer = accept(tx, run, heard, command, order.links)
        case OkToTest():
            answer = _allow(tx, order, run)
        case UndoOverride():
            answer = undo(tx, run, heard, order.links)
        case _:
            answer = "longer measuring on request is not built yet; `recheck JOB` continues the same pairs"
    return f"{word}: {answer}" if answer else ""


def _recheck(tx: Transaction, order: _Order, run: RunRecord | None, command: Recheck) -> str:
    if run is None or run.state in {RunState.CANCELLED, RunState.REFUSED}:
        run_id = tx.add_run(check_of(order.change, order.heard.patch_set_id))
        if run_id is not None:
            tx.queue_task("plan", run_id)
        return ""
    if run.state is RunState.PLANNING:
        return ""  # about to run, all of it
    return recheck(tx, run, command, order.heard.id)


def _allow(tx: Transaction, order: _Order, run: RunRecord | None) -> str:
    """Let the code of exactly this patch set run."""
    heard = order.heard
    ruling = NewRuling(RulingKind.TRUST, heard.account, heard.person, heard_id=heard.id)
    tx.add_ruling(heard.patch_set_id, ruling)
    if run is not None and run.state is not RunState.REFUSED:
        return ""
    return _recheck(tx, order, run, Recheck())


def _cancel(tx: Transaction, run: RunRecord | None) -> str:
    if run is None or run.state not in {RunState.PLANNING, RunState.RUNNING}:
        return "nothing is running"
    tx.cancel_check(run.id)
    return ""


def _word(command: ReviewCommand | Misspelt) -> str:
    words = {Recheck: "recheck", Cancel: "cancel", MorePairs: "benchmark", Override: "override"}
    more = {UndoOverride: "override undo", Accept: "accept", OkToTest: "ok-to-test", Misspelt: "command"}
    return f"`{(words | more)[type(command)]}`"
