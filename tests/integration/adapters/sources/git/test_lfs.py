"""A checkout has the content of Git LFS files, verified."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.git import command
from service.adapters.sources.git.command import unwatched
from service.adapters.sources.git.lfs import LfsObjects
from service.adapters.sources.git.mirror import FETCH_SECONDS, GitSource
from service.adapters.sources.git.repository import Clone
from service.adapters.sources.git.repository import Repository as CheckedOut
from service.domain.sources.allowed import AllowedSources
from service.domain.sources.lfs import FILE_BYTES
from service.domain.values.errors import Cancelled, Incomplete, Transient
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.integration.adapters.sources.git.lfs_server import LfsServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.integration

PROJECT = "kv"
MARKED = b"*.bin filter=lfs diff=lfs merge=lfs -text\n"
CONTENT = b"\0" * 3_000_000 + b"end"


@pytest.fixture
def server() -> Iterator[LfsServer]:
    with LfsServer() as server:
        yield server


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


class Checkout:
    """Mirrors of a repository that an http server has, as far as LFS is concerned."""

    def __init__(self, repository: Repository, root: Path, url: str) -> None:
        self._repository = repository
        self._root = root
        self.url = url

    def commit(self, files: dict[str, bytes | Path | str]) -> str:
        commit = self._repository.commit(files)
        GitSource(self._root, lambda _: str(self._repository.path)).fetch(PROJECT, commit)
        return commit

    def files(
        self,
        commit: str,
        *allowed: str,
        clone: Clone | None = None,
        fetch_seconds: float = FETCH_SECONDS,
        watch: Callable[[], None] = unwatched,
    ) -> dict[str, bytes]:
        """Check a commit out, and read its files."""
        sources = AllowedSources.parse(allowed)
        source = GitSource(
            self._root, lambda _: self.url, allowed=sources, clone=clone, fetch_seconds=fetch_seconds
        )
        with source.checkout(PROJECT, commit, watch=watch) as tree:
            return {
                str(each.relative_to(tree)): each.read_bytes() for each in tree.rglob("*") if each.is_file()
            }

    def refusal(self, commit: str, *allowed: str) -> str:
        with pytest.raises(Incomplete) as refused:
            self.files(commit, *allowed)
        return str(refused.value)


@pytest.fixture
def checkout(repository: Repository, server: LfsServer, tmp_path: Path) -> Checkout:
    return Checkout(repository, tmp_path / "root", f"http://127.0.0.1:{server.server_port}/{PROJECT}")


def test_marked_pointer_files_are_replaced(checkout: Checkout, server: LfsServer) -> None:
    pointer = server.add(CONTENT)
    commit = checkout.commit(
        {
            "data/.gitattributes": MARKED,
            "data/a.bin": pointer,
            "data/same.bin": pointer,
            "data/b.bin": b"not a pointer",
            "data/c.txt": pointer,
            "d.bin": pointer,
        }
    )
    found = checkout.files(commit)
    assert found.pop("data/a.bin") == found.pop("data/same.bin") == CONTENT
    assert found == {
        "data/.gitattributes": MARKED,
        "data/b.bin": b"not a pointer",
        "data/c.txt": pointer,
        "d.bin": pointer,
    }
    assert [each[0] for each in server.asked] == ["POST", "GET"], "one request for the object, one download"
    assert server.asked[0][1] == f"/{PROJECT}.git/info/lfs/objects/batch"


def test_objects_are_fetched_once(checkout: Checkout, server: LfsServer) -> None:
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    checkout.files(commit)
    asked = len(server.asked)
    assert checkout.files(commit)["a.bin"] == CONTENT
    assert len(server.asked) == asked


def test_a_damaged_object_is_fetched_again(checkout: Checkout, server: LfsServer, tmp_path: Path) -> None:
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    checkout.files(commit)
    (kept,) = (
        path for path in (tmp_path / "root/submodules/lfs").rglob("*") if path.is_file() and path.suffix == ""
    )
    kept.write_bytes(CONTENT[:-1])
    with pytest.raises(Transient, match="does not have the SHA-256"):
        checkout.files(commit)
    assert checkout.files(commit)["a.bin"] == CONTENT


def test_downloads_of_a_killed_process_take_no_room(
    checkout: Checkout, server: LfsServer, tmp_path: Path
) -> None:
    commits = [
        checkout.commit({".gitattributes": MARKED, "a.bin": server.add(each)}) for each in (b"1", b"2")
    ]
    checkout.files(commits[0])
    (kept,) = (tmp_path / "root/submodules/lfs").glob("*/*")
    kept.with_name(f"{'a' * 64}.part").write_bytes(CONTENT)
    checkout.files(commits[1])
    assert {each.suffix for each in kept.parent.iterdir()} == {""}


@pytest.mark.parametrize("sent", [b"\1" * len(CONTENT), CONTENT[:-1], CONTENT + b"more"])
def test_other_content_than_the_pointers_is_never_used(
    checkout: Checkout, server: LfsServer, tmp_path: Path, sent: bytes
) -> None:
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    oid = hashlib.sha256(CONTENT).hexdigest()
    server.objects[oid] = sent
    with pytest.raises(Transient):
        checkout.files(commit)
    assert not list((tmp_path / "root").rglob(f"{oid}*"))


def test_an_object_that_the_server_lacks_is_refused(checkout: Checkout, server: LfsServer) -> None:
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    server.objects.clear()
    assert checkout.refusal(commit) == (
        f"LFS file a.bin: object {hashlib.sha256(CONTENT).hexdigest()[:12]} of {checkout.url}.git/info/lfs: "
        "the server answers: Object does not exist; `git lfs push` may help"
    )


@pytest.mark.parametrize("status", [302, 401, 404, 500])
def test_a_server_that_refuses_is_nobodys_fault(checkout: Checkout, server: LfsServer, status: int) -> None:
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    server.status = status
    with pytest.raises(Transient, match=f"it answers {status}"):
        checkout.files(commit)


def test_a_server_cannot_hold_a_machine_by_sending_slowly(checkout: Checkout, server: LfsServer) -> None:
    content = bytes(200)
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": server.add(content)})
    server.pause = 0.01
    with pytest.raises(Transient, match="took too long"):
        checkout.files(commit, fetch_seconds=0.2)
    assert server.sent < len(content)


def test_a_watch_can_end_a_download(checkout: Checkout, server: LfsServer) -> None:
    content = bytes(200)
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": server.add(content)})
    server.pause = 0.01

    def cancel() -> None:
        if server.sent:
            raise Cancelled("not needed")

    with pytest.raises(Cancelled):
        checkout.files(commit, watch=cancel)
    assert server.sent < len(content)


def test_another_host_must_be_allowed(checkout: Checkout, server: LfsServer) -> None:
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    server.host = "localhost"
    assert "its operator can add localhost to BENCHGATE_FETCH_FROM" in checkout.refusal(commit)
    assert [method for method, *_ in server.asked] == ["POST"]
    assert checkout.files(commit, f"http://localhost:{server.server_port}/objects")["a.bin"] == CONTENT


def test_a_redirect_to_an_allowed_storage_is_followed(checkout: Checkout, server: LfsServer) -> None:
    """As GitLab answers, without the credentials of the machine."""
    checkout.url = checkout.url.replace("//", "//ci:secret@")
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    server.redirects = f"http://localhost:{server.server_port}/storage/"
    assert "its operator can add localhost to BENCHGATE_FETCH_FROM" in checkout.refusal(commit)
    server.asked.clear()
    assert checkout.files(commit, f"{server.redirects}")["a.bin"] == CONTENT
    assert [(path.split("/")[1], user) for _, path, user in server.asked[1:]] == [
        ("objects", "ci"),
        ("storage", ""),
    ]


def test_redirects_without_an_end_are_refused(checkout: Checkout, server: LfsServer) -> None:
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    server.redirects = "/objects/"
    assert checkout.refusal(commit).endswith("its server redirects more than 3 times")


def test_credentials_are_sent_to_the_own_server_only(checkout: Checkout, server: LfsServer) -> None:
    checkout.url = checkout.url.replace("//", "//ci:secret@")
    commits = [
        checkout.commit({".gitattributes": MARKED, "a.bin": server.add(each)}) for each in (b"1", b"2")
    ]
    checkout.files(commits[0])
    server.host = "localhost"
    checkout.files(commits[1], f"http://localhost:{server.server_port}/")
    assert [user for *_, user in server.asked] == ["ci", "ci", "ci", ""]
    server.objects.clear()
    assert "secret" not in checkout.refusal(
        checkout.commit({".gitattributes": MARKED, "a.bin": _pointer(b"3")})
    )


def test_the_address_of_a_projects_settings_must_be_allowed(checkout: Checkout, server: LfsServer) -> None:
    settings = f"[lfs]\nurl = http://127.0.0.1:{server.server_port}/elsewhere\n".encode()
    commit = checkout.commit({".lfsconfig": settings, ".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    assert checkout.files(commit)["a.bin"] == CONTENT
    assert server.asked[0][1] == "/elsewhere/objects/batch"
    hostile = b"[lfs]\nurl = https://169.254.169.254/latest\n"
    commit = checkout.commit({".lfsconfig": hostile, ".gitattributes": MARKED, "a.bin": _pointer(b"x")})
    assert "add 169.254.169.254 to BENCHGATE_FETCH_FROM" in checkout.refusal(commit)


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "%2e%2e/secret",
        "a/changes/1/submit?x=",
        "a/changes/1/submit#",
        r"\nx",
        "x" * 70_000,
    ],
)
def test_a_projects_settings_cannot_send_the_machine_to_another_part_of_its_server(
    checkout: Checkout, server: LfsServer, path: str
) -> None:
    """The machine would post there with its credentials."""
    own = checkout.url = f"http://ci:secret@127.0.0.1:{server.server_port}/team/{PROJECT}"
    address = own.replace("ci:secret@", "").removesuffix(PROJECT) + path
    settings = f'[lfs]\nurl = "{address}"\n'.encode()
    commit = checkout.commit({".lfsconfig": settings, ".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    assert checkout.refusal(commit).startswith("LFS files: .lfsconfig gives them the URL 'http://127.0.0.1")
    assert server.asked == []


def test_a_forbidden_address_gets_nothing_from_the_cache(checkout: Checkout, server: LfsServer) -> None:
    """Another project of the machine fetched the object from its own server."""
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    checkout.files(commit)
    settings = f"[lfs]\nurl = {checkout.url}.git/info/lfs\n".encode()
    commit = checkout.commit({".lfsconfig": settings, ".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    checkout.url = "https://review.example.com/kv"
    assert "this machine does not fetch from there" in checkout.refusal(commit)


@pytest.mark.parametrize("url", ["/srv/git/kv", "ssh://ci@example.com:29418/kv"])
def test_a_server_without_https_is_refused(checkout: Checkout, url: str) -> None:
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": _pointer(b"x")})
    checkout.url = url
    assert "LFS files are fetched over https" in checkout.refusal(commit)


def test_overlarge_settings_are_refused(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "OUTPUT_BYTES", 1 << 20)
    large = b"[lfs]\nfetchexclude = " + b"x" * (2 << 20)
    commit = checkout.commit({".lfsconfig": large, ".gitattributes": MARKED, "a.bin": _pointer(b"x")})
    assert checkout.refusal(commit) == "sources: git config wrote more than 1 MiB"


def test_a_project_can_leave_files_out(checkout: Checkout) -> None:
    pointer = _pointer(b"picture")
    excluded = b"[lfs]\nfetchexclude = docs\n"
    commit = checkout.commit({".lfsconfig": excluded, ".gitattributes": MARKED, "docs/a.bin": pointer})
    assert checkout.files(commit)["docs/a.bin"] == pointer


def test_an_overlarge_file_is_refused(checkout: Checkout, server: LfsServer) -> None:
    pointer = _pointer(b"x").replace(b"size 1\n", f"size {FILE_BYTES + 1}\n".encode())
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": pointer})
    assert checkout.refusal(commit) == "LFS file a.bin: it has more than 4 GiB"
    assert server.asked == []


def test_files_of_a_submodule_come_from_its_own_server(
    checkout: Checkout, server: LfsServer, tmp_path: Path
) -> None:
    inner = Repository(tmp_path / "lib").commit({".gitattributes": MARKED, "a.bin": server.add(CONTENT)})
    text = b'[submodule "lib"]\npath = lib\nurl = ../lib\n'
    commit = checkout.commit({".gitmodules": text, "lib": inner})
    own = Clone((tmp_path / "clone",), checkout.url)
    (tmp_path / "clone/modules").mkdir(parents=True)
    (tmp_path / "clone/modules/lib").symlink_to(tmp_path / "lib/.git")
    assert checkout.files(commit, clone=own)["lib/a.bin"] == CONTENT
    assert server.asked[0][1] == "/lib.git/info/lfs/objects/batch"


def test_an_object_of_the_users_clone_needs_no_server(checkout: Checkout, tmp_path: Path) -> None:
    commit = checkout.commit({".gitattributes": MARKED, "a.bin": _pointer(CONTENT)})
    oid = hashlib.sha256(CONTENT).hexdigest()
    kept = tmp_path / "clone/lfs/objects" / oid[:2] / oid[2:4] / oid
    kept.parent.mkdir(parents=True)
    kept.write_bytes(CONTENT)
    own = Clone((tmp_path / "clone",), "https://gone.example/kv")
    assert checkout.files(commit, clone=own)["a.bin"] == CONTENT


def test_nothing_is_read_or_written_through_a_link(server: LfsServer, tmp_path: Path) -> None:
    """Even if a hostile tree could make git create a link where its index has a folder."""
    pointer, url = server.add(CONTENT), f"http://127.0.0.1:{server.server_port}/{PROJECT}"
    for name in ("outside", "place/folder"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.bin").write_bytes(pointer)
    (tmp_path / "place/link").symlink_to("../outside")
    (tmp_path / "place/link.bin").symlink_to("../outside/a.bin")
    (tmp_path / "place/loop").symlink_to("loop")
    marked = ("folder/a.bin", "link/a.bin", "link.bin", "loop/a.bin")
    outer = CheckedOut(tmp_path, "0" * 40, url, None, marked)
    LfsObjects(tmp_path / "lfs", AllowedSources(), 60).fill(tmp_path / "place", outer, url, unwatched)
    assert (tmp_path / "outside/a.bin").read_bytes() == pointer
    assert (tmp_path / "place/folder/a.bin").read_bytes() == CONTENT


def _pointer(content: bytes) -> bytes:
    oid = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n".encode()
