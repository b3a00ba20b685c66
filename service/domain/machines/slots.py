"""Divide a host that serves several pools: into machines, and its CPUs among builds."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Slot:
    """A machine of a host; it takes builds of one pool, one at a time."""

    machine: str
    pool: str


def slots_of(name: str, pools: Sequence[str], builds_beside: int) -> tuple[Slot, ...]:
    """Divide a host into machines for its pools.

    The first pool gets one machine with the host's own name: it keeps the history of benchmarks.
    The other pools share the ``builds_beside`` concurrent builds evenly, rounded up.

    Raises:
        BadInput: a pool is named twice.
    """
    if len(set(pools)) < len(pools):
        raise BadInput("name each pool once; BENCHGATE_BUILDS_BESIDE sets the number of builds", "--pool")
    first, *others = pools
    each = -(-builds_beside // max(1, len(others)))
    return (
        Slot(name, first),
        *(
            Slot(f"{name}/{pool}" if place == 1 else f"{name}/{pool}/{place}", pool)
            for pool in others
            for place in range(1, each + 1)
        ),
    )


def share_of_cpus(cpus: int, builds_beside: int) -> Mapping[str, str]:
    """Return environment variables that limit a build's parallelism to its share of the CPUs."""
    share = max(1, cpus // builds_beside)
    return MappingProxyType(
        {
            "CMAKE_BUILD_PARALLEL_LEVEL": f"{share}",
            "CTEST_PARALLEL_LEVEL": f"{share}",
            "MAKEFLAGS": f"-j{share}",
        }
    )
