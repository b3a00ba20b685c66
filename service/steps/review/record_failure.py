"""Record each failure of a step, and end its build, run or comment after the last attempt."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.runs.states import RunState
from service.domain.values.errors import Transient
from service.domain.wording.build_causes import not_analysed
from service.domain.wording.health import HIDDEN_ERROR
from service.domain.wording.message import Header
from service.domain.wording.refusals import not_decided, not_planned
from service.domain.wording.replies import command_failed
from service.ports.runs.queue import Task
from service.steps.review.run_comment_commands import answer
from service.steps.runs.analyse import give_up
from service.steps.runs.plan_run import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.review.links import Links
    from service.ports.runs.upkeep import StepFailures
    from service.ports.store import Store

# About eight minutes, because each wait is twice as long as the one before. A defect does not heal.
DEFECT_ATTEMPTS: Final = 8
# A wait is at most 300 s, so about 16 hours: a night in which no operator restarts the review server.
TRANSIENT_ATTEMPTS: Final = 200

# The steps that end their run when they are given up, with the run's state before and the reason.
_ABORTED: Final[Mapping[Task, tuple[RunState, Callable[[str], str]]]] = MappingProxyType(
    {Task.PLAN: (RunState.PLANNING, not_planned), Task.VOTE: (RunState.RUNNING, not_decided)}
)


def record_failure(
    store: Store, upkeep: StepFailures, links: Links, task: Task, entity: int, error: Exception
) -> bool:
    """Store the failure; after the last attempt, end the build, run or comment, and return True."""
    # Everybody reads the failures of a reconciliation. Gerrit's reason to reject its query, or an error that
    # nobody foresaw, may name a project that is not public.
    is_hidden = task is Task.RECONCILE and not isinstance(error, Transient)
    text = f"{type(error).__name__}: {HIDDEN_ERROR if is_hidden else error}"[:2000]
    max_attempts = TRANSIENT_ATTEMPTS if isinstance(error, Transient) else DEFECT_ATTEMPTS
    if not upkeep.record_step_failure(task, entity, text, max_attempts=max_attempts).is_dead:
        return False
    if task is Task.ANALYSE:
        give_up(store, entity, not_analysed(text))
    if task is Task.RUN_COMMENT_COMMANDS:
        with store.transaction() as tx:
            comment = tx.comments.lock(entity)
        # On the comment's own revision: if that is outdated by now, no person waits for the reply.
        answer(store, comment, comment.revision, links, command_failed(text))
    if task in _ABORTED:
        state, reason = _ABORTED[task]
        with store.transaction() as tx:
            run = tx.runs.lock(entity)
            if run.state is state:
                refuse(tx, run, reason(text), links.run(run.id), header=Header.ABORTED)
    return True
