"""A machine keeps trying while the control plane is away, and uses nothing of a broken answer."""

from __future__ import annotations

import gzip
import hashlib
from contextlib import closing
from typing import TYPE_CHECKING, Final

import httpx
import pytest

from service.adapters.building.http_artifacts import HttpArtifacts, MachineToken
from service.domain.values.errors import NotFound, Permanent, Refused, Transient
from service.ports.building import ArtifactKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DATA: Final = b"a line of a log\n" * 1000
KEY: Final = hashlib.sha256(DATA).hexdigest()
PACKED: Final = gzip.compress(DATA)
DOWN: Final = httpx.Response(502, text="bad gateway")


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
        self.requests.append((request.headers["Authorization"], request.read()))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def problem(status: int, detail: str) -> httpx.Response:
    return httpx.Response(
        status, json={"detail": detail}, headers={"Content-Type": "application/problem+json"}
    )


@pytest.fixture
def artifacts_of(tmp_path: Path) -> Iterator[Callable[[Server], HttpArtifacts]]:
    (tmp_path / "token").write_text("bgt_first\n")
    made: list[HttpArtifacts] = []

    def make(server: Server, patience: float = 5.0) -> HttpArtifacts:
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

    server = Replacing(httpx.ConnectError("connection refused"), DOWN, httpx.Response(204))
    assert artifacts_of(server).put(DATA) == KEY
    tokens, bodies = zip(*server.requests, strict=True)
    assert tokens == ("Bearer bgt_first", "Bearer bgt_second", "Bearer bgt_second")
    assert {gzip.decompress(body) for body in bodies} == {DATA}


def test_a_broken_answer_is_asked_for_again(artifacts_of: Callable[[Server], HttpArtifacts]) -> None:
    server = Server(httpx.Response(200, stream=Broken()), httpx.Response(200, content=PACKED))
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
    artifacts = artifacts_of(Server(httpx.Response(200, content=body)))
    with pytest.raises(Permanent, match=f"{KEY} is damaged"):
        artifacts.get_file(KEY, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (problem(401, "the API token is not valid"), Refused, "the control plane answers 401: the API token"),
        (problem(403, "this needs a token with the scope machine:perf-01"), Refused, "machine:perf-01"),
        (problem(404, "no artifact"), NotFound, "no artifact"),
        (problem(409, "the machine perf-01 has no build now"), Permanent, "has no build now"),
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
    artifacts_of(Server(problem(409, "the machine perf-01 has no build now"))).check()
    for answer in (problem(401, "no"), httpx.Response(404, text="no such site"), httpx.Response(200)):
        with pytest.raises((Transient, Permanent)):
            artifacts_of(Server(answer)).check()
