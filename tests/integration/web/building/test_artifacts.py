"""Machines send and get artifacts: what a stolen token, a cut transfer or a hostile body can do."""

from __future__ import annotations

import gzip
import hashlib
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from random import Random
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import httpx
import pytest

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.building.compressed import IncomingFile
from service.domain.values.errors import NotFound
from service.web.building.artifacts import MOST_UPLOADS
from service.web.request_deadline import DeadlineProtocol
from tests.support.building.served_artifacts import OTHER, TOKEN, holders_of_machines, served
from tests.support.waiting import eventually
from tests.support.web import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.ports.building import IncomingArtifact

DATA: Final = Random("a program").randbytes(300_000)  # noqa: S311 - repeatable on purpose
KEY: Final = hashlib.sha256(DATA).hexdigest()
PACKED: Final = gzip.compress(DATA)
HOLDERS: Final = holders_of_machines()
LEASES: Final = {"perf-01", "perf-01/lint", "perf-02"}
PATH: Final = f"/api/v1/artifacts/builds/{KEY}?machine=perf-01"


class Quick(DeadlineProtocol):
    seconds = 1.0
    least_bytes = 1000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    with serving(served(root, LEASES, HOLDERS), Quick) as address:
        yield address


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    leases, holders = set(LEASES), dict(HOLDERS)
    yield
    LEASES.update(leases)
    HOLDERS.update(holders)


@pytest.fixture(autouse=True)
def empty(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_file():
            path.unlink()


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        yield client


def stored(root: Path) -> list[str]:
    return [path.name for path in root.rglob("*") if path.is_file()]


@contextmanager
def begun(
    address: str, sent: bytes, *, token: str = TOKEN, size: int = len(PACKED)
) -> Iterator[socket.socket]:
    """Send the head of an upload and a part of its body."""
    parts = urlsplit(address)
    head = (
        f"PUT {PATH} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {size}\r\n\r\n"
    )
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        connection.sendall(head.encode() + sent)
        yield connection


def test_an_artifact_that_was_sent_is_given_back_as_it_was_packed(client: httpx.Client) -> None:
    assert client.put(PATH, content=PACKED).status_code == 204
    answer = client.get(PATH, headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(answer.content) == DATA
    assert client.head(PATH).headers["content-length"] == str(len(PACKED))


def test_a_hung_store_leaves_threads_to_others(
    address: str, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, asked = threading.Event(), threading.Semaphore(0)

    def hang(*_: object) -> None:
        asked.release()
        answers.wait()
        raise NotFound("the store answers at last")

    monkeypatch.setattr(DirectoryArtifacts, "packed", hang)
    with ThreadPoolExecutor(50) as machines:
        for _ in range(50):
            machines.submit(httpx.get, address + PATH, headers=client.headers, timeout=60)
        try:
            assert all(asked.acquire(timeout=30) for _ in range(8))
            other = f"/api/v1/artifacts/builds/{KEY}?machine=perf-02"
            assert client.get(other, timeout=20).status_code == 403
        finally:
            answers.set()


@pytest.mark.parametrize("kept", [0, 1, 9, len(PACKED) // 2, len(PACKED) - 1])
def test_a_cut_transfer_leaves_nothing(address: str, client: httpx.Client, root: Path, kept: int) -> None:
    with begun(address, PACKED[:kept]):
        eventually(lambda: len(stored(root)) == 1)
        assert client.get(PATH).status_code == 404
    eventually(lambda: not stored(root))
    assert client.get(PATH).status_code == 404


def test_a_stalled_transfer_ends_and_hinders_no_other_one_of_the_same_bytes(
    address: str, client: httpx.Client, root: Path
) -> None:
    with begun(address, PACKED[:5000]) as connection:
        eventually(lambda: len(stored(root)) == 1)
        assert client.put(PATH, content=PACKED).status_code == 204
        assert connection.recv(1000) == b""
    eventually(lambda: len(stored(root)) == 1)
    assert gzip.decompress(client.get(PATH).content) == DATA


def test_a_transfer_that_goes_on_may_last_longer_than_a_request(address: str) -> None:
    begin = time.monotonic()
    with begun(address, b"") as connection:
        for start in range(0, len(PACKED), 30_000):
            connection.sendall(PACKED[start : start + 30_000])
            time.sleep(0.2)
        assert connection.recv(1000).startswith(b"HTTP/1.1 204 ")
    assert time.monotonic() - begin > 2 * Quick.seconds


@pytest.mark.parametrize(("token", "size", "status"), [("bgt_unknown", 5 << 30, 401), (TOKEN, 10 << 30, 413)])
def test_a_refused_transfer_may_not_go_on(address: str, token: str, size: int, status: int) -> None:
    with begun(address, b"", token=token, size=size) as connection:
        assert connection.recv(1000).startswith(f"HTTP/1.1 {status} ".encode())
        assert eventually(lambda: is_ended(connection))


def is_ended(connection: socket.socket) -> bool:
    try:
        connection.sendall(bytes(2000))
    except OSError:
        return True
    return False


@pytest.mark.parametrize(
    ("body", "status"),
    [(gzip.compress(DATA + b"x"), 400), (DATA, 400), (iter([PACKED]), 411)],
    ids=["other bytes", "not packed", "no length"],
)
def test_a_body_that_cannot_be_stored_is_refused(
    client: httpx.Client, root: Path, body: bytes, status: int
) -> None:
    assert client.put(PATH, content=body).status_code == status
    assert not stored(root)


@pytest.mark.parametrize(
    ("token", "machine", "status"),
    [
        (TOKEN, "perf-01/lint", 404),
        (TOKEN, "perf-01/other", 409),  # it holds no build
        (TOKEN, "perf-02", 403),
        (OTHER, "perf-01", 403),
        (OTHER, "perf-02", 404),
        ("bgt_unknown", "perf-01", 401),
    ],
)
def test_a_token_serves_its_own_machine_while_that_has_a_build(
    address: str, token: str, machine: str, status: int
) -> None:
    headers, query = {"Authorization": f"Bearer {token}"}, {"machine": machine}
    path = f"{address}/api/v1/artifacts/builds/{KEY}"
    assert httpx.get(path, params=query, headers=headers).status_code == status
    if status != 404:
        answer = httpx.put(path, params=query, headers=headers, content=PACKED)
        assert answer.status_code == status


@pytest.mark.parametrize(("what", "status"), [("lease", 409), ("token", 401)])
def test_a_transfer_is_not_stored_once_the_lease_or_the_token_has_ended(
    address: str, root: Path, what: str, status: int
) -> None:
    with begun(address, PACKED[:5000]) as connection:
        eventually(lambda: len(stored(root)) == 1)
        if what == "lease":
            LEASES.discard("perf-01")
        else:
            del HOLDERS[TOKEN]
        connection.sendall(PACKED[5000:])
        assert connection.recv(1000).startswith(f"HTTP/1.1 {status} ".encode())
    assert eventually(lambda: not stored(root))


def test_a_server_that_reads_slowly_blames_no_client(
    address: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads nothing until shortly before a deadline, and the client goes on shortly after it."""
    reads, begin = threading.Event(), DirectoryArtifacts.receive

    def receive(self: DirectoryArtifacts, key: str) -> IncomingArtifact:
        threading.Event().wait(2.85 * Quick.seconds)
        reads.set()
        return begin(self, key)

    monkeypatch.setattr(DirectoryArtifacts, "receive", receive)
    with begun(address, PACKED[:70_000]) as connection:
        assert reads.wait(20)
        time.sleep(0.4 * Quick.seconds)
        connection.sendall(PACKED[70_000:])
        assert connection.recv(1000).startswith(b"HTTP/1.1 204 ")
    assert stored(root) == [f"{KEY}.gz"]


@pytest.mark.parametrize("key", ["..", "%2e%2e", "..%2f..%2fsecret", "incoming", f"{KEY}.gz", KEY.upper()])
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_a_key_leads_nowhere_else(address: str, root: Path, method: str, key: str) -> None:
    parts = urlsplit(address)
    head = f"{method} /api/v1/artifacts/builds/{key}?machine=perf-01 HTTP/1.1\r\nHost: test\r\n"
    rest = f"Authorization: Bearer {TOKEN}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        connection.sendall((head + rest).encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 404 ")
    assert not stored(root)


def test_nothing_is_deleted_listed_or_found_in_the_other_store(client: httpx.Client) -> None:
    assert client.put(PATH, content=PACKED).status_code == 204
    assert client.delete(PATH).status_code == 405
    assert client.get("/api/v1/artifacts/builds/?machine=perf-01").status_code == 404
    assert client.get(PATH.replace("builds", "downloads")).status_code == 404
    assert client.get(PATH).status_code == 200


def test_a_token_sends_few_artifacts_at_once_whatever_machine_it_names(
    address: str, client: httpx.Client, root: Path
) -> None:
    with ExitStack() as stack:
        for _ in range(MOST_UPLOADS):
            stack.enter_context(begun(address, PACKED[:5000]))
        eventually(lambda: len(stored(root)) == MOST_UPLOADS)
        answer = client.put(PATH.replace("perf-01", "perf-01/lint"), content=PACKED)
        assert (answer.status_code, "retry-after" in answer.headers) == (429, True)
        other = {"Authorization": f"Bearer {OTHER}"}
        path = PATH.replace("perf-01", "perf-02")
        assert client.put(path, content=PACKED, headers=other).status_code == 204
    assert eventually(lambda: stored(root) == [f"{KEY}.gz"])
    assert client.put(PATH, content=PACKED).status_code == 204


def test_the_uploads_of_one_token_leave_a_turn_to_those_of_others(
    address: str, client: httpx.Client, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over, other, take = threading.Event(), b"of another machine", IncomingFile.take

    def take_for_long(self: IncomingFile, data: bytes) -> None:
        if self._key == KEY:
            is_over.wait(20)
        take(self, data)

    monkeypatch.setattr(IncomingFile, "take", take_for_long)
    with ExitStack() as stack:
        first = [stack.enter_context(begun(address, PACKED)) for _ in range(MOST_UPLOADS)]
        assert eventually(lambda: len(stored(root)) == MOST_UPLOADS)
        answer = client.put(
            f"/api/v1/artifacts/builds/{hashlib.sha256(other).hexdigest()}?machine=perf-02",
            content=gzip.compress(other),
            headers={"Authorization": f"Bearer {OTHER}"},
        )
        assert answer.status_code == 204
        is_over.set()
        assert all(each.recv(1000).startswith(b"HTTP/1.1 204 ") for each in first)
