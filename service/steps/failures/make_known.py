"""Make the failures of overridden builds known: the command `override BUG known-failure REASON`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.failures.failure import FailureKind
from service.domain.failures.known import DEFAULT_DAYS, only_ends
from service.domain.failures.naming import names_cause
from service.domain.failures.output.ends import is_specific
from service.domain.failures.signature import signature_of
from service.domain.wording.replies import made_known, own_errors
from service.ports.access import Author
from service.ports.failures.storing import NewKnown
from service.steps.failures.match_known import place_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from service.domain.failures.failure import Failure
    from service.domain.failures.known import Scope
    from service.domain.failures.signature import Signature
    from service.domain.review.comment_commands import OverrideCommand
    from service.domain.review.links import Links
    from service.ports.review.changes import ReviewComment
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Transaction


def make_known(
    tx: Transaction,
    run: RunRecord,
    builds: Sequence[BuildRecord],
    comment: ReviewComment,
    command: OverrideCommand,
    links: Links,
) -> str:
    """Make one known failure of each signature of the builds, and return the reply.

    Each concerns the project, branch and job. Failures that do not say what failed are left out.
    """
    author = Author(account=comment.account, name=comment.person, signed_in_as=comment.signed_in_as)
    found = tx.failures.failures_of([build.id for build in builds])
    unknown = len(found) < len(builds) or any(each.is_cut for each in found.values())
    recognised: dict[tuple[str, Signature], tuple[Scope, Failure]] = {}
    for build in builds:
        scope = replace(place_of(run, build), host="")
        for failure in found[build.id].failures if build.id in found else ():
            if is_specific(failure):
                recognised.setdefault((build.job, signature_of(failure)), (scope, failure))
            else:
                unknown = True
    # In one order for all commands: two with the same failures would otherwise deadlock.
    known = {
        (job, signature): tx.known.make(
            NewKnown(
                signature=signature,
                scope=recognised[job, signature][0],
                bug=command.bug,
                reason=command.reason,
                days=DEFAULT_DAYS,
            ),
            author,
        )
        for job, signature in sorted(recognised, key=lambda key: (key[1].digest, key[0]))
    }
    made = [(known[key], failure) for key, (_, failure) in recognised.items()]
    ends = [each for one in found.values() if (each := only_ends(one.failures))]
    compared = sum(not names_cause(signature, each.line) for (_, signature), (_, each) in recognised.items())
    return made_known(made, links.known, has_others=unknown, compared=compared, ends=ends)


def warn_of_own_errors(tx: Transaction, builds: Sequence[BuildRecord], touched: Collection[str]) -> str:
    """Warn of compile errors in files that the patch ``touched``, which it may have caused; else empty."""
    found = tx.failures.failures_of([build.id for build in builds]).values()
    errors = {each.subject for one in found for each in one.failures if each.kind is FailureKind.COMPILE}
    # A build of several repositories names files from the top of all.
    own = [path for path in touched if any(f"/{each}".endswith(f"/{path}") for each in errors)]
    return own_errors(own) if own else ""
