"""Assemble what a worker or `benchgate gate` builds and measures with, without the database."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from service.adapters.building import built_files, opened_files, packing, relink
from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.host_faults import HostFaults
from service.adapters.building.sandbox.mounts import ENVIRONMENT
from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.adapters.building.scratch import DirectoryScratch
from service.adapters.building.toolchain import toolchain_fingerprint
from service.adapters.machines.linux import read_load
from service.adapters.sources.dependencies.cache import CachedDependencies
from service.adapters.sources.git.mirror import GitSource
from service.kinds.comparing import explain_reported, measure_claimed
from service.kinds.runners import RUNNERS
from service.ports.building import ArtifactKind
from service.steps.building.session import BuildHost, CompilerCache
from service.wiring.permitted import NOTHING_PERMITTED, Permitted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from service.ports.building import Artifacts, Sandbox


def make_build_host(
    home: Path,
    remote: Callable[[str], str],
    cpus: tuple[int, ...],
    *,
    is_sandboxed: bool,
    artifacts: Mapping[ArtifactKind, Artifacts] | None = None,
    permitted: Permitted = NOTHING_PERMITTED,
) -> BuildHost:
    """Make the build host of a worker or of `benchgate gate`; its files are in ``home``.

    ``artifacts`` are the stores that it shares with other machines; by default, directories below ``home``.
    ``permitted`` are the sources of dependencies, submodules and LFS files, besides the server of ``remote``,
    and the directories that sandboxes show. Without a sandbox there is no compiler cache, because any build
    could write to it.

    Raises:
        Unfit: this host cannot isolate programs; there is no silent fallback.
    """
    runner: Sandbox = BubblewrapSandbox(mounts=permitted.mounts) if is_sandboxed else DirectRunner()
    directory = home.absolute() / "scratch"
    sandbox, scratch = HostFaults(runner, directory), DirectoryScratch(directory)
    fingerprint, tools = toolchain_fingerprint(runner, mounts=permitted.mounts)
    # The measured CPUs belong to the machine, although a worker stays off them.
    there = tuple(sorted(os.sched_getaffinity(0) | set(cpus)))
    own = home.absolute() / "artifacts"
    artifacts = artifacts or {kind: DirectoryArtifacts(directory_of(own, kind)) for kind in ArtifactKind}
    return BuildHost(
        source=GitSource(home.absolute() / "git", remote, allowed=permitted.sources),
        sandbox=sandbox,
        artifacts=artifacts[ArtifactKind.BUILDS],
        packer=packing,
        inspector=built_files,
        opened_files=opened_files,
        linkers=relink.install(home.absolute() / "linkers"),
        compiler_cache=_compiler_cache(home.absolute()) if is_sandboxed else None,
        toolchain=fingerprint,
        tools=tools,
        cpus=cpus or there,
        host_cpus=there,
        scratch=scratch,
        dependencies=CachedDependencies(
            home / "dependencies", permitted.sources, scratch, sandbox, artifacts[ArtifactKind.DOWNLOADS]
        ),
        read_load=read_load,
        runners=RUNNERS,
        explain=explain_reported,
        measure_left_out=measure_claimed,
    )


def directory_of(root: Path, kind: ArtifactKind) -> Path:
    """Return the directory of a store; that of downloads is within the artifact directory."""
    return root if kind is ArtifactKind.BUILDS else root / kind


def _compiler_cache(home: Path) -> CompilerCache | None:
    """Return the compiler cache, or None if the sandbox shows no ``ccache``."""
    is_there = shutil.which("ccache", path=ENVIRONMENT["PATH"]) is not None
    return CompilerCache(home / "compiler-cache") if is_there else None
