"""A mirror has the remote's branches, commits and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.adapters.sources.git.mirror import TEXT_BYTES, GitSource, mirrors_by_instance
from service.domain.building.spec import Merge
from service.domain.values.errors import BadInput, NotFound
from tests.integration.adapters.sources.git.git_repository import Repository

pytestmark = pytest.mark.integration

PROJECT = "kv_engine"
UNKNOWN = "f" * 40


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.fixture
def source(tmp_path: Path, repository: Repository) -> GitSource:
    return GitSource(tmp_path / "root", lambda _: str(repository.path))


@pytest.mark.parametrize("ref", ["refs/heads/master", "refs/changes/01/1/1", "refs/heads/feature/über-1.x"])
def test_a_fetched_ref_is_read(source: GitSource, repository: Repository, ref: str) -> None:
    repository.commit({"benchgate.yaml": b"version: 1\n"}, ref=ref)
    source.fetch(PROJECT, ref)
    assert source.read(PROJECT, ref, "benchgate.yaml") == "version: 1\n"


def test_a_fetched_commit_is_read_by_its_id(source: GitSource, repository: Repository) -> None:
    commit = repository.commit({"a/b.txt": "π\n".encode()})
    source.fetch(PROJECT, commit)
    assert source.read(PROJECT, commit, "a/b.txt") == "π\n"
    assert source.tree(PROJECT, commit) == repository.git("rev-parse", f"{commit}^{{tree}}").strip()


def test_a_branch_that_moved_back_is_fetched_again(source: GitSource, repository: Repository) -> None:
    first = repository.commit({"x": b"first"})
    repository.commit({"x": b"second"}, first)
    source.fetch(PROJECT, "refs/heads/master")
    repository.commit({"x": b"other"})
    source.fetch(PROJECT, "refs/heads/master")
    assert source.read(PROJECT, "refs/heads/master", "x") == "other"


def test_the_head_of_a_branch_is_its_newest_commit(source: GitSource, repository: Repository) -> None:
    first = repository.commit({"x": b"first"})
    second = repository.commit({"x": b"second"}, first)
    source.fetch(PROJECT, "refs/heads/master")
    assert source.head(PROJECT, "master") == second
    with pytest.raises(NotFound):
        source.head(PROJECT, "gone")


@pytest.mark.parametrize(("before", "after"), [("rel", "rel/1"), ("rel/1", "rel")])
def test_a_branch_is_fetched_although_its_name_becomes_a_folder(
    source: GitSource, repository: Repository, before: str, after: str
) -> None:
    first = repository.commit({"x": b"first"}, ref=f"refs/heads/{before}")
    source.fetch(PROJECT, f"refs/heads/{before}")
    repository.git("update-ref", "-d", f"refs/heads/{before}")
    second = repository.commit({"x": b"second"}, first, ref=f"refs/heads/{after}")
    source.fetch(PROJECT, f"refs/heads/{after}")
    assert source.read(PROJECT, f"refs/heads/{after}", "x") == "second"
    assert source.is_merged(PROJECT, first, after)
    assert not source.is_merged(PROJECT, second, before)


def test_a_fetch_succeeds_after_a_checkout_was_killed(
    source: GitSource, repository: Repository, tmp_path: Path
) -> None:
    """git first records the work tree, and then its commit."""
    first = repository.commit({"x": b"1"})
    source.fetch(PROJECT, "refs/heads/master")
    (mirror,) = (tmp_path / "root" / "mirrors").glob("*.git")
    record = mirror / "worktrees" / "src"
    record.mkdir(parents=True)
    (record / "HEAD").write_text(f"{'0' * 40}\n")
    (record / "commondir").write_text("../..\n")
    (record / "gitdir").write_text(f"{tmp_path}/gone/src/.git\n")
    (record / "locked").write_text("initializing")
    second = repository.commit({"x": b"2"}, first)
    source.fetch(PROJECT, "refs/heads/master")
    assert source.head(PROJECT, "master") == second


def test_a_known_commit_needs_no_remote(source: GitSource, repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit({"x": b"x"})
    source.fetch(PROJECT, commit)
    repository.path.rename(tmp_path / "away")
    source.fetch(PROJECT, commit)


def test_the_parent_is_the_first_one(source: GitSource, repository: Repository) -> None:
    root = repository.commit({"x": b"1"})
    other = repository.commit({"x": b"2"}, root, ref="refs/heads/other")
    merge = repository.commit({"x": b"3"}, root, other)
    source.fetch(PROJECT, merge)
    assert source.parent(PROJECT, merge) == root
    assert source.parent(PROJECT, root) is None


def test_two_mirrors_make_the_same_merge(
    source: GitSource, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository.commit({"x": b"1\n2\n3\n4\n5\n"})
    head = repository.commit({"x": b"0\n2\n3\n4\n5\n"}, root)
    change = repository.commit({"x": b"1\n2\n3\n4\n6\n"}, root, ref="refs/changes/01/1/1")
    made = set()
    for name, mirror in (
        ("alice", source),
        ("bob", GitSource(tmp_path / "other", lambda _: str(repository.path))),
    ):
        monkeypatch.setenv("GIT_AUTHOR_NAME", name)
        mirror.fetch(PROJECT, "refs/heads/master", "refs/changes/01/1/1")
        made.add(mirror.merge(PROJECT, Merge(head, change)))
    (merge,) = made
    assert merge is not None
    assert source.read(PROJECT, merge, "x") == "0\n2\n3\n4\n6\n"
    assert source.parent(PROJECT, merge) == head


def test_a_file_in_a_renamed_directory_stays_where_it_was_added(
    source: GitSource, repository: Repository
) -> None:
    root = repository.commit({"old/x": b"1", "old/y": b"2"})
    head = repository.commit({"new/x": b"1", "new/y": b"2"}, root)
    change = repository.commit({"old/x": b"1", "old/y": b"2", "old/z": b"3"}, root, ref="refs/changes/01/1/1")
    source.fetch(PROJECT, "refs/heads/master", change)
    merge = source.merge(PROJECT, Merge(head, change))
    assert merge is not None
    assert source.changed_paths(PROJECT, head, merge) == ["old/z"]


def test_a_merge_driver_of_the_patch_set_is_ignored(source: GitSource, repository: Repository) -> None:
    attributes = b"x merge=union\n"
    root = repository.commit({"x": b"1\n", ".gitattributes": attributes})
    head = repository.commit({"x": b"2\n", ".gitattributes": attributes}, root)
    change = repository.commit({"x": b"3\n", ".gitattributes": attributes}, root, ref="refs/changes/01/1/1")
    source.fetch(PROJECT, "refs/heads/master", change)
    assert source.merge(PROJECT, Merge(head, change)) is None


def test_projects_do_not_share_a_mirror(tmp_path: Path) -> None:
    repositories = {name: Repository(tmp_path / name.replace("/", "-")) for name in ("a/b", "a_b")}
    source = GitSource(tmp_path / "root", lambda project: str(repositories[project].path))
    for name, repository in repositories.items():
        repository.commit({"name": name.encode()})
        source.fetch(name, "refs/heads/master")
    assert [source.read(name, "refs/heads/master", "name") for name in repositories] == ["a/b", "a_b"]


def test_review_servers_do_not_share_the_mirror_of_projects_with_one_name(tmp_path: Path) -> None:
    repositories = {name: Repository(tmp_path / name) for name in ("core", "edge", "only")}
    for name, repository in repositories.items():
        repository.commit({"name": name.encode()})
    remotes = {name: lambda _, name=name: str(repositories[name].path) for name in ("core", "edge")}
    mirrors = {
        **mirrors_by_instance(tmp_path / "root", remotes),
        "only": GitSource(tmp_path / "root", lambda _: str(repositories["only"].path)),
    }
    for mirror in mirrors.values():
        mirror.fetch(PROJECT, "refs/heads/master")
    read = {name: mirror.read(PROJECT, "refs/heads/master", "name") for name, mirror in mirrors.items()}
    assert read == {"core": "core", "edge": "edge", "only": "only"}


@pytest.mark.parametrize(
    "path", ["missing", "a", "a/", "link", "link/b.txt", "../x", "/etc/passwd", "", ":/a", "*", "\0"]
)
def test_a_path_other_than_a_regular_file_is_none(
    source: GitSource, repository: Repository, path: str
) -> None:
    commit = repository.commit({"a/b.txt": b"x", "link": Path("a")})
    source.fetch(PROJECT, commit)
    assert source.read(PROJECT, commit, path) is None


def test_a_linked_project_file_is_not_followed(source: GitSource, repository: Repository) -> None:
    commit = repository.commit({"benchgate.yaml": Path("/etc/passwd")})
    source.fetch(PROJECT, commit)
    assert source.read(PROJECT, commit, "benchgate.yaml") is None


def test_a_file_too_large_or_not_text_raises_an_error(source: GitSource, repository: Repository) -> None:
    commit = repository.commit(
        {
            "most": b"x" * TEXT_BYTES,
            "large": b"x" * (TEXT_BYTES + 1),
            "utf-16": "a: 1".encode("utf-16"),
            "latin-1": b"\xfc",
        }
    )
    source.fetch(PROJECT, commit)
    assert len(source.read(PROJECT, commit, "most") or "") == TEXT_BYTES
    with pytest.raises(BadInput, match="large: larger than 1 MiB"):
        source.read(PROJECT, commit, "large")
    for name in ("utf-16", "latin-1"):
        with pytest.raises(BadInput, match=f"{name}: not UTF-8"):
            source.read(PROJECT, commit, name)


def test_changed_paths_are_plain_names(source: GitSource, repository: Repository) -> None:
    base = repository.commit({"same": b"1", "changed": b"1", "gone": b"content", "dir/x": b"1"})
    patch = repository.commit({"same": b"1", "changed": b"2", "moved ü\n": b"content", "dir": b"1"}, base)
    source.fetch(PROJECT, patch)
    assert sorted(source.changed_paths(PROJECT, base, patch)) == [
        "changed",
        "dir",
        "dir/x",
        "gone",
        "moved ü\n",
    ]


def test_changed_paths_of_submodules_end_with_a_slash(source: GitSource, repository: Repository) -> None:
    one, other = "1" * 40, "2" * 40
    base = repository.commit({"engine": one, "same": one, "gone": one, "was file": b"1", "was/x": b"1"})
    patch = repository.commit({"engine": other, "same": one, "was file": one, "was": one, "new": one}, base)
    source.fetch(PROJECT, patch)
    assert sorted(source.changed_paths(PROJECT, base, patch)) == [
        "engine/",
        "gone/",
        "new/",
        "was file",
        "was file/",
        "was/",
        "was/x",
    ]


def test_a_changed_symbolic_link_may_be_a_directory(source: GitSource, repository: Repository) -> None:
    base = repository.commit({"engine": Path("v1"), "v1/x": b"1", "v2/x": b"2"})
    patch = repository.commit({"engine": Path("v2"), "v1/x": b"1", "v2/x": b"2"}, base)
    source.fetch(PROJECT, patch)
    assert sorted(source.changed_paths(PROJECT, base, patch)) == ["engine", "engine/"]


def test_changed_paths_have_the_names_of_merged_symbolic_links(
    source: GitSource, repository: Repository
) -> None:
    links = {"engine": Path("impl/v2"), "two words/ü\n": Path("../impl"), "broken": Path("a\nb")}
    base = repository.commit({**links, "impl/v2/x.cc": b"1"})
    patch = repository.commit({**links, "impl/v2/x.cc": b"2"}, base)
    source.fetch(PROJECT, patch)
    assert sorted(source.changed_paths(PROJECT, base, patch)) == [
        "engine/x.cc",
        "impl/v2/x.cc",
        "two words/ü\n/v2/x.cc",
    ]


def test_changed_lines_of_files_with_unusual_names(source: GitSource, repository: Repository) -> None:
    names = ["-x.c", "two words.c", 'ü\t".c', ":(glob)*.c", "*.c", "dir/new\nline.c"]
    base = repository.commit({"kept.c": b"1\n"})
    patch = repository.commit({"kept.c": b"1\n", **dict.fromkeys(names, b"1\n2")}, base)
    source.fetch(PROJECT, patch)
    lines = source.changed_lines(PROJECT, base, patch, (".c",))
    assert lines == dict.fromkeys(names, (range(1, 3),))


def test_changed_lines_include_files_that_the_patch_set_calls_binary(
    source: GitSource, repository: Repository
) -> None:
    attributes = b"* binary\n*.c -diff -text\n"
    base = repository.commit({"a.c": b"1\n", ".gitattributes": attributes})
    patch = repository.commit({"a.c": b"1\n\0\xff\n", ".gitattributes": attributes}, base)
    source.fetch(PROJECT, patch)
    assert source.changed_lines(PROJECT, base, patch, (".c",)) == {"a.c": (range(2, 3),)}


def test_a_link_has_no_changed_lines(source: GitSource, repository: Repository) -> None:
    base = repository.commit({"was_file.c": b"1\n", "was_link.c": Path("x")})
    patch = repository.commit({"was_file.c": Path("x"), "was_link.c": b"1\n", "new.c": Path("y")}, base)
    source.fetch(PROJECT, patch)
    assert source.changed_lines(PROJECT, base, patch, (".c",)) == {"was_link.c": (range(1, 2),)}


def test_a_renamed_file_is_compared_with_its_former_self(source: GitSource, repository: Repository) -> None:
    lines = [f"line {number}" for number in range(20)]
    base = repository.commit({"old.c": "\n".join(lines).encode()})
    lines[4] = "another"
    patch = repository.commit({"new/name.cc": "\n".join(lines).encode()}, base)
    source.fetch(PROJECT, patch)
    assert source.changed_lines(PROJECT, base, patch, (".c", ".cc")) == {"new/name.cc": (range(5, 6),)}


def test_too_many_changed_files_are_bad_input(source: GitSource, repository: Repository) -> None:
    base = repository.commit({"x": b"1"})
    names = [f"{'long/' * 40}{number}.c" for number in range(6000)]
    blob = repository.git("hash-object", "-w", "--stdin", given=b"1\n").strip()
    rows = "".join(f"100644 {blob}\t{name}\n" for name in names)
    repository.git("update-index", "--index-info", given=rows.encode())
    tree = repository.git("write-tree").strip()
    patch = repository.git("commit-tree", tree, f"-p{base}", given=b"Text\n").strip()
    repository.git("update-ref", "refs/heads/master", patch)
    source.fetch(PROJECT, patch)
    with pytest.raises(BadInput, match="6000 such files"):
        source.changed_lines(PROJECT, base, patch, (".c",))


@pytest.mark.parametrize("revision", [UNKNOWN, "refs/heads/none"])
def test_an_unknown_revision_is_not_found(source: GitSource, repository: Repository, revision: str) -> None:
    commit = repository.commit({"x": b"x"})
    source.fetch(PROJECT, commit)
    with pytest.raises(NotFound):
        source.fetch(PROJECT, revision)
    with pytest.raises(NotFound):
        source.tree(PROJECT, revision)
    with pytest.raises(NotFound):
        source.parent(PROJECT, revision)
    with pytest.raises(NotFound):
        source.read(PROJECT, revision, "x")
    with pytest.raises(NotFound):
        source.changed_paths(PROJECT, commit, revision)
    with pytest.raises(NotFound), source.checkout(PROJECT, revision):
        pass


def test_a_never_fetched_project_has_no_revisions(source: GitSource) -> None:
    with pytest.raises(NotFound):
        source.tree("never", UNKNOWN)
