"""Find out the rights of the broker's users, as `benchgate doctor --connections` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.embedded.valkey import EmbeddedValkey
from service.adapters.runs.broker_rights import read_broker_rights
from service.domain.machines.connections import BROKER_COMMANDS, BrokerRights, Path
from service.domain.values.errors import Transient
from tests.integration.adapters.runs.broker_server import running_broker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path as FilePath

    from tests.integration.adapters.runs.broker_server import Broker

pytestmark = pytest.mark.integration

HERE = Path(is_local=True, is_encrypted=False)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.mark.parametrize(
    ("user", "commands", "reads_control"),
    [
        ("web", (), False),
        ("control", (), True),
        ("pool.perf", (), False),
        ("admin", tuple(BROKER_COMMANDS), True),
    ],
)
def test_the_rights_of_a_user(
    broker: Broker, user: str, commands: tuple[str, ...], *, reads_control: bool
) -> None:
    expected = BrokerRights(user, HERE, frozenset(commands), reads_control=reads_control)
    assert read_broker_rights(broker.url(user)) == expected


def test_finding_out_changes_nothing(broker: Broker) -> None:
    with broker.client("admin") as client:
        client.lpush("control", "a hint")
        read_broker_rights(broker.url("admin"))
        assert client.llen("control") == 1


def test_the_default_user_of_a_socket(tmp_path: FilePath) -> None:
    server = EmbeddedValkey(tmp_path / "valkey")
    server.start(durable=False)
    try:
        expected = BrokerRights("default", HERE, frozenset(BROKER_COMMANDS), reads_control=True)
        assert read_broker_rights(server.broker_url) == expected
    finally:
        server.stop()


@pytest.mark.parametrize("word", ["of-web", "of-perf"])
def test_a_refused_password_is_not_repeated(broker: Broker, word: str) -> None:
    with pytest.raises(Transient) as caught:
        read_broker_rights(broker.url("control").replace("of-control", word))
    assert "invalid username-password pair" in str(caught.value)
    assert word not in str(caught.value)
