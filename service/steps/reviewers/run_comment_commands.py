"""Does what a person's message asks for, once, if the person may."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.decision.overrides import OverrideKind
from service.domain.decision.states import RunState
from service.domain.errors import BadInput, Permanent
from service.domain.gerrit.comment_commands import (
    AcceptCommand,
    CancelCommand,
    Misspelt,
    MorePairsCommand,
    OkToTestCommand,
    OverrideCommand,
    RecheckCommand,
    UndoOverrideCommand,
    commands_in,
)
from service.domain.text import plain
from service.ports.queue import Task
from service.ports.records import NewOverride, QueuedReview
from service.steps.planning.check import check_of
from service.steps.planning.read_project_file import NoProjectFile, read_project_file
from service.steps.planning.rerun import recheck
from service.steps.reviewers.measure_longer import measure_longer
from service.steps.reviewers.overrides import accept_slower, override_builds, undo_overrides

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.gerrit.change import Change
    from service.domain.gerrit.comment_commands import ReviewCommand
    from service.domain.links import Links
    from service.domain.project.project_file import ProjectFile
    from service.ports.building import Source
    from service.ports.records import ReviewComment, RunRecord
    from service.ports.reviewing import ReviewServer
    from service.ports.store import Store, Transaction
    from service.ports.transaction.runs import Runs


@dataclass(frozen=True, slots=True)
class _Use:
    """How a command is called, and the key of `commands` that names the group which may use it."""

    word: str
    right: str


_USES: Final[Mapping[type, _Use]] = MappingProxyType(
    {
        RecheckCommand: _Use("recheck", "rerun"),
        CancelCommand: _Use("cancel", "rerun"),
        MorePairsCommand: _Use("benchmark", "rerun"),
        OverrideCommand: _Use("override", "override"),
        UndoOverrideCommand: _Use("override undo", "override"),
        AcceptCommand: _Use("accept", "override"),
        OkToTestCommand: _Use("ok-to-test", "trusted"),
    }
)


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A message with its change as it stands, and the project file that says who may do what."""

    comment: ReviewComment
    change: Change
    project_file: ProjectFile
    links: Links


def run_comment_commands(
    store: Store, server: ReviewServer, source: Source, links: Links, comment_id: int
) -> None:
    """Obey a message and all that were said on its change before it and are not obeyed yet, in their order.

    Who may do what is asked at that moment. No transaction is open while the server is talked to.
    """
    with store.transaction() as tx:
        key = tx.lock_comment(comment_id).change
    with store.exclusive(f"comments {key.instance}/{key.number}") as is_ours:
        if not is_ours:
            return  # what is still to be obeyed then is hinted at again
        with store.transaction() as tx:
            waiting = tx.pending_until(comment_id)
        for each in waiting:
            _run_commands(store, server, source, links, each)


def _run_commands(
    store: Store, server: ReviewServer, source: Source, links: Links, comment: ReviewComment
) -> None:
    change = server.change(comment.change)
    try:
        source.fetch(change.project, f"refs/heads/{change.branch}")
        project_file = read_project_file(source, change.project, change.branch)
    except NoProjectFile:
        answer(store, comment, change.current.revision, links, "")
        return
    except BadInput as error:
        answer(store, comment, change.current.revision, links, str(error))
        return
    request = CommandRequest(comment, change, project_file, links)
    commands = commands_in(comment.text, [job.name for job in project_file.jobs])
    refusals = [_refusal(server, project_file, comment, each) for each in commands]
    with store.transaction() as tx:
        if tx.lock_comment(comment.id).is_pending:
            said = [
                refusal or _do(tx, request, each) for each, refusal in zip(commands, refusals, strict=True)
            ]
            _reply(tx, comment, change.current.revision, links, "\n\n".join(filter(None, said)))


def answer(store: Store, comment: ReviewComment, revision: str, links: Links, text: str) -> None:
    """End a message that is not obeyed, with an answer unless it is empty."""
    with store.transaction() as tx:
        if tx.lock_comment(comment.id).is_pending:
            _reply(tx, comment, revision, links, text)


def _reply(tx: Transaction, comment: ReviewComment, revision: str, links: Links, text: str) -> None:
    tx.answer(comment.id, text)
    if text:
        marker = links.reply(comment.change.number, comment.id)
        review = QueuedReview(comment.change, revision, f"{text}\n\n{marker}", marker)
        tx.queue_review(f"heard/{comment.id}", review)


def _refusal(
    server: ReviewServer, project_file: ProjectFile, comment: ReviewComment, command: ReviewCommand | Misspelt
) -> str:
    """Why a person may not; empty: may."""
    if isinstance(command, Misspelt):
        return f"{command.line}: {command.expected}"
    use = _USES[type(command)]
    group = project_file.commands.get(use.right)
    if group is None:
        return (
            f"`{use.word}`: benchgate.yaml names no group that may; `commands: {{{use.right}: GROUP}}` does"
        )
    try:
        may = server.is_member(comment.account, group)
    except Permanent as error:
        return f"`{use.word}`: refused, {error}"
    return "" if may else f"`{use.word}`: refused, {plain(comment.person)} is not in the group {group}"


def _do(tx: Transaction, request: CommandRequest, command: ReviewCommand | Misspelt) -> str:
    """Obey one command; what to answer, empty where what follows speaks for itself."""
    change, comment, word = request.change, request.comment, _USES[type(command)].word
    if change.current.number != comment.patch_set or not change.is_open:
        return f"`{word}`: patch set {comment.patch_set} is not open any more"
    reply = _act(tx, request, command, tx.newest_check(comment.patch_set_id))
    return f"`{word}`: {reply}" if reply else ""


def _act(
    tx: Transaction, request: CommandRequest, command: ReviewCommand | Misspelt, run: RunRecord | None
) -> str:
    comment, links = request.comment, request.links
    match command:
        case OverrideCommand():
            reply = override_builds(tx, run, comment, command, links)
        case AcceptCommand():
            reply = accept_slower(tx, run, comment, command, links)
        case UndoOverrideCommand():
            reply = undo_overrides(tx, run, comment, links)
        case RecheckCommand():
            reply = _recheck(tx, request, run, command)
        case CancelCommand():
            reply = _cancel(tx, run)
        case OkToTestCommand():
            reply = _allow(tx, request, run)
        case MorePairsCommand():
            reply = _measure_longer(tx, request, run, command)
        case Misspelt():
            reply = command.expected
    return reply


def _recheck(tx: Transaction, request: CommandRequest, run: RunRecord | None, command: RecheckCommand) -> str:
    if run is None or run.state in {RunState.CANCELLED, RunState.REFUSED}:
        run_id = tx.add_run(check_of(request.change, request.comment.patch_set_id))
        if run_id is not None:
            tx.queue_task(Task.PLAN, run_id)
        return ""
    if run.state is RunState.PLANNING:
        return ""  # about to run, all of it
    return recheck(tx, run, command, request.comment.id, request.project_file)


def _measure_longer(
    tx: Transaction, request: CommandRequest, run: RunRecord | None, command: MorePairsCommand
) -> str:
    if run is None or run.state not in {RunState.RUNNING, RunState.FINISHED}:
        return "nothing is measured yet"
    return measure_longer(tx, run, command, request.comment.id)


def _allow(tx: Transaction, request: CommandRequest, run: RunRecord | None) -> str:
    """Let the code of exactly this patch set run."""
    comment = request.comment
    override = NewOverride(OverrideKind.TRUST, comment.account, comment.person, comment_id=comment.id)
    tx.add_override(comment.patch_set_id, override)
    if run is not None and run.state is not RunState.REFUSED:
        return ""
    return _recheck(tx, request, run, RecheckCommand())


def _cancel(tx: Runs, run: RunRecord | None) -> str:
    if run is None or run.state not in {RunState.PLANNING, RunState.RUNNING}:
        return "nothing is running"
    tx.cancel_check(run.id)
    return ""
