"""Delete records that were kept long enough, and artifacts that no record names."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import structlog

from service.domain.runs.retention import ARTIFACT_GRACE, RECENT, UNNEEDED
from service.domain.values.errors import Permanent, Transient

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from service.domain.runs.retention import Kind, Policy
    from service.ports.building import ArtifactStore, KeptArtifact
    from service.ports.runs.retention import Retention
    from service.ports.store import Store

_LOG = structlog.get_logger(__name__)
SECTION: Final = "retention"  # deletes nothing while a backup copies
PARTS: Final = tuple("0123456789abcdef")  # of the artifacts, by the first digit of their keys
PART_SECONDS: Final = 5400.0  # until the next part's turn: each has one a day
_RECORDS: Final = 500  # at once: a short transaction
_FEW: Final = 20  # files of a part that may go, whatever their share


def part_at(seconds: float) -> str:
    """Return the part of the artifacts whose turn it is, by the clock: a restart begins none anew."""
    return PARTS[int(seconds / PART_SECONDS) % len(PARTS)]


def prune(store: Store, retention: Retention, policy: Policy) -> Mapping[Kind, int]:
    """Delete what has expired, one short transaction after the other; return how many records of each kind.

    Raises:
        Transient: another process deletes or copies.
    """
    deleted: dict[Kind, int] = {}
    with _undisturbed(store):
        for kind, days in policy.items():
            if days is not None and (count := sum(_batches(retention, kind, days))):
                deleted[kind] = count
                _LOG.info("retention.deleted", kind=kind, records=count)
    return deleted


def prune_by_schedule(store: Store, retention: Retention, policy: Policy) -> None:
    """Delete what has expired as ``prune`` does, after storing the days for which an operator may ask."""
    retention.keep_policy(policy)
    prune(store, retention, policy)
    retention.mark_pruned()


@contextmanager
def _undisturbed(store: Store) -> Iterator[None]:
    with store.exclusive(SECTION) as is_ours:
        if not is_ours:
            raise Transient("another process deletes old records, or a backup runs; try again later")
        yield


def _batches(retention: Retention, kind: Kind, days: int) -> Iterator[int]:
    count = _RECORDS
    while count == _RECORDS:
        count = retention.delete_expired(kind, days, _RECORDS)
        yield count


def collect_artifacts(
    store: Store,
    retention: Retention,
    artifacts: ArtifactStore,
    part: str,
    now: float,
    *,
    may_delete_most: bool = False,
) -> int:
    """Delete the artifacts of one part that no record names, and measure the others; return how many.

    One that is stored again meanwhile stays. What a crash leaves is deleted at the next turn of the part.

    Raises:
        Permanent: the artifacts may be those of another site, or more than half would go, and more than a
            few, without ``may_delete_most``. None was deleted.
        Transient: another process deletes or copies.
    """
    with _undisturbed(store):
        found = sort_artifacts(retention, artifacts, part, now)
        require_own(retention, artifacts, found)
        if not may_delete_most:
            require_most_stay(found, part)
        unneeded = found.pop(UNNEEDED, [])
        kept = [each for each in unneeded if not artifacts.delete(each.key, ARTIFACT_GRACE)]
        found[RECENT] = [*found.get(RECENT, []), *kept]
        retention.store_sizes(part, {name: [each.size for each in of] for name, of in found.items()})
        if deleted := len(unneeded) - len(kept):
            _LOG.info("retention.collected", part=part, artifacts=deleted)
        return deleted


def sort_artifacts(
    retention: Retention, artifacts: ArtifactStore, part: str, now: float
) -> dict[str, list[KeptArtifact]]:
    """Sort the artifacts of one part by the records that name them.

    They are listed before the records are read. A record names an artifact within a day after it was stored,
    so one that is older and has no record gets none, unless it is stored again.
    """
    kept = list(artifacts.listed(part))
    named = retention.named(part)
    found: dict[str, list[KeptArtifact]] = defaultdict(list)
    for each in kept:
        without = UNNEEDED if each.stored_at < now - ARTIFACT_GRACE else RECENT
        found[named.get(each.key, without)].append(each)
    return found


def require_own(
    retention: Retention, artifacts: ArtifactStore, found: Mapping[str, list[KeptArtifact]]
) -> None:
    """Require that the artifacts are those of the site with these records, before some are deleted.

    A store without a mark gets one as soon as a record names something that lies there.

    Raises:
        Permanent: another site marked the store, or no record names anything there.
    """
    site, marked = retention.site(), artifacts.marked()
    if marked == site:
        return
    if marked:
        raise Permanent(
            f"no file was deleted: the artifacts belong to the site {marked}, and this database to the site "
            f"{site}; check BENCHGATE_DATABASE_URL, BENCHGATE_ARTIFACTS and BENCHGATE_HOME"
        )
    if set(found) - {RECENT, UNNEEDED} or any(_names_any(retention, artifacts, part) for part in PARTS):
        artifacts.mark(site)
    elif found.get(UNNEEDED):
        raise Permanent(
            "no file was deleted: this database names none of the artifacts, which may be another site's; "
            "check BENCHGATE_DATABASE_URL, BENCHGATE_ARTIFACTS and BENCHGATE_HOME"
        )


def _names_any(retention: Retention, artifacts: ArtifactStore, part: str) -> bool:
    named = retention.named(part)
    return bool(named) and any(each.key in named for each in artifacts.listed(part))


def require_most_stay(found: Mapping[str, list[KeptArtifact]], part: str) -> None:
    """Require that no more than half of the artifacts of a part would go, or only a few.

    Raises:
        Permanent: more would go.
    """
    goes, total = len(found.get(UNNEEDED, ())), sum(map(len, found.values()))
    if goes > _FEW and 2 * goes > total:
        raise Permanent(
            f"no file was deleted: no record names {goes:,} of the {total:,} files that begin with {part}; "
            "if that is right, run `benchgate prune --force`"
        )
