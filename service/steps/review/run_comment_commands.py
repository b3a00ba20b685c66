"""Run comment commands: each once, if its author has permission."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from service.domain.review.change import CommentSource, Review
from service.domain.review.comment_commands import (
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
from service.domain.review.form_commands import still_allowed
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import RunState
from service.domain.values.errors import BadInput, NotFound, Permanent
from service.domain.values.text import literal
from service.domain.wording import replies
from service.steps.project.read_project_file import NoProjectFile, read_project_file
from service.steps.runs.apply_override import accept_benchmarks, override_builds, override_of, undo_overrides
from service.steps.runs.log_context import bind_change
from service.steps.runs.measure_longer import measure_longer
from service.steps.runs.new_run import check_of, start_run
from service.steps.runs.rerun import recheck
from service.steps.sources.find_workspace import find_workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.project.project_file import ProjectFile
    from service.domain.review.change import Change
    from service.domain.review.comment_commands import ReviewCommand
    from service.domain.review.links import Links
    from service.domain.sources.workspace import Workspace
    from service.ports.review.changes import ReviewComment
    from service.ports.review.server import ReviewServer
    from service.ports.runs.runs import RunRecord, Runs
    from service.ports.sources import Source
    from service.ports.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A comment with the current state of its change, and the project file that grants permissions."""

    comment: ReviewComment
    change: Change
    project_file: ProjectFile
    links: Links
    workspace: Workspace | None = None  # of builds that are run again
    touched: Sequence[str] = ()  # paths that the patch changes, if failures become known


def run_comment_commands(
    store: Store, server: ReviewServer, source: Source, links: Links, comment_id: int
) -> None:
    """Run the commands of a comment, after those of earlier pending comments on its change, in order.

    Permissions are those at the time of the call. No transaction is open during server calls.
    """
    with store.transaction() as tx:
        key = tx.comments.lock(comment_id).change
    with store.exclusive(f"comments {key.instance}/{key.number}") as is_ours:
        if not is_ours:
            return  # the sweep queues a comment again if it is still pending later
        with store.transaction() as tx:
            pending = tx.comments.pending_until(comment_id)
        for comment in pending:
            _run_commands(store, server, source, links, comment)


def _run_commands(
    store: Store, server: ReviewServer, source: Source, links: Links, comment: ReviewComment
) -> None:
    bind_change(comment.change, comment.patch_set)
    change = server.change(comment.change)
    try:
        source.fetch(change.project, f"refs/heads/{change.branch}")
        project_file = read_project_file(source, change.project, change.branch)
    except BadInput as error:
        is_known = isinstance(error, NoProjectFile) and comment.source is CommentSource.COMMENT
        text = "" if is_known else str(error)
        answer(store, comment, change.current.revision, links, text)
        return
    request = CommandRequest(comment, change, project_file, links)
    names = [job.name for job in project_file.jobs]
    if comment.command is None:
        commands = commands_in(comment.text, names)
    else:
        commands = (still_allowed(comment.command, names),)
    admitted = [_admit(server, request, command) for command in commands]
    rechecks = [each for each in admitted if isinstance(each, RecheckCommand)]
    jobs = [
        job for job in project_file.jobs if any(not each.jobs or job.name in each.jobs for each in rechecks)
    ]
    if jobs:
        try:
            found = find_workspace(source, change.project, change.branch, project_file.manifest, jobs)
            request = replace(request, workspace=found)
        except BadInput as error:
            text = str(error)
            admitted = [
                replies.reply_to(each.word, text) if isinstance(each, RecheckCommand) else each
                for each in admitted
            ]
    if any(isinstance(each, OverrideCommand) and each.is_known for each in admitted):
        request = replace(request, touched=_touched(source, change))
    with store.transaction() as tx:
        if tx.comments.lock(comment.id).is_pending:
            answers = [each if isinstance(each, str) else _run(tx, request, each) for each in admitted]
            _reply(tx, comment, change.current.revision, links, "\n\n".join(filter(None, answers)))


def answer(store: Store, comment: ReviewComment, revision: str, links: Links, text: str) -> None:
    """Settle a comment without running its commands, with a reply unless the text is empty."""
    with store.transaction() as tx:
        if tx.comments.lock(comment.id).is_pending:
            _reply(tx, comment, revision, links, text)


def _reply(tx: Transaction, comment: ReviewComment, revision: str, links: Links, text: str) -> None:
    tx.comments.answer(comment.id, text)
    if text and comment.source is CommentSource.COMMENT:  # the page shows the answer to its own request
        lines = "\n".join(map(literal, text.split("\n")))  # they quote the comment and the project file
        message = f"{lines}\n\n{links.reply(comment.change, comment.id)}"
        tx.outbox.queue_review(f"reply/{comment.id}", Review(comment.change, revision, message))


def _admit(
    server: ReviewServer, request: CommandRequest, command: ReviewCommand | Misspelt
) -> ReviewCommand | str:
    """Return the command if its author has permission, else the reply that refuses it."""
    if isinstance(command, Misspelt):
        return replies.misspelt(command.line, command.expected)
    comment = request.comment
    group = request.project_file.commands.group_for(command.permission)
    if group is None:
        return replies.reply_to(command.word, replies.not_enabled(command.permission))
    try:
        is_member = server.is_member(comment.account, group)
    except Permanent as error:
        return replies.reply_to(command.word, replies.refused(error))
    if not is_member:
        return replies.reply_to(command.word, replies.not_a_member(comment.person, group))
    return command


def _run(tx: Transaction, request: CommandRequest, command: ReviewCommand) -> str:
    """Run one command and return the reply; empty if its effect is visible on the change anyway."""
    change, comment, links = request.change, request.comment, request.links
    if change.current.number != comment.patch_set or not change.is_open:
        return replies.reply_to(command.word, replies.outdated(comment.patch_set))
    run = tx.history.newest_check(comment.patch_set_id)
    match command:
        case OverrideCommand():
            reply = override_builds(tx, run, comment, command, links, request.touched)
        case AcceptCommand():
            reply = accept_benchmarks(tx, run, comment, command, links)
        case UndoOverrideCommand():
            reply = undo_overrides(tx, run, comment, links)
        case RecheckCommand():
            reply = _recheck(tx, request, run, command)
        case CancelCommand():
            reply = _cancel(tx.runs, run)
        case OkToTestCommand():
            reply = _allow(tx, request, run)
        case MorePairsCommand():
            reply = measure_longer(tx, run, command, comment.id)
    return replies.reply_to(command.word, reply) if reply else ""


def _touched(source: Source, change: Change) -> Sequence[str]:
    """List the paths that the current patch set changes; none if they cannot be listed."""
    parents = change.current.parents
    try:
        source.fetch(change.project, change.current.ref)  # its mirror may have been evicted since the run
        return source.changed_paths(change.project, parents[0], change.current.revision) if parents else ()
    except (BadInput, NotFound):
        return ()


def _recheck(tx: Transaction, request: CommandRequest, run: RunRecord | None, command: RecheckCommand) -> str:
    if run is None or run.state in {RunState.CANCELLED, RunState.REFUSED}:
        start_run(tx.runs, tx.outbox, check_of(request.change, request.comment.patch_set_id))
        return ""
    if run.state is RunState.PLANNING:
        return ""  # all of its builds are about to start
    return recheck(tx, run, command, request.comment.id, request.project_file, request.workspace)


def _allow(tx: Transaction, request: CommandRequest, run: RunRecord | None) -> str:
    """Allow the code of exactly this patch set to run."""
    comment = request.comment
    tx.overrides.add(comment.patch_set_id, override_of(comment, OverrideKind.TRUST))
    if run is not None and run.state is not RunState.REFUSED:
        return ""
    return _recheck(tx, request, run, RecheckCommand())


def _cancel(stored: Runs, run: RunRecord | None) -> str:
    if run is None or run.state not in {RunState.PLANNING, RunState.RUNNING}:
        return replies.NO_RUN
    stored.cancel_check(run.id)
    return replies.RUN_CANCELLED
