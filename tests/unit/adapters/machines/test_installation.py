"""Keep the ID of an installation in the directory of its host."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from service.adapters.machines.installation import goes_on, installation_id, kept_name
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


def system(root: Path, machine_id: str) -> Path:
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "machine-id").write_text(f"{machine_id}\n")
    return root


def nobody(_host: str) -> bool:
    return False


def test_a_host_keeps_its_name_when_the_systems_name_changes(tmp_path: Path) -> None:
    """Neither a copied home nor one that hosts share gives a name away."""
    machines = tmp_path / "machines"
    systems = {name: system(tmp_path / name, digit * 32) for name, digit in (("first", "1"), ("second", "2"))}
    for name, root in systems.items():
        installation_id(machines / f"perf-{name}", root)
    assert [kept_name(machines, "new", nobody, root) for root in systems.values()] == [
        "perf-first",
        "perf-second",
    ]
    assert kept_name(machines, "perf-second", nobody, systems["first"]) == "perf-second"


@pytest.mark.parametrize("machine_id", ["", "uninitialized", "abc123"])
def test_a_system_without_an_id_of_its_own_takes_no_name(tmp_path: Path, machine_id: str) -> None:
    root = system(tmp_path, machine_id)
    installation_id(tmp_path / "machines" / "perf-01", root)
    assert kept_name(tmp_path / "machines", "perf-02", nobody, root) == "perf-02"


def test_a_name_under_which_another_machine_works_is_not_taken(tmp_path: Path) -> None:
    root = system(tmp_path, "1" * 32)
    installation_id(tmp_path / "machines" / "perf-01", root)
    assert kept_name(tmp_path / "machines", "perf-02", lambda host: host == "perf-01", root) == "perf-02"


@pytest.mark.parametrize(
    ("looks", "goes", "waits"),
    [
        ([None], False, []),
        ([3600.0], False, []),
        ([20.0, 61.0], False, [41.0]),  # the worker of this system ended when its name changed
        ([20.0, 5.0], True, [41.0]),
    ],
)
def test_a_machine_that_reports_twice_is_another_one(
    looks: list[float | None], waits: list[float], *, goes: bool
) -> None:
    slept: list[float] = []
    assert (goes_on(iter(looks).__next__, slept.append), slept) == (goes, waits)


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "install").mkdir()
    with pytest.raises(Unfit, match="install: cannot keep the ID"):
        installation_id(tmp_path)
