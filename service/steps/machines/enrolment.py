"""Settings of a machine that joins a site on other hosts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.project.forms import NAME
from service.domain.sources.submodules import redacted
from service.domain.values.errors import BadInput
from service.domain.values.loopback import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PASSWORD: Final = "PASSWORD"  # stands for one that the control plane does not know
# Only what is known to be public is copied: any other part of an address may belong to a password.
_OPTION: Final = r"(?:sslmode|sslrootcert|ssl_ca_certs|ssl_cert_reqs|connect_timeout)=[\w./%-]*"
_ADDRESS: Final = re.compile(
    r"(?P<scheme>[a-z0-9+]+://)(?:[^/?#@]*@)?(?P<host>[\w.-]+|\[[\w:.]+\])"
    rf"(?P<rest>(?::\d+)?(?:/[\w./%-]*)?(?:\?{_OPTION}(?:&{_OPTION})*)?)",
    re.ASCII,
)
_CERTIFICATE: Final = re.compile(r"(?:sslrootcert|ssl_ca_certs)=(?!system)([^&]+)")
# The user of an SSH address is no secret.
_GIT: Final = re.compile(r"(?:(?!http)(?:[a-z+]+://)?[^/?#@:]*@)?[^?#@]*", re.IGNORECASE)
_LOCAL: Final = re.compile(r"file:|[^/:]*(?:/|$)")


@dataclass(frozen=True, slots=True)
class Site:
    """Addresses that the control plane uses, by setting."""

    database_url: str
    redis_url: str
    base_url: str
    git_url: str = ""
    git_urls: Mapping[str, str] = field(default_factory=dict)
    fetch_from: Sequence[str] = ()


def machine_settings(name: str, pool: str, site: Site, token_file: str) -> Mapping[str, str]:
    """Return the environment variables of a machine's worker, without credentials of the control plane.

    The machines' database role and the pool's broker user stand there with the word ``PASSWORD``.

    Raises:
        BadInput: no job can name the pool; an address leads nowhere from another host, or may have a
            password in an unusual place. The message has no part of an address.
    """
    try:
        NAME.after(pool)
    except ValueError as error:
        raise BadInput(str(error), "--pool") from None
    if pool == "control":
        raise BadInput("names the control plane's own worker, not a pool of machines", "--pool")
    if "@" in site.base_url or not (base := _reachable(site.base_url)) or base["scheme"] != "https://":
        raise BadInput(
            "must be an https:// address without credentials that other hosts can reach: they get artifacts "
            "and send logs there",
            "BENCHGATE_BASE_URL",
        )
    if re.search("[@?#]", "".join(site.fetch_from)):
        raise BadInput("has an entry with @, ? or #, and so perhaps a password", "BENCHGATE_FETCH_FROM")
    git_urls = {each: _public(url, f"BENCHGATE_GIT_URLS[{each}]") for each, url in site.git_urls.items()}
    settings = {
        "BENCHGATE_MACHINE_NAME": name,
        "BENCHGATE_MACHINE_DATABASE_URL": _as(
            site.database_url, "benchgate_machine", "BENCHGATE_DATABASE_URL"
        ),
        "BENCHGATE_REDIS_URL": _as(site.redis_url, f"pool.{pool}", "BENCHGATE_REDIS_URL"),
        "BENCHGATE_ARTIFACTS": site.base_url,
        "BENCHGATE_MACHINE_TOKEN_FILE": token_file,
        "BENCHGATE_GIT_URL": _public(site.git_url, "BENCHGATE_GIT_URL"),
        "BENCHGATE_GIT_URLS": json.dumps(git_urls, ensure_ascii=False) if git_urls else "",
        "BENCHGATE_FETCH_FROM": json.dumps(site.fetch_from) if site.fetch_from else "",
    }
    if bad := [key for key, value in settings.items() if re.search(r"['\\\n]", value)]:
        raise BadInput("must have no single quote, backslash or line feed, for worker.env", bad[0])
    return {key: value for key, value in settings.items() if value}


def notes_on(settings: Mapping[str, str], site: Site) -> Iterator[str]:
    """Yield what the machine needs besides the settings that :func:`machine_settings` returned."""
    for key, value in settings.items():
        for path in _CERTIFICATE.findall(value):
            yield f"{key} needs the certificate {path} on the machine, too"
    urls = [url for url in (site.git_url, *site.git_urls.values()) if url]
    if not urls:
        yield "the site has no Git address; set BENCHGATE_GIT_URL in worker.env"
    if any(map(_LOCAL.match, urls)):
        yield "a Git address is a path; the machine needs the repositories there"
    if any(url != _public(url, "") for url in urls):
        yield "a Git address is written without its credentials; the worker's user needs its own"


def _reachable(url: str) -> re.Match[str] | None:
    """Divide an address; return None if other hosts cannot reach it or a part may be secret."""
    parts = _ADDRESS.fullmatch(url)
    return None if parts is None or is_loopback(parts["host"].strip("[]")) else parts


def _as(url: str, user: str, setting: str) -> str:
    """Return an address with another user."""
    if not (parts := _reachable(url)):
        raise BadInput(
            "must be SCHEME://USER:PASSWORD@HOST:PORT/NAME with a host that others can reach; percent-encode "
            "special characters of the password, and use no options but sslmode, sslrootcert, ssl_ca_certs, "
            "ssl_cert_reqs and connect_timeout",
            setting,
        )
    return f"{parts['scheme']}{user}:{PASSWORD}@{parts['host']}{parts['rest']}"


def _public(url: str, setting: str) -> str:
    """Return a Git address without credentials."""
    public = redacted(url) if url.lower().startswith("http") else url
    if not _GIT.fullmatch(public):
        raise BadInput("may have a password: it has @, ? or # in an unusual place", setting)
    return public
