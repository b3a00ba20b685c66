"""A machine keeps trying while the control plane is away, and uses nothing of a broken answer."""

from __future__ import annotations

import gzip
import hashlib
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Final

import httpx
import pytest

from service.adapters.building.http_artifacts import HttpArtifacts, MachineToken
from service.config.machine import MachineSettings
from service.domain.values.errors import (
    BadInput,
    Cancelled,
    LeaseLost,
    NotFound,
    Permanent,
    Refused,
    Transient,
)
from service.ports.building import ARTIFACTS_HEADER, ArtifactKind
from service.wiring.machine import artifacts_over_http

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

DATA: Final = b"a line of a log\n" * 1000
KEY: Final = hashlib.sha256(DATA).hexdigest()
PACKED: Final = gzip.compress(DATA)
DOWN: Final = httpx.Response(502, text="bad gateway")
OURS: Final = {ARTIFACTS_HEADER: "1"}
STORED: Final = httpx.Response(204, headers=OURS)
HEALTHY: Final = httpx.Response(200, json={"status": "ok"})
LARGE: Final = Random("large").randbytes(5 << 20)  # noqa: S311 - repeatable on purpose
MIB: Final = 1 << 20


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("service.adapters.building.http_artifacts.time", clock)
    return clock


class Broken(httpx.SyncByteStream):
    """A body that ends before its time."""

    def __iter__(self) -> Iterator[bytes]:
        yield PACKED[:20]
        raise httpx.RemoteProtocolError("peer closed connection")


class Server(httpx.BaseTransport):
    """Gives these answers in turn, the last one for ever; an error is raised instead."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[tuple[str, bytes]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append((request.headers.get("Authorization", ""), request.read()))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Cutting(httpx.BaseTransport):
    """Reads this much of each body in turn, for a minute, and cuts the connection; then takes one."""

    def __init__(self, clock: Clock, *cuts: int) -> None:
        self.clock = clock
        self.cuts = list(cuts)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "HEAD":
            return problem(404, "no artifact", OURS)
        assert isinstance(request.stream, httpx.SyncByteStream)
        if not self.cuts:
            request.read()
            return STORED
        self.clock.now += 60.0
        left = self.cuts.pop(0)
        for piece in request.stream:
            left -= len(piece)
            if left <= 0:
                break
        raise httpx.WriteError("broken pipe")


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
    return httpx.Response(
        status,
        json={"detail": detail},
        headers={"Content-Type": "application/problem+json", **(headers or {})},
    )


@pytest.fixture
def artifacts_of(tmp_path: Path) -> Iterator[Callable[[Server], HttpArtifacts]]:
    (tmp_path / "token").write_text("bgt_first\n")
    made: list[HttpArtifacts] = []

    def make(server: httpx.BaseTransport, patience: float = 5.0) -> HttpArtifacts:
        made.append(
            HttpArtifacts(
                "https://bench.example.com/",
                MachineToken("perf-01", tmp_path / "token"),
                ArtifactKind.BUILDS,
                tmp_path / "unfinished",
                patience=patience,
                transport=server,
            )
        )
        return made[-1]

    yield make
    for artifacts in made:
        with closing(artifacts):
            assert not list((tmp_path / "unfinished").iterdir())


def test_a_restart_of_the_control_plane_costs_no_build(
    artifacts_of: Callable[[Server], HttpArtifacts], tmp_path: Path
) -> None:
    """The token is replaced meanwhile."""

    class Replacing(Server):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            (tmp_path / "token").write_text("bgt_second")
            return super().handle_request(request)

    server = Replacing(httpx.ConnectError("connection refused"), DOWN, STORED)
    assert artifacts_of(server).put(DATA) == KEY
    tokens, bodies = zip(*server.requests, strict=True)
    assert tokens == ("Bearer bgt_first", "Bearer bgt_second", "Bearer bgt_second")
    assert {gzip.decompress(body) for body in bodies} == {DATA}


def test_a_broken_answer_is_asked_for_again(artifacts_of: Callable[[Server], HttpArtifacts]) -> None:
    server = Server(
        httpx.Response(200, stream=Broken(), headers=OURS), httpx.Response(200, content=PACKED, headers=OURS)
    )
    assert artifacts_of(server).get(KEY) == DATA
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "body",
    [PACKED[:-1], gzip.compress(b"other"), b"<html>", b""],
    ids=["cut", "other bytes", "not packed", "nothing"],
)
def test_a_damaged_artifact_is_never_returned(
    artifacts_of: Callable[[Server], HttpArtifacts], tmp_path: Path, body: bytes
) -> None:
    artifacts = artifacts_of(Server(httpx.Response(200, content=body, headers=OURS)))
    with pytest.raises(Permanent, match=f"{KEY} is damaged"):
        artifacts.get_file(KEY, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (problem(401, "the API token is not valid"), Refused, "the control plane answers 401: the API token"),
        (problem(403, "this needs a token with the scope machine:perf-01"), Refused, "machine:perf-01"),
        (problem(404, "no artifact", OURS), NotFound, "no artifact"),
        (problem(409, "the machine perf-01 has no build now", OURS), LeaseLost, "has no build now"),
        (problem(409, "conflict"), Permanent, "conflict"),
        (httpx.Response(302, headers={"Location": "https://sso.example.com"}), Refused, "a redirect"),
    ],
)
def test_what_no_repetition_helps_is_asked_once(
    artifacts_of: Callable[[Server], HttpArtifacts],
    answer: httpx.Response,
    error: type[Exception],
    message: str,
) -> None:
    server = Server(answer)
    with pytest.raises(error, match=message):
        artifacts_of(server).get(KEY)
    assert len(server.requests) == 1


@pytest.mark.parametrize("answer", [DOWN, httpx.Response(404, text="no such site"), problem(429, "later")])
def test_a_fault_that_lasts_is_transient(
    artifacts_of: Callable[[Server, float], HttpArtifacts], answer: httpx.Response
) -> None:
    with pytest.raises(Transient, match="the control plane"):
        artifacts_of(Server(answer), 0.0).put(DATA)


@pytest.mark.parametrize("content", [None, b"", b"\xff"])
def test_an_error_names_the_file_that_has_no_token(
    artifacts_of: Callable[[Server], HttpArtifacts], tmp_path: Path, content: bytes | None
) -> None:
    (tmp_path / "token").unlink()
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    with pytest.raises(Refused, match=r"BENCHGATE_MACHINE_TOKEN_FILE: .*token"):
        artifacts_of(Server(DOWN)).check()


def test_a_check_tells_a_machine_without_a_build_from_a_wrong_address(
    artifacts_of: Callable[[Server], HttpArtifacts],
) -> None:
    for answer in (problem(409, "the machine perf-01 has no build now", OURS), problem(404, "no", OURS)):
        artifacts_of(Server(answer)).check()
    with pytest.raises(Transient, match="from a proxy") as away:
        artifacts_of(Server(httpx.Response(404, text="no such site"))).check()
    assert not isinstance(away.value, Refused)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([problem(401, "the API token is not valid")], "401: the API token is not valid"),
        ([problem(404, "Not Found"), problem(404, "Not Found")], "is its path right"),
        ([httpx.Response(200, text="<html>"), httpx.Response(200, text="<html>")], "is its path right"),
        ([problem(404, "Not Found"), HEALTHY], "an earlier version"),
    ],
    ids=["token", "path", "another program", "version"],
)
@pytest.mark.parametrize("is_check", [True, False])
def test_a_wrong_token_a_wrong_path_and_an_earlier_version_have_errors_of_their_own(
    artifacts_of: Callable[[Server], HttpArtifacts],
    answers: list[httpx.Response],
    message: str,
    *,
    is_check: bool,
) -> None:
    server = Server(*answers)
    artifacts = artifacts_of(server)
    with pytest.raises(Refused, match=message):
        artifacts.check() if is_check else artifacts.put(DATA)
    assert [token for token, _ in server.requests[1:]] == [""] * (len(answers) - 1)


def test_patience_counts_from_the_first_failure_and_anew_after_progress(
    artifacts_of: Callable[[httpx.BaseTransport, float], HttpArtifacts], clock: Clock
) -> None:
    server = Cutting(clock, 2 * MIB, 3 * MIB, 4 * MIB)
    artifacts_of(server, 50.0).put(LARGE)
    assert not server.cuts
    assert clock.now > 180.0


def test_a_transfer_that_always_ends_at_the_same_place_is_given_up(
    artifacts_of: Callable[[httpx.BaseTransport, float], HttpArtifacts], clock: Clock
) -> None:
    server = Cutting(clock, *[2 * MIB] * 9)
    with pytest.raises(Transient, match="broken pipe"):
        artifacts_of(server, 100.0).put(LARGE)
    assert len(server.cuts) == 9 - 3


def test_a_wait_ends_as_soon_as_the_work_must_end(
    artifacts_of: Callable[[Server, float], HttpArtifacts], clock: Clock
) -> None:
    def watch() -> None:
        if clock.now >= 3.0:
            raise Cancelled("nobody wants it")

    with pytest.raises(Cancelled):
        artifacts_of(Server(DOWN), 300.0).watched(watch).put(DATA)
    assert clock.now < 4.0


def test_a_machine_without_a_lease_sends_no_large_body(
    artifacts_of: Callable[[Server], HttpArtifacts],
) -> None:
    server = Server(httpx.Response(409, headers=OURS))
    with pytest.raises(LeaseLost):
        artifacts_of(server).put(LARGE)
    assert [body for _, body in server.requests] == [b""]


@pytest.mark.parametrize("content", [None, ""])
def test_a_token_that_is_being_replaced_is_read_again(
    artifacts_of: Callable[[Server], HttpArtifacts],
    tmp_path: Path,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    content: str | None,
) -> None:
    token = tmp_path / "token"
    server = Server(STORED)
    artifacts = artifacts_of(server)
    token.unlink()
    if content is not None:
        token.write_text(content)

    def write(_: float) -> None:
        token.write_text("bgt_new")
        clock.now += 9.0

    monkeypatch.setattr(clock, "sleep", write)
    artifacts.put(DATA)
    assert server.requests[0][0] == "Bearer bgt_new"


@pytest.mark.parametrize("url", ["https://al:secret@bench.example.com", "https://bench.example.com?a=secret"])
def test_an_address_with_more_than_a_path_is_refused(tmp_path: Path, url: str) -> None:
    settings = MachineSettings(artifacts=url, machine_token_file=tmp_path / "token")
    with pytest.raises(
        BadInput, match="BENCHGATE_ARTIFACTS: the control plane's address must not"
    ) as refused:
        artifacts_over_http(settings, tmp_path, ArtifactKind.BUILDS)
    assert "secret" not in str(refused.value)
