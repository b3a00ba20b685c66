"""Fingerprint the tool chain in a sandbox, so that only programs of one tool chain are compared."""

from __future__ import annotations

import hashlib
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Command, Limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from service.domain.machines.mounts import MachineMount
    from service.ports.building import Sandbox

PROGRAMS: Final = ("c++", "cc", "cmake", "ld")
# What a program for this very processor may depend on; the names on x86 and on ARM.
_OF_CPU: Final = re.compile(
    r"^(vendor_id|cpu family|model|model name|flags|CPU implementer|CPU variant|CPU part|Features)\s*: (.*)$",
    re.MULTILINE,
)
_NAME: Final = re.compile(r'^PRETTY_NAME="?(.*?)"?$', re.MULTILINE)
VERSION_LIMITS: Final = Limits(wall_seconds=60.0, log_bytes=1 << 16)


def toolchain_fingerprint(
    sandbox: Sandbox, root: Path = Path("/"), mounts: Iterable[MachineMount] = ()
) -> tuple[str, Mapping[str, str]]:
    """Compute the fingerprint of the tool chain, and the versions that it covers.

    It also covers the state of the system's packages, because a linked library may change without a compiler,
    and the processor, because ``-march=native`` makes another program on each kind of processor.

    Args:
        sandbox: runs ``c++``, ``cc``, ``cmake`` and ``ld``; the version of a missing program is ``absent``.
        root: the root directory of the system.
        mounts: the machine's directories that builds see besides; any may have a compiler.
    """
    versions = {program: _version_of(program, sandbox) for program in PROGRAMS}
    release, packages = root / "etc/os-release", root / "var/lib/dpkg/status"
    system = _NAME.search(release.read_text(errors="replace")) if release.exists() else None
    versions["system"] = system[1] if system else "unknown"
    versions["packages"] = (
        hashlib.sha256(packages.read_bytes()).hexdigest() if packages.exists() else "unknown"
    )
    versions["processor"] = _processor(root / "proc/cpuinfo")
    versions |= {each.path: each.digest for each in mounts}
    canonical = json.dumps(versions, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest(), versions


def _processor(path: Path) -> str:
    """Digest the kinds of processors and what they can do, but not their number or frequencies."""
    if not path.exists():
        return "unknown"
    found = sorted({f"{name}: {value}" for name, value in _OF_CPU.findall(path.read_text(errors="replace"))})
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


def _version_of(program: str, sandbox: Sandbox) -> str:
    output = io.BytesIO()
    ended = sandbox.run(
        Command((program, "--version"), limits=VERSION_LIMITS), log=output, watch=lambda: None
    )
    lines = output.getvalue().decode(errors="replace").splitlines()
    return lines[0] if ended.is_success and lines else "absent"
