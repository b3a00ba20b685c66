"""The wraps of subprojects, in directories as Meson leaves them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.project.starter.fetched import Download, Fetched
from service.steps.project.init_inquiry import Inquiry
from service.steps.project.init_wraps import find_wraps
from tests.support.project.fake_git import COMMIT, FakeGit

if TYPE_CHECKING:
    from pathlib import Path

URL, GIT = "https://example.org/v12.zip", "https://git.example.org/fmt.git"
ARCHIVE: Final = f"[wrap-file]\nsource_url = {URL}\nsource_filename = fmt-12.zip\n"
HASHED: Final = f"{ARCHIVE}source_hash = {'a' * 64}\n"
REPOSITORY: Final = f"[wrap-git]\nurl = {GIT}\ndirectory = fmt-git\nrevision = "
PINNED: Final = Fetched("fmt-12.zip", Download(URL), "a" * 64)


@dataclass
class Project:
    """A project with ``libs`` as its directory of subprojects."""

    root: Path
    git: FakeGit

    def write(self, path: str, text: str) -> None:
        file = self.root / "libs" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def find(self, *names: str) -> tuple[Fetched, ...]:
        answer = {"subproject_dir": "libs", "subprojects": [{"name": name} for name in names]}
        return find_wraps(Inquiry(self.git, self.root, self.root, self.git), json.dumps(answer))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, FakeGit())


def test_only_subprojects_with_a_wrap_are_downloads(project: Project) -> None:
    project.write("fmt.wrap", HASHED)
    project.write("unused.wrap", HASHED.replace("fmt", "unused"))

    assert project.find("vendored", "fmt") == (PINNED,)
    assert (project.git.calls, project.git.notes) == ([], [])


def test_the_wrap_of_a_subprojects_subproject_is_read_there(project: Project) -> None:
    project.write("fmt.wrap", "[wrap-redirect]\nfilename = core/libs/fmt.wrap\n")
    project.write("core/libs/fmt.wrap", "[wrap-redirect]\nfilename = deep/libs/fmt.wrap\n")
    project.write("core/libs/deep/libs/fmt.wrap", HASHED)

    assert project.find("fmt") == (PINNED,)


def test_a_repository_has_the_name_of_the_wrap_that_another_one_names(project: Project) -> None:
    project.write("fmt.wrap", "[wrap-redirect]\nfilename = core/libs/format.wrap\n")
    project.write("core/libs/format.wrap", f"[wrap-git]\nurl = {GIT}\nrevision = {COMMIT}\n")

    assert project.find("fmt") == (Fetched("format", Download(git=GIT), COMMIT, "libs/format"),)


def test_wraps_that_name_each_other_download_nothing(project: Project) -> None:
    project.write("fmt.wrap", "[wrap-redirect]\nfilename = fmt.wrap\n")
    assert project.find("fmt") == ()


def test_one_archive_of_two_wraps_is_one_dependency(project: Project) -> None:
    project.write("fmt.wrap", HASHED)
    project.write("fmt-header.wrap", HASHED.replace("fmt-12", "FMT-12"))

    assert project.find("fmt", "fmt-header") == (PINNED,)


def test_an_archive_without_a_digest_is_pinned_by_the_file_that_meson_kept(project: Project) -> None:
    project.write("fmt.wrap", ARCHIVE)
    project.write("packagecache/fmt-12.zip", "packed")

    assert project.find("fmt") == (
        Fetched("fmt-12.zip", Download(URL), hashlib.sha256(b"packed").hexdigest()),
    )


def test_a_branch_is_pinned_by_the_commit_that_is_checked_out(project: Project) -> None:
    project.write("fmt.wrap", f"{REPOSITORY}main\n")

    assert project.find("fmt") == (Fetched("fmt-git", Download(git=GIT), COMMIT, "libs/fmt-git"),)
    assert project.git.calls == [
        ("git", "--git-dir", str(project.root / "libs/fmt-git/.git"), "rev-parse", "HEAD")
    ]


def test_a_warning_of_git_is_no_part_of_the_pin_of_a_branch(project: Project) -> None:
    project.git.answer = f"warning: unable to access 'attributes'\n{COMMIT}"
    project.write("fmt.wrap", f"{REPOSITORY}main\n")

    assert [each.pin for each in project.find("fmt")] == [COMMIT]


def test_a_commit_needs_no_repository(project: Project) -> None:
    project.write("fmt.wrap", f"{REPOSITORY}{'C' * 40}\n")
    assert project.find("fmt") == (Fetched("fmt-git", Download(git=GIT), "c" * 40, "libs/fmt-git"),)


@pytest.mark.parametrize(
    ("wrap", "note"),
    [
        (ARCHIVE, "not pinned: fmt-12.zip, because the wrap fmt has no digest"),
        (f"{REPOSITORY}main\n", "not pinned: fmt, whose directory is no Git repository"),
        ("[wrap-svn]\nurl = x\n", "not pinned: fmt, which is downloaded by svn"),
    ],
)
def test_what_cannot_be_pinned_is_named(project: Project, wrap: str, note: str) -> None:
    """Names are shown without the control characters of a terminal."""
    project.git.exit_code = 128
    project.write("f\x9bmt.wrap", wrap)

    assert project.find("f\x9bmt") == ()
    assert project.git.notes == [note]


def test_a_repository_with_a_patch_stays_where_meson_puts_it(project: Project) -> None:
    """Meson unpacks the patch beside the files, which a build cannot do with a dependency."""
    patch = f"patch_url = {URL}\npatch_filename = fmt.zip\npatch_hash = {'a' * 64}\n"
    project.write("fmt.wrap", f"{REPOSITORY}{COMMIT}\n{patch}")

    *_, repository = project.find("fmt")
    assert (repository.name, repository.place) == ("fmt-git", "")
