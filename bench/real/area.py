"""Prepare the directory of a campaign: links to mirrors, archives made of them, and repositories to try."""

from __future__ import annotations

import hashlib
import shutil
from typing import TYPE_CHECKING, Final

from bench.real.addresses import BUILD_FILE, ORIGIN, Archive, Replacements, archive_of, archives_in
from bench.real.edits import edit_file
from bench.real.repositories import (
    GitFailed,
    check_out,
    commit_all,
    cut_mirror,
    git,
    git_bytes,
    start_repository,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bench.real.projects import Change, Download, Project

_DOWNLOADS: Final = "downloads"


class NotPrepared(Exception):
    """A project whose repository cannot be made; says what is missing."""


class Area:
    """The files of a campaign.

    Args:
        mirrors: has bare repositories ``OWNER/NAME.git``.
        work: the directory of the campaign.
    """

    def __init__(self, mirrors: Path, work: Path) -> None:
        self._given = mirrors.resolve()
        self._mirrors = work.resolve() / "mirrors"
        self._repositories = work.resolve() / "repositories"

    @property
    def address(self) -> str:
        """The beginning of the addresses of all that projects may fetch."""
        return f"file://{self._mirrors}/"

    def link_mirrors(self) -> None:
        """Offer the mirrors beside the archives that are made of them."""
        for mirror in self._given.glob("*/*.git"):
            link = self._mirrors / mirror.relative_to(self._given)
            link.parent.mkdir(parents=True, exist_ok=True)
            if link.is_symlink():
                link.unlink()
            elif link.exists():  # one that was cut for another project
                shutil.rmtree(link)
            link.symlink_to(mirror.resolve())

    def lay_out(self, project: Project) -> tuple[Path, str]:
        """Make the project's repository with submodules checked out; return it with its only commit.

        In the files that say what to download, the origin is replaced by the mirrors: a company without
        internet access does the same.

        Raises:
            NotPrepared: its commit, a submodule or the place of an edit cannot be had.
        """
        top = self._repositories / project.name
        shutil.rmtree(top, ignore_errors=True)
        top.mkdir(parents=True)
        start_repository(top, self._mirror_of(project.repository), project.commit, project.without)
        for edit in project.edit:
            edit_file(top, edit)
        self._make_local(top, project)
        base = commit_all(top, f"{project.name} with local mirrors")
        git(top, "remote", "add", "origin", f"{self.address}{project.repository}.git")
        self._check_out_submodules(top)
        return top, base

    def commit_change(self, top: Path, base: str, change: Change) -> str:
        """Commit a change on top of the base, and return its ID; the files are the base's afterwards."""
        check_out(top, base)
        try:
            for edit in change.edit:
                edit_file(top, edit)
            commit = commit_all(top, change.name, base)
            git(top, "update-ref", f"refs/bench/{commit}", commit)
        finally:
            check_out(top, base)
        return commit

    def _check_out_submodules(self, top: Path) -> None:
        if not (top / ".gitmodules").exists():
            return
        # Submodules of submodules have their public addresses.
        elsewhere = f"url.{self.address}.insteadOf={ORIGIN}"
        git(top, "-c", elsewhere, "submodule", "--quiet", "update", "--init", "--recursive")

    def _make_local(self, top: Path, project: Project) -> None:
        """Replace addresses in the project's files, and make what they name."""
        names = git(top, "ls-files", "-z").split("\0")
        files = [top / name for name in names if BUILD_FILE.search(name)]
        texts = {file: file.read_text("utf-8", "surrogateescape") for file in files if file.is_file()}
        cut = dict(self._cut_mirrors(project))
        named = [archive_of(place) for place in project.archive]
        archives = {*filter(None, named), *(each for text in texts.values() for each in archives_in(text))}
        made = dict(self._made(archives, cut))
        if missing := [place for place in project.archive if place not in made]:
            raise NotPrepared(f"there is no mirror with the archive {', '.join(missing)}")
        addresses, hashes = self._downloads(project)
        local = Replacements(self.address, made, addresses, hashes | cut)
        for file, text in texts.items():
            if (new := local.in_text(text)) != text:
                file.write_text(new, "utf-8", "surrogateescape", newline="")

    def _cut_mirrors(self, project: Project) -> Iterator[tuple[str, str]]:
        """Offer mirrors without some of their files; yield the commits that the project names, and ours."""
        for each in project.mirror:
            bare, mirror = self._mirrors / f"{each.repository}.git", self._mirror_of(each.repository)
            if bare.is_symlink():
                bare.unlink()
            old, new = cut_mirror(bare, mirror, each.commit, each.without, each.copy_of)
            yield old, new
            if old.startswith(each.commit):
                yield each.commit, new

    def _made(self, archives: set[Archive], cut: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Make archives, and yield their places and SHA-256; leave out those without a mirror."""
        for archive in archives:
            file = self._mirrors / archive.place
            mirror = self._mirrors / f"{archive.repository}.git"
            if not file.exists() or not mirror.is_symlink():
                form = (f"--format={archive.format}", f"--prefix={archive.prefix}")
                commit = archive.commit if mirror.is_symlink() else cut.get(archive.commit, archive.commit)
                try:
                    data = git_bytes(mirror, "archive", *form, commit)
                except GitFailed:
                    continue
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            yield archive.place, hashlib.sha256(file.read_bytes()).hexdigest()

    def _downloads(self, project: Project) -> tuple[dict[str, str], dict[str, str]]:
        """Make the other downloads; return their local addresses, and new SHA-256 by the published ones."""
        addresses: dict[str, str] = {}
        hashes: dict[str, str] = {}
        for download in project.download:
            data = self._content_of(download)
            if download.url.startswith(ORIGIN):
                place = download.url.removeprefix(ORIGIN)
            else:
                host, _, name = download.url.removeprefix("https://").partition("/")
                place = f"{_DOWNLOADS}/{hashlib.sha256(host.encode()).hexdigest()[:8]}/{name}"
            file = self._mirrors / place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            addresses[download.url] = self.address + place
            if download.sha256:
                hashes[download.sha256] = hashlib.sha256(data).hexdigest()
        return addresses, hashes

    def _content_of(self, download: Download) -> bytes:
        mirror = self._mirror_of(download.repository)
        source = f"{download.commit}:{download.path}"
        if download.prefix is not None:
            ending = "zip" if not download.url.endswith((".tar.gz", ".tgz")) else "tar.gz"
            return git_bytes(mirror, "archive", f"--format={ending}", f"--prefix={download.prefix}", source)
        text = git(mirror, "show", source)
        for old, new in download.replace.items():
            text = text.replace(old, new)
        # A file of CMake names addresses itself.
        return Replacements(self.address).in_text(text).encode()

    def _mirror_of(self, repository: str) -> Path:
        mirror = self._given / f"{repository}.git"
        if not mirror.exists():
            raise NotPrepared(f"there is no mirror {repository}.git")
        return mirror
