"""All errors that Benchgate raises on purpose.

::

    BenchgateError
    ├── BadInput             text of a person or a patch set cannot be used; names the place and the problem
    │   ├── BadProjectFile   benchgate.yaml
    │   ├── ForeignSource    a URL that the operator does not let machines fetch from
    │   ├── BadResults       Google Benchmark output
    │   └── BadEvent         the body of a Gerrit event
    ├── Transient            the same call may succeed later; the only error that is retried
    │   ├── DiskFull         a disk has no room for what should be stored
    │   └── Refused          Benchgate's credentials were rejected; an operator must act
    │       └── Forbidden    its credentials are valid, but its account may not do this
    ├── Permanent            the same call will fail again
    │   ├── NotFound         the requested object does not exist (any more)
    │   │   └── Ambiguous    several changes have the requested number; names their addresses
    │   ├── Incomplete       a part of the sources (submodule, LFS file, project of a manifest) cannot be had
    │   └── Unfit            this host cannot do the work (no sandbox, too few CPUs)
    ├── CommandFailed        a program of the project under test failed; has the end of its log
    │   └── ProgramMissing   the build did not create a program
    ├── NotAllowed           the caller of the web server lacks a right; names it
    ├── TooMany              the caller of the web server sent too many requests
    ├── OutOfTime            the time for a part of the work is used up; earlier results still count
    └── Stopped              the work was ended from outside
        ├── Cancelled        by a person, a newer patch set or an abandoned change
        ├── Drained          the worker must stop; the build is queued again
        ├── Overdue          the build's deadline passed during the work
        └── LeaseLost        another worker has the build now; this one must write nothing
"""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

OUT_OF_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class BenchgateError(Exception):
    """Base class of all errors that are raised on purpose."""


class BadInput(BenchgateError):
    """Input that cannot be used.

    Args:
        what: a sentence about the problem and the allowed values.
        where: file, line, row or key; shown before the sentence.
    """

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"{where}: {what}" if where else what)
        self.what = what
        self.where = where


class BadProjectFile(BadInput):
    """``benchgate.yaml`` has an error; no part of it is used.

    Args:
        what: key, problem and the allowed values.
        where: the file.
        line: counts from 1; 0 if the error has none.
    """

    def __init__(self, what: str, where: str = "", line: int = 0) -> None:
        super().__init__(what, f"{where}:{line}" if line else where)
        self.line = line


class ForeignSource(BadInput):
    """A URL that the operator does not let machines fetch from; says which setting to change."""


class BadResults(BadInput):
    """A file of benchmark results has nothing that can be read."""


def bad_line(what: str, line: int) -> BadResults:
    """Make the error of a line of a result file; of the whole file if ``line`` is 0."""
    return BadResults(f"line {line}: {what}" if line else what)


class BadEvent(BadInput):
    """The body of an event is not a Gerrit event."""


class Transient(BenchgateError):
    """A temporary fault outside Benchgate; the caller may try again.

    Args:
        what: a sentence about the fault.
        retry_after: seconds to wait, as the server requested; None: no request.
    """

    def __init__(self, what: str, retry_after: float | None = None) -> None:
        super().__init__(what)
        self.retry_after = retry_after


class DiskFull(Transient):
    """A disk has no room for what should be stored."""

    def __init__(self, what: str) -> None:
        super().__init__(what, retry_after=60.0)  # somebody or the retention makes room


@contextmanager
def reporting_full_disks() -> Iterator[None]:
    """Raise DiskFull for an error of the operating system that means it; raise any other error as it is."""
    try:
        yield
    except OSError as error:
        if error.errno in OUT_OF_ROOM:
            raise DiskFull(str(error)) from error
        raise


class NotSeenYet(Transient):
    """Benchgate does not know something that it may be about to learn of, or that may not exist."""


class Refused(Transient):
    """Benchgate's credentials were rejected or lack a permission. Retried until an operator acts."""


class Forbidden(Refused):
    """Benchgate's account may not do this, but its credentials are valid."""


class Permanent(BenchgateError):
    """A fault that no retry fixes."""


class NotFound(Permanent):
    """The requested object does not exist."""


class Ambiguous(NotFound):
    """Changes of several review servers have the requested number.

    Args:
        number: the number of the changes.
        choices: their addresses.
    """

    def __init__(self, number: int, choices: tuple[str, ...]) -> None:
        super().__init__(f"several review servers have a change {number}: {', '.join(choices)}")
        self.choices = choices


class Incomplete(Permanent):
    """The sources of a revision lack a submodule, an LFS file or a project of the manifest.

    Args:
        what: the missing part (``submodule third_party/lib``).
        why: its address and commit, the reason, and what to set or change.
        is_foreign: the operator does not let machines fetch it.
    """

    def __init__(self, what: str, why: str, *, is_foreign: bool = False) -> None:
        super().__init__(f"{what}: {why}")
        self.what = what
        self.why = why
        self.is_foreign = is_foreign


class Unfit(Permanent):
    """This host cannot do the work; the message names the missing requirement."""


class CommandFailed(BenchgateError):
    """A program of the project under test failed.

    Args:
        what: the program, in the words of the project file (``compile of the patch``).
        end: how the program ended (``exit code 2``, ``stopped after 600 s``).
        tail: the last lines of its log.
        tree: the directory of the sources on this machine.
        limit: the limit that ended it; empty if none did.
    """

    def __init__(self, what: str, end: str, tail: str = "", tree: str = "", limit: str = "") -> None:
        super().__init__(f"{what}: {end}")
        self.what = what
        self.end = end
        self.tail = tail
        self.tree = tree
        self.limit = limit


class ProgramMissing(CommandFailed):
    """The project's commands succeeded, but did not create a program that its suites name.

    Args:
        what: the program.
        elsewhere: the path of another program with this name in the build directory, or empty.
    """

    def __init__(self, what: str, elsewhere: str = "") -> None:
        super().__init__(what, f"the build did not create it{f', but {elsewhere}' if elsewhere else ''}")
        self.elsewhere = elsewhere


class NotAllowed(BenchgateError):
    """The caller of the web server lacks a right.

    Args:
        what: a sentence that names the missing right.
        may_sign_in: the caller sent no valid credentials, and may get the right by sending some.
    """

    def __init__(self, what: str, *, may_sign_in: bool = False) -> None:
        super().__init__(what)
        self.may_sign_in = may_sign_in


class TooMany(BenchgateError):
    """The caller of the web server sent too many requests.

    Args:
        what: a sentence that names the limit.
        retry_after: seconds until the next request is accepted.
    """

    def __init__(self, what: str, retry_after: float) -> None:
        super().__init__(what)
        self.retry_after = retry_after


class OutOfTime(BenchgateError):
    """The time for a part of the work is used up; earlier results still count."""


class Stopped(BenchgateError):
    """The work was ended from outside, not because of the change."""


class Cancelled(Stopped):
    """The build is no longer needed."""


class Drained(Stopped):
    """The worker must stop now."""


class Overdue(Stopped):
    """The build's deadline passed during the work."""


class LeaseLost(Stopped):
    """The lease expired or another worker took it over; this worker must write nothing more."""
