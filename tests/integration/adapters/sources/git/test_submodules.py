"""A checkout has the files of its submodules, exactly those that the revision names."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.git import submodules
from service.adapters.sources.git.mirror import GitSource
from service.adapters.sources.git.repository import Clone
from service.domain.sources.submodules import DEEPEST, MOST
from service.domain.values.errors import BenchgateError, Incomplete, Transient
from tests.integration.adapters.sources.git.git_repository import Repository, gitmodules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

PROJECT = "kv"
UNKNOWN = "f" * 40


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """The directory of the projects' own server."""
    directory = tmp_path / "server"
    directory.mkdir()
    return directory


@pytest.fixture
def project(server: Path) -> Repository:
    return Repository(server / PROJECT)


@pytest.fixture
def lib(server: Path) -> Repository:
    return Repository(server / "lib")


@pytest.fixture
def source(tmp_path: Path, server: Path) -> GitSource:
    return GitSource(tmp_path / "root", lambda project: str(server / project))


def files_in(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): path.read_text()
        for path in directory.rglob("*")
        if path.is_file() and path.name != ".git"
    }


def test_a_checkout_has_the_files_of_its_submodules(
    source: GitSource, project: Repository, lib: Repository
) -> None:
    commit = project.commit(
        {".gitmodules": gitmodules(lib="../lib"), "x": b"x", "lib": lib.commit({"a/y": b"y"})}
    )
    source.fetch(PROJECT, commit)
    with source.checkout(PROJECT, commit) as tree:
        assert files_in(tree) == {".gitmodules": gitmodules(lib="../lib").decode(), "x": "x", "lib/a/y": "y"}
        (tree / "lib/a/y").write_text("ordinary and writable")
        # Build files look for it; it leads to nothing.
        assert (tree / "lib/.git").read_text() == "gitdir: ../.git/modules/lib\n"
        assert not (tree / ".git").exists()
    with source.checkout(PROJECT, commit, whole=False) as tree:
        assert [*(tree / "lib").iterdir()] == []


def test_each_revision_has_the_commit_that_it_names(
    source: GitSource, project: Repository, lib: Repository
) -> None:
    """Also a commit that a branch no longer has at its end."""
    old = lib.commit({"y": b"old"})
    new = lib.commit({"y": b"new"}, old)
    commits = [project.commit({".gitmodules": gitmodules(lib="../lib"), "lib": each}) for each in (new, old)]
    source.fetch(PROJECT, *commits)
    for commit, text in zip(commits, ("new", "old"), strict=True):
        with source.checkout(PROJECT, commit) as tree:
            assert (tree / "lib/y").read_text() == text
    assert source.tree(PROJECT, commits[0]) != source.tree(PROJECT, commits[1])


def test_submodules_of_submodules_are_there(
    source: GitSource, project: Repository, lib: Repository, server: Path
) -> None:
    inner = Repository(server / "inner")
    middle = lib.commit({".gitmodules": gitmodules(inner="../inner"), "inner": inner.commit({"z": b"z"})})
    commit = project.commit({".gitmodules": gitmodules(lib="../lib"), "lib": middle})
    source.fetch(PROJECT, commit)
    with source.checkout(PROJECT, commit) as tree:
        assert (tree / "lib/inner/z").read_text() == "z"
        shown = {path.read_text() for path in tree.rglob(".git")}
        assert shown == {"gitdir: ../.git/modules/lib\n", "gitdir: ../../.git/modules/lib/inner\n"}


def test_a_mirror_of_a_submodule_is_fetched_once(
    source: GitSource, project: Repository, lib: Repository, server: Path, tmp_path: Path
) -> None:
    commit = project.commit({".gitmodules": gitmodules(lib="../lib"), "lib": lib.commit({"y": b"y"})})
    source.fetch(PROJECT, commit)
    with source.checkout(PROJECT, commit):
        pass
    lib.path.rename(tmp_path / "away")
    with source.checkout(PROJECT, commit) as one, source.checkout(PROJECT, commit) as other:
        (one / "lib/y").write_text("changed")
        assert (other / "lib/y").read_text() == "y"


def test_an_unfetchable_or_unneeded_submodule_stays_an_empty_directory(
    source: GitSource, project: Repository
) -> None:
    unneeded = gitmodules(docs="https://docs.example/x") + b"\tupdate = none\n"
    commit = project.commit({".gitmodules": unneeded, "docs": UNKNOWN, "stray": UNKNOWN})
    source.fetch(PROJECT, commit)
    with source.checkout(PROJECT, commit) as tree:
        assert [*(tree / "docs").iterdir(), *(tree / "stray").iterdir()] == []


def refusal(source: GitSource, commit: str) -> str:
    """Return why a checkout is refused."""
    source.fetch(PROJECT, commit)
    with pytest.raises(Incomplete) as refused, source.checkout(PROJECT, commit):
        pass
    return str(refused.value)


def test_a_submodule_of_another_server_is_refused_with_the_setting(
    source: GitSource, project: Repository
) -> None:
    commit = project.commit({".gitmodules": gitmodules(lib="https://example.com/lib"), "lib": UNKNOWN})
    assert refusal(source, commit) == (
        "submodule lib: https://example.com/lib at ffffffffffff: this machine does not fetch from there: its "
        "operator can add example.com to BENCHGATE_FETCH_FROM"
    )


def test_a_commit_that_the_submodule_lacks_is_refused(
    source: GitSource, project: Repository, lib: Repository
) -> None:
    lib.commit({"y": b"y"})
    commit = project.commit({".gitmodules": gitmodules(lib="../lib"), "lib": UNKNOWN})
    assert "at ffffffffffff: no branch or tag there has this commit" in refusal(source, commit)


def test_a_submodule_without_a_repository_is_refused(source: GitSource, project: Repository) -> None:
    commit = project.commit({".gitmodules": gitmodules(lib="../lib"), "lib": UNKNOWN})
    assert refusal(source, commit).endswith("there is no such repository")


def test_a_server_that_does_not_answer_is_transient(
    source: GitSource, project: Repository, tmp_path: Path
) -> None:
    """Nobody is to blame, and the next attempt may succeed."""
    url = "http://127.0.0.1:1/kv"
    commit = project.commit({".gitmodules": gitmodules(lib="../lib"), "lib": UNKNOWN})
    source.fetch(PROJECT, commit)
    silent = GitSource(tmp_path / "root", lambda _: url)
    problem = r"fetch of the submodule lib from http://127.0.0.1:1/lib: fatal"
    with pytest.raises(Transient, match=problem), silent.checkout(PROJECT, commit):
        pass


@pytest.mark.parametrize("url", ["/etc", "../../outside", "file:///srv/x", "ext::sh -c touch% ran"])
def test_no_other_file_of_the_machine_is_fetched(
    source: GitSource, project: Repository, tmp_path: Path, url: str
) -> None:
    secret = Repository(tmp_path / "outside").commit({"secret": b"x"})
    commit = project.commit({".gitmodules": gitmodules(lib=url), "lib": secret})
    assert refusal(source, commit)
    assert not (tmp_path / "root/submodules").exists()


@pytest.mark.parametrize("path", ["../x", "/etc/x", "-x", ".git/hooks", "a/../../x"])
def test_a_hostile_path_is_refused_with_its_name(source: GitSource, project: Repository, path: str) -> None:
    text = f'[submodule "lib"]\n\tpath = {path}\n\turl = ../lib\n'.encode()
    commit = project.commit({".gitmodules": text, "lib": UNKNOWN})
    assert "submodule 'lib': .gitmodules gives it the path" in refusal(source, commit)


def test_a_line_end_in_a_path_is_refused(source: GitSource, project: Repository) -> None:
    commit = project.commit(
        {".gitmodules": b'[submodule "lib"]\npath = "a\\nb"\nurl = ../lib\n', "lib": UNKNOWN}
    )
    assert "gives it the path 'a b'" in refusal(source, commit)


@pytest.mark.parametrize("content", [b"[submodule", b"x" * ((1 << 20) + 1)], ids=["syntax", "large"])
def test_a_file_that_git_would_not_use_is_refused(
    source: GitSource, project: Repository, content: bytes
) -> None:
    commit = project.commit({".gitmodules": content, "lib": UNKNOWN})
    assert refusal(source, commit).startswith("submodules: ")


def test_a_file_that_git_lists_at_great_length_is_refused(source: GitSource, project: Repository) -> None:
    """Each line of the list has the whole name of the section."""
    content = b'[submodule "%s"]\n' % (b"x" * 20_000) + b"a = 1\n" * 4000
    commit = project.commit({".gitmodules": content, "lib": UNKNOWN})
    assert refusal(source, commit) == "sources: git config wrote more than 64 MiB"


def test_a_file_that_includes_another_reads_nothing_else(
    source: GitSource, project: Repository, tmp_path: Path
) -> None:
    (tmp_path / "other").write_text('[submodule "lib"]\npath = lib\nurl = ../lib\n')
    commit = project.commit({".gitmodules": f"[include]\npath = {tmp_path}/other\n".encode(), "lib": UNKNOWN})
    source.fetch(PROJECT, commit)
    with source.checkout(PROJECT, commit) as tree:
        assert not [*(tree / "lib").iterdir()]


@pytest.mark.parametrize(
    ("link", "path", "order"),
    [("120000", "a/lib", 1), ("160000", "a/b/lib", 1), ("160000", "a/b/lib", -1)],
)
def test_a_link_on_the_way_to_a_submodule_is_not_followed(
    source: GitSource,
    project: Repository,
    lib: Repository,
    tmp_path: Path,
    link: str,
    path: str,
    order: int,
) -> None:
    """As in CVE-2024-32002: a tree names a folder twice, once as a link or a submodule that has a link."""
    outside = tmp_path / "outside"
    (outside / "lib").mkdir(parents=True)

    def store(kind: str, data: bytes) -> str:
        return project.git("hash-object", "-w", "--stdin", "--literally", "-t", kind, given=data).strip()

    def tree(*rows: tuple[str, str, str]) -> str:
        entries = (f"{mode} {name}\0".encode() + bytes.fromhex(oid) for mode, name, oid in rows)
        return store("tree", b"".join(entries))

    hook = lib.commit({"post-checkout": b"#!/bin/sh\ntouch ran\n"})
    folder = tree(("160000", "lib", hook))
    if link == "160000":
        folder = tree(("40000", "b", folder))
        other = Repository(lib.path.parent / "a").commit({"b": outside})
    else:
        other = store("blob", str(outside).encode())
    urls = gitmodules(lib="../lib", a="../a").replace(b"path = lib", f"path = {path}".encode())
    twice = [("40000", "a", folder), (link, "a", other)][::order]
    evil = tree(("100644", ".gitmodules", store("blob", urls)), *twice)
    commit = project.git("commit-tree", evil, given=b"Evil\n").strip()
    project.git("update-ref", "refs/heads/master", commit)
    assert refusal(source, commit).endswith(
        ("a file or link is in the way", "other files are in its directory")
    )
    assert [*(outside / "lib").iterdir()] == []


def test_a_submodule_that_names_gits_own_directory_is_not_checked_out(
    source: GitSource, project: Repository, lib: Repository
) -> None:
    blob = lib.git("hash-object", "-w", "--stdin", given=b"[core]\nfsmonitor = touch ran\n").strip()
    inner = lib.git("mktree", given=f"100644 blob {blob}\tconfig\n".encode()).strip()
    tree = lib.git("mktree", given=f"040000 tree {inner}\t.git\n".encode()).strip()
    evil = lib.git("commit-tree", tree, given=b"Evil\n").strip()
    lib.git("update-ref", "refs/heads/master", evil)
    commit = project.commit({".gitmodules": gitmodules(lib="../lib"), "lib": evil})
    source.fetch(PROJECT, commit)
    with pytest.raises(BenchgateError), source.checkout(PROJECT, commit):
        pass


def test_submodules_that_never_end_are_refused(
    source: GitSource, project: Repository, lib: Repository
) -> None:
    commit = lib.commit({"end": b""})
    for _ in range(DEEPEST + 1):
        commit = lib.commit({".gitmodules": gitmodules(lib="../lib"), "lib": commit})
    top = project.commit({".gitmodules": gitmodules(lib="../lib"), "lib": commit})
    assert f"deeper than {DEEPEST} levels" in refusal(source, top)


def test_an_overlarge_submodule_is_refused(
    source: GitSource, project: Repository, lib: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git is ended while it writes, so that nobody can fill the disk."""
    monkeypatch.setattr(submodules, "FILE_BYTES", 1 << 16)
    text = gitmodules(lib="../lib")
    small = project.commit({".gitmodules": text, "lib": lib.commit({"y": b"y"})})
    large = project.commit({".gitmodules": text, "lib": lib.commit({"y": os.urandom(1 << 20)})})
    assert "it has more than" in refusal(source, large)
    source.fetch(PROJECT, small)
    with source.checkout(PROJECT, small) as tree:
        assert (tree / "lib/y").read_text() == "y"


def test_an_incomplete_pack_takes_no_room(
    source: GitSource, project: Repository, lib: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each patch set with a submodule that is too large takes another 4 GiB for weeks."""
    monkeypatch.setattr(submodules, "FILE_BYTES", 1 << 16)
    text = gitmodules(lib="../lib")
    small = project.commit({".gitmodules": text, "lib": lib.commit({"y": b"y"})})
    large = project.commit({".gitmodules": text, "lib": lib.commit({"y": os.urandom(1 << 20)})})
    source.fetch(PROJECT, small)

    def packs() -> set[str]:
        return {path.suffix for path in (tmp_path / "root/submodules").rglob("objects/pack/*")}

    refusal(source, large)
    assert packs() == set()
    (mirror,) = (tmp_path / "root/submodules").glob("*.git")
    (mirror / "objects/pack/tmp_pack_of_a_killed_git").write_bytes(b"x")
    with source.checkout(PROJECT, small):
        assert packs() == {".pack", ".idx"}


def test_too_many_submodules_are_refused(source: GitSource, project: Repository, lib: Repository) -> None:
    names = {f"lib{number}": "../lib" for number in range(MOST + 1)}
    one = lib.commit({"y": b"y"})
    commit = project.commit({".gitmodules": gitmodules(**names), **dict.fromkeys(names, one)})
    assert f"more than {MOST} entries" in refusal(source, commit)


class TestUsersClone:
    @pytest.fixture
    def clone(self, project: Repository, lib: Repository, tmp_path: Path) -> Path:
        """A clone with an unpushed commit in its submodule."""
        project.commit({".gitmodules": gitmodules(lib="../lib"), "lib": lib.commit({"y": b"pushed"})})
        path = tmp_path / "clone"
        argv = ["git", "-c", "protocol.file.allow=always", "clone", "--quiet", "--recurse-submodules"]
        subprocess.run([*argv, str(project.path), str(path)], check=True)
        return path

    @staticmethod
    def source_of(clone: Path, tmp_path: Path) -> GitSource:
        own = Clone((clone / ".git",), "https://gone.example/kv")
        return GitSource(tmp_path / "root", lambda _: str(clone), clone=own)

    def test_a_submodule_comes_from_the_users_clone(self, clone: Path, tmp_path: Path) -> None:
        """Without a server, and without a setting."""
        source = self.source_of(clone, tmp_path)
        source.fetch(PROJECT, "refs/heads/master")
        with source.checkout(PROJECT, "refs/heads/master") as tree:
            assert (tree / "lib/y").read_text() == "pushed"

    def test_an_unpushed_commit_is_found(self, clone: Path, tmp_path: Path) -> None:
        inner = Repository.__new__(Repository)
        inner.path = clone / "lib"
        own = inner.commit({"y": b"mine"}, ref="refs/heads/topic")
        outer = Repository.__new__(Repository)
        outer.path = clone
        commit = outer.commit({".gitmodules": gitmodules(lib="../lib"), "lib": own})
        source = self.source_of(clone, tmp_path)
        source.fetch(PROJECT, commit)
        with source.checkout(PROJECT, commit) as tree:
            assert (tree / "lib/y").read_text() == "mine"

    @pytest.mark.parametrize("option", ["--depth=1", "--filter=blob:none"])
    def test_a_clone_without_all_objects_is_enough_if_the_server_has_them(
        self, project: Repository, lib: Repository, tmp_path: Path, option: str
    ) -> None:
        lib.git("config", "uploadpack.allowFilter", "true")
        commit = lib.commit({"y": b"y"}, lib.commit({"y": b"older"}))
        top = project.commit({".gitmodules": gitmodules(lib="../lib"), "lib": commit})
        kept = tmp_path / "clone/modules/lib"
        argv = ["git", "clone", "--quiet", "--bare", option, lib.path.as_uri(), str(kept)]
        subprocess.run(argv, check=True)
        own = Clone((tmp_path / "clone",), str(project.path))
        source = GitSource(tmp_path / "root", lambda _: str(project.path), clone=own)
        source.fetch(PROJECT, top)
        with source.checkout(PROJECT, top) as tree:
            assert (tree / "lib/y").read_text() == "y"

    def test_an_uninitialised_submodule_names_the_command(self, project: Repository, tmp_path: Path) -> None:
        commit = project.commit({".gitmodules": gitmodules(lib="https://example.com/lib"), "lib": UNKNOWN})
        source = self.source_of(project.path, tmp_path)
        assert refusal(source, commit).endswith(
            "BENCHGATE_FETCH_FROM, or run `git submodule update --init --recursive`"
        )
