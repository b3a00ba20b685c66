"""Archives of any origin are unpacked to their files, or refused with a reason."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.dependencies.unpack import RefusedError, Unpacking, unpack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINK, DEVICE, FIFO, HARD = tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE
ENTRIES, LEVELS, BYTES = 20, 5, 10_000


def a_file(name: str, content: bytes = b"x", mode: int = 0o644) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    return member, content


def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, b""


def a_directory(name: str) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, 0
    return member, b""


def tar_of(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return path


def zip_of(path: Path, *members: tuple[str, bytes, int]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in members:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return path


def unpacked(source: Path, name: str = "name") -> Path:
    tree = source.parent / "tree"
    unpack(source, Unpacking(source.parent / "files", ENTRIES, LEVELS, BYTES), name, tree)
    return tree


def listing(tree: Path) -> dict[str, str]:
    """Everything in a tree: content of files, targets of links."""
    found = {}
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_text()
    return found


class TestArchives:
    @pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
    def test_a_tar_is_unpacked_without_its_top_directory(self, tmp_path: Path, mode: str) -> None:
        members = (a_directory("lib-1.2"), a_file("lib-1.2/a.h", b"a"), a_file("lib-1.2/src/b.c", b"b"))

        assert listing(unpacked(tar_of(tmp_path / "x", *members, mode=mode))) == {"a.h": "a", "src/b.c": "b"}

    def test_a_zip_is_unpacked_without_its_top_directory(self, tmp_path: Path) -> None:
        source = zip_of(
            tmp_path / "x", ("lib/", b"", 0o40755), ("lib/a.h", b"a", 0o100644), ("lib/b", b"b", 0)
        )

        assert listing(unpacked(source)) == {"a.h": "a", "b": "b"}

    def test_several_entries_at_the_top_stay_where_they_are(self, tmp_path: Path) -> None:
        source = tar_of(tmp_path / "x", a_file("include/a.h"), a_file("README"))

        assert listing(unpacked(source)) == {"include/a.h": "x", "README": "x"}

    def test_a_single_file_at_the_top_stays_there(self, tmp_path: Path) -> None:
        assert listing(unpacked(tar_of(tmp_path / "x", a_file("a.h")))) == {"a.h": "x"}

    @pytest.mark.parametrize("content", [b"", b"int x;", b"\0" * 2048, b"PK\x03\x04 not a zip"])
    def test_a_file_other_than_an_archive_keeps_its_name(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "x").write_bytes(content)

        assert listing(unpacked(tmp_path / "x", "one.hpp")) == {"one.hpp": content.decode()}

    def test_programs_stay_programs_and_no_right_of_the_archive_is_kept(self, tmp_path: Path) -> None:
        tree = unpacked(tar_of(tmp_path / "x", a_file("a", mode=0o4777), a_file("b", mode=0o000)))

        assert [stat.S_IMODE((tree / name).stat().st_mode) for name in "ab"] == [0o755, 0o644]

    def test_all_files_have_one_time(self, tmp_path: Path) -> None:
        tree = unpacked(tar_of(tmp_path / "x", a_file("a"), a_file("b")))

        assert len({path.stat().st_mtime_ns for path in tree.iterdir()}) == 1

    def test_links_inside_stay_and_may_lead_nowhere(self, tmp_path: Path) -> None:
        members = (
            special("lib/new", LINK, "src/a.h"),
            special("lib/src/up", LINK, "../src"),
            special("lib/loop", LINK, "loop"),
            special("lib/gone", LINK, "missing"),
            a_file("lib/src/a.h"),
            special("lib/again", HARD, "lib/src/a.h"),
        )

        assert listing(unpacked(tar_of(tmp_path / "x", *members))) == {
            "new": "-> src/a.h",
            "src/up": "-> ../src",
            "loop": "-> loop",
            "gone": "-> missing",
            "src/a.h": "x",
            "again": "x",
        }

    def test_a_later_file_replaces_an_earlier_one(self, tmp_path: Path) -> None:
        source = tar_of(tmp_path / "x", a_file("a", b"old"), special("b", HARD, "a"), a_file("a", b"new"))

        assert listing(unpacked(source)) == {"a": "new", "b": "old"}


def test_a_listed_directory_counts_once(tmp_path: Path) -> None:
    folders = [a_directory(f"lib/{each}") for each in range(9)]
    source = tar_of(
        tmp_path / "x", a_directory("lib"), *folders, *(a_file(f"lib/{each}/a") for each in range(9))
    )

    assert len(listing(unpacked(source))) == 9 < ENTRIES


def of_tar(*members: tuple[tarfile.TarInfo, bytes]) -> Callable[[Path], Path]:
    return lambda path: tar_of(path, *members)


def of_zip(*members: tuple[str, bytes, int]) -> Callable[[Path], Path]:
    return lambda path: zip_of(path, *members)


def damaged(path: Path) -> Path:
    whole = tar_of(path, a_file("a", os.urandom(5000))).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path


def sparse(path: Path) -> Path:
    """A header that declares a terabyte, with nothing behind it."""
    member = tarfile.TarInfo("a")
    member.size = 1 << 40
    path.write_bytes(member.tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024)
    return path


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (of_tar(a_file("../evil")), "'../evil' is not below its directory"),
        (of_tar(a_file("a/../../evil")), "is not below its directory"),
        (of_tar(a_file("/etc/evil")), "'/etc/evil' is not below its directory"),
        (of_zip(("../evil", b"x", 0)), "is not below its directory"),
        (of_tar(special("a", LINK, "/etc/passwd")), "the symbolic link 'a' leads out of it"),
        (of_tar(special("lib/a", LINK, "../../b"), a_file("lib/b")), "the symbolic link 'a' leads out of it"),
        (of_tar(special("d/a", LINK, "b"), special("d/b", LINK, "../../c"), a_file("e")), "leads out of it"),
        (of_tar(special("a", LINK, "b/../.."), special("b", LINK, "c"), a_file("c/d/e")), "leads out of it"),
        (of_zip(("a", b"../..", 0o120777), ("b", b"x", 0)), "the symbolic link 'a' leads out of it"),
        # To write through a link, the link must be there first.
        (of_tar(special("a", LINK, "c"), a_file("a/passwd"), a_file("c/d")), "File exists"),
        (of_tar(special("a", HARD, "/etc/passwd")), "'/etc/passwd' is not below its directory"),
        (of_tar(special("a", HARD, "../x")), "is not below its directory"),
        (of_tar(a_file("c/d"), special("l", LINK, "c"), special("a", HARD, "l")), "is a hard link to none"),
        (of_tar(special("null", DEVICE)), "'null' is neither a file, a directory nor a link"),
        (of_tar(special("pipe", FIFO)), "'pipe' is neither a file, a directory nor a link"),
        (of_zip(("pipe", b"", 0o010644)), "'pipe' is neither a file, a directory nor a link"),
        (of_tar(a_file("zeros", b"\0" * (BYTES + 1))), "it has too many bytes"),
        (of_tar(*(a_file(f"{each}", b"\0" * 4000) for each in range(3))), "it has too many bytes"),
        (of_zip(("zeros", b"\0" * (BYTES + 1), 0)), "it has too many bytes"),
        (sparse, "it has too many bytes"),
        (of_tar(*(a_file(str(each)) for each in range(ENTRIES + 1))), "it has too many entries"),
        (of_tar(*(a_directory(str(each)) for each in range(ENTRIES + 1))), "it has too many entries"),
        (of_tar(*(a_file(f"{each}/b/c/d/x") for each in range(5))), "it has too many entries"),
        (of_tar(a_file("a/" * LEVELS + "x")), "it has too many directories in each other"),
        (damaged, "it is damaged"),
    ],
)
def test_an_archive_that_could_do_harm_is_refused_and_leaves_nothing_outside(
    tmp_path: Path, archive: Callable[[Path], Path], reason: str
) -> None:
    place = tmp_path / "place"
    place.mkdir()

    with pytest.raises((RefusedError, OSError)) as refused:
        unpacked(archive(place / "x"))

    assert reason in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
    assert {path.name for path in place.iterdir()} <= {"x", "tree"}
