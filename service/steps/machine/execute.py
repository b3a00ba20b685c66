"""A machine's whole work on one claimed build: build both sides, measure them, report."""

from __future__ import annotations

import io
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.building.compile_errors import errors_in
from service.domain.building.spec import BuildSpec
from service.domain.calibration.evidence import SESSION_PAIRS
from service.domain.comparison.identical_binaries import SAME_PROGRAM
from service.domain.decision.execution import Execution
from service.domain.decision.states import MAX_ATTEMPTS
from service.domain.decision.vote import Outcome
from service.domain.errors import (
    CommandFailed,
    Drained,
    LeaseLost,
    Overdue,
    Permanent,
    ProgramMissing,
    Stopped,
    Transient,
    Unfit,
)
from service.domain.identity import RunKind, Side
from service.domain.text import plain
from service.steps.machine.build_sides import BuildHost, built_tree
from service.steps.machine.confirm_layout import confirm_layout
from service.steps.machine.find_identical_binaries import recognise
from service.steps.machine.launching import SideFailed, cpus_wanted
from service.steps.machine.measure import Extent, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from service.domain.comparison.suite import Listing
    from service.domain.project.job import Job
    from service.ports.machine import Claimed
    from service.ports.progress import Progress

RETRY_AFTER = 20.0  # seconds; a fetch that failed is seldom better at once


def execute_build(
    claimed: Claimed, host: BuildHost, progress: Progress, is_draining: Callable[[], bool] = lambda: False
) -> Execution | None:
    """Work on a claimed build to its end and report it; None where it was handed back or lost.

    A failure of the project's own code is the build's result; a failure of this machine or of the
    network is retried, and after the last attempt an infrastructure failure, never the change's fault.
    ``is_draining`` says that this worker is to stop: the build is then handed back.
    """

    def watch() -> None:
        if is_draining():
            raise Drained("the worker was asked to stop")
        claimed.watch()

    log = io.BytesIO()
    try:
        execution = _end(claimed, host, log, progress, watch)
        if execution is not None:
            claimed.complete(execution.to_mapping(), log.getvalue())
    except LeaseLost:
        return None
    return execution


def _end(  # noqa: PLR0911 - one for each way in which work can end
    claimed: Claimed, host: BuildHost, log: io.BytesIO, progress: Progress, watch: Callable[[], None]
) -> Execution | None:
    """How the work ended; None where the build was handed back."""
    try:
        return _work(claimed, BuildSpec.from_mapping(claimed.spec), host, log, progress, watch)
    except LeaseLost:
        raise
    except Drained:
        claimed.release()
        return None
    except Overdue:
        return _infrastructure("its machine did not finish it in time")
    except Stopped:
        return Execution(outcome=Outcome.CANCELLED)
    except Transient as error:
        if claimed.attempt < MAX_ATTEMPTS:
            claimed.release(RETRY_AFTER)
            return None
        return _infrastructure(f"after {claimed.attempt} attempts: {error}")
    except Permanent as error:
        return _infrastructure(f"the machine is unfit: {error}" if isinstance(error, Unfit) else str(error))


def _infrastructure(cause: str) -> Execution:
    return Execution(outcome=Outcome.INFRASTRUCTURE, causes=(plain(cause, 500),))


def _work(
    claimed: Claimed,
    spec: BuildSpec,
    host: BuildHost,
    log: io.BytesIO,
    progress: Progress,
    watch: Callable[[], None],
) -> Execution:
    seconds: dict[str, float] = {}
    conditions = {"sandbox": dict(host.sandbox.in_force()), "toolchain": host.toolchain}
    host.source.fetch(spec.project, *(r.ref for r in (spec.patch, spec.base) if r is not None))
    with ExitStack() as stack:
        trees = _built_sides(claimed, spec, host, log, progress, watch, stack, seconds)
        if isinstance(trees, Execution):
            return replace(trees, seconds=seconds, conditions=conditions)
        claimed.enter("measure")
        unchanged = recognise(host, spec, trees, watch)
        try:
            found = measure(
                host,
                spec.judged,
                trees,
                claimed.seed,
                claimed,
                progress,
                watch,
                unchanged,
                _extent(spec),
            )
        except SideFailed as error:
            is_same = all(suite.name in unchanged for suite in spec.job.benchmark.suites)
            ended = _side_failed(error, is_same_program=is_same)
            return Execution(*ended, seconds=seconds, conditions=conditions)
    seconds["measure"] = round(found.seconds, 3)
    confirmed = confirm_layout(host, spec, found.listings, claimed, log, progress, watch)
    if confirmed.seconds:
        seconds["confirm"] = round(confirmed.seconds, 3)
    crowded = _too_few_cpus(spec.job, found.listings, host)
    warnings = (*confirmed.causes, *_parent_failed(found.parent_failed), *crowded)
    return Execution(causes=warnings, pairs=found.pairs, seconds=seconds, conditions=conditions)


def _built_sides(
    claimed: Claimed,
    spec: BuildSpec,
    host: BuildHost,
    log: io.BytesIO,
    progress: Progress,
    watch: Callable[[], None],
    stack: ExitStack,
    seconds: dict[str, float],
) -> dict[Side, Path] | Execution:
    """Both sides' trees, which the stack holds; or how the work ended where one does not build."""
    trees: dict[Side, Path] = {}
    missing: ProgramMissing | None = None  # of the patch; whether that is its fault, the parent tells
    # The patch first: where it does not build, that is the result, whatever the parent does.
    for side, revision in ((Side.PATCH, spec.patch), (Side.BASE, spec.base)):
        if revision is None:
            return Execution(Outcome.NO_PARENT, ("there is no parent to compare with",))
        claimed.enter(f"build {side}")
        progress.say(f"{claimed.name}: build {side}")
        begun, written = time.monotonic(), log.tell()
        try:
            trees[side] = stack.enter_context(
                built_tree(host, spec.project, revision, spec.job, claimed, log, watch)
            )
        except ProgramMissing as error:
            if side is Side.PATCH and spec.base is not None:
                missing = error
                continue
            return Execution(*(_misconfigured(error) if missing else _build_failed(side, error)))
        except CommandFailed as error:
            own = log.getvalue()[written:] if side is Side.PATCH else b""
            return Execution(*_build_failed(side, error), findings=errors_in(own, error.tree))
        seconds[f"build {side}"] = round(time.monotonic() - begun, 3)
    return trees if missing is None else Execution(*_build_failed(Side.PATCH, missing))


def _extent(spec: BuildSpec) -> Extent | None:
    if spec.kind is RunKind.CALIBRATION:
        return Extent.fixed(SESSION_PAIRS, spec.job.policy)
    return Extent.longer(spec.longer) if spec.longer else None


def _misconfigured(error: ProgramMissing) -> tuple[Outcome, tuple[str, ...]]:
    text = f"{plain(error.what)} is made by neither side: check benchgate.yaml, or rebase"
    return Outcome.MISCONFIGURED, (text,)


def _parent_failed(error: SideFailed | None) -> tuple[str, ...]:
    if error is None:
        return ()
    return (f"measuring ended early: the parent failed ({plain(error.what)}: {plain(error.end)})",)


def _too_few_cpus(job: Job, listings: Sequence[Listing], host: BuildHost) -> Iterator[str]:
    """What to know of suites that ask for more CPUs than are kept for measuring."""
    names = {listing.suite: listing.common for listing in listings}
    measured, everywhere = len(host.cpus), len(host.host_cpus)
    for suite in job.benchmark.suites:
        wanted = cpus_wanted(suite, names.get(suite.name, ()))
        if wanted > measured and everywhere > measured:
            # Not kept for measuring alone, but better than threads that take turns.
            yield (
                f"suite {suite.name} asks for {wanted} CPUs, {measured} are kept for measuring: "
                f"it shared all {everywhere} of the machine"
            )
        elif suite.cpus > measured:
            yield f"suite {suite.name} asks for {suite.cpus} CPUs, this machine measures on {measured}"


def _build_failed(side: Side, error: CommandFailed) -> tuple[Outcome, tuple[str, ...]]:
    if side is Side.BASE:
        return Outcome.NO_PARENT, (
            f"nothing to compare with: the parent does not build ({plain(str(error))})",
        )
    return Outcome.FAILED, (plain(str(error), 500),)


def _side_failed(error: SideFailed, *, is_same_program: bool) -> tuple[Outcome, tuple[str, ...]]:
    text = plain(f"{error.what}: {error.end}", 500)
    if is_same_program:
        cause = f"nothing to compare with: {SAME_PROGRAM}, and it does not measure ({text})"
        return Outcome.NO_PARENT, (cause,)
    if error.side is Side.BASE:
        return Outcome.NO_PARENT, (f"nothing to compare with: the parent does not measure ({text})",)
    return Outcome.MEASURED_NOTHING, (f"measured nothing: {text}",)
