"""Follow redirected submodules: each new address must be allowed."""

from __future__ import annotations

import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.git.mirror import GitSource
from service.domain.sources.allowed import AllowedSources
from service.domain.values.errors import Incomplete, Transient
from tests.integration.adapters.sources.git.git_repository import Repository, gitmodules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

PROJECT = "kv"
UNKNOWN = "f" * 40


@pytest.fixture
def project(tmp_path: Path) -> Repository:
    return Repository(tmp_path / PROJECT)


@pytest.fixture
def lib(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "lib")


class Moved(ThreadingHTTPServer):
    """A server that redirects, and has no repository itself. ``asked`` has the paths of all requests."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Redirecting)
        self.target = target
        self.asked: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Redirecting(BaseHTTPRequestHandler):
    server: Moved

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(301)
        self.send_header("Location", f"{self.server.target}/info/refs?service=git-upload-pack")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class TestRedirects:
    @staticmethod
    def check_out(project: Repository, tmp_path: Path, url: str, commit: str, *allowed: str) -> str:
        own = project.commit({".gitmodules": gitmodules(lib=url), "lib": commit})
        sources = AllowedSources.parse([url, *allowed])
        source = GitSource(tmp_path / "root", lambda _: str(project.path), allowed=sources)
        source.fetch(PROJECT, own)
        with source.checkout(PROJECT, own) as tree:
            return (tree / "lib/y").read_text()

    def test_a_repository_that_moved_is_found_if_its_new_address_is_allowed(
        self, project: Repository, lib: Repository, tmp_path: Path
    ) -> None:
        """On a server that gives branches only, without single commits."""
        commit = lib.commit({"y": b"y"}, lib.commit({"y": b"older"}))
        lib.git("update-server-info")
        files = partial(Files, directory=str(lib.path.parent))
        with ThreadingHTTPServer(("127.0.0.1", 0), files) as static:
            threading.Thread(target=static.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{static.server_port}"
            with Moved(f"{address}/lib/.git") as web:
                assert self.check_out(project, tmp_path, f"{web.url}/old", commit, address) == "y"
                web.shutdown()
            static.shutdown()

    def test_a_server_cannot_redirect_into_the_operators_network(
        self, project: Repository, tmp_path: Path
    ) -> None:
        with Moved("") as internal, Moved(f"{internal.url}/secret") as web:
            problem = f"it moved to {internal.url}/secret; this machine does not fetch from there"
            with pytest.raises(Incomplete, match=problem):
                self.check_out(project, tmp_path, f"{web.url}/old", UNKNOWN)
            assert web.asked
            assert internal.asked == []
            for server in (internal, web):
                server.shutdown()

    def test_redirects_end(self, project: Repository, tmp_path: Path) -> None:
        with Moved("") as web:
            web.target = f"{web.url}/next"
            with pytest.raises((Incomplete, Transient)):
                self.check_out(project, tmp_path, f"{web.url}/old", UNKNOWN, web.url)
            assert len(web.asked) < 12
            web.shutdown()
