"""Notes that a step failed, and ends what it was about when it failed for the last time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.decision.states import RunState
from service.domain.errors import Transient
from service.ports.queue import Task
from service.steps.deciding.analyse import give_up
from service.steps.planning.plan_run import refuse
from service.steps.reviewers.run_comment_commands import answer

if TYPE_CHECKING:
    from service.domain.links import Links
    from service.ports.store import Store
    from service.ports.upkeep import StepFailures

# About eight minutes, since each wait is twice as long as the one before: a defect will go on failing.
DEFECT_ATTEMPTS: Final = 8
# A wait is 300 s at most, so about 16 hours: the night in which nobody restarts the review server.
TRANSIENT_ATTEMPTS: Final = 200


def record_failure(
    store: Store, upkeep: StepFailures, links: Links, task: Task, entity: int, error: Exception
) -> bool:
    """Store the failure; True where the step is given up for good and what waited for it has ended."""
    text = f"{type(error).__name__}: {error}"[:2000]
    max_attempts = TRANSIENT_ATTEMPTS if isinstance(error, Transient) else DEFECT_ATTEMPTS
    if not upkeep.record_step_failure(task, entity, text, max_attempts=max_attempts).is_dead:
        return False
    if task is Task.ANALYSE:
        give_up(store, entity, "its results could not be analysed; the operators were told")
    if task is Task.RUN_COMMENT_COMMANDS:
        _tell(store, links, entity)
    if task is Task.PLAN:
        with store.transaction() as tx:
            run = tx.lock_run(entity)
            if run.state is RunState.PLANNING:
                reason = f"could not be planned: {text}"
                refuse(tx, run, reason, links.run(run.id), header="Build Aborted")
    return True


def _tell(store: Store, links: Links, comment_id: int) -> None:
    """Who said it waits for an answer."""
    with store.transaction() as tx:
        comment = tx.lock_comment(comment_id)
    # On the revision it was said about: where that is outdated by now, nobody waits any more.
    answer(store, comment, comment.revision, links, "this could not be obeyed; the operators were told")
