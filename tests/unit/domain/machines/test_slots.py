"""Divide a host into the machines of several pools."""

from __future__ import annotations

import pytest

from service.domain.machines.slots import share_of_cpus, slots_of
from service.domain.values.errors import BadInput


@pytest.mark.parametrize(
    ("pools", "builds_beside", "machines"),
    [
        (["perf"], 8, ["host"]),
        (["perf", "linux"], 1, ["host", "host/linux"]),
        (["perf", "linux"], 2, ["host", "host/linux", "host/linux/2"]),
        (["perf", "linux", "lint"], 1, ["host", "host/linux", "host/lint"]),
        (["perf", "linux", "lint"], 3, ["host", "host/linux", "host/linux/2", "host/lint", "host/lint/2"]),
    ],
)
def test_the_first_pool_has_the_hosts_name_and_the_others_share_the_number_of_builds(
    pools: list[str], builds_beside: int, machines: list[str]
) -> None:
    slots = slots_of("host", pools, builds_beside)
    assert [slot.machine for slot in slots] == machines
    assert slots[0].pool == pools[0]
    assert all(slot.machine.split("/")[1] == slot.pool for slot in slots[1:])


def test_a_pool_cannot_be_named_twice() -> None:
    with pytest.raises(BadInput, match="name each pool once"):
        slots_of("host", ["perf", "perf"], 1)


@pytest.mark.parametrize(("cpus", "builds_beside", "share"), [(2, 1, 2), (64, 32, 2), (8, 3, 2), (1, 4, 1)])
def test_a_build_uses_its_share_of_the_cpus(cpus: int, builds_beside: int, share: int) -> None:
    assert share_of_cpus(cpus, builds_beside) == {
        "CMAKE_BUILD_PARALLEL_LEVEL": str(share),
        "CTEST_PARALLEL_LEVEL": str(share),
        "MAKEFLAGS": f"-j{share}",
    }
