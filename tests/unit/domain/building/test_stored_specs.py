"""Specs as the database holds them: their sequences and binaries must stay valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from service.domain.building.spec import BuildSpec

STORED: Final[list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[3] / "samples" / "specs" / "stored.json").read_text()
)


@pytest.mark.parametrize("stored", STORED, ids=lambda stored: stored["spec"]["job"])
def test_a_stored_spec_keeps_its_hashes(stored: dict[str, Any]) -> None:
    spec = BuildSpec.from_mapping(stored["spec"])

    assert spec.to_mapping() == stored["spec"]
    assert spec.sequence == stored["sequence"]
    assert (spec.job.config_hash, spec.job.build_hash) == (stored["config_hash"], stored["build_hash"])
