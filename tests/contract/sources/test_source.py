"""Hold mirrors of a repository to one contract, in memory and with git."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from service.adapters.sources.git.mirror import GitSource
from service.domain.building.spec import Merge
from service.domain.project.manifest_key import ManifestKey
from service.domain.values.errors import Cancelled, Incomplete, NotFound
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.support.building.memory_source import Commit, MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from service.ports.sources import Source

PROJECT, UNKNOWN = "kv_engine", "f" * 40
MASTER = "refs/heads/master"


class SourceSite(Protocol):
    """A repository that a test commits to."""

    @property
    def source(self) -> Source: ...

    def commit(self, files: Mapping[str, str], parent: str | None = None, ref: str = MASTER) -> str:
        """Create a commit, move a ref to it, and fetch the ref."""

    def say(self, message: bytes, *parents: str) -> str:
        """Create a commit with a message, and fetch it."""

    def commit_without_submodule(self) -> str:
        """Create a commit with a file ``x`` and a submodule ``lib`` that nobody has, and fetch it."""

    def other(self) -> str:
        """Create a manifest with the project and one repository ``lib``, and return its commit."""


class MemorySite:
    def __init__(self) -> None:
        self.source = MemorySource()

    def commit(self, files: Mapping[str, str], parent: str | None = None, ref: str = MASTER) -> str:
        return self.source.commit(f"{len(self.source.commits):040}", parent, files, ref)

    def say(self, message: bytes, *parents: str) -> str:
        first, second = [*parents, "", ""][:2]
        text = message.decode(errors="replace").rstrip("\n")
        commit = f"{len(self.source.commits):040}"
        self.source.commits[commit] = Commit(first or None, {}, merged=second, message=text)
        return commit

    def commit_without_submodule(self) -> str:
        self.source.commits[UNKNOWN] = Commit(None, {"x": "1"}, Incomplete("submodule lib", "missing"))
        return UNKNOWN

    def other(self) -> str:
        self.source.others["lib"], self.source.folder = UNKNOWN, PROJECT
        return UNKNOWN


class GitSite:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._repository = Repository(directory / "repository")
        self.source = GitSource(directory / "mirrors", lambda _: str(self._repository.path))

    def commit(self, files: Mapping[str, str], parent: str | None = None, ref: str = MASTER) -> str:
        contents = {name: text.encode() for name, text in files.items()}
        commit = self._repository.commit(contents, *([parent] if parent else []), ref=ref)
        self.source.fetch(PROJECT, ref)
        return commit

    def say(self, message: bytes, *parents: str) -> str:
        git = self._repository.git  # `commit-tree` would repair bytes that are not UTF-8
        tree = git("write-tree").strip()
        who = [f"{each} Ann <ann@example.com> 1700000000 +0000" for each in ("author", "committer")]
        head = "\n".join([f"tree {tree}", *(f"parent {each}" for each in parents), *who, "\n"])
        written = head.encode() + message
        commit = git("hash-object", "-t", "commit", "-w", "--stdin", given=written).strip()
        git("update-ref", MASTER, commit)
        self.source.fetch(PROJECT, commit)
        return commit

    def commit_without_submodule(self) -> str:
        urls = b"[submodule 'lib']\npath = lib\nurl = ../lib\n".replace(b"'", b'"')
        commit = self._repository.commit({"x": b"1", ".gitmodules": urls, "lib": UNKNOWN})
        self.source.fetch(PROJECT, commit)
        return commit

    def other(self) -> str:
        text = '<manifest><remote name="o" fetch="."/><default remote="o" revision="master"/>'
        text += f'<project name="repository" path="{PROJECT}"/><project name="lib"/></manifest>'
        Repository(self._directory / "manifest").commit({"default.xml": text.encode()})
        return Repository(self._directory / "lib").commit({"y": b"y"})


@pytest.fixture(params=["memory", pytest.param("git", marks=pytest.mark.integration)])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> SourceSite:
    return MemorySite() if request.param == "memory" else GitSite(tmp_path)


class TestCommitGraph:
    def test_a_branch_has_a_head(self, site: SourceSite) -> None:
        first = site.commit({"x": "1"})
        assert site.source.head(PROJECT, "master") == first
        second = site.commit({"x": "2"}, first)
        assert site.source.head(PROJECT, "master") == second
        with pytest.raises(NotFound):
            site.source.head(PROJECT, "gone")

    def test_an_unknown_revision_is_not_found(self, site: SourceSite) -> None:
        site.commit({"x": "1"})
        source = site.source
        looks: tuple[Callable[[], object], ...] = (
            lambda: source.tree(PROJECT, UNKNOWN),
            lambda: source.parent(PROJECT, UNKNOWN),
            lambda: source.message(PROJECT, UNKNOWN),
            lambda: source.merge(PROJECT, Merge(UNKNOWN, UNKNOWN)),
            lambda: source.read(PROJECT, UNKNOWN, "x"),
        )
        for look in looks:
            with pytest.raises(NotFound):
                look()

    def test_equal_files_have_one_tree(self, site: SourceSite) -> None:
        first = site.commit({"x": "1", "y": "2"})
        other = site.commit({"x": "2"}, first)
        again = site.commit({"y": "2", "x": "1"}, other)
        trees = [site.source.tree(PROJECT, each) for each in (first, other, again)]
        assert trees[0] == trees[2] != trees[1]

    def test_a_commit_has_a_parent_unless_it_is_the_first(self, site: SourceSite) -> None:
        root = site.commit({"x": "1"})
        child = site.commit({"x": "2"}, root)
        assert (site.source.parent(PROJECT, child), site.source.parent(PROJECT, root)) == (root, None)

    def test_a_message_is_whole_and_has_readable_characters(self, site: SourceSite) -> None:
        written = "Find: 3 \N{MICRO SIGN}s\n\n  # indented\n\nChange-Id: I1\n".encode() + b"\xff\n"
        root = site.say(written)
        expected = "Find: 3 \N{MICRO SIGN}s\n\n  # indented\n\nChange-Id: I1\n\ufffd"
        assert site.source.message(PROJECT, root) == expected

    def test_a_merge_commit_has_no_message(self, site: SourceSite) -> None:
        root = site.say(b"first\n")
        sides = [site.say(text, root) for text in (b"one\n", b"other\n")]
        merge = site.say(b"Merge other\n", *sides)
        assert [site.source.message(PROJECT, each) for each in (*sides, merge)] == ["one", "other", ""]

    def test_the_line_of_a_branch_follows_first_parents_newest_first(self, site: SourceSite) -> None:
        commits = [site.commit({"x": "1"})]
        for number in range(3):
            commits.append(site.commit({"x": str(number)}, commits[-1]))
        found = site.source.line(PROJECT, "master", 3)
        assert [each.revision for each in found] == commits[:0:-1]
        assert [each.parents for each in found] == [(each,) for each in commits[-2::-1]]
        assert {(bool(each.author), bool(each.subject)) for each in found} == {(True, True)}
        assert [each.parents for each in site.source.line(PROJECT, "master", 9)][-1] == ()
        with pytest.raises(NotFound):
            site.source.line(PROJECT, "gone", 3)

    def test_a_merge_has_the_differences_of_both_sides(self, site: SourceSite) -> None:
        root = site.commit({"x": "1", "y": "1"})
        head = site.commit({"x": "2", "y": "1"}, root)
        change = site.commit({"x": "1", "y": "2", "z": "2"}, root, "refs/changes/01/1/1")
        merge = Merge(head, change)
        merged = site.source.merge(PROJECT, merge)
        assert merged is not None
        with site.source.checkout(PROJECT, merged) as directory:
            assert {each.name: each.read_text() for each in directory.iterdir()} == {
                "x": "2",
                "y": "2",
                "z": "2",
            }
        assert site.source.changed_paths(PROJECT, head, merged) == ["y", "z"]
        assert site.source.merge(PROJECT, merge) == merged

    def test_a_merge_since_a_commit_leaves_out_the_differences_before_it(self, site: SourceSite) -> None:
        root = site.commit({"x": "1", "y": "1"})
        head = site.commit({"x": "2", "y": "1"}, root)
        parent = site.commit({"x": "3", "y": "1"}, root, "refs/changes/01/1/1")
        change = site.commit({"x": "3", "y": "2"}, parent, "refs/changes/02/2/1")
        assert site.source.merge(PROJECT, Merge(head, change)) is None
        picked = site.source.merge(PROJECT, Merge(head, change, parent))
        assert picked is not None
        assert [site.source.read(PROJECT, picked, name) for name in ("x", "y")] == ["2", "2"]

    def test_commits_without_a_common_ancestor_are_not_merged(self, site: SourceSite) -> None:
        head = site.commit({"x": "1"})
        change = site.commit({"y": "1"}, None, "refs/changes/01/1/1")
        assert site.source.merge(PROJECT, Merge(head, change)) is None

    def test_a_commit_is_merged_into_the_branches_that_have_it(self, site: SourceSite) -> None:
        root = site.commit({"x": "1"})
        head = site.commit({"x": "2"}, root)
        change = site.commit({"x": "3"}, root, "refs/changes/01/1/1")
        is_merged = [site.source.is_merged(PROJECT, each, "master") for each in (root, head, change)]
        assert is_merged == [True, True, False]
        with pytest.raises(NotFound):
            site.source.is_merged(PROJECT, root, "gone")


class TestSource:
    def test_a_file_is_read_as_it_was_in_a_revision(self, site: SourceSite) -> None:
        old = site.commit({"benchgate.yaml": "version: 1\n"})
        site.commit({"benchgate.yaml": "π\n"}, old)
        texts = [site.source.read(PROJECT, each, "benchgate.yaml") for each in (old, MASTER)]
        assert texts == ["version: 1\n", "π\n"]
        assert site.source.read(PROJECT, old, "missing") is None

    def test_a_checkout_has_the_files_and_is_removed_afterwards(self, site: SourceSite) -> None:
        commit = site.commit({"x": "1", "y": "2"})
        with site.source.checkout(PROJECT, commit) as directory:
            assert {name: (directory / name).read_text() for name in ("x", "y")} == {"x": "1", "y": "2"}
        assert not directory.exists()

    def test_a_watch_can_end_a_checkout(self, site: SourceSite) -> None:
        commit = site.commit({"x": "1"})

        def cancel() -> None:
            raise Cancelled("not needed")

        with pytest.raises(Cancelled), site.source.checkout(PROJECT, commit, watch=cancel):
            pass

    def test_a_checkout_without_its_submodule_is_incomplete(self, site: SourceSite) -> None:
        commit = site.commit_without_submodule()
        with pytest.raises(Incomplete, match="submodule lib"), site.source.checkout(PROJECT, commit):
            pass
        with site.source.checkout(PROJECT, commit, whole=False) as directory:
            assert (directory / "x").read_text() == "1"

    def test_a_workspace_has_the_project_in_its_folder_and_commits_of_the_others(
        self, site: SourceSite
    ) -> None:
        commit, other = site.commit({"x": "1"}), site.other()
        workspace = site.source.workspace(PROJECT, "master", ManifestKey("../manifest", "master"))
        assert (workspace.folder, *((each.path, each.commit) for each in workspace.others)) == (
            PROJECT,
            ("lib", other),
        )
        with site.source.checkout(PROJECT, commit, workspace) as directory:
            assert (directory / PROJECT / "x").read_text() == "1"


class TestDifferences:
    def test_an_unknown_revision_is_not_found(self, site: SourceSite) -> None:
        commit = site.commit({"x": "1"})
        source = site.source
        for look in (
            lambda: source.changed_paths(PROJECT, UNKNOWN, commit),
            lambda: source.changed_lines(PROJECT, UNKNOWN, commit, ("x",)),
            lambda: source.changed_lines(PROJECT, commit, UNKNOWN, ("x",)),
        ):
            with pytest.raises(NotFound):
                look()

    def test_changed_paths_are_those_that_differ(self, site: SourceSite) -> None:
        base = site.commit({"same": "1", "changed": "1", "gone": "old"})
        patch = site.commit({"same": "1", "changed": "2", "new": "text"}, base)
        assert sorted(site.source.changed_paths(PROJECT, base, patch)) == ["changed", "gone", "new"]
        assert list(site.source.changed_paths(PROJECT, patch, patch)) == []

    def test_changed_lines_are_those_that_the_revision_adds_or_changes(self, site: SourceSite) -> None:
        old = {"same.c": "1\n", "changed.c": "1\n2\n3\n4\n", "gone.c": "old\n", "new.txt": "1\n"}
        new = {"same.c": "1\n", "changed.c": "one\n2\n4\n5\n6\n", "new.c": "a\nb\n", "new.txt": "2\n"}
        base = site.commit(old)
        patch = site.commit(new, base)
        changed = site.source.changed_lines(PROJECT, base, patch, (".c", ".h"))
        assert changed == {"changed.c": (range(1, 2), range(4, 6)), "new.c": (range(1, 3),)}

    def test_a_moved_file_has_no_changed_lines(self, site: SourceSite) -> None:
        text = "".join(f"line {number}\n" for number in range(20))
        base = site.commit({"old.c": text})
        patch = site.commit({"new.c": text}, base)
        assert site.source.changed_lines(PROJECT, base, patch, (".c",)) == {}

    def test_all_lines_of_the_first_commit_are_changed(self, site: SourceSite) -> None:
        root = site.commit({"x.c": "1\n2\n", "empty.c": "", "x.txt": "1\n"})
        assert site.source.changed_lines(PROJECT, None, root, (".c",)) == {"x.c": (range(1, 3),)}
