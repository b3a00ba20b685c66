"""Tests for reading a manifest of `repo`: what it lays out, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.sources.manifest import Project, find_own, read_manifest
from service.domain.sources.workspace import OtherProject, PlacedFile, Workspace
from service.domain.values.errors import BadInput

URL = "https://review.example.com/team/manifest"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
ORIGIN = '<remote name="origin" fetch=".."/><default remote="origin" revision="main"/>'
# A real one has this much around its projects.
WHOLE = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- all of it -->
<manifest>
  <notice>read <b>this</b></notice>
  <remote name="origin" alias="o" fetch=".." review="https://review.example.com" pushurl="ssh://x"/>
  <remote name="github" fetch="ssh://git@github.com/someone/" revision="refs/tags/v1"/>
  <default remote="origin" revision="main" sync-j="4" sync-j-max="8" sync-s="true" dest-branch="main"/>
  <manifest-server url="https://example.com"/>
  <superproject name="all" remote="origin"/>
  <contactinfo bugurl="https://example.com"/>
  <project name="team/core" path="core">
    <annotation name="a" value="b"/>
    <copyfile src="top/CMakeLists.txt" dest="CMakeLists.txt"/>
    <linkfile src="." dest="links/core"/>
  </project>
  <project name="team/net" sync-s="false" groups="all-of-them,net"/>
  <project name="fmt" path="libs/fmt/" remote="github" clone-depth="1"/>
  <project name="team/fixed" path="libs/fixed" revision="{COMMIT}"/>
  <project name="team/docs" groups="notdefault,docs"/>
  <project name="team/linux" groups="notdefault platform-linux"/>
  <repo-hooks in-project="team/core" enabled-list="pre-upload"/>
</manifest>
"""


def projects(text: str, url: str = URL, own: str = "", **files: str) -> dict[str, Project]:
    there = {"default.xml": text, **{f"{name}.xml": content for name, content in files.items()}}
    return {each.name: each for each in read_manifest("default.xml", there.get, url, own)}


def manifest(*elements: str) -> str:
    return "<manifest>" + "\n".join((ORIGIN, *elements)) + "</manifest>"


def test_a_manifest_lists_places_addresses_and_revisions() -> None:
    found = projects(WHOLE)
    assert {name: (each.path, each.url, each.revision) for name, each in found.items()} == {
        "team/core": ("core", "https://review.example.com/team/core", "refs/heads/main"),
        "team/net": ("team/net", "https://review.example.com/team/net", "refs/heads/main"),
        "fmt": ("libs/fmt", "ssh://github.com/someone/fmt", "refs/tags/v1"),
        "team/fixed": ("libs/fixed", "https://review.example.com/team/fixed", COMMIT),
        "team/linux": ("team/linux", "https://review.example.com/team/linux", "refs/heads/main"),
    }
    assert [name for name, each in found.items() if not each.has_submodules] == ["team/net"]
    assert found["team/core"].files == (
        PlacedFile("core/top/CMakeLists.txt", "CMakeLists.txt", is_link=False),
        PlacedFile("core", "links/core", is_link=True),
    )


@pytest.mark.parametrize(
    ("fetch", "url", "own", "base"),
    [
        ("..", "https://h/a/b/manifest", "", "https://h/a/"),
        (".", "https://h/a/manifest", "", "https://h/a/"),
        ("../x/", "https://h/a/manifest/", "", "https://h/x/"),
        ("sub", "https://h/a/manifest", "", "https://h/a/sub/"),
        ("/other", "https://h/a/manifest", "", "https://h/other/"),
        ("../../..", "https://h/manifest", "", "https://h/"),
        ("..", "ssh://me@h:29418/manifest", "", "ssh://h:29418/"),
        ("..", "git@h:team/manifest", "", "git@h:"),
        ("..", "/srv/git/manifest", "/srv/git/", "/srv/git/"),
        ("..", "https://me:pw@h/r/a/manifest", "https://me:pw@h/r/a/", "https://h/r/a/"),
        ("..", "https://h/manifest", "https://h/r/", "https://h/"),
        ("/srv/git", "/srv/git/manifest", "/srv/git/", "/srv/git/"),
        ("/r/x/", "https://h/r/a/manifest", "https://me:pw@h/r/", "https://h/r/x/"),
        ("/", "https://h/r/a/manifest", "https://h/r/", "https://h/r/"),
        ("/r/../x", "https://h/r/a/manifest", "https://h/r/", "https://h/r/x/"),
        ("https://other/x/", "https://h/manifest", "", "https://other/x/"),
        ("git@other:x", "https://h/manifest", "", "git@other:x/"),
    ],
)
def test_relative_addresses_are_resolved_as_repo_does_and_stay_on_the_own_server(
    fetch: str, url: str, own: str, base: str
) -> None:
    text = (
        f'<manifest><remote name="o" fetch="{fetch}"/><project name="x" remote="o" revision="r"/></manifest>'
    )
    assert projects(text, url, own)["x"].url == f"{base}x"


def test_files_are_included_and_projects_removed_in_order() -> None:
    more = '<manifest><project name="b"/><project name="c"/></manifest>'
    found = projects(
        manifest(
            '<project name="a"/>',
            '<include name="more.xml" groups="g"/>',
            '<remove-project name="a"/>',
            '<remove-project path="c"/>',
            '<remove-project name="gone" optional="true"/>',
            '<project name="a" path="again" revision="refs/heads/x/y"/>',
        ),
        more=more,
    )
    assert {name: each.path for name, each in found.items()} == {"b": "b", "a": "again"}
    text = manifest('<include name="more.xml" groups="notdefault"/>')
    assert projects(text, more=more) == {}


def test_the_project_at_the_top_is_removed_by_its_path() -> None:
    assert not projects(manifest('<project name="a" path="."/>', '<remove-project path="."/>'))


def test_an_empty_default_of_an_included_file_changes_nothing() -> None:
    more = '<manifest><default/><project name="a"/></manifest>'
    assert projects(manifest('<include name="more.xml"/>'), more=more)["a"].revision == "refs/heads/main"


GROUPS = manifest(
    '<project name="a" groups="kv"/>',
    '<project name="b" groups="kv,notdefault"/>',
    '<project name="c"/>',
    '<project name="d" groups="notdefault,enterprise"/>',
    '<project name="e" groups="notdefault,platform-linux"/>',
)


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ((), "ace"),
        (("kv",), "abe"),
        (("default", "enterprise"), "acde"),
        (("all", "-kv"), "cde"),
        (("-kv", "all"), "abcde"),
        (("all", "-platform-linux"), "abcde"),
        (("name:c",), "ce"),
        (("path:d",), "de"),
    ],
)
def test_projects_are_chosen_by_their_groups_as_repo_does(groups: tuple[str, ...], names: str) -> None:
    found = read_manifest("default.xml", {"default.xml": GROUPS}.get, URL, groups=groups)
    assert "".join(each.name for each in found) == names


ENTITIES = '<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><manifest>&b;</manifest>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ENTITIES, "default.xml:1: it has a document type"),
        ('<!DOCTYPE m SYSTEM "file:///etc/passwd"><manifest/>', "default.xml:1: it has a document type"),
        ("<manifest>", "default.xml:1: it is not XML: no element found"),
        ("<notice/>", "default.xml:1: Benchgate does not read the element 'notice'"),
        (
            manifest('<extend-project name="a"/>'),
            "Benchgate does not read the element 'extend-project' inside",
        ),
        (manifest('<submanifest name="a"/>'), "Benchgate does not read the element 'submanifest' inside"),
        (
            manifest('<project name="a"><project name="b"/></project>'),
            "Benchgate does not read the element 'project' inside `project`",
        ),
        (
            manifest('\n<project name="a" odd="b"/>'),
            "default.xml:3: Benchgate does not read 'odd' of `project`",
        ),
        (manifest('<project path="a"/>'), "the attribute `name` of `project` is missing"),
        (
            manifest('<include name="gone.xml"/>'),
            "default.xml:2: the manifest's repository has no regular file",
        ),
        (manifest('<include name="../x.xml"/>'), "has no regular file '../x.xml'"),
        (manifest('<include name="default.xml"/>'), "more than 50 files are included"),
        (manifest('<remote name="origin" fetch="."/>'), "`remote` 'origin' is also at default.xml:1"),
        (manifest('<default remote="x"/>'), "`default` is also at default.xml:1"),
        (manifest('<remove-project name="x"/>'), "`remove-project` names no project that is listed before"),
        (manifest("<remove-project/>"), "`remove-project` needs a `name` or a `path`"),
        (manifest('<project name="a" remote="x"/>'), "there is no `remote` 'x' for `project`"),
        (manifest('<project name="a"/>', '<project name="b" path="a"/>'), "`project` 'a' has the same path"),
        (
            manifest(
                '<project name="a"><copyfile src="x" dest="y"/></project>',
                '<project name="b"><linkfile src="x" dest="y"/></project>',
            ),
            "default.xml:3: the dest 'y' is a place of `project` 'a' too",
        ),
        (
            manifest('<project name="a"><linkfile src="x" dest="b"/></project>', '<project name="b"/>'),
            "default.xml:2: the dest 'b' is a place of `project` 'b' too",
        ),
        (manifest('<project name="a" revision="--upload-pack=x"/>'), "is no branch, tag or whole commit ID"),
        (manifest('<project name="a" revision="a..b"/>'), "the revision 'a..b' is no branch"),
        (manifest('<project name="a" revision="refs/changes/1/1/1"/>'), "is no branch, tag"),
        (manifest('<project name="../a"/>'), "`project` has the path '../a': not allowed"),
        (manifest('<project name="../a" path="a"/>'), "`project` has the name '../a': not allowed"),
        *(
            (manifest(f'<project name="a" path="{path}"/>'), f"`project` has the path {path!r}: not allowed")
            for path in ("a/../b", ".repo/x")
        ),
        (
            manifest('<project name="a"><copyfile src="../x" dest="y"/></project>'),
            "`copyfile` has the src '../x': not allowed",
        ),
        (
            manifest('<project name="a"><linkfile src="x" dest="a/../../y"/></project>'),
            "`linkfile` has the dest 'a/../../y': not allowed",
        ),
        (
            manifest('<project name="a"><linkfile src="*.h" dest="y"/></project>'),
            "`linkfile` has a pattern as `src`: name each file",
        ),
    ],
)
def test_unusable_parts_are_refused_by_file_line_and_element(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        projects(text)
    assert message in str(refused.value)


def test_no_address_starts_a_program_or_has_a_password() -> None:
    for fetch in ("ext::sh -c x", "-u"):
        text = manifest(f'<remote name="x" fetch="{fetch}"/>', '<project name="a" remote="x"/>')
        assert projects(text)["a"].url.startswith("https://review.example.com/team/")
    text = manifest('<remote name="x" fetch="https://me:pw@h"/>', '<project name="a" remote="x"/>')
    assert projects(text)["a"].url == "https://h/a"


def test_too_many_projects_are_refused() -> None:
    text = manifest(*(f'<project name="p{number}"/>' for number in range(201)))
    with pytest.raises(BadInput, match="201 projects; allowed are 200"):
        projects(text)


def test_a_manifest_that_takes_too_long_to_read_is_refused() -> None:
    """Each `remove-project` looks at all projects before it, and each project gets the groups around it."""
    more = "<manifest>" + '<remove-project name="x" optional="true"/>' * 1000 + "</manifest>"
    includes = '<include name="more.xml"/>' * 5
    with pytest.raises(BadInput, match=r"^more.xml:1: the manifest has more than 5000 elements$"):
        projects(manifest(includes), more=more)
    with pytest.raises(BadInput, match="the attribute 'groups' has more than 2000 characters"):
        projects(manifest(f'<project name="x" groups="{"g," * 1001}"/>'))


@pytest.mark.parametrize(
    ("name", "url", "branch", "path"),
    [
        ("team/core", "anything", "", "core"),
        ("local-0123", "ssh://me@h:29418/team/core.git", "", "core"),
        ("local-0123", "git@h:net", "", "net"),
        ("product/net", "https://h/a/product/net", "", "net"),
        ("lib", "https://h/lib", "v1", "old"),
        ("lib", "https://h/lib", "main", "new"),
    ],
)
def test_the_project_of_a_change_is_found_by_its_name_or_address(
    name: str, url: str, branch: str, path: str
) -> None:
    found = projects(
        manifest(
            '<project name="core" path="x"/>',
            '<project name="team/core" path="core"/>',
            '<project name="net"/>',
        )
    )
    text = manifest('<project name="lib" path="new"/>', '<project name="lib" path="old" revision="v1"/>')
    several = read_manifest("default.xml", {"default.xml": text}.get, URL)
    assert find_own([*found.values(), *several], name, url, branch, "m").path == path


@pytest.mark.parametrize(
    ("name", "url"),
    [("team/core", "https://h/x"), ("local-0123", "ssh://h/team/core"), ("n", "git@h:core.git")],
)
def test_the_project_of_a_change_may_be_listed_with_git_at_its_end(name: str, url: str) -> None:
    found = projects(
        manifest('<project name="team/core.git" path="a"/>', '<project name="core.git" path="b"/>')
    )
    assert find_own([*found.values()], name, url, "", "m").path == ("b" if name == "n" else "a")


def test_a_project_of_the_same_name_on_another_server_is_another_one() -> None:
    text = manifest(
        '<remote name="x" fetch="https://github.com/"/>',
        '<project name="fmt" path="foreign" remote="x"/>',
        '<project name="fmt" path="own" revision="v1"/>',
    )
    both = read_manifest("default.xml", {"default.xml": text}.get, URL)
    assert find_own(both, "fmt", "https://review.example.com/fmt.git", "main", "m").path == "own"


def test_a_missing_or_ambiguous_project_is_refused() -> None:
    text = manifest('<project name="lib" path="new"/>', '<project name="lib" path="old" revision="v1"/>')
    several = read_manifest("default.xml", {"default.xml": text}.get, URL)
    with pytest.raises(BadInput, match="at several places: new, old"):
        find_own(several, "lib", "https://h/lib", "", "m")
    with pytest.raises(BadInput, match="the manifest has no project 'core'"):
        find_own(several, "core", "https://h/notlib", "", "m")


OTHERS = (
    OtherProject("core/libs/fmt", "https://h/fmt", COMMIT),
    OtherProject("net", "https://h/net", COMMIT),
)


@pytest.mark.parametrize(
    ("folder", "path", "own"),
    [
        ("core", "core/a.cpp", "a.cpp"),
        ("core", "core/libs/fmt/a.cpp", ""),
        ("core", "corex/a.cpp", ""),
        ("core", "net/a.cpp", ""),
        ("", "a.cpp", "a.cpp"),
        ("", "net/a.cpp", ""),
        ("net/inner", "net/inner/a.cpp", "a.cpp"),
    ],
)
def test_a_file_belongs_to_the_innermost_repository(folder: str, path: str, own: str) -> None:
    workspace = Workspace("https://h/m", COMMIT, folder, OTHERS)
    assert workspace.own_path(path) == own
    assert not own or workspace.path_below_top(own) == path


def test_a_workspace_survives_storage_and_differs_by_its_sources_only() -> None:
    files = (PlacedFile("core/x", "x", is_link=True),)
    workspace = Workspace("https://h/m", COMMIT, "core", OTHERS, files, "team/core")
    stored = workspace.to_mapping()
    assert Workspace.from_mapping(stored) == workspace
    del stored["name"]  # as a previous version stored it
    assert Workspace.from_mapping(stored) == replace(workspace, name="")
    assert replace(workspace, name="").digest == workspace.digest
    other_manifest = Workspace("https://h/n", "f" * 40, "core", OTHERS, workspace.files)
    assert other_manifest.digest == workspace.digest
    assert Workspace("https://h/m", COMMIT, "core", OTHERS[1:], workspace.files).digest != workspace.digest
