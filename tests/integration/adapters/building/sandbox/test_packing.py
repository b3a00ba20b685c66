"""Built programs survive packing and unpacking, and the host reads no file of an attacker."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.adapters.building import packing
from service.adapters.building.packing import ARCHIVE, pack, read_output, unpack
from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.domain.building.sandbox_command import Command, Mount
from service.domain.values.errors import (
    BadResults,
    Cancelled,
    CommandFailed,
    Permanent,
    ProgramMissing,
    Transient,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.ports.building import Sandbox

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def sandbox() -> BubblewrapSandbox:
    return BubblewrapSandbox()


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build directory with a program, its libraries and data."""
    directory = tmp_path / "build"
    for name in ("measure/x", "lib/libfoo.so.1", "data/set/a.bin", "objects/x.o"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(f"#!/bin/sh\necho {name}\n")
    (directory / "measure/x").chmod(0o755)
    (directory / "lib/libfoo.so").symlink_to("libfoo.so.1")
    return directory


@pytest.fixture
def out(tmp_path: Path) -> Path:
    directory = tmp_path / "out"
    directory.mkdir()
    return directory


def unwatched() -> None:
    """Never cancel."""


def packed(
    sandbox: Sandbox, build: Path, out: Path, programs: Iterable[str] = ("build/measure/x",), *keep: str
) -> Path:
    return pack(sandbox, build, list(programs), keep, out, unwatched)


def unpacked(sandbox: Sandbox, archive: Path, tmp_path: Path) -> Path:
    into = tmp_path / "unpacked"
    into.mkdir()
    unpack(sandbox, archive, into, unwatched)
    return into


def files_in(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize(
    "program",
    [
        "build/measure/x",
        "./build/measure/x",
        "/build/measure/x",
        "/src/build/measure/x",
        "build/./y/../measure/x",
    ],
)
def test_programs_and_shared_objects_survive(
    sandbox: Sandbox, build: Path, out: Path, tmp_path: Path, program: str
) -> None:
    into = unpacked(sandbox, packed(sandbox, build, out, [program]), tmp_path)
    assert files_in(into) == {"measure/x", "lib/libfoo.so", "lib/libfoo.so.1"}
    assert os.access(into / "measure/x", os.X_OK)
    assert (into / "lib/libfoo.so").readlink() == Path("libfoo.so.1")


def test_a_program_runs_at_its_build_path(sandbox: Sandbox, build: Path, out: Path, tmp_path: Path) -> None:
    into = unpacked(sandbox, packed(sandbox, build, out), tmp_path)
    log = io.BytesIO()
    command = Command(("/build/measure/x",), (Mount(into, "/build"),))
    assert sandbox.run(command, log=log, watch=unwatched).is_success
    assert log.getvalue() == b"measure/x\n"


def test_it_also_works_without_a_sandbox(build: Path, out: Path, tmp_path: Path) -> None:
    runner = DirectRunner()
    into = unpacked(runner, packed(runner, build, out), tmp_path)
    assert files_in(into) == {"measure/x", "lib/libfoo.so", "lib/libfoo.so.1"}


@pytest.mark.parametrize("pattern", ["data", "data/", "data/**", "data/**/a.bin", "data/*/*.bin", "**/a.bin"])
def test_files_to_keep_are_packed(
    sandbox: Sandbox, build: Path, out: Path, tmp_path: Path, pattern: str
) -> None:
    archive = packed(sandbox, build, out, ["build/measure/x"], pattern)
    assert files_in(unpacked(sandbox, archive, tmp_path)) >= {"data/set/a.bin", "measure/x"}
    assert "objects/x.o" not in files_in(tmp_path / "unpacked")


def test_only_the_archive_is_left(sandbox: Sandbox, build: Path, out: Path) -> None:
    assert packed(sandbox, build, out) == out / ARCHIVE
    assert [path.name for path in out.iterdir()] == [ARCHIVE]


def test_the_same_files_give_the_same_bytes(sandbox: Sandbox, build: Path, out: Path) -> None:
    first = hashlib.sha256(packed(sandbox, build, out).read_bytes()).hexdigest()
    for path in build.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    assert hashlib.sha256(packed(sandbox, build, out).read_bytes()).hexdigest() == first


def test_a_missing_program_is_named(sandbox: Sandbox, build: Path, out: Path) -> None:
    with pytest.raises(CommandFailed, match=r"y: the build did not create it$"):
        packed(sandbox, build, out, ["build/measure/x", "build/measure/y"])


def test_a_program_of_the_same_name_elsewhere_is_named(sandbox: Sandbox, build: Path, out: Path) -> None:
    with pytest.raises(ProgramMissing) as missing:
        packed(sandbox, build, out, ["build/bench/x"])
    assert missing.value.elsewhere == "build/measure/x"


@pytest.mark.parametrize("make", ["not executable", "directory", "dangling", "fifo"])
def test_a_file_that_cannot_be_executed_is_a_missing_program(
    sandbox: Sandbox, build: Path, out: Path, make: str
) -> None:
    place = build / "measure/y"
    if make == "not executable":
        place.write_text("x")
    elif make == "directory":
        place.mkdir()
    elif make == "dangling":
        place.symlink_to("nowhere")
    else:
        os.mkfifo(place)
    with pytest.raises(CommandFailed, match="measure/y"):
        packed(sandbox, build, out, ["build/measure/y"])


@pytest.mark.parametrize("program", ["tools/x", "/usr/bin/env", "build", "build/../x", "/etc/passwd"])
def test_a_program_outside_the_build_directory_is_refused(
    sandbox: Sandbox, build: Path, out: Path, program: str
) -> None:
    with pytest.raises(CommandFailed, match="not in the build directory"):
        packed(sandbox, build, out, [program])


def test_links_to_a_program_are_followed(sandbox: Sandbox, build: Path, out: Path, tmp_path: Path) -> None:
    (build / "hidden").mkdir()
    (build / "measure/x").rename(build / "hidden/x")
    (build / "measure/x").symlink_to("/src/build/hidden/x")
    into = unpacked(sandbox, packed(sandbox, build, out, ["build/measure/x"], "measure"), tmp_path)
    assert (into / "measure/x").is_file()
    assert not (into / "measure/x").is_symlink()


def test_links_out_of_the_tree_pack_no_file_of_the_host(
    sandbox: Sandbox, build: Path, out: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("password")
    secret.chmod(0o755)
    (build / "lib/evil.so").symlink_to(secret)
    (build / "lib/evil.so.d").symlink_to(tmp_path)
    archive = packed(sandbox, build, out)
    assert b"password" not in archive.read_bytes()
    (build / "measure/evil").symlink_to(secret)
    with pytest.raises(CommandFailed, match="measure/evil"):
        packed(sandbox, build, out, ["build/measure/evil"])


def test_names_that_look_like_options_are_not_options(
    sandbox: Sandbox, build: Path, out: Path, tmp_path: Path
) -> None:
    for name in ("--checkpoint-action=exec=false.so", "-x.so", "a\nb.so", "' ; false #.so"):
        (build / name).write_text("x")
    program = build / "--to-command=false"
    program.write_text("x")
    program.chmod(0o755)
    archive = packed(sandbox, build, out, ["build/--to-command=false"], "-delete", "$(touch /out/x)")
    assert "a\nb.so" in files_in(unpacked(sandbox, archive, tmp_path))
    assert program.exists()


def test_pipes_and_sockets_are_skipped(sandbox: Sandbox, build: Path, out: Path, tmp_path: Path) -> None:
    os.mkfifo(build / "fifo.so")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(build / "socket.so"))
        archive = packed(sandbox, build, out)
    assert not {"fifo.so", "socket.so"} & files_in(unpacked(sandbox, archive, tmp_path))


def test_a_hostile_archive_writes_only_into_its_directory(
    sandbox: Sandbox, out: Path, tmp_path: Path
) -> None:
    with tarfile.open(out / ARCHIVE, "w") as archive:
        link = tarfile.TarInfo("up")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        archive.addfile(link)
        for name in ("../evil", f"{tmp_path}/evil", "up/evil"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    into = tmp_path / "unpacked"
    into.mkdir()
    with pytest.raises(Transient):
        unpack(sandbox, out / ARCHIVE, into, unwatched)
    assert not list(tmp_path.glob("**/tmp/evil"))
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("damaged", [slice(1100), slice(100, None), slice(0)])
def test_a_damaged_archive_is_reported(
    sandbox: Sandbox, build: Path, out: Path, tmp_path: Path, damaged: slice
) -> None:
    archive = packed(sandbox, build, out)
    archive.write_bytes(archive.read_bytes()[damaged])
    with pytest.raises(Transient, match="unpacking of the programs: exit code 2: tar:"):
        unpacked(sandbox, archive, tmp_path)


def grow(build: Path, what: str) -> None:
    """Add more of ``what`` than the bounds of these tests allow."""
    if what == "entries":
        for number in range(9):
            (build / f"lib/{number}.so").touch()
    elif what == "levels":
        (build / "a/b/c/d").mkdir(parents=True)
        (build / "a/b/c/d/deep.so").touch()
    else:
        with (build / "lib/sparse.so").open("wb") as file:
            file.truncate(1 << 20)


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_ENTRIES", 8)
    monkeypatch.setattr(packing, "MOST_LEVELS", 3)
    monkeypatch.setattr(packing, "MOST_BYTES", 1 << 20)


@pytest.mark.usefixtures("small_bounds")
@pytest.mark.parametrize(
    ("what", "end"),
    [("entries", "files"), ("levels", "one in another"), ("bytes", "sparse file counts in full")],
)
def test_more_than_the_bounds_is_refused_when_packing(
    sandbox: Sandbox, build: Path, out: Path, what: str, end: str
) -> None:
    packed(sandbox, build, out)
    grow(build, what)
    with pytest.raises(CommandFailed, match=f"packing of the programs: they have .*{end}"):
        packed(sandbox, build, out)


@pytest.mark.parametrize("what", ["entries", "levels", "bytes"])
def test_more_than_the_bounds_is_refused_before_unpacking(
    sandbox: Sandbox, build: Path, out: Path, tmp_path: Path, what: str, request: pytest.FixtureRequest
) -> None:
    grow(build, what)
    archive = packed(sandbox, build, out)
    request.getfixturevalue("small_bounds")
    with pytest.raises(Permanent, match="the archive of the programs has "):
        unpacked(sandbox, archive, tmp_path)
    assert files_in(tmp_path / "unpacked") == set()


@pytest.mark.usefixtures("small_bounds")
def test_files_within_the_bounds_are_unpacked(
    sandbox: Sandbox, build: Path, out: Path, tmp_path: Path
) -> None:
    (build / "a/b/c").mkdir(parents=True)
    (build / "a/b/c/x.so").symlink_to("/1/2/3/4/5/6")
    for number in range(4):
        (build / f"lib/{number}.so").touch()
    assert len(files_in(unpacked(sandbox, packed(sandbox, build, out), tmp_path))) == 8


def test_a_sparse_file_of_terabytes_is_refused_at_once(sandbox: Sandbox, build: Path, out: Path) -> None:
    with (build / "lib/fill.so").open("wb") as file:
        file.truncate(4 << 40)
    with pytest.raises(CommandFailed, match="more than 8 GiB"):
        packed(sandbox, build, out)


def test_the_build_directory_is_not_changed(sandbox: Sandbox, build: Path, out: Path) -> None:
    before = files_in(build)
    packed(sandbox, build, out)
    assert files_in(build) == before


def test_watch_can_cancel_the_packing(sandbox: Sandbox, build: Path, out: Path) -> None:
    def watch() -> None:
        raise Cancelled("a newer patch set")

    with pytest.raises(Cancelled):
        pack(sandbox, build, ["build/measure/x"], (), out, watch)


def test_an_output_is_read(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes(b"{}")
    assert read_output(tmp_path / "results.json", 2) == b"{}"


def test_an_output_larger_than_allowed_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(BadResults, match="sparse: is larger than 1024 bytes"):
        read_output(tmp_path / "sparse", 1024)


def test_only_a_regular_file_is_accepted_as_output(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("secret")
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for name in ("link", "directory", "fifo", "socket", "missing"):
            with pytest.raises(BadResults, match=name):
                read_output(tmp_path / name, 1024)
