"""A checkout of a project of several repositories, as its manifest lays them out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.git.mirror import GitSource
from service.adapters.sources.git.repository import Clone
from service.domain.project.manifest_key import ManifestKey
from service.domain.sources.allowed import AllowedSources
from service.domain.sources.workspace import OtherProject, Workspace
from service.domain.values.errors import BadInput, Incomplete
from tests.integration.adapters.sources.dependencies.mirror import running_mirror
from tests.integration.adapters.sources.git.git_repository import Repository, gitmodules

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.integration

CORE = "team/core"
KEY = ManifestKey("../manifest", "master")
ID = "f" * 40
HEAD = '<manifest><remote name="o" fetch=".."/><default remote="o" revision="master"/>'
PROJECTS = """\
<project name="team/core" path="core">
  <linkfile src="top/CMakeLists.txt" dest="CMakeLists.txt"/>
  <copyfile src="top/run.sh" dest="bin/run.sh"/>
</project>
<project name="team/net" path="libs/net"/>
<project name="team/inner" path="core/third_party/inner"/>
"""
FILES: Mapping[str, bytes | Path | str] = {
    "top/CMakeLists.txt": b"project(x)\n",
    "top/run.sh": b"#!/bin/sh\n",
    "x": b"1",
}


class Server:
    """The projects of a server, and a machine that fetches from it."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "server"
        (self.root / "team").mkdir(parents=True)
        self._home = directory / "home"
        self.core, self.net, self.inner, self.manifest = map(
            self.project, ("core", "net", "inner", "manifest")
        )
        self.net.commit({"net.h": b"old\n"})
        self.inner.commit({"inner.h": b"i\n"})
        self.describe(PROJECTS)
        self.source = self.fetching_from()

    def project(self, name: str) -> Repository:
        return Repository(self.root / "team" / name)

    def describe(self, projects: str, **files: bytes) -> str:
        more = {f"{name}.xml": content for name, content in files.items()}
        return self.manifest.commit({"default.xml": f"{HEAD}{projects}</manifest>".encode(), **more})

    def fetching_from(self, *allowed: str) -> GitSource:
        return GitSource(
            self._home, lambda name: str(self.root / name), allowed=AllowedSources.parse(allowed)
        )

    def commit(self, files: Mapping[str, bytes | Path | str] = FILES) -> str:
        commit = self.core.commit(files)
        self.source.fetch(CORE, commit)
        return commit

    def workspace(self, key: ManifestKey = KEY) -> Workspace:
        return self.source.workspace(CORE, "master", key)

    def files(self, commit: str, workspace: Workspace, project: str = CORE) -> dict[str, str]:
        with self.source.checkout(project, commit, workspace) as top:
            return {
                str(path.relative_to(top)): path.read_text()
                for path in top.rglob("*")
                if path.is_file() and not path.is_symlink()
            } | {
                str(path.relative_to(top)): f"-> {path.readlink()}"
                for path in top.rglob("*")
                if path.is_symlink()
            }


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """For tests that commit no more than manifests."""
    return Server(tmp_path_factory.mktemp("shared"))


LAID_OUT = {
    "CMakeLists.txt": "-> core/top/CMakeLists.txt",
    "bin/run.sh": "#!/bin/sh\n",
    "core/top/CMakeLists.txt": "project(x)\n",
    "core/top/run.sh": "#!/bin/sh\n",
    "core/third_party/inner/inner.h": "i\n",
    "core/x": "1",
    "libs/net/net.h": "old\n",
}


def test_all_repositories_are_laid_out_as_the_manifest_says(server: Server) -> None:
    workspace = server.workspace()
    assert workspace.folder == "core"
    assert workspace.manifest == str(server.root / "team/manifest")
    assert server.files(server.commit(), workspace) == LAID_OUT


def test_a_branch_that_moves_after_planning_does_not_change_the_sources(server: Server) -> None:
    base = server.commit()
    workspace = server.workspace()
    moved = server.net.commit({"net.h": b"new\n"})
    patch = server.commit({**FILES, "x": b"2"})

    assert server.files(base, workspace)["libs/net/net.h"] == "old\n"
    assert server.files(patch, workspace)["libs/net/net.h"] == "old\n"
    later = server.workspace()
    assert [each.commit for each in later.others if each.path == "libs/net"] == [moved]
    assert later.digest != workspace.digest


def test_a_machine_may_reach_the_own_server_by_another_address(server: Server, tmp_path: Path) -> None:
    commit, workspace = server.commit(), server.workspace()
    assert [each.url for each in workspace.others] == ["./team/net", "./team/inner"]
    mirror = tmp_path / "mirror"
    server.root.rename(mirror)
    server.root = mirror
    server.source = server.fetching_from()
    assert server.files(commit, workspace) == LAID_OUT


@pytest.mark.parametrize("git", ["../manifest", "../../platform/manifest"])
def test_a_clone_of_a_project_with_a_folder_in_its_name_finds_the_others(server: Server, git: str) -> None:
    """`benchgate gate` knows the address of the clone, and not how much of that is the name."""
    (server.root / "platform").mkdir()
    Repository(server.root / "platform/manifest").commit(
        {"default.xml": server.manifest.git("show", "master:default.xml").encode()}
    )
    commit = server.core.commit(FILES)
    clone = Clone((server.core.path / ".git",), str(server.core.path))
    server.source = GitSource(server.root / "home", lambda _: str(server.core.path), clone=clone)
    server.source.fetch("local-0123", commit)
    workspace = server.source.workspace("local-0123", "", ManifestKey(git, "master"))
    assert [each.url for each in workspace.others] == ["./team/net", "./team/inner"]
    assert server.files(commit, workspace, "local-0123") == LAID_OUT


def test_tags_commits_and_the_commit_of_the_manifest_are_resolved(server: Server) -> None:
    first = server.net.git("rev-parse", "master").strip()
    server.net.git("tag", "-a", "-m", "text", "v1")
    server.net.commit({"net.h": b"new\n"})
    pinned = server.describe(
        '<project name="team/core" path="."/><project name="team/net" path="a" revision="refs/tags/v1"/>'
        f'<project name="team/net" path="b" revision="{first}"/>'
    )
    server.describe("<project name='team/gone'/>")
    workspace = server.workspace(ManifestKey("../manifest", commit=pinned))
    assert {each.path: each.commit for each in workspace.others} == {"a": first, "b": first}
    assert (workspace.folder, workspace.commit) == ("", pinned)
    assert server.files(server.commit(), workspace)["a/net.h"] == "old\n"


def test_files_of_the_manifest_are_included(server: Server) -> None:
    server.describe('<include name="more.xml"/>', more=f"<manifest>{PROJECTS}</manifest>".encode())
    assert server.files(server.commit(), server.workspace()) == LAID_OUT


def test_submodules_of_other_projects_are_filled_on_the_manifests_request(server: Server) -> None:
    server.net.commit(
        {".gitmodules": gitmodules(sub="../inner"), "sub": server.inner.git("rev-parse", "master").strip()}
    )
    found = {}
    for syncs in ("true", "false"):
        server.describe(
            f'<project name="team/core" path="core"/><project name="team/net" path="net" sync-s="{syncs}"/>'
        )
        found[syncs] = server.files(server.commit(), server.workspace()).get("net/sub/inner.h")
    assert found == {"true": "i\n", "false": None}


def test_a_project_of_the_manifest_takes_the_place_of_a_submodule(server: Server) -> None:
    """Without the manifest, a clone of the repository is complete by its submodule."""
    lists = gitmodules(**{"third_party/inner": "../gone"})
    commit = server.commit({**FILES, ".gitmodules": lists, "third_party/inner": "f" * 40})
    assert server.files(commit, server.workspace()) == {**LAID_OUT, "core/.gitmodules": lists.decode()}


@pytest.mark.parametrize(
    ("projects", "message"),
    [
        ("<project name='team/gone'/>", "project team/gone (default.xml:7): there is no repository"),
        ("<project name='team/net' revision='gone'/>", "has no refs/heads/gone"),
        (
            "<remote name='x' fetch='https://example.com'/><project name='x' remote='x'/>",
            "its operator can add example.com to BENCHGATE_FETCH_FROM",
        ),
        (
            f"<remote name='x' fetch='https://example.com' revision='{ID}'/><project name='x' remote='x'/>",
            "its operator can add example.com to BENCHGATE_FETCH_FROM",
        ),
        ("<remote name='x' fetch='file:///etc'/><project name='x' remote='x'/>", "BENCHGATE_FETCH_FROM"),
        (
            "<remove-project name='team/core'/>",
            "manifest ../manifest, default.xml: the manifest has no project",
        ),
        (
            "<include name='link.xml'/>",
            "manifest ../manifest, default.xml:7: the manifest's repository has no",
        ),
        ("<include name='large.xml'/>", "manifest ../manifest, large.xml: larger than 1 MiB"),
    ],
)
def test_invalid_names_in_a_manifest_are_refused(shared: Server, projects: str, message: str) -> None:
    text = f"{HEAD}{PROJECTS}{projects}</manifest>".encode()
    files: dict[str, bytes | Path | str] = {
        "link.xml": Path("/etc/passwd"),
        "large.xml": b" " * ((1 << 20) + 1),
    }
    shared.manifest.commit({"default.xml": text, **files})
    with pytest.raises(BadInput) as refused:
        shared.workspace()
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (ManifestKey("../gone", "master"), "manifest ../gone: "),
        (ManifestKey("../manifest", "gone"), "has no refs/heads/gone"),
        (
            ManifestKey("../manifest", "master", file="gone.xml"),
            "manifest ../manifest: the manifest's repository has no regular file 'gone.xml'",
        ),
        (ManifestKey("https://example.com/m", "master"), "can add example.com to BENCHGATE_FETCH_FROM"),
        (ManifestKey("../manifest", commit="f" * 40), "no branch or tag there has this commit"),
    ],
)
def test_a_manifest_that_cannot_be_had_is_refused(shared: Server, key: ManifestKey, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        shared.workspace(key)
    assert message in str(refused.value)


def test_a_repository_that_a_server_gives_to_its_users_only_is_refused(server: Server) -> None:
    """GitHub answers so if there is no such repository; another attempt would end alike."""
    with running_mirror() as web:
        web.answers["/lib/info/refs"] = 401
        server.describe(f"{PROJECTS}<remote name='w' fetch='{web.url}'/><project name='lib' remote='w'/>")
        server.source = server.fetching_from(web.url)
        with pytest.raises(BadInput) as refused:
            server.workspace()
    assert str(refused.value) == (
        f"project lib (default.xml:7): {web.url}/lib: there is no such repository, or this machine has no "
        "access to it"
    )


def test_other_servers_must_be_allowed_when_the_sources_are_fetched_too(
    server: Server, tmp_path: Path
) -> None:
    foreign = Repository(tmp_path / "foreign")
    commit = foreign.commit({"y": b"y"})
    url = f"file://{foreign.path}"
    workspace = Workspace("m", commit, "core", (OtherProject("y", url, commit),))
    own = server.commit()
    with pytest.raises(Incomplete, match=r"^project y: file://.*BENCHGATE_FETCH_FROM"):
        server.files(own, workspace)
    server.source = server.fetching_from(f"file://{tmp_path}")
    assert server.files(own, workspace)["y/y"] == "y"


def test_no_link_of_a_patch_set_leads_out_of_the_workspace(server: Server) -> None:
    workspace = server.workspace()
    with pytest.raises(Incomplete, match=r"^project core/third_party/inner: a file or link is in the way$"):
        server.files(server.commit({**FILES, "third_party": Path("..")}), workspace)
    with pytest.raises(Incomplete, match=r"^copyfile bin/run.sh: core/top/run.sh is no regular file there$"):
        server.files(server.commit({**FILES, "top/run.sh": Path("/etc/passwd")}), workspace)


def test_an_executable_file_stays_executable(server: Server) -> None:
    blob = server.core.git("hash-object", "-w", "--stdin", given=b"#!/bin/sh\n").strip()
    server.commit()
    server.core.git("update-index", "--add", "--cacheinfo", f"100755,{blob},top/run.sh")
    tree = server.core.git("write-tree").strip()
    commit = server.core.git("commit-tree", tree, given=b"x").strip()
    server.core.git("update-ref", "refs/heads/master", commit)
    server.source.fetch(CORE, commit)
    with server.source.checkout(CORE, commit, server.workspace()) as top:
        modes = {name: (top / name).stat().st_mode & 0o777 for name in ("bin/run.sh", "core/top/run.sh")}
    assert modes == dict.fromkeys(modes, 0o755)
