"""Read ``.gitmodules``, and resolve and check the URLs of submodules."""

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

SHOWN: Final = 80  # characters of a path or a URL in a message, which must also say what to do
_COMMIT_SHOWN: Final = 12
LONGEST: Final = 500  # characters of a name, path or URL
_SECTION: Final = "submodule."
_AUTHORITY: Final = re.compile(r"([a-z][a-z0-9+.-]*)://([^/]*)/?", re.IGNORECASE)
_SCP: Final = re.compile(r"(?![^/]*::)([^/\s:]+):(?!/)")  # user@host:path
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/@]*@")
_HELPER: Final = re.compile(r"[\w.+-]*::")  # git would start a remote helper of this name
_NOWHERE: Final = "\0"  # no URL contains it
_REPLACED: Final = frozenset({"ssh", "git+ssh", "ssh+git", "git", "http"})
# Servers may read these as "." or "/"; for some, a `;` ends the name of a folder.
_HIDDEN_DOT: Final = re.compile(r"%2e|%2f|%5c|\\|(?:^|/)\.{1,2};", re.IGNORECASE)
_ADDED: Final = re.compile(r"[?#]")  # what is appended to the URL would be part of a query or fragment


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of ``.gitmodules``. ``is_left_out``: it has git's ``update = none``."""

    name: str
    path: str
    url: str
    is_left_out: bool = False


@dataclass(frozen=True, slots=True)
class Submodule:
    """A submodule to fetch; ``path`` begins at the top of all sources, and ``url`` is absolute.

    A project of a manifest is fetched in the same way; ``what`` names the kind in errors.
    """

    name: str
    path: str
    commit: str
    url: str
    what: str = "submodule"

    def missing(self, why: str, *, is_foreign: bool = False) -> Incomplete:
        """Make the error that says why it cannot be fetched."""
        where = f"{plain(redacted(self.url), SHOWN)} at {self.commit[:_COMMIT_SHOWN]}"
        return Incomplete(
            f"{self.what} {plain(self.path, SHOWN) or 'at the top'}", f"{where}: {why}", is_foreign=is_foreign
        )


def read_entries(listed: bytes) -> tuple[Entry, ...]:
    """Parse the output of ``git config --list -z`` for a ``.gitmodules``.

    Entries without a path or a URL are left out, as in git.

    Raises:
        Incomplete: a name, path or URL could lead somewhere else.
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
    """Return the submodules of a repository: entries with a commit in the revision.

    Args:
        entries: of its ``.gitmodules``.
        commits: the revision's submodule commits by path. A commit without an entry stays an empty directory,
            because its URL is unknown.
        url: the repository's URL, which resolves relative ones.
        folder: the repository's path from the top of all sources; empty for the project itself.

    Raises:
        Incomplete: a relative URL leads beyond the server.
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
    """Resolve a URL as git does: ``../lib`` is next to the repository that has the submodule.

    Raises:
        Incomplete: it leads beyond the server.
    """
    if not url.startswith(("./", "../")):
        return url
    server = server_of(parent)
    folders = folders_of(parent, server)
    if not follow(url, folders):
        raise Incomplete(what, f"its URL is {brief(url)}, which leaves {redacted(server)}")
    return server + "/".join(folders)


def folders_of(url: str, prefix: str) -> list[str]:
    """Return the parts of a URL's path after a prefix, the repository's own name last."""
    return [each for each in url[len(prefix) :].split("/") if each]


def follow(path: str, folders: list[str]) -> bool:
    """Follow a relative path from ``folders``, in place; return whether it stays below the first one."""
    stays = True
    for part in path.split("/"):
        if part == "..":
            stays = stays and bool(folders)
            del folders[-1:]
        elif part not in {"", "."}:
            folders.append(part)
    return stays


def server_of(url: str) -> str:
    """Return the part of a URL that names the server: ``https://host/``, ``git@host:`` or ``/``."""
    if found := _AUTHORITY.match(url):
        return f"{found[1]}://{found[2]}/"
    if found := _SCP.match(url):
        return found[0]
    return "/" if url.startswith("/") else ""


def own_prefix(url: str, project: str) -> str:
    """Return the URL prefix that all projects of a server share, from the URL of one project.

    It ends before the project's name, or before the last part of a URL that does not end with that name. It
    is never the root of this machine's files. For an empty URL, it matches no URL.
    """
    whole, server = url.rstrip("/").removesuffix(".git"), server_of(url)
    project = project.removesuffix(".git")
    path = whole[len(server) :]
    if project and f"/{path}".endswith(f"/{project}"):
        folder = path[: -len(project)]
    else:
        folder = path[: path.rfind("/") + 1]
    if not folder and _is_local(server):
        return f"{whole}/" if path else _NOWHERE
    return server + folder


def reachable_prefix(url: str, parent: str) -> str:
    """Return the prefix of the URLs that a relative URL can reach: the folder that its `..` lead to.

    It stands in for :func:`own_prefix` if the project's name is unknown.

    Args:
        url: relative to ``parent``; an absolute one reaches the project's own folder.
        parent: the project's URL.
    """
    server, closest = server_of(parent), own_prefix(parent, "")
    if not url.startswith("../"):
        return closest
    folders = folders_of(parent, server)[: -url.split("/").count("..")]
    return server + "".join(f"{each}/" for each in folders) if folders or not _is_local(server) else closest


def address_to_fetch(url: str, own: str, allowed: AllowedSources) -> str:
    """Return the URL to fetch a submodule from.

    Args:
        url: the submodule's.
        own: the URL prefix of the project's server, which is trusted; it may have credentials.
        allowed: other sources, from which repositories are fetched over https only.

    Raises:
        BadInput: the source is not allowed; says which setting to change.
    """
    if url.startswith(own):
        return url
    if url.startswith(redacted(own)):
        return own + url[len(redacted(own)) :]
    public = over_https(url)
    allowed.require(public)
    return public


def over_https(url: str) -> str:
    """Rewrite an ssh, git or http URL to https; return any other unchanged."""
    if found := _SCP.match(url):
        return f"https://{found[1].rpartition('@')[2]}/{url[found.end() :]}"
    if (found := _AUTHORITY.match(url)) and found[1].lower() in _REPLACED:
        host = found[2].rpartition("@")[2]
        # A port belongs to the other protocol.
        if ":" not in host and not is_loopback(host):
            return f"https://{host}/{url[found.end() :]}"
    return url


def redacted(url: str) -> str:
    """Return a URL without user and password."""
    return _CREDENTIALS.sub("", url)


def _is_local(server: str) -> bool:
    return server in {"", "/"} or server.lower().startswith("file://")


def _entry(name: str, found: Mapping[str, str]) -> Entry:
    what = f"submodule {brief(name)}"
    path, url = found["path"].rstrip("/"), found["url"]
    for label, text, is_bad in (
        ("name", name, may_escape),
        ("path", path, may_escape),
        ("URL", url, may_mislead),
    ):
        if len(text) > LONGEST or is_bad(text):
            raise Incomplete(what, f".gitmodules gives it the {label} {brief(text)}, which is not allowed")
    return Entry(name, path, url, is_left_out=found.get("update") == "none")


def may_escape(path: str) -> bool:
    """Return whether a name or path could lead out of its directory or into ``.git``."""
    parts = [part.lower() for part in path.split("/")]
    return (
        path.startswith("-")
        or "\\" in path
        or not path.isprintable()
        or not {"", ".", "..", ".git"}.isdisjoint(parts)
    )


def may_mislead(url: str) -> bool:
    """Return whether git or a server could take a URL for something else."""
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
    """Return whether a web URL has credentials; those of ssh need a user."""
    found = _AUTHORITY.match(url)
    return found is not None and "@" in found[2] and found[1].lower() in {"http", "https"}
