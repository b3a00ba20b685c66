"""Check URLs against the hosts and prefixes that an operator allows a machine to fetch from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from service.domain.values.errors import BadInput, ForeignSource
from service.domain.values.loopback import is_loopback
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

SETTING: Final = "BENCHGATE_FETCH_FROM"
FORMS: Final = (
    "a host (`example.org`), or the beginning of a URL (`https://example.org/team/`, `file:///srv/mirror/`)"
)
_LONGEST: Final = 2000  # characters; more than servers accept
# No credentials, because everybody can read a project file. No fragment, because servers do not receive it.
# The characters are those of RFC 3986, without those that programs read differently (`\`, `@` in a path).
_HOST: Final = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?"
_URL: Final = re.compile(
    rf"(?:(?P<scheme>https?)://(?P<host>{_HOST})(?::(?P<port>[0-9]{{1,5}}))?|file://)"
    r"(?P<path>(?:/[A-Za-z0-9._~!$&'()*+,;=:%-]*)*)(?P<query>\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?"
)
# `.` and `..` could leave a prefix; for some servers, a `;` ends the name of a folder.
_UP: Final = re.compile(r"(?:\.|%2e){1,2}(?:;.*)?", re.IGNORECASE)
_HIDDEN: Final = re.compile(r"%(?:2f|5c|00)", re.IGNORECASE)  # an encoded slash, backslash or NUL
_PORTS: Final = {"https": "443", "http": "80"}


@dataclass(frozen=True, slots=True)
class SourceUrl:
    """A URL, normalised so that prefixes can be compared; ``host`` is empty for ``file``."""

    scheme: str
    host: str
    port: str
    segments: tuple[str, ...]

    @classmethod
    def parse(cls, url: str) -> Self:
        """Parse a URL.

        Raises:
            BadInput: machines never fetch from such a URL; says what is wrong.
        """
        found = _URL.fullmatch(url) if len(url) <= _LONGEST else None
        if found is None or (found["scheme"] is None and (not found["path"] or found["query"])):
            raise BadInput(
                "a URL without credentials that begins with https:// is needed", plain(url) or "an empty URL"
            )
        segments = tuple(found["path"].split("/")[1:])
        if any(_UP.fullmatch(each) or _HIDDEN.search(each) for each in segments):
            raise BadInput(
                "a URL must not contain '.', '..' or a coded slash as part of its path", plain(url)
            )
        if found["scheme"] is None:
            return cls("file", "", "", segments)
        scheme, host = found["scheme"], found["host"].lower()
        if scheme == "http" and not is_loopback(host):
            raise BadInput("http:// is not protected: use https://", plain(url))
        return cls(scheme, host, found["port"] or _PORTS[scheme], segments)

    def begins_with(self, prefix: SourceUrl) -> bool:
        """Return whether the URL is a prefix or below it; ``/teams`` is not below ``/team``."""
        own = (self.scheme, self.host, self.port)
        if own != (prefix.scheme, prefix.host, prefix.port):
            return False
        first = prefix.segments[:-1] if prefix.segments[-1:] == ("",) else prefix.segments
        return self.segments[: len(first)] == first


@dataclass(frozen=True, slots=True)
class AllowedSources:
    """Allowlist of the URLs that a machine may fetch from; empty by default."""

    prefixes: tuple[SourceUrl, ...] = ()

    @classmethod
    def parse(cls, entries: Iterable[str]) -> Self:
        """Parse the entries of the setting.

        Raises:
            BadInput: an entry is neither a host nor the beginning of a URL.
        """
        prefixes = []
        for entry in entries:
            try:
                prefixes.append(SourceUrl.parse(entry if "://" in entry else f"https://{entry}"))
            except BadInput as error:
                problem = f"{plain(entry)!r} is not allowed ({error.what}); allowed is {FORMS}"
                raise BadInput(problem, SETTING) from None
        return cls(tuple(prefixes))

    def require(self, url: str) -> None:
        """Raise ForeignSource unless a URL is allowed; the error says who can change which setting."""
        parsed = SourceUrl.parse(url)
        if not any(parsed.begins_with(prefix) for prefix in self.prefixes):
            wanted = parsed.host or "the beginning of this URL"
            raise ForeignSource(
                f"this machine does not fetch from there: its operator can add {wanted} to {SETTING}",
                plain(url),
            )


NOTHING: Final = AllowedSources()
"""The default: fetch from nowhere."""
