"""Define the states of builds and runs."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

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
