"""Every error that Benchgate raises on purpose, as one tree.

::

    BenchgateError
    ├── BadInput             what a person or a patch set wrote cannot be used; says what and where
    │   ├── BadProjectFile   benchgate.yaml
    │   ├── BadResults       Google Benchmark output
    │   └── BadEvent         the body of a Gerrit event
    ├── Transient            the same call may succeed later; the only error that is retried
    │   └── Refused          our credentials were not accepted; a person has to see to it
    ├── Permanent            the same call will fail again
    │   ├── NotFound         the thing asked for does not exist (any more)
    │   └── Unfit            this host cannot do what is asked (no sandbox, too few CPUs)
    ├── CommandFailed        a program of the project under test did not succeed; carries its end
    │   └── ProgramMissing   the build made no such program
    └── Stopped              work ended from outside
        ├── Cancelled        by a person, a newer patch set or an abandoned change
        ├── Drained          this worker was asked to stop; the build goes back unharmed
        ├── Overdue          the build's deadline passed while it was worked on
        └── LeaseLost        another worker holds the build now; nothing may be written
"""

from __future__ import annotations


class BenchgateError(Exception):
    """The root: catching it catches everything raised on purpose."""


class BadInput(BenchgateError):
    """Input that cannot be used.

    Args:
        what: the sentence that says what is wrong and what is allowed.
        where: file, line, row or key; shown before the sentence.
    """

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"{where}: {what}" if where else what)
        self.what = what
        self.where = where


class BadProjectFile(BadInput):
    """``benchgate.yaml`` breaks its contract; nothing of it is used."""


class BadResults(BadInput):
    """A file of benchmark results holds nothing that can be read."""


class BadEvent(BadInput):
    """The body of an event is not a Gerrit event."""


class Transient(BenchgateError):
    """A passing fault of something outside; the caller may try again.

    Args:
        what: the sentence that says what happened.
        retry_after: the seconds that the other side asked us to wait; None: it did not say.
    """

    def __init__(self, what: str, retry_after: float | None = None) -> None:
        super().__init__(what)
        self.retry_after = retry_after


class Refused(Transient):
    """Our credentials were not accepted, or allow too little; nothing is lost until a person sees to it."""


class Permanent(BenchgateError):
    """A fault that trying again will not cure."""


class NotFound(Permanent):
    """What was asked for does not exist."""


class Unfit(Permanent):
    """This host cannot do what is asked of it; the message says what it lacks."""


class CommandFailed(BenchgateError):
    """A program of the project under test failed.

    Args:
        what: which program, in the words of the project file (``compile of the patch``).
        end: how it ended (``exit code 2``, ``stopped after 600 s``).
        tail: the last lines of its log.
        tree: the directory of this machine in which the sources lay for it.
    """

    def __init__(self, what: str, end: str, tail: str = "", tree: str = "") -> None:
        super().__init__(f"{what}: {end}")
        self.what = what
        self.end = end
        self.tail = tail
        self.tree = tree


class ProgramMissing(CommandFailed):
    """The project's commands succeeded and did not make a program that its suites name."""


class Stopped(BenchgateError):
    """Work was ended from outside; it says nothing about the change."""


class Cancelled(Stopped):
    """The build is no longer wanted."""


class Drained(Stopped):
    """The worker is to stop now."""


class Overdue(Stopped):
    """The build's deadline passed while it was worked on."""


class LeaseLost(Stopped):
    """The lease expired or was taken over; this worker may write nothing more."""
