from __future__ import annotations

import os
import time
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.artifacts import DirectoryArtifacts
from service.domain.runs.retention import ARTIFACT_GRACE, RECENT, Kind, policy_with
from service.domain.values.errors import BadInput, NotFound, Permanent, Transient
from service.steps.runs.prune import (
    PART_SECONDS,
    PARTS,
    SECTION,
    collect_artifacts,
    part_at,
    prune,
    prune_by_schedule,
)
from tests.support.memory.retention import MemoryRecord, MemoryRetention
from tests.support.memory.store import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.runs.retention import Policy


def test_artifacts_without_a_record_are_deleted_a_day_after_they_were_stored(tmp_path: Path) -> None:
    artifacts = DirectoryArtifacts(tmp_path)
    old, named, lately = (artifacts.put(content) for content in (b"old", b"named", b"lately"))
    for path in tmp_path.glob("*/*/*.gz"):
        if lately not in path.name:
            os.utime(path, (time.time() - ARTIFACT_GRACE - 60,) * 2)
    retention = MemoryRetention([MemoryRecord(Kind.PAIRS, 1, (named,))])
    deleted = [collect_artifacts(MemoryStore(), retention, artifacts, part, time.time()) for part in PARTS]
    assert sum(deleted) == deleted[PARTS.index(old[0])] == 1
    with pytest.raises(NotFound):
        artifacts.get(old)
    assert (artifacts.get(named), artifacts.get(lately)) == (b"named", b"lately")
    assert {(name, part) for name, part in retention.sizes if retention.sizes[name, part]} == {
        ("pairs", named[0]),
        (RECENT, lately[0]),
    }


def _old(root: Path, count: int, *, part: str = "") -> tuple[DirectoryArtifacts, list[str]]:
    """Store artifacts that are old, until some begin with ``part``."""
    artifacts, keys, number = DirectoryArtifacts(root), list[str](), 0
    while len(keys) < count:
        content, number = b"%d" % number, number + 1
        if sha256(content).hexdigest().startswith(part):
            keys.append(artifacts.put(content))
    for path in root.glob("*/*/*.gz"):
        os.utime(path, (0, 0))
    return artifacts, keys


def test_files_that_may_be_another_sites_stay_until_a_record_names_one(tmp_path: Path) -> None:
    artifacts, keys = _old(tmp_path, 9)
    retention, now = MemoryRetention(name="own"), time.time()
    with pytest.raises(Permanent, match="this database names none of the artifacts"):
        collect_artifacts(MemoryStore(), retention, artifacts, keys[0][0], now)
    assert artifacts.marked() == ""
    other = next(key for key in keys if key[0] != keys[0][0])
    retention.records.append(MemoryRecord(Kind.LOGS, 1, (other,)))
    assert collect_artifacts(MemoryStore(), retention, artifacts, keys[0][0], now) >= 1
    assert artifacts.marked() == "own"
    artifacts.mark("another")
    retention.records.clear()
    with pytest.raises(Permanent, match="belong to the site another, and this database to the site own"):
        collect_artifacts(MemoryStore(), retention, artifacts, other[0], now, may_delete_most=True)
    assert [each.key for each in artifacts.listed(other)] == [other]


def test_more_than_half_of_the_files_go_only_by_force(tmp_path: Path) -> None:
    artifacts, keys = _old(tmp_path, 41, part="a")
    retention, now = MemoryRetention([MemoryRecord(Kind.LOGS, 1, tuple(keys[:20]))]), time.time()
    with pytest.raises(Permanent, match="no record names 21 of the 41 files that begin with a; "):
        collect_artifacts(MemoryStore(), retention, artifacts, "a", now)
    assert len(list(artifacts.listed("a"))) == 41
    assert collect_artifacts(MemoryStore(), retention, artifacts, "a", now, may_delete_most=True) == 21
    artifacts, _ = _old(tmp_path, 40, part="a")
    assert collect_artifacts(MemoryStore(), retention, artifacts, "a", now) == 20


class StoredAgain(MemoryRetention):
    """Records of a site where a machine stores an artifact again while records are asked."""

    def __init__(self, artifacts: DirectoryArtifacts) -> None:
        super().__init__()
        self._artifacts = artifacts

    def named(self, prefix: str, without: Policy | None = None) -> dict[str, str]:
        self._artifacts.put(b"again")
        return {}


def test_an_artifact_that_is_stored_again_meanwhile_stays(tmp_path: Path) -> None:
    artifacts = DirectoryArtifacts(tmp_path)
    key = artifacts.put(b"again")
    for path in tmp_path.glob("*/*/*.gz"):
        os.utime(path, (0, 0))
    artifacts.mark("site")
    assert collect_artifacts(MemoryStore(), StoredAgain(artifacts), artifacts, key[0], time.time()) == 0
    assert artifacts.get(key) == b"again"


def test_every_record_that_expired_goes_and_pairs_stay_until_an_operator_decides() -> None:
    retention = MemoryRetention([MemoryRecord(kind, 10_000) for kind in Kind for _ in range(501)])
    deleted = prune(MemoryStore(), retention, policy_with({}))
    assert deleted == {kind: 501 for kind in Kind if kind.stored_as not in {"pairs", "samples"}}
    assert prune(MemoryStore(), retention, policy_with({"pairs": 60})) == {Kind.PAIRS: 501}


def test_while_another_process_deletes_the_schedule_stores_its_days_and_marks_no_deletion() -> None:
    store, retention = MemoryStore(), MemoryRetention([MemoryRecord(Kind.PAIRS, 61)])
    with store.exclusive(SECTION), pytest.raises(Transient):
        prune_by_schedule(store, retention, policy_with({"pairs": 60}))
    assert (retention.kept_policy(), retention.marks) == (policy_with({"pairs": 60}), 0)
    prune_by_schedule(store, retention, policy_with({"pairs": 60}))
    assert (retention.records, retention.marks) == ([], 1)


def test_nothing_is_deleted_while_a_backup_copies(tmp_path: Path) -> None:
    store, artifacts = MemoryStore(), DirectoryArtifacts(tmp_path)
    key = artifacts.put(b"old")
    os.utime(next(tmp_path.glob("*/*/*.gz")), (0, 0))
    retention = MemoryRetention([MemoryRecord(Kind.LOGS, 10_000)])
    artifacts.mark("site")
    with store.exclusive(SECTION):
        with pytest.raises(Transient, match="or a backup runs"):
            prune(store, retention, policy_with({}))
        with pytest.raises(Transient, match="or a backup runs"):
            collect_artifacts(store, retention, artifacts, key[0], time.time())
    assert (len(retention.records), artifacts.get(key)) == (1, b"old")


def test_each_part_of_the_artifacts_has_its_turn_once_a_day() -> None:
    turns = [part_at(1e9 + place * PART_SECONDS) for place in range(len(PARTS))]
    assert sorted(turns) == sorted(PARTS)
    assert len(PARTS) * PART_SECONDS == 24 * 3600


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pears": 60}, "pears: must be one of events, logs, "),
        ({"pairs": 3}, "pairs: must be a number of days from 14 to 36500"),
        ({"logs": 40_000}, "logs: must be a number of days from 7 to 36500"),
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        policy_with(given)
