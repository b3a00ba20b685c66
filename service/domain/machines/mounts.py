"""Check the directories that an operator wants to mount into every sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import BadInput
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

SETTING: Final = "BENCHGATE_MOUNTS"
_ADVICE: Final = "list directories with nothing but tool chains and libraries, such as /opt/gcc-13"
PRIVATE: Final = "which no program of a build may see"
"""Why files of the system and of its users are refused."""
# Private files come first, because they are the best reason against `/`.
REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("/etc", "/home", "/root", "/var", "/run", "/boot", "/tmp"),  # noqa: S108 - refused, not used
            PRIVATE,
        ),
        **dict.fromkeys(("/proc", "/sys", "/dev"), "of which each sandbox has views of its own"),
        **dict.fromkeys(
            ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
            "which each sandbox shows already",
        ),
        **dict.fromkeys(
            (
                *("/src", "/build", "/out", "/in", "/deps", "/first", "/second"),
                *("/linkers", "/linked", "/compiler-cache", "/compiler-cache-run"),
            ),
            "where sandboxes show the files of a build",
        ),
    }
)
"""Directories that cannot be mounted, with the reasons."""


@dataclass(frozen=True, slots=True)
class MachineMount:
    """A directory of the machine, mounted read-only into each sandbox at the same path.

    ``digest`` is over its files, and ``files`` is their number.
    """

    path: str
    digest: str
    files: int


def require_allowed(path: str, refused: Mapping[str, str]) -> None:
    """Raise BadInput if a directory is, contains or is within a refused one.

    Args:
        path: absolute, without a trailing slash.
        refused: reasons by directory, in the same form.
    """
    for other, reason in refused.items():
        if path == other:
            relation = "is a directory"
        elif _is_within(path, other):
            relation = f"is within {plain(other)},"
        elif _is_within(other, path):
            relation = f"contains {plain(other)},"
        else:
            continue
        raise BadInput(f"{plain(path)} {relation} {reason}; {_ADVICE}", SETTING)


def _is_within(path: str, directory: str) -> bool:
    return path.startswith(f"{directory.rstrip('/')}/")
