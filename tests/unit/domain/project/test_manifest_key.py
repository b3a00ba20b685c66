"""The key `manifest` of a project file."""

from __future__ import annotations

import pytest

from service.domain.project.manifest_key import ManifestKey
from service.domain.project.project_file import parse_project_file
from service.domain.values.errors import BadProjectFile

COMMIT = "c" * 40


def read(key: str) -> ManifestKey | None:
    return parse_project_file(
        f"version: 1\nmanifest: {key}\njobs:\n  a: {{kind: command, command: x}}\n"
    ).manifest


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("{git: ../manifest, branch: main}", ManifestKey("../manifest", "main")),
        (
            f"{{git: ../../a/b.git, commit: {COMMIT}, file: x/y.xml}}",
            ManifestKey("../../a/b.git", commit=COMMIT, file="x/y.xml"),
        ),
        (
            "{git: ../manifest, branch: main, groups: [kv, -notdefault, 'name:team/x']}",
            ManifestKey("../manifest", "main", groups=("kv", "-notdefault", "name:team/x")),
        ),
        ("{git: 'https://h/x', branch: rel/1.2}", ManifestKey("https://h/x", "rel/1.2")),
        ("", None),
    ],
)
def test_a_manifest_is_read(key: str, expected: ManifestKey | None) -> None:
    assert read(key) == expected


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("../manifest", "manifest: a mapping is needed"),
        ("{branch: main}", "manifest: the key 'git' is missing"),
        ("{git: ../x}", "manifest: a manifest has either `branch` or `commit`"),
        (f"{{git: ../x, branch: main, commit: {COMMIT}}}", "either `branch` or `commit`"),
        ("{git: 'http://h/x', branch: main}", "manifest.git: http://h/x: http:// is not protected"),
        ("{git: 'ext::sh', branch: main}", "manifest.git: 'ext::sh' is not allowed"),
        ("{git: ../a/../b, branch: main}", "manifest.git: '../a/../b' is not allowed"),
        ("{git: 'https://h/x?y', branch: main}", "manifest.git: 'https://h/x?y' is not allowed"),
        ("{git: /srv/x, branch: main}", "manifest.git: '/srv/x' is not allowed"),
        ("{git: ../x, branch: --upload-pack=x}", "manifest.branch: '--upload-pack=x' is not allowed"),
        ("{git: ../x, branch: a..b}", "manifest.branch: 'a..b' is not allowed"),
        ("{git: ../x, branch: refs/heads/main}", "allowed are names of branches without refs/heads/"),
        ("{git: ../x, branch: main, groups: kv}", "manifest.groups: a list is needed, found 'kv'"),
        ("{git: ../x, branch: main, groups: ['a,b']}", "manifest.groups[0]: 'a,b' is not allowed"),
        ("{git: ../x, branch: main, file: ../x.xml}", "manifest.file: '../x.xml' is not allowed"),
    ],
)
def test_what_cannot_be_used_is_refused(key: str, message: str) -> None:
    with pytest.raises(BadProjectFile) as refused:
        read(key)
    assert message in str(refused.value)
