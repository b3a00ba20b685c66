"""Find out the rights of a broker's user with commands that change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kombu import Connection
from kombu.exceptions import OperationalError
from redis.exceptions import NoPermissionError, RedisError, ResponseError

from service.adapters.runs.queue import CONTROL_QUEUE, TRANSPORT
from service.domain.machines.connections import BrokerRights, Path
from service.domain.values.errors import Transient
from service.domain.values.loopback import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable

# The server checks the right before the arguments: FLUSHALL refuses this one, and so empties nothing.
_PROBES: Final = {
    "FLUSHALL": ("FLUSHALL", "benchgate-doctor"),
    "CONFIG": ("CONFIG", "GET", "benchgate-doctor"),
    "KEYS": ("KEYS", "benchgate-doctor"),
    "EVAL": ("EVAL", "return 1", "0"),
    "ACL": ("ACL", "LIST"),
}


def read_broker_rights(url: str) -> BrokerRights:
    """Find out the rights of the user in the broker's address.

    Raises:
        Transient: the broker does not answer, or does not let the user in.
        ValueError: the address cannot be read; the message may contain a part of it.
    """
    options = {**TRANSPORT, "socket_timeout": 5}
    try:
        with Connection(url, transport_options=options, connect_timeout=2) as connection:
            connection.ensure_connection(max_retries=1, timeout=2)
            host = connection.hostname or ""
            channel: Any = connection.default_channel
            run = channel.client.execute_command
            return BrokerRights(
                user=connection.userid or "default",
                path=Path(
                    is_local=host.startswith("socket://") or is_loopback(host),
                    is_encrypted=bool(connection.ssl),
                ),
                commands=frozenset(name for name, words in _PROBES.items() if _may(run, words)),
                reads_control=_may(run, ("LLEN", CONTROL_QUEUE)),
            )
    except (OperationalError, RedisError, OSError) as error:
        raise Transient(f"the broker does not answer: {error}") from error


def _may(run: Callable[..., object], words: tuple[str, ...]) -> bool:
    try:
        run(*words)
    except NoPermissionError:
        return False
    except ResponseError:
        pass  # it refuses the arguments, not the user
    return True
