"""Settings of a machine that joins a site on other hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from service.domain.values.errors import BadInput
from service.domain.values.loopback import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

PASSWORD: Final = "PASSWORD"  # stands for one that the control plane does not know


@dataclass(frozen=True, slots=True)
class Site:
    """Addresses that the control plane uses, by setting."""

    database_url: str
    redis_url: str
    base_url: str
    git_url: str = ""


def machine_settings(name: str, pool: str, site: Site, token_file: str) -> Mapping[str, str]:
    """Return the environment variables of a machine's worker.

    The machines' database role and the pool's broker user stand there with the word ``PASSWORD``.

    Raises:
        BadInput: an address of the site leads nowhere from another host.
    """
    base = urlsplit(site.base_url)
    if base.scheme != "https" or is_loopback(base.hostname or ""):
        raise BadInput(
            "must be an https:// address that other hosts can reach: they get artifacts and send logs there",
            "BENCHGATE_BASE_URL",
        )
    settings = {
        "BENCHGATE_MACHINE_NAME": name,
        "BENCHGATE_MACHINE_DATABASE_URL": _as(
            site.database_url, "benchgate_machine", "BENCHGATE_DATABASE_URL"
        ),
        "BENCHGATE_REDIS_URL": _as(site.redis_url, f"pool.{pool}", "BENCHGATE_REDIS_URL"),
        "BENCHGATE_ARTIFACTS": site.base_url,
        "BENCHGATE_MACHINE_TOKEN_FILE": token_file,
    }
    return settings | ({"BENCHGATE_GIT_URL": site.git_url} if site.git_url else {})


def _as(url: str, user: str, setting: str) -> str:
    """Return an address with another user."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not host or is_loopback(host):
        raise BadInput("names a server that other hosts cannot reach; give it a host's name", setting)
    place = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{user}:{PASSWORD}@{place}").geturl()
