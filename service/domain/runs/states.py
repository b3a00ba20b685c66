"""Define the states of builds and runs, and the transitions of builds."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_ATTEMPTS: Final = 3  # two crashes of a machine may be coincidence; a third is blamed on the build


class BuildState(StrEnum):
    """States of a build. A machine moves queued → running → executed, and control does the rest.

    A build of another CI is running from the start until that CI reports its result.
    """

    QUEUED = "queued"
    RUNNING = "running"
    EXECUTED = "executed"  # the machine is done; not analysed yet
    FINISHED = "finished"


class RunState(StrEnum):
    """States of a run."""

    PLANNING = "planning"  # its builds are not known yet
    RUNNING = "running"
    FINISHED = "finished"  # all builds are finished, and the vote is decided
    CANCELLED = "cancelled"  # by a newer patch set, an abandoned change or a person
    REFUSED = "refused"  # no usable project file, code that may not run, or a step failed for good


UNFINISHED: Final = (RunState.PLANNING, RunState.RUNNING)


class BuildEvent(StrEnum):
    """Events that move a build to another state."""

    CLAIMED = "claimed"
    RELEASED = "released"  # returned to the queue by a worker that shuts down
    LEASE_EXPIRED = "lease expired"
    EXECUTED = "executed"
    GIVEN_UP = "given up"  # attempts used up or deadline passed
    ANALYSED = "analysed"
    REPORTED = "reported"  # by another CI


TRANSITIONS: Final[Mapping[tuple[BuildState, BuildEvent], BuildState]] = MappingProxyType(
    {
        (BuildState.QUEUED, BuildEvent.CLAIMED): BuildState.RUNNING,
        (BuildState.QUEUED, BuildEvent.GIVEN_UP): BuildState.FINISHED,
        (BuildState.RUNNING, BuildEvent.RELEASED): BuildState.QUEUED,
        (BuildState.RUNNING, BuildEvent.LEASE_EXPIRED): BuildState.QUEUED,
        (BuildState.RUNNING, BuildEvent.EXECUTED): BuildState.EXECUTED,
        (BuildState.RUNNING, BuildEvent.GIVEN_UP): BuildState.FINISHED,
        (BuildState.RUNNING, BuildEvent.REPORTED): BuildState.FINISHED,
        (BuildState.EXECUTED, BuildEvent.ANALYSED): BuildState.FINISHED,
        (BuildState.EXECUTED, BuildEvent.GIVEN_UP): BuildState.FINISHED,
    }
)
