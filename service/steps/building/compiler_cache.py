"""Let builds use the compiler cache, and count its hits."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.building.compiler_cache import (
    PREPROCESSOR,
    REFUSE_MODULES,
    STATISTICS,
    count_hits,
    environment_of,
    may_add,
    mounts_of,
    owner_of,
)
from service.domain.values.errors import BadResults
from service.domain.wording.outlook import cached

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from service.domain.building.sandbox_command import Mount
    from service.domain.building.spec import Revision
    from service.steps.building.session import BuildSession

_LOG_BYTES: Final = 64 << 20  # of a hundred thousand compilations


@dataclass(frozen=True, slots=True)
class Cached:
    """Mounts and variables of a revision's build commands; none without a cache."""

    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)


@contextmanager
def compiler_cache(session: BuildSession, revision: Revision) -> Iterator[Cached]:
    """Let a revision's build commands use the cache of its project, if the host has one.

    At the end of the block, the log gets the cache hits.
    """
    host, spec = session.host, session.spec
    if host.compiler_cache is None:
        yield Cached()
        return
    directory, is_writable = host.compiler_cache.directory / owner_of(spec), may_add(spec, revision)
    directory.mkdir(parents=True, exist_ok=True)
    os.utime(directory)  # evicted by this time, that of its last use
    with host.scratch.directory() as own:
        (own / PREPROCESSOR).write_text(REFUSE_MODULES)
        (own / PREPROCESSOR).chmod(0o755)
        yield Cached(
            mounts_of(directory, own, is_writable=is_writable),
            environment_of(host.toolchain, host.compiler_cache.limit, is_writable=is_writable),
        )
        _report(session, own)


def _report(session: BuildSession, own: Path) -> None:
    # A build that compiles nothing writes none, and one of a patch set may write anything.
    with suppress(BadResults):
        hits, compilations = count_hits(session.host.packer.read_output(own / STATISTICS, _LOG_BYTES))
        if compilations:
            session.log.write(f"== {cached(hits, compilations)}\n".encode())
