"""Reports of another CI, as tests send them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.decision.external import ExternalBuild, Notice, Report
from service.steps.intake import record_external_build as step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.decision.external import Target
    from service.ports.store import Store


def announce_external(store: Store, target: Target, started: ExternalBuild) -> bool:
    return step.record_external_build(store, Report(target, started, Notice.STARTED))


def record_external_build(
    store: Store, target: Target, finished: ExternalBuild, result: str, causes: Sequence[str] = ()
) -> bool:
    return step.record_external_build(store, Report(target, finished, result, tuple(causes)))


def withdraw_external(store: Store, target: Target, job: str) -> bool:
    dropped = ExternalBuild(job, 1, "http://ci.example.com/")
    return step.record_external_build(store, Report(target, dropped, Notice.WITHDRAWN))
