"""Profiles in gperftools' format, of programs whose functions are known."""

from __future__ import annotations

import json
import re
import struct
from typing import TYPE_CHECKING, Any

from service.domain.building.sandbox_command import Completed
from tests.unit.domain.gbench_files import row, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from service.ports.building import ByteSink

BEGIN, OFFSET, OBJECT = 0x400000, 0x1000, "/build/bench"
LIBRARY, LIBC = 0x900000, "/lib/libc.so.6"
LOOP = "BM(benchmark::State&)"


def profile_bytes(stacks: Iterable[tuple[int, Sequence[int]]], maps: str = "") -> bytes:
    """Write samples and their stacks, from the innermost address."""
    words = [0, 3, 0, 1000, 0]
    for count, addresses in stacks:
        words += [count, len(addresses), *addresses]
    words += [0, 1, 0]
    usual = f"{BEGIN:x}-{BEGIN + 0x10000:x} r-xp {OFFSET:08x} fe:01 12    {OBJECT}\n"
    usual += f"{LIBRARY:x}-{LIBRARY + 0x1000:x} r-xp 00000000 fe:01 13    {LIBC}\n"
    return struct.pack(f"<{len(words)}Q", *words) + (maps or usual).encode()


def write_sample(program: str, pattern: str, output: Path, log: ByteSink | None) -> Completed:
    """Sample the code's ``samples`` by function, called by the loop; without them, there is no profiler.

    A function of the code's ``waits`` sleeps for all of its samples.
    """
    behaviour = json.loads(program)
    samples: Mapping[str, int] | None = behaviour.get("samples")
    if samples is None:
        if log is not None:
            log.write(b"libprofiler.so.0 is missing")
        return Completed(127, 0.1)
    waits = behaviour.get("waits", ())
    libraries = [LIBRARY + k + (k > 0) for k in range(len(_libraries(behaviour)))]
    stacks = [
        (count, [*(libraries if name in waits else []), BEGIN + 16 + k + (name in waits), BEGIN + 1])
        for k, (name, count) in enumerate(samples.items())
    ]
    idle = sum(samples[name] for name in waits) / sum(samples.values())
    times = whole(
        *(
            row(name, real_time=1e9 * time, cpu_time=1e9 * time * (1 - idle), iterations=10**7)
            for name, time in behaviour["benchmarks"].items()
            if re.search(pattern, name)
        )
    )
    output.write_bytes(b"%d\n%b%b" % (len(times), times, profile_bytes(stacks)))
    return Completed(0, 1.0)


def write_names(program: str, output: Path) -> Completed:
    """Name the functions that :func:`write_sample` sampled."""
    behaviour = json.loads(program)
    samples = behaviour["samples"]
    lines = [f"{OFFSET + 16 + k} {name}(int)" for k, name in enumerate(samples)]
    library = [f"object {LIBC}", *(f"{k} {name}" for k, name in enumerate(_libraries(behaviour)))]
    output.write_text("\n".join([f"object {OBJECT}", f"{OFFSET} {LOOP}", *lines, *library]))
    return Completed(0, 0.1)


def _libraries(behaviour: Mapping[str, Any]) -> list[str]:
    """Name the functions of libraries that a wait is in, the innermost first."""
    return str(behaviour.get("waits for", "clock_nanosleep")).split()
