"""Shorten paths of source files to what is the same on all machines."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from service.domain.failures.output.linear import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

SANDBOX: Final = ("/src", "/build")
# Checkout folders of CI servers: Jenkins, GitHub (three forms), GitLab.
_CHECKOUT: Final = Pattern(
    r"^.*?(?:/workspace/[^/]+|/(?:runner/work|__w)/[^/]+/[^/]+|^[A-Z]:/a/[^/]+/[^/]+|/builds/[^/]+/[^/]+)/"
)
_ABSOLUTE: Final = Pattern(r"^(?:[A-Za-z]:)?/")
_TEMPORARY: Final = Pattern(r"^(?:/private)?/(?:var/)?tmp/[^/]+$")
_RANDOM_END: Final = Pattern(r"^(.*[._-]|tmp)[A-Za-z0-9_]{6,}$")  # mkdtemp and the like

# Temporary files of GCC (`ccAbC123.o`) and Clang (`main-1a2b3c.o`).
_OF_COMPILER: Final = Pattern(r"^(?:(cc)[A-Za-z0-9]{6}|(.+-)[0-9a-f]{6})(\.[a-z].*)$")


def source_name(path: str, roots: Iterable[str] = SANDBOX) -> str:
    """Return the path of a file relative to the sources, or only the file's name if it is elsewhere.

    Args:
        path: as a program printed it, also with backslashes.
        roots: known folders of the sources; those of usual CI servers are recognised too.
    """
    text = path.replace("\\", "/")
    for root in roots:
        if text.startswith(f"{root.rstrip('/')}/"):
            return _relative(text[len(root.rstrip("/")) + 1 :])
    data = text.encode(errors="replace")
    if checkout := _CHECKOUT.search(data):
        return _relative(data[checkout[1] :].decode(errors="replace"))
    if _ABSOLUTE.search(data):
        name = posixpath.basename(text.rstrip("/"))
        return _without_random_part(name) if _TEMPORARY.search(data) else name
    return _relative(text)


def _without_random_part(name: str) -> str:
    data = name.encode(errors="replace")
    if parts := _OF_COMPILER.groups(data):
        return f"{parts[0] or parts[1]}N{parts[2]}"
    random = _RANDOM_END.groups(data)
    return f"{random[0]}N" if random else name


def _relative(path: str) -> str:
    place = posixpath.normpath(path) if path else ""
    while place.startswith("../"):  # relative to a build folder
        place = place[3:]
    return place
