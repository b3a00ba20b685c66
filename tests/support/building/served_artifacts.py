"""The routes of artifacts over directories, for a machine that holds a build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.adapters.building.artifacts import DirectoryArtifacts
from service.domain.access.caller import TokenHolder
from service.domain.access.scopes import parse_scope
from service.ports.building import ArtifactKind
from tests.support.access.callers import Callers
from tests.support.web import build_artifacts

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi import FastAPI

TOKEN: Final = "bgt_perf-01"
OTHER: Final = "bgt_perf-02"


def holders_of_machines() -> dict[str, TokenHolder]:
    """The holders of the two tokens."""
    return {
        text: TokenHolder(token_id=number, name=text, scopes=frozenset({parse_scope(f"machine:{text[4:]}")}))
        for number, text in enumerate((TOKEN, OTHER))
    }


def served(
    root: Path, leases: set[str] | None = None, holders: dict[str, TokenHolder] | None = None
) -> FastAPI:
    """Serve stores below ``root`` to two machines; ``leases``: those that hold a build, by default both."""
    holders = holders_of_machines() if holders is None else holders
    stores = {kind: DirectoryArtifacts(root / kind) for kind in ArtifactKind}
    leases = {"perf-01", "perf-01/lint", "perf-02"} if leases is None else leases
    return build_artifacts(stores, Callers(tokens=holders).access(), leases)
