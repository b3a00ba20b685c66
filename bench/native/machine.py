"""Describe the machine and the build that figures come from, for readers of the table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from service.adapters.machines.linux import read_environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ABSENT: Final = "not stated"


def facts(contexts: Iterable[Mapping[str, object]], load_before: tuple[float, float, float]) -> str:
    """Make a Markdown list of the machine now, and of the builds by the contexts of the results."""
    environment = read_environment()
    known = list(contexts)
    lines = {
        "CPU": f"{environment.cpu_model or _ABSENT}, {len(os.sched_getaffinity(0))} CPUs that may be used",
        "caches of a CPU": ", ".join(environment.caches) or _ABSENT,
        "topology": _said(known, "benchgate_topology"),
        "virtual machine": {None: _ABSENT, True: "yes", False: "no"}[environment.is_virtualised],
        "kernel": environment.kernel or _ABSENT,
        "load average": f"{_load(load_before)} before, {_load(os.getloadavg())} after",
        "compiler": _said(known, "benchgate_compiler"),
        "flags": _said(known, "benchgate_compiler_flags"),
        "library": f"Google Benchmark {_said(known, 'benchgate_library_version')}",
    }
    return "### The machine\n\n" + "\n".join(f"* {name}: {value}" for name, value in lines.items()) + "\n"


def _said(contexts: Iterable[Mapping[str, object]], key: str) -> str:
    """Join the different values of a key in the results."""
    return "; ".join(dict.fromkeys(str(each[key]) for each in contexts if key in each)) or _ABSENT


def _load(average: tuple[float, float, float]) -> str:
    one, five, _ = average
    return f"{one:.1f} over one minute and {five:.1f} over five"
