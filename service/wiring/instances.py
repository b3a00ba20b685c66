"""Check that the database stores changes of the review servers that the settings name."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.stored_servers import stored_servers
from service.domain.values.errors import BadInput, Transient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.adapters.postgres.stored_servers import StoredServer
    from service.config.control import ControlSettings

_ONE: Final = "BENCHGATE_INSTANCE"
_SEVERAL: Final = "BENCHGATE_GERRITS"


def require_instances(database_url: str, settings: ControlSettings) -> frozenset[str]:
    """Check the names as :func:`check_instances`, unless the database cannot be reached.

    Raises:
        BadInput: a name cannot be used.
    """
    with suppress(Transient):  # each process of a worker checks again before it stores anything
        return check_instances(database_url, settings)
    return frozenset(settings.instances)


def check_instances(database_url: str, settings: ControlSettings) -> frozenset[str]:
    """Check that each review server has the name that the database stores its changes under.

    Under a second name, every open change would be run and voted on twice; and two servers under one name
    would get each other's votes.

    Returns:
        the names of the review servers that are configured or stored.

    Raises:
        BadInput: a name is another one than that in the database.
        Transient: the database cannot be used now.
    """
    engine = make_engine(database_url)
    try:
        stored = stored_servers(engine)
    finally:
        engine.dispose()
    if settings.gerrits:
        _check_known(settings, stored)
    else:
        _check_only(settings.instance, stored)
    for name, gerrit in settings.gerrit_servers.items():
        _check_address(name, gerrit.url.rstrip("/"), stored, _SEVERAL if settings.gerrits else _ONE)
    return frozenset(settings.instances) | {server.instance for server in stored}


def _check_only(instance: str, stored: Sequence[StoredServer]) -> None:
    """Check the only review server: it is that of the last contact, or the database has its address."""
    named = {server.instance for server in stored if server.url}
    if stored and instance not in {stored[0].instance, *named}:
        raise BadInput(
            f"is {instance}, but the database stores the changes of {stored[0].instance}: set it to "
            f"{stored[0].instance}, or use another database",
            _ONE,
        )


def _check_known(settings: ControlSettings, stored: Sequence[StoredServer]) -> None:
    """Check that no new name may belong to a stored server of unknown address."""
    unknown = [each.instance for each in stored if each.url is None and each.instance not in settings.gerrits]
    new = settings.gerrits.keys() - {each.instance for each in stored}
    if unknown and new:
        raise BadInput(
            f"{min(new)} is new, but the database also stores the changes of {unknown[0]}, whose address it "
            f"does not know, so {min(new)} may be the same server: start Benchgate once with the settings of "
            f"{unknown[0]} alone, or run `benchgate migrate --move {unknown[0]}=URL` with its address",
            _SEVERAL,
        )


def _check_address(name: str, url: str, stored: Sequence[StoredServer], variable: str) -> None:
    """Check that a name and an address belong together."""
    for server in stored:
        if server.instance == name and server.url and server.url != url:
            raise BadInput(
                f"{name} is at {url}, but the database stores the changes of {server.url} as {name}: if that "
                f"server moved, run `benchgate migrate --move {name}={url}`, else choose another name",
                variable,
            )
        if server.instance != name and server.url == url:
            raise BadInput(
                f"{url} is named {name}, but the database stores its changes as {server.instance}: name it "
                f"{server.instance}, or use another database",
                variable,
            )
