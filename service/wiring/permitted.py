"""Read what the operator of a machine permits to builds: sources to fetch, directories to see."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

from service.adapters.building.sandbox.machine_mounts import paths_of_address, read_mounts
from service.domain.machines.mounts import PRIVATE, REFUSED
from service.domain.sources.allowed import NOTHING, AllowedSources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from service.config.machine import MachineSettings
    from service.domain.machines.mounts import MachineMount

_OF_STATE: Final = "which has data of Benchgate"
_OF_USER: Final = "which is the home of Benchgate's user"
_OF_NO_USER: Final = Path("/")  # the home of accounts that have no files
_OF_CONNECTIONS: Final = "which a connection of Benchgate uses"
_OF_PROJECTS: Final = "which has the repositories of projects"


@dataclass(frozen=True, slots=True)
class Permitted:
    """The permissions of builds on a machine.

    ``sources`` may be fetched from, besides the project's own server. ``mounts`` are seen by all programs.
    """

    sources: AllowedSources = NOTHING
    mounts: tuple[MachineMount, ...] = ()

    @classmethod
    def read(cls, settings: MachineSettings, home: Path, keys: Iterable[Path] = ()) -> Self:
        """Read the settings of a machine that keeps its data in ``home``; slow for large directories.

        ``keys`` are files of the control plane, if that is on this machine.

        Raises:
            BadInput: an entry cannot be permitted; names the setting and the entry.
        """
        mounts = read_mounts(settings.mounts, refused_directories(settings, home, keys))
        return cls(AllowedSources.parse(settings.fetch_from), mounts)


def refused_directories(
    settings: MachineSettings, home: Path, keys: Iterable[Path] = ()
) -> Mapping[str, str]:
    """Return the directories and files that builds must not see on this machine, each with the reason.

    ``keys`` are files of the control plane, if that is on this machine.
    """
    addresses = (settings.machine_database_url, settings.redis_url)
    remotes = (settings.git_url, *settings.git_urls.values())
    reasons: dict[Path | None, str] = {
        home: _OF_STATE,
        None if settings.artifacts_url else settings.artifacts_path: _OF_STATE,
        settings.machine_token_file: _OF_CONNECTIONS,
        Path(os.environ.get("HOME", "/")): _OF_USER,
        **{Path(path): _OF_CONNECTIONS for url in addresses for path in paths_of_address(url)},
        **dict.fromkeys(keys, _OF_CONNECTIONS),
        **{Path(path): _OF_PROJECTS for path in map(_repositories, remotes) if path.startswith("/")},
    }
    own = {
        str(path): reason
        for given, reason in reasons.items()
        if given is not None and given != _OF_NO_USER
        for path in (given.absolute(), given.resolve())
    }
    # An entry leads through no link, but /home or /var may be one.
    linked = {str(Path(path).resolve()): reason for path, reason in REFUSED.items() if reason == PRIVATE}
    return MappingProxyType(dict(REFUSED) | linked | own)


def _repositories(url: str) -> str:
    """Return the directory of all repositories of an address; their names may have a common beginning."""
    path, variable, _ = url.removeprefix("file://").partition("{project}")
    return path.rpartition("/")[0] if variable else path


NOTHING_PERMITTED: Final = Permitted()
"""The permissions if the operator sets none."""
