"""Keep the ID of an installation in the directory of its host."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from service.adapters.machines.installation import installation_id, kept_name
from service.domain.values.errors import Unfit

if TYPE_CHECKING:
    from pathlib import Path


def test_machines_that_start_at_once_have_the_id_of_their_host(tmp_path: Path) -> None:
    home = tmp_path / "machines" / "perf-01"
    with ThreadPoolExecutor(4) as starting:
        found = set(starting.map(installation_id, [home] * 8))
    assert len(found) == 1
    assert len(found.pop()) == 32
    assert [each.name for each in home.iterdir()] == ["install"]
    assert installation_id(tmp_path / "machines" / "perf-02") != installation_id(home)


def test_a_host_keeps_its_name_when_the_systems_name_changes(tmp_path: Path) -> None:
    """Neither a copied home nor one that hosts share gives a name away."""
    machines = tmp_path / "machines"
    systems = {name: tmp_path / name for name in ("first", "second", "without")}
    for name, root in systems.items():
        (root / "etc").mkdir(parents=True)
        if name != "without":
            (root / "etc" / "machine-id").write_text(f"{name}\n")
    for name, root in systems.items():
        installation_id(machines / f"perf-{name}", root)
    assert [kept_name(machines, "new", root) for root in systems.values()] == [
        "perf-first",
        "perf-second",
        "new",
    ]
    assert kept_name(machines, "perf-second", systems["first"]) == "perf-second"


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "install").mkdir()
    with pytest.raises(Unfit, match="install: cannot keep the ID"):
        installation_id(tmp_path)
