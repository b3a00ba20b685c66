"""Names the tool chain that builds inside a sandbox, so that only like binaries are compared."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

from service.domain.building.sandbox_command import Command, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.building.sandbox_command import Completed

ASKED: Final = ("c++", "cc", "cmake", "ld")
ASK_WITHIN: Final = Limits(wall_seconds=60.0, log_bytes=1 << 16)


class Runner(Protocol):
    """What runs the programs that are asked: the sandbox that will also build."""

    def run(
        self,
        command: Command,
        *,
        log: BinaryIO | None,
        watch: Callable[[], None],
        discard_output: bool = False,
    ) -> Completed:
        """Run a command to its end."""


def toolchain_fingerprint(
    sandbox: Runner, root: Path = Path("/"), watch: Callable[[], None] = lambda: None
) -> tuple[str, Mapping[str, str]]:
    """A fingerprint of the tool chain, and the versions it is made of.

    The packages' state is part of it: a library that a build links may change while no compiler does.

    Args:
        sandbox: runs ``c++``, ``cc``, ``cmake`` and ``ld``; one that is not there is ``absent``.
        root: where the system's files lie.
        watch: as for ``run``.
    """
    versions = {program: _version_of(program, sandbox, watch) for program in ASKED}
    versions["system"] = _system_of(root / "etc/os-release")
    versions["packages"] = _digest_of(root / "var/lib/dpkg/status")
    canonical = json.dumps(versions, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest(), versions


def _version_of(program: str, sandbox: Runner, watch: Callable[[], None]) -> str:
    output = io.BytesIO()
    ended = sandbox.run(Command((program, "--version"), limits=ASK_WITHIN), log=output, watch=watch)
    lines = output.getvalue().decode(errors="replace").splitlines()
    return lines[0] if ended.is_success and lines else "absent"


def _system_of(path: Path) -> str:
    if not path.exists():
        return "unknown"
    for line in path.read_text(errors="replace").splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip('"')
    return "unknown"


def _digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "unknown"
