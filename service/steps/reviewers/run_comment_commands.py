"""Does what a person's message asks for, once, if the person may."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.decision.overrides import RulingKind
from service.domain.decision.states import RunState
from service.domain.errors import BadInput, Permanent
from service.domain.gerrit.comment_commands import (
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
from service.domain.text import plain
from service.ports.records import NewRuling, QueuedReview
from service.steps.planning.check import check_of
from service.steps.planning.read_project_file import NoProjectFile, read_project_file
from service.steps.planning.rerun import recheck
from service.steps.reviewers.measure_longer import measure_longer
from service.steps.reviewers.overrides import accept, override, undo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.gerrit.change import Change
    from service.domain.gerrit.comment_commands import ReviewCommand
    from service.domain.links import Links
    from service.domain.project.project_file import ProjectFile
    from service.ports.building import Source
    from service.ports.records import Heard, RunRecord
    from service.ports.reviewing import ReviewServer
    from service.ports.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class _Use:
    """How a command is called, and the key of `commands` that names the group which may use it."""

    word: str
    right: str


_USES: Final[Mapping[type, _Use]] = MappingProxyType(
    {
        Recheck: _Use("recheck", "rerun"),
        Cancel: _Use("cancel", "rerun"),
        MorePairs: _Use("benchmark", "rerun"),
        Override: _Use("override", "override"),
        UndoOverride: _Use("override undo", "override"),
        Accept: _Use("accept", "override"),
        OkToTest: _Use("ok-to-test", "trusted"),
    }
)


@dataclass(frozen=True, slots=True)
class _Order:
    """A message with its change as it stands, and the project file that says who may do what."""

    heard: Heard
    change: Change
    project_file: ProjectFile
    links: Links


def obey(store: Store, server: ReviewServer, source: Source, links: Links, heard_id: int) -> None:
    """Obey a message and all that were said on its change before it and are not obeyed yet, in their order.

    Who may do what is asked at that moment. No transaction is open while the server is talked to.
    """
    with store.transaction() as tx:
        key = tx.lock_heard(heard_id).change
    with store.exclusive(f"obey {key.instance}/{key.number}") as is_ours:
        if not is_ours:
            return  # what is still to be obeyed then is hinted at again
        with store.transaction() as tx:
            waiting = tx.pending_until(heard_id)
        for each in waiting:
            _obey(store, server, source, links, each)


def _obey(store: Store, server: ReviewServer, source: Source, links: Links, heard: Heard) -> None:
    change = server.change(heard.change)
    try:
        source.fetch(change.project, f"refs/heads/{change.branch}")
        project_file = read_project_file(source, change.project, change.branch)
    except NoProjectFile:
        answer(store, heard, change.current.revision, links, "")
        return
    except BadInput as error:
        answer(store, heard, change.current.revision, links, str(error))
        return
    order = _Order(heard, change, project_file, links)
    commands = commands_in(heard.text, [job.name for job in project_file.jobs])
    refusals = [_refusal(server, project_file, heard, each) for each in commands]
    with store.transaction() as tx:
        if tx.lock_heard(heard.id).is_pending:
            said = [refusal or _do(tx, order, each) for each, refusal in zip(commands, refusals, strict=True)]
            _say(tx, heard, change.current.revision, links, "\n\n".join(filter(None, said)))


def answer(store: Store, heard: Heard, revision: str, links: Links, text: str) -> None:
    """End a message that is not obeyed, with an answer unless it is empty."""
    with store.transaction() as tx:
        if tx.lock_heard(heard.id).is_pending:
            _say(tx, heard, revision, links, text)


def _say(tx: Transaction, heard: Heard, revision: str, links: Links, text: str) -> None:
    tx.answer(heard.id, text)
    if text:
        marker = links.reply(heard.change.number, heard.id)
        review = QueuedReview(heard.change, revision, f"{text}\n\n{marker}", marker)
        tx.queue_review(f"heard/{heard.id}", review)


def _refusal(
    server: ReviewServer, project_file: ProjectFile, heard: Heard, command: ReviewCommand | Misspelt
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
        may = server.is_member(heard.account, group)
    except Permanent as error:
        return f"`{use.word}`: refused, {error}"
    return "" if may else f"`{use.word}`: refused, {plain(heard.person)} is not in the group {group}"


def _do(tx: Transaction, order: _Order, command: ReviewCommand | Misspelt) -> str:
    """Obey one command; what to answer, empty where what follows speaks for itself."""
    change, heard, word = order.change, order.heard, _USES[type(command)].word
    if change.current.number != heard.patch_set or not change.is_open:
        return f"`{word}`: patch set {heard.patch_set} is not open any more"
    told = _act(tx, order, command, tx.newest_check(heard.patch_set_id))
    return f"`{word}`: {told}" if told else ""


def _act(tx: Transaction, order: _Order, command: ReviewCommand | Misspelt, run: RunRecord | None) -> str:
    heard, links = order.heard, order.links
    match command:
        case Override():
            told = override(tx, run, heard, command, links)
        case Accept():
            told = accept(tx, run, heard, command, links)
        case UndoOverride():
            told = undo(tx, run, heard, links)
        case Recheck():
            told = _recheck(tx, order, run, command)
        case Cancel():
            told = _cancel(tx, run)
        case OkToTest():
            told = _allow(tx, order, run)
        case MorePairs():
            told = _measure_longer(tx, order, run, command)
        case Misspelt():
            told = command.expected
    return told


def _recheck(tx: Transaction, order: _Order, run: RunRecord | None, command: Recheck) -> str:
    if run is None or run.state in {RunState.CANCELLED, RunState.REFUSED}:
        run_id = tx.add_run(check_of(order.change, order.heard.patch_set_id))
        if run_id is not None:
            tx.queue_task("plan", run_id)
        return ""
    if run.state is RunState.PLANNING:
        return ""  # about to run, all of it
    return recheck(tx, run, command, order.heard.id, order.project_file)


def _measure_longer(tx: Transaction, order: _Order, run: RunRecord | None, command: MorePairs) -> str:
    if run is None or run.state not in {RunState.RUNNING, RunState.FINISHED}:
        return "nothing is measured yet"
    return measure_longer(tx, run, command, order.heard.id)


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
