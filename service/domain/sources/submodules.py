"""The submodules of a revision: the entries of its ``.gitmodules``, checked, and their addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import Incomplete
from service.domain.values.loopback import is_loopback
from service.domain.values.text import brief, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.sources.allowed import AllowedSources

FILE: Final = ".gitmodules"
DEEPEST: Final = 5  # submodules of submodules; real projects have three levels
MOST: Final = 200  # of a revision; the largest known projects have about 160

SHOWN: Final = 80  # characters of a path or an address, so that a message has room for what to do
_COMMIT_SHOWN: Final = 12
LONGEST: Final = 500  # characters of a name, path or address
_SECTION: Final = "submodule."
_AUTHORITY: Final = re.compile(r"([a-z][a-z0-9+.-]*)://([^/]*)/?", re.IGNORECASE)
_SCP: Final = re.compile(r"(?![^/]*::)([^/\s:]+):(?!/)")  # user@host:path
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/@]*@")
_HELPER: Final = re.compile(r"[\w.+-]*::")  # git would start a program of this name
_NOWHERE: Final = "\0"  # no address has it
_REPLACED: Final = frozenset({"ssh", "git+ssh", "ssh+git", "git", "http"})
# Servers may read them as "." or "/"; to some, a `;` ends the name of a folder.
_HIDDEN_DOT: Final = re.compile(r"%2e|%2f|%5c|\\|(?:^|/)\.{1,2};", re.IGNORECASE)
_ADDED: Final = re.compile(r"[?#]")  # the rest would come to stand behind it, and name no repository any more


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of ``.gitmodules``. ``is_left_out``: git's ``update = none`` says that nobody needs it."""

    name: str
    path: str
    url: str
    is_left_out: bool = False


@dataclass(frozen=True, slots=True)
class Submodule:
    """A submodule of a revision: its path from the top of all sources, its commit and its full address.

    ``what`` names it in errors; a project of a manifest is fetched and placed as a submodule is.
    """

    name: str
    path: str
    commit: str
    url: str
    what: str = "submodule"

    def missing(self, why: str) -> Incomplete:
        """Describe why it cannot be had."""
        where = f"{plain(shown(self.url), SHOWN)} at {self.commit[:_COMMIT_SHOWN]}"
        return Incomplete(f"{self.what} {plain(self.path, SHOWN) or 'at the top'}", f"{where}: {why}")


def read_entries(listed: bytes) -> tuple[Entry, ...]:
    """Parse the output of ``git config --list -z`` for a ``.gitmodules``.

    An entry without a path or an address is left out: git ignores it too.

    Raises:
        Incomplete: a name, path or address could lead somewhere else.
    """
    sections: dict[str, dict[str, str]] = {}
    for item in listed.decode(errors="surrogateescape").split("\0"):
        key, _, value = item.partition("\n")
        name, _, variable = key.removeprefix(_SECTION).rpartition(".")
        if key.startswith(_SECTION) and variable in {"path", "url", "update"}:
            sections.setdefault(name, {})[variable] = value
    return tuple(_entry(name, found) for name, found in sections.items() if {"path", "url"} <= found.keys())


def submodules_of(
    entries: tuple[Entry, ...], commits: Mapping[str, str], url: str, folder: str = ""
) -> tuple[Submodule, ...]:
    """Return the submodules of a repository: the entries at whose paths the revision has a commit.

    Args:
        entries: of its ``.gitmodules``.
        commits: the revision's commits of submodules by path. One without an entry stays an empty directory,
            because nobody could know where it comes from.
        url: the address of the repository, to which theirs may be relative.
        folder: the place of the repository in all sources; empty for the project itself.

    Raises:
        Incomplete: a relative address leads beyond the server.
    """
    return tuple(
        Submodule(
            entry.name,
            f"{folder}/{entry.path}".lstrip("/"),
            commits[entry.path],
            resolve(entry.url, url, f"submodule {plain(entry.path)}"),
        )
        for entry in entries
        if entry.path in commits and not entry.is_left_out
    )


def resolve(url: str, parent: str, what: str) -> str:
    """Resolve an address as git does: ``../lib`` is beside the repository that has the submodule.

    Raises:
        Incomplete: it leads beyond the server, or is an address that git could take for an option.
    """
    if not url.startswith(("./", "../")):
        return url
    server = server_of(parent)
    folders = [each for each in parent[len(server) :].split("/") if each]
    for part in url.split("/"):
        if part == "..":
            if not folders:
                raise Incomplete(what, f"its URL is {brief(url)}, which leaves {shown(server)}")
            folders.pop()
        elif part not in {"", "."}:
            folders.append(part)
    return server + "/".join(folders)


def server_of(url: str) -> str:
    """Return the part of an address that names the server: ``https://host/``, ``git@host:`` or ``/``."""
    if found := _AUTHORITY.match(url):
        return f"{found[1]}://{found[2]}/"
    if found := _SCP.match(url):
        return found[0]
    return "/" if url.startswith("/") else ""


def own_part(url: str, project: str) -> str:
    """Return what the addresses of all projects of a server begin with, from that of one project.

    It ends before the project's name; if the address does not end with that, before its last part. It is
    never the root of this machine's files; without an address, no address begins with it.
    """
    whole, server = url.rstrip("/").removesuffix(".git"), server_of(url)
    project = project.removesuffix(".git")
    path = whole[len(server) :]
    if project and f"/{path}".endswith(f"/{project}"):
        folder = path[: -len(project)]
    else:
        folder = path[: path.rfind("/") + 1]
    is_local = server in {"", "/"} or server.lower().startswith("file://")
    if is_local and not folder:
        return f"{whole}/" if path else _NOWHERE
    return server + folder


def reached_part(url: str, parent: str) -> str:
    """Return what the addresses begin with that a relative address reaches: the folder to which `..` lead.

    It is the own part of a project whose name is not known, only its address.

    Args:
        url: may be relative to the address of the project; from another one, the folder of the project.
        parent: the address of the project.
    """
    server, closest = server_of(parent), own_part(parent, "")
    if not url.startswith("../"):
        return closest
    folders = [each for each in parent[len(server) :].split("/") if each]
    kept = "".join(f"{each}/" for each in folders[: -url.split("/").count("..")])
    is_local = server in {"", "/"} or server.lower().startswith("file://")
    return closest if is_local and not kept else server + kept


def address_to_fetch(url: str, own: str, allowed: AllowedSources) -> str:
    """Return the address to fetch a submodule from.

    Args:
        url: of the submodule.
        own: what the addresses of the project's server begin with, maybe with credentials: it is trusted.
        allowed: other sources. From these, repositories are fetched over https, whatever their address says.

    Raises:
        BadInput: it is not allowed; says which setting to change.
    """
    if url.startswith(own):
        return url
    if url.startswith(shown(own)):
        return own + url[len(shown(own)) :]
    public = over_https(url)
    allowed.require(public)
    return public


def over_https(url: str) -> str:
    """Return the https address of a repository that is named by one of another protocol."""
    if found := _SCP.match(url):
        return f"https://{found[1].rpartition('@')[2]}/{url[found.end() :]}"
    if (found := _AUTHORITY.match(url)) and found[1].lower() in _REPLACED:
        host = found[2].rpartition("@")[2]
        # A port is that of the other protocol.
        if ":" not in host and not is_loopback(host):
            return f"https://{host}/{url[found.end() :]}"
    return url


def shown(url: str) -> str:
    """Return an address without its user and password."""
    return _CREDENTIALS.sub("", url)


def _entry(name: str, found: Mapping[str, str]) -> Entry:
    what = f"submodule {brief(name)}"
    path, url = found["path"].rstrip("/"), found["url"]
    for label, text, is_bad in (("name", name, leaves), ("path", path, leaves), ("URL", url, misleads)):
        if len(text) > LONGEST or is_bad(text):
            raise Incomplete(what, f".gitmodules gives it the {label} {brief(text)}, which is not allowed")
    return Entry(name, path, url, is_left_out=found.get("update") == "none")


def leaves(path: str) -> bool:
    """Return whether a name or path could lead out of a directory, or to git's own."""
    parts = [part.lower() for part in path.split("/")]
    return (
        path.startswith("-")
        or "\\" in path
        or not path.isprintable()
        or not {"", ".", "..", ".git"}.isdisjoint(parts)
    )


def misleads(url: str) -> bool:
    """Return whether git or a server could take an address for something else."""
    is_relative = url.startswith(("./", "../"))
    return (
        not 0 < len(url) <= LONGEST
        or url.startswith("-")
        or not url.isprintable()
        or (not is_relative and ".." in url.split("/"))
        or bool(_HELPER.match(url) or _HIDDEN_DOT.search(url) or _ADDED.search(url))
        or _has_credentials(url)
    )


def _has_credentials(url: str) -> bool:
    """Return whether an address names a user of a web server; ssh needs one."""
    found = _AUTHORITY.match(url)
    return found is not None and "@" in found[2] and found[1].lower() in {"http", "https"}
