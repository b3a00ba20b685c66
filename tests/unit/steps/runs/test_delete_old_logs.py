from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.artifacts import DirectoryArtifacts
from service.domain.values.errors import NotFound
from service.steps.runs.sweep import delete_old_logs
from tests.support.memory.old_logs import DAY, HOUR, MemoryOldLogs

if TYPE_CHECKING:
    from pathlib import Path


def test_the_artifacts_of_an_old_log_are_deleted_an_hour_after_its_rows(tmp_path: Path) -> None:
    artifacts = DirectoryArtifacts(tmp_path)
    old, shared, lately = (artifacts.put(name) for name in (b"old", b"shared", b"lately"))
    for path in tmp_path.glob("*/*/*.gz"):
        if lately not in path.name:
            os.utime(path, (time.time() - 2 * HOUR,) * 2)
    logs = MemoryOldLogs(logs={"1": ((old, shared, lately), -91 * DAY)}, named={shared})
    assert delete_old_logs(logs, artifacts) == 0
    logs.now += HOUR + 1
    assert delete_old_logs(logs, artifacts) == 1
    with pytest.raises(NotFound):
        artifacts.get(old)
    assert (artifacts.get(shared), artifacts.get(lately)) == (b"shared", b"lately")
    assert logs.unneeded == {}
