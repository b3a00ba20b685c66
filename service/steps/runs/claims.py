"""Keep what a run's commit message claims of benchmarks, and answer it when the run is decided.

No vote depends on a claim: whatever a message has, the run is planned and decided.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from service.domain.claims.answers import answers, names_of
from service.domain.claims.find import claims_to_keep
from service.domain.claims.near import explained
from service.domain.values.errors import Transient
from service.domain.values.identity import RunKind
from service.domain.wording.claims import claims_told

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.ports.claims import Claims
    from service.ports.runs.runs import RunRecord
    from service.ports.sources import CommitGraph
    from service.ports.store import Store

_LOG: Final = structlog.get_logger(__name__)
# An author wrote the claims: optional text never ends a vote. A fault of the database ends the transaction.
_UNREADABLE: Final = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
_WITH_CLAIMS: Final = frozenset({RunKind.CHECK, RunKind.POST_SUBMIT})


def keep_claims(store: Store, source: CommitGraph, run: RunRecord) -> tuple[str, ...]:
    """Store the claims of a run's commit, before its builds may end: a result of equal trees ends at once.

    Returns:
        The benchmarks that may answer them; none if the message cannot be read.

    Raises:
        Transient: git or the database does not answer.
    """
    if run.kind not in _WITH_CLAIMS:
        return ()
    try:
        if claims := claims_to_keep(source.message(run.project, run.revision)):
            with store.transaction() as tx:
                tx.claims.keep(run.instance, run.project, run.revision, claims)
        return names_of(claims)
    except Transient:  # a run is planned once, so without another try its claims would be lost for good
        raise
    except Exception as error:  # noqa: BLE001 - an author wrote it: optional text never ends planning
        _LOG.warning("claims.unreadable", revision=run.revision, error=repr(error))
        return ()


def answered_claims(stored: Claims, run: RunRecord, may_follow: Collection[str]) -> tuple[str, ...]:
    """Return the lines of a check's message about the claims of its commit, as :func:`claims_told`."""
    if run.kind is not RunKind.CHECK:
        return ()
    try:
        claims = stored.of(run.instance, run.project, run.revision)
        rows = stored.measured(run.id, names_of(claims)) if claims else ()
        found = explained(answers(claims, rows), partial(stored.compared, run.id))
        return claims_told(found, may_follow=may_follow)
    except _UNREADABLE as error:
        _LOG.warning("claims.unreadable", revision=run.revision, error=repr(error))
        return ()
