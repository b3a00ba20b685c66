"""Use the broker over TLS: the server must show a certificate that the address trusts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pytest
from kombu import pools

from service.adapters.runs.queue import CeleryQueue
from service.config.control import ControlSettings
from service.domain.values.errors import Transient
from service.ports.runs.queue import Task
from tests.integration.adapters.runs.broker_server import (
    Broker,
    encrypted,
    make_certificate,
    running_broker,
    running_worker,
)
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.integration


class Encrypted(NamedTuple):
    broker: Broker
    port: int
    authority: Path

    def url(self, user: str, host: str = "localhost", authority: str | None = "") -> str:
        """The address as the settings have it; without an authority the system's are trusted."""
        end = "" if authority is None else f"?ssl_ca_certs={authority or self.authority}"
        plain = self.broker.url(user).partition("@")[0].replace("redis://", "rediss://")
        return ControlSettings(redis_url=f"{plain}@{host}:{self.port}/0{end}").redis_url


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encrypted]:
    directory = tmp_path_factory.mktemp("tls")
    with running_broker(directory) as broker, encrypted(broker, directory) as port:
        yield Encrypted(broker, port, directory / "server.crt")


@pytest.fixture(autouse=True)
def _own_connections() -> None:
    """Forget open connections: Kombu shares them between addresses that differ only in the authority."""
    pools.reset()


def test_a_hint_is_sent_and_taken_over_tls(server: Encrypted, tmp_path: Path) -> None:
    queue, log = CeleryQueue(server.url("control")), tmp_path / "worker.log"
    assert queue.check() == ""
    queue.send(Task.EXECUTE, 1, "perf")
    with running_worker("perf", server.url("pool.perf"), log):
        received = re.compile(r"Task benchgate\.execute\[\S+\] received")
        assert eventually(lambda: received.search(log.read_text()) is not None), log.read_text()


def test_a_server_with_an_unknown_certificate_gets_no_password(server: Encrypted, tmp_path: Path) -> None:
    other, _ = make_certificate(tmp_path, "localhost")
    with server.broker.client("admin") as admin:
        before = admin.info("stats")["total_connections_received"]
        for authority in (None, str(other)):
            pools.reset()
            queue = CeleryQueue(server.url("control", authority=authority))
            assert "certificate verify failed" in queue.check()
            with pytest.raises(Transient, match="certificate verify failed"):
                queue.send(Task.EXECUTE, 1, "perf")
        assert admin.info("stats")["total_connections_received"] == before


def test_a_certificate_for_another_name_is_refused(server: Encrypted) -> None:
    assert "IP address mismatch" in CeleryQueue(server.url("control", host="127.0.0.1")).check()


def test_a_server_without_tls_gets_no_password(server: Encrypted) -> None:
    url = server.url("control").replace(str(server.port), str(server.broker.port))
    assert "the broker does not answer" in CeleryQueue(url).check()
    assert server.broker.refusals() == []
