"""Check the broker's users: each plane works with its own, and is refused everything else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import redis
from redis.exceptions import NoPermissionError

from service.adapters.runs.queue import CeleryQueue
from service.domain.values.errors import Transient
from service.ports.runs.queue import Task
from tests.integration.adapters.runs.broker_server import Broker, running_broker, running_worker
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.integration

USERS = ("web", "control", "pool.perf")
# They show, change or end what belongs to others, or run a program in the server.
DANGEROUS = (
    "FLUSHALL",
    "FLUSHDB",
    "CONFIG GET *",
    "CONFIG SET maxmemory 1",
    "KEYS *",
    "SCAN 0",
    "EVAL return(1) 0",
    "SCRIPT LOAD return(1)",
    "FUNCTION LIST",
    "ACL LIST",
    "ACL SETUSER web allcommands",
    "CLIENT LIST",
    "CLIENT KILL TYPE normal",
    "MONITOR",
    "SAVE",
    "SHUTDOWN NOSAVE",
    "REPLICAOF 127.0.0.1 1",
    "PUBLISH control 1",
    "DEL control",
    "RENAME control pool.perf",
)
# Keys of another plane or pool, by commands that the user may use on its own keys.
FOREIGN = {
    "web": ("LLEN control", "LPUSH control x", "BRPOP pool.perf 1"),
    "control": ("BRPOP pool.perf 1", "LPUSH other x", "SADD control.binding x"),
    "pool.perf": (
        "BRPOP control 1",
        "BRPOP pool.arm 1",
        "LLEN control",
        "LLEN pool.arm",
        "LLEN pool.perf2",
        "LPUSH control x",
        "LPUSH pool.arm x",
        "LPUSH pool.perf x",
        "SADD _kombu.binding.control x",
        "SADD _kombu.binding.pool.arm x",
        "SMEMBERS _kombu.binding.control",
        "LLEN unacked",
    ),
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.fixture
def broker(running: Broker) -> Broker:
    """The broker without keys and without a memory of refusals."""
    with running.client("admin") as client:
        client.flushall()
        client.acl_log_reset()
    return running


@pytest.mark.parametrize(
    ("pool", "user", "task"),
    [
        ("control", "control", Task.PLAN),
        ("perf", "pool.perf", Task.EXECUTE),
        ("perf", "pool.perf", Task.HEARTBEAT),
    ],
)
def test_a_worker_takes_hints_with_the_user_of_its_plane(
    broker: Broker, tmp_path: Path, pool: str, user: str, task: Task
) -> None:
    queue, log = CeleryQueue(broker.url("control")), tmp_path / "worker.log"

    def taken() -> int:
        return len(re.findall(rf"Task {task.celery_name}\[\S+\] received", log.read_text()))

    queue.send(task, 1, pool)
    assert queue.waiting() == (pool == "control")
    with running_worker(pool, broker.url(user), log):
        assert eventually(lambda: taken() == 1), log.read_text()
        queue.send(task, 2, pool)  # now the worker waits in the server
        assert eventually(lambda: taken() == 2), log.read_text()
    assert broker.refusals() == []


def test_no_key_is_shared_by_queues(broker: Broker, tmp_path: Path) -> None:
    for task, pool in ((Task.PLAN, "control"), (Task.EXECUTE, "perf"), (Task.EXECUTE, "arm")):
        CeleryQueue(broker.url("control")).send(task, 1, pool)
    log = tmp_path / "worker.log"
    with running_worker("perf", broker.url("pool.perf"), log):
        assert eventually(lambda: "benchgate.execute[" in log.read_text()), log.read_text()
        with broker.client("admin") as client:
            keys = {key.decode() for key in client.scan_iter()}
    queues = {"control", "pool.perf", "pool.arm"}
    tables = {f"_kombu.{table}.{queue}" for table in ("binding", "binding_permanent") for queue in queues}
    assert {"control", "pool.arm"} <= keys <= {"control", "pool.arm"} | tables


def test_the_web_part_sees_that_the_broker_answers_and_sends_nothing(broker: Broker) -> None:
    queue = CeleryQueue(broker.url("web"))
    assert queue.check() == ""
    with pytest.raises(Transient, match="no permissions to run"):
        queue.send(Task.PLAN, 1, "")
    with broker.client("admin") as client:
        assert client.keys() == []


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("command", DANGEROUS)
def test_no_plane_may_do_what_endangers_others(broker: Broker, user: str, command: str) -> None:
    with broker.client(user) as client, pytest.raises(NoPermissionError):
        client.execute_command(*command.split())


@pytest.mark.parametrize(
    ("user", "command"), [(user, command) for user, commands in FOREIGN.items() for command in commands]
)
def test_a_plane_cannot_use_the_keys_of_another(broker: Broker, user: str, command: str) -> None:
    with broker.client("admin") as admin:
        admin.lpush("control", "a hint")
        admin.lpush("pool.arm", "a hint")
        admin.lpush("pool.perf", "a hint")
        with broker.client(user) as client, pytest.raises(NoPermissionError):
            client.execute_command(*command.split())
        assert [admin.llen(queue) for queue in ("control", "pool.arm", "pool.perf")] == [1, 1, 1]


def test_without_a_user_nothing_is_allowed(broker: Broker) -> None:
    with (
        redis.Redis.from_url(f"redis://127.0.0.1:{broker.port}/0") as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()


def test_a_wrong_password_is_a_problem_of_the_broker(broker: Broker) -> None:
    problem = CeleryQueue(broker.url("web").replace("of-web", "guess")).check()
    assert "invalid username-password pair" in problem
    assert "guess" not in problem
