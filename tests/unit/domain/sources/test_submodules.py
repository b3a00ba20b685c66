"""Submodules: hostile entries are refused, and addresses are resolved as git resolves them."""

from __future__ import annotations

import pytest

from service.domain.sources.allowed import AllowedSources
from service.domain.sources.submodules import (
    Entry,
    address_to_fetch,
    own_prefix,
    reachable_prefix,
    read_entries,
    resolve,
    submodules_of,
)
from service.domain.values.errors import BadInput, Incomplete

A, B = "a" * 40, "b" * 40
GERRIT = "https://review.example.com/a/"


def listed(*entries: tuple[str, str, str], update: str = "") -> bytes:
    """The output of git for entries of a name, a path and a URL."""
    items = []
    for name, path, url in entries:
        items += [f"submodule.{name}.path\n{path}", f"submodule.{name}.url\n{url}"]
        items += [f"submodule.{name}.update\n{update}"] if update else []
    return "".join(f"{item}\0" for item in items).encode()


def test_entries_are_read() -> None:
    entries = read_entries(listed(("lib.a", "third party/a/", "../a"), ("b", "b", "https://example.com/b")))
    assert entries == (Entry("lib.a", "third party/a", "../a"), Entry("b", "b", "https://example.com/b"))


def test_an_entry_without_a_path_or_an_address_is_ignored() -> None:
    assert (
        read_entries(b"core.bare\nfalse\0submodule.a.path\na\0submodule.b.url\n../b\0submodule.c.path\0")
        == ()
    )


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "/etc",
        "-x",
        "a\nb",
        ".git",
        "a/.GIT/hooks",
        "a//b",
        ".",
        "",
        "a\\b",
        "\u202ea",
    ],
)
def test_a_path_that_leads_out_of_the_sources_is_refused(path: str) -> None:
    with pytest.raises(Incomplete, match=r"submodule 'lib': .gitmodules gives it the path .* not allowed"):
        read_entries(listed(("lib", path, "../lib")))


@pytest.mark.parametrize("name", ["../../hooks", "\udcff"])
def test_a_name_that_leads_out_of_gits_directory_is_refused(name: str) -> None:
    given = listed(("NAME", "lib", "../lib")).replace(b"NAME", name.encode(errors="surrogateescape"))
    with pytest.raises(Incomplete, match="gives it the name"):
        read_entries(given)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "--upload-pack=touch x",
        "ext::sh -c touch% x",
        "https://example.com/a\n[core]",
        "https://example.com/../x",
        "https://example.com/%2e%2E/x",
        "https://example.com/a%2Fb",
        "https://example.com/..;/x",
        "../..;a=b/x",
        "https://example.com\\@127.0.0.1/x",
        "https://user:secret@example.com/x",
        "https://example.com/a/changes/1/submit?x=",
        "../changes/1/submit#",
        "x" * 501,
    ],
)
def test_an_address_that_misleads_is_refused(url: str) -> None:
    with pytest.raises(Incomplete, match="gives it the URL"):
        read_entries(listed(("lib", "lib", url)))


def test_submodules_are_the_entries_that_the_revision_has_commits_for() -> None:
    entries = read_entries(listed(("one", "deps/one", "../one"), ("stale", "gone", "../gone")))
    (only,) = submodules_of(entries, {"deps/one": A, "no entry": B}, f"{GERRIT}group/kv", "outer")
    assert (only.path, only.commit, only.url) == ("outer/deps/one", A, f"{GERRIT}group/one")
    assert str(only.missing("no")) == f"submodule outer/deps/one: {GERRIT}group/one at {A[:12]}: no"


def test_a_message_about_long_names_still_says_what_to_do() -> None:
    entries = read_entries(listed(("lib", "p" * 500, f"https://example.com/{'x' * 400}")))
    (only,) = submodules_of(entries, {"p" * 500: A}, f"{GERRIT}kv")
    failure = str(only.missing("its operator can add example.com to BENCHGATE_FETCH_FROM"))
    assert len(failure) < 300  # of a line in a message
    assert failure.endswith("BENCHGATE_FETCH_FROM")


def test_a_never_updated_submodule_is_left_out() -> None:
    entries = read_entries(listed(("docs", "docs", "../docs"), update="none"))
    assert submodules_of(entries, {"docs": A}, f"{GERRIT}kv") == ()


@pytest.mark.parametrize(
    ("url", "parent", "expected"),
    [
        ("../lib", f"{GERRIT}kv", f"{GERRIT}lib"),
        ("../lib.git", f"{GERRIT}group/kv.git/", f"{GERRIT}group/lib.git"),
        ("../../lib", f"{GERRIT}group/kv", f"{GERRIT}lib"),
        ("./lib", f"{GERRIT}kv", f"{GERRIT}kv/lib"),
        ("../other/../lib/", f"{GERRIT}kv", f"{GERRIT}lib"),
        ("../lib", "git@example.com:group/kv", "git@example.com:group/lib"),
        ("../lib", "git@example.com:kv", "git@example.com:lib"),
        ("../lib", "ssh://ci@example.com:29418/kv", "ssh://ci@example.com:29418/lib"),
        ("../lib", "/srv/git/kv", "/srv/git/lib"),
        ("../lib", "file:///srv/git/kv", "file:///srv/git/lib"),
        ("https://example.com/lib", f"{GERRIT}kv", "https://example.com/lib"),
    ],
)
def test_an_address_is_resolved_as_git_resolves_it(url: str, parent: str, expected: str) -> None:
    assert resolve(url, parent, "submodule lib") == expected


@pytest.mark.parametrize("parent", [f"{GERRIT}kv", "git@example.com:kv", "/kv"])
def test_an_address_that_leaves_the_server_is_refused(parent: str) -> None:
    with pytest.raises(Incomplete, match="which leaves"):
        resolve("../../../evil.example/lib", parent, "submodule lib")


@pytest.mark.parametrize(
    ("url", "project", "expected"),
    [
        (f"{GERRIT}group/kv", "group/kv", GERRIT),
        (f"{GERRIT}group/kv.git/", "group/kv", GERRIT),
        ("git@example.com:group/kv.git", "group/kv", "git@example.com:"),
        ("https://example.com/kv", "kv", "https://example.com/"),
        ("/srv/git/kv", "kv", "/srv/git/"),
        ("/srv/git/mykv", "kv", "/srv/git/"),
        ("/kv", "kv", "/kv/"),
        ("kv", "", "kv/"),
        ("file://localhost/kv", "kv", "file://localhost/kv/"),
        ("https://example.com/team/other", "kv", "https://example.com/team/"),
    ],
)
def test_the_own_server_is_what_precedes_the_projects_name(url: str, project: str, expected: str) -> None:
    assert own_prefix(url, project) == expected


@pytest.mark.parametrize(
    ("url", "parent", "expected"),
    [
        ("../manifest", f"{GERRIT}team/kv", f"{GERRIT}team/"),
        ("../../platform/manifest", f"{GERRIT}team/kv", GERRIT),
        ("../../manifest", "ssh://me@h:29418/team/kv.git", "ssh://me@h:29418/"),
        ("../../manifest", "git@h:team/kv", "git@h:"),
        ("https://h/manifest", f"{GERRIT}team/kv", f"{GERRIT}team/"),
        ("../manifest", "/srv/git/kv", "/srv/git/"),
        ("../../../manifest", "/srv/git/kv", "/srv/git/"),
        ("../manifest", "file:///kv", "file:///kv/"),
    ],
)
def test_a_relative_address_reaches_the_folder_that_it_names_but_never_all_files(
    url: str, parent: str, expected: str
) -> None:
    assert reachable_prefix(url, parent) == expected


@pytest.mark.parametrize("remote", ["", "/", "file:///", "file://localhost/"])
def test_without_an_address_of_the_project_no_file_of_the_machine_is_its_own(remote: str) -> None:
    """`BENCHGATE_GIT_URL` may be unset although a mirror has the commits."""
    for url in ("/srv/secret", "file:///srv/secret", "file://localhost/srv/secret", "secret"):
        with pytest.raises(BadInput):
            address_to_fetch(url, own_prefix(remote, "kv"), AllowedSources())


def test_the_own_server_is_asked_with_its_credentials() -> None:
    own = "https://ci:secret@review.example.com/a/"
    for url in (f"{own}lib", f"{GERRIT}lib"):
        assert address_to_fetch(url, own, AllowedSources()) == f"{own}lib"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/team/lib.git",
        "http://example.com/team/lib.git",
        "git://example.com/team/lib.git",
        "git@example.com:team/lib.git",
        "ssh://git@example.com/team/lib.git",
    ],
)
def test_other_servers_are_asked_over_https_if_the_operator_allows_them(url: str) -> None:
    allowed = AllowedSources.parse(["https://example.com/team/"])
    assert address_to_fetch(url, GERRIT, allowed) == "https://example.com/team/lib.git"
    with pytest.raises(BadInput, match="BENCHGATE_FETCH_FROM"):
        address_to_fetch(url, GERRIT, AllowedSources())


@pytest.mark.parametrize(
    "url", ["/etc", "file:///srv/other", "other", "https://review.example.com/b/lib", "ftp://example.com/lib"]
)
def test_everything_else_is_refused(url: str) -> None:
    with pytest.raises(BadInput):
        address_to_fetch(url, GERRIT, AllowedSources.parse(["example.com"]))
