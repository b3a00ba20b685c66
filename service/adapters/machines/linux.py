"""Read the properties and the load of a Linux machine from ``/proc`` and ``/sys``."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.machines.environment import Load, MachineEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CPU: Final = "sys/devices/system/cpu"
# The files that turn turbo off, each with its text while turbo is on.
TURBO_SWITCHES: Final = ((f"{CPU}/intel_pstate/no_turbo", "0"), (f"{CPU}/cpufreq/boost", "1"))
CACHE_LETTERS: Final = {"Data": "d", "Instruction": "i", "Unified": ""}


def read_environment(root: Path = Path("/")) -> MachineEnvironment:
    """Read the properties of this machine; None for a property that it does not show."""
    processor = _pairs(root / "proc/cpuinfo")
    online = _numbers(_text(root / CPU / "online"))
    is_virtualised = _is_virtualised(root, processor)
    turbo, turbo_switch = _turbo(root)
    siblings = [_numbers(_topology(root, cpu, "thread_siblings_list")) for cpu in online]
    governors = {_text(root / CPU / f"cpu{cpu}/cpufreq/scaling_governor") for cpu in online}
    return MachineEnvironment(
        cpu_model=_model(processor),
        microcode=processor.get("microcode"),
        cores=_cores(root, online),
        threads_per_core=max(map(len, siblings), default=0) or None,
        online_cpus=online,
        caches=_caches(root),
        numa_nodes=len(list((root / "sys/devices/system/node").glob("node[0-9]*"))) or None,
        governor=", ".join(sorted(filter(None, governors))) or None,
        turbo=turbo,
        turbo_switch=turbo_switch,
        smt=_smt(root, is_virtualised=is_virtualised),
        aslr=_number(_text(root / "proc/sys/kernel/randomize_va_space")),
        thp=_chosen(_text(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        kernel=_text(root / "proc/sys/kernel/osrelease"),
        clocksource=_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        is_virtualised=is_virtualised,
        memory_bytes=_kilobytes(_pairs(root / "proc/meminfo").get("MemTotal")),
    )


def read_load(root: Path = Path("/")) -> Load:
    """Read the current load of this machine.

    Raises:
        OSError: ``/proc`` is not mounted.
    """
    average, _, _, tasks = (root / "proc/loadavg").read_text().split()[:4]
    busy, idle, steal = {}, {}, {}
    for line in (root / "proc/stat").read_text().splitlines():
        name, *counts = line.split()
        if name.startswith("cpu") and name[3:].isdecimal():
            # user nice system idle iowait irq softirq steal; guest time is part of user time.
            user, nice, system, rest, waiting, hard, soft, stolen = map(int, [*counts, *["0"] * 8][:8])
            cpu = int(name[3:])
            busy[cpu] = user + nice + system + hard + soft
            idle[cpu] = rest + waiting
            steal[cpu] = stolen
    memory = _pairs(root / "proc/meminfo")
    throttles = [_number(_text(path)) for path in (root / CPU).glob("cpu*/thermal_throttle/*_throttle_count")]
    swap, free = _kilobytes(memory.get("SwapTotal")), _kilobytes(memory.get("SwapFree"))
    return Load(
        at=time.monotonic(),
        load1=float(average),
        running=int(tasks.partition("/")[0]),
        busy_ticks=busy,
        idle_ticks=idle,
        steal_ticks=steal,
        ticks_per_second=os.sysconf("SC_CLK_TCK"),
        available_bytes=_kilobytes(memory.get("MemAvailable")),
        swapped_bytes=None if swap is None or free is None else swap - free,
        throttles=sum(count or 0 for count in throttles) if throttles else None,
    )


def keep_off(cpus: Iterable[int]) -> None:
    """Keep this process and its children off these CPUs, unless no other CPU remains.

    Raises:
        OSError: the kernel refuses.
    """
    others = os.sched_getaffinity(0) - set(cpus)
    if others:
        os.sched_setaffinity(0, others)


def _model(processor: Mapping[str, str]) -> str | None:
    if name := processor.get("model name"):
        return name
    # On Arm the kernel shows only numbers, which identify the model as well.
    maker, part = processor.get("CPU implementer"), processor.get("CPU part")
    return f"implementer {maker} part {part}" if maker and part else None


def _is_virtualised(root: Path, processor: Mapping[str, str]) -> bool | None:
    if (root / "sys/hypervisor/type").exists():
        return True
    flags = processor.get("flags")  # x86 only; on other processors nothing is certain
    return None if flags is None else "hypervisor" in flags.split()


def _topology(root: Path, cpu: int, name: str) -> str | None:
    return _text(root / CPU / f"cpu{cpu}/topology/{name}")


def _cores(root: Path, online: tuple[int, ...]) -> int | None:
    cores = {(_topology(root, cpu, "physical_package_id"), _topology(root, cpu, "core_id")) for cpu in online}
    return len(cores) if cores and all(None not in core for core in cores) else None


def _caches(root: Path) -> tuple[str, ...]:
    caches = []
    for index in sorted((root / CPU / "cpu0/cache").glob("index*")):
        level, size = _text(index / "level"), _text(index / "size")
        kind = CACHE_LETTERS.get(_text(index / "type") or "")
        if level and size and kind is not None:
            caches.append(f"L{level}{kind} {size}")
    return tuple(caches)


def _turbo(root: Path) -> tuple[bool | None, str | None]:
    for name, when_on in TURBO_SWITCHES:
        if (value := _text(root / name)) is not None:
            return value == when_on, f"/{name}"
    return None, None


def _smt(root: Path, *, is_virtualised: bool | None) -> bool | None:
    active = _text(root / CPU / "smt/active")
    if active == "1":
        return True
    # A guest with one thread per core may share its host's cores with other guests.
    return None if active is None or is_virtualised else False


def _text(path: Path) -> str | None:
    """Read a small file without its end of line; return None if it is missing or empty."""
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text().strip() or None
    return None


def _pairs(path: Path) -> dict[str, str]:
    """Read the first value of every key of a file with lines ``key : value``."""
    pairs: dict[str, str] = {}
    for line in (_text(path) or "").splitlines():
        key, separator, value = line.partition(":")
        if separator:
            pairs.setdefault(key.strip(), value.strip())
    return pairs


def _numbers(text: str | None) -> tuple[int, ...]:
    """Parse a list of CPU numbers such as ``0-3,8``."""
    numbers: list[int] = []
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            numbers += range(int(first), int(last if last.isdecimal() else first) + 1)
    return tuple(numbers)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _kilobytes(text: str | None) -> int | None:
    """Convert a value such as ``2048 kB`` to bytes."""
    amount = _number((text or "").partition(" ")[0])
    return None if amount is None else amount * 1024


def _chosen(text: str | None) -> str | None:
    """Extract the choice in brackets of a line such as ``always [madvise] never``."""
    before, bracket, rest = (text or "").partition("[")
    return rest.partition("]")[0] if bracket else (before.strip() or None)
