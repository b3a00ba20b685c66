"""Check the directories of BENCHGATE_MOUNTS: what is refused, and what their digest covers."""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.machine_mounts import paths_of_address, read_mount, read_mounts
from service.domain.values.errors import BadInput
from tests.support.building.capabilities import without_capabilities

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A directory with a compiler, a library and a link."""
    directory = tmp_path / "tools"
    (directory / "bin").mkdir(parents=True)
    (directory / "bin/cc").write_text("#!/bin/sh\n")
    (directory / "lib.so.1").write_text("library")
    (directory / "lib.so").symlink_to("lib.so.1")
    return directory


def digest_of(directory: Path) -> str:
    return read_mount(str(directory), {}).digest


def refusal_of(entry: object) -> str:
    with pytest.raises(BadInput) as refused:
        read_mount(str(entry), {})
    return str(refused.value)


@pytest.mark.parametrize("entry", ["", ".", "opt/gcc", "~/gcc", "../gcc"])
def test_a_relative_path_is_refused(entry: str) -> None:
    assert refusal_of(entry) == f"BENCHGATE_MOUNTS: {entry!r} is not an absolute path"


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    assert refusal_of(missing) == f"BENCHGATE_MOUNTS: {missing} cannot be read: No such file or directory"
    assert refusal_of("/opt/\0") == "BENCHGATE_MOUNTS: /opt/ cannot be read: embedded null byte"


def test_a_file_is_refused(tools: Path) -> None:
    file = tools / "bin/cc"
    assert refusal_of(file) == f"BENCHGATE_MOUNTS: {file} is not a directory"


def test_a_path_that_leads_to_another_is_refused_and_the_other_named(tools: Path, tmp_path: Path) -> None:
    link, below = tmp_path / "link", tmp_path / "link/bin"
    link.symlink_to(tools)
    assert refusal_of(link) == f"BENCHGATE_MOUNTS: {link} leads to {tools}: list that directory"
    assert refusal_of(below) == f"BENCHGATE_MOUNTS: {below} leads to {tools / 'bin'}: list that directory"
    for other in (f"{tools}/bin/../bin", f"/{tools}/bin"):
        expected = f"BENCHGATE_MOUNTS: {other} leads to {tools / 'bin'}: list that directory"
        assert refusal_of(other) == expected


def test_no_message_advises_a_directory_that_would_be_refused(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tools)
    for entry in (f"{tmp_path}/link", f"{tmp_path}/link/../tools"):
        with pytest.raises(BadInput, match=f"{tools} is a directory which is private"):
            read_mount(entry, {str(tools): "which is private"})


@pytest.mark.parametrize("name", [b"to\xffols", b"to\nols", b"to\x1b[2Jols"])
def test_a_path_that_cannot_be_stored_or_shown_is_refused(tmp_path: Path, name: bytes) -> None:
    """PostgreSQL stores the path as a fact of the machine."""
    path = tmp_path / os.fsdecode(name)
    path.mkdir()
    assert refusal_of(path).endswith("ols has control characters, or is not UTF-8: rename it")


@pytest.mark.parametrize("name", ["-x", "--bind", "a b", "a:b", "a,b", "a'b", "größe"])
def test_other_unusual_paths_are_accepted(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert read_mount(f"{tmp_path}/{name}", {}).path == f"{tmp_path}/{name}"


def test_a_directory_that_builds_must_not_see_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"{tmp_path}/none/x is within {tmp_path}/none, which is private"):
        read_mount(f"{tmp_path}/none/x", {f"{tmp_path}/none": "which is private"})


def test_sockets_and_pipes_are_refused_because_read_only_mounts_do_not_protect_them(tools: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(tools / "bin/socket"))
    assert refusal_of(tools).endswith(
        f"has a socket or pipe, by which programs could reach others of this machine: {tools}/bin/socket"
    )
    (tools / "bin/socket").unlink()
    os.mkfifo(tools / "pipe")
    assert refusal_of(tools).endswith(f": {tools}/pipe")


def add(tools: Path) -> None:
    (tools / "bin/ld").touch()


def remove(tools: Path) -> None:
    (tools / "lib.so.1").unlink()


def rename(tools: Path) -> None:
    (tools / "bin/cc").rename(tools / "bin/c++")


def lengthen(tools: Path) -> None:
    status = (tools / "bin/cc").stat()
    (tools / "bin/cc").write_text("#!/bin/bash\n")
    os.utime(tools / "bin/cc", ns=(status.st_atime_ns, status.st_mtime_ns))


def write_later(tools: Path) -> None:
    status = (tools / "bin/cc").stat()
    os.utime(tools / "bin/cc", ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def change_mode(tools: Path) -> None:
    (tools / "bin/cc").chmod(0o755)


def lead_elsewhere(tools: Path) -> None:
    (tools / "lib.so").unlink()
    (tools / "lib.so").symlink_to("lib.so.2")


def replace_by_directory(tools: Path) -> None:
    (tools / "lib.so").unlink()
    (tools / "lib.so").mkdir()


@pytest.mark.parametrize(
    "change",
    [add, remove, rename, lengthen, write_later, change_mode, lead_elsewhere, replace_by_directory],
)
def test_a_change_below_the_directory_changes_the_digest(tools: Path, change: Callable[[Path], None]) -> None:
    before = digest_of(tools)
    change(tools)
    assert digest_of(tools) != before


def test_a_copy_with_its_times_has_the_same_digest(tools: Path, tmp_path: Path) -> None:
    """Machines of a pool share built programs, and their inodes differ."""
    before = read_mount(str(tools), {})
    shutil.copytree(tools, tmp_path / "copy", symlinks=True)
    again = read_mount(str(tmp_path / "copy"), {})
    assert (again.digest, again.files) == (before.digest, 3)


def test_neither_the_order_nor_a_repetition_of_the_entries_counts(tools: Path) -> None:
    one, other = str(tools), str(tools / "bin")
    assert read_mounts([other, f"{one}/", one], {}) == read_mounts([one, other], {})
    assert [mount.path for mount in read_mounts([other, one], {})] == [one, other]


def test_a_directory_that_programs_cannot_enter_is_left_out(tools: Path) -> None:
    (tools / "private").mkdir()
    (tools / "private").chmod(0)
    assert without_capabilities(lambda: read_mount(str(tools), {})).files == 3


def test_an_unlistable_directory_with_readable_files_is_refused(tools: Path) -> None:
    refusal = f"BENCHGATE_MOUNTS: {tools}/bin cannot be read: Permission denied"
    (tools / "bin").chmod(0o311)
    assert without_capabilities(lambda: refusal_of(tools)) == refusal
    tools.chmod(0o666)
    assert without_capabilities(lambda: refusal_of(tools)) == refusal


@pytest.mark.parametrize(
    ("url", "paths"),
    [
        ("", []),
        ("postgresql://bot:pw@db:5432/benchgate", []),
        ("postgresql://bot@/benchgate?host=/opt/pg/socket&port=5432", ["/opt/pg/socket"]),
        ("postgresql://bot@/benchgate?host=/a,/b&passfile=/opt/pg/pass", ["/a", "/b", "/opt/pg/pass"]),
        ("postgresql://bot@%2Fopt%2Fpg/benchgate", ["/opt/pg"]),
        ("redis+socket:///opt/valkey/valkey.sock?virtual_host=0", ["/opt/valkey/valkey.sock"]),
        ("unix:///opt/valkey/valkey.sock", ["/opt/valkey/valkey.sock"]),
        ("postgresql://bot:p[w@/db?host=/opt/pg", ["/opt/pg"]),
        ("postgresql+psycopg://bot:p/a?s#w@db/db?sslkey=/opt/key", ["/opt/key"]),
        ("postgresql://[::1/db", []),
        ("redis://db:6379/0", []),
        ("rediss://db/0?ssl_ca_certs=/opt/a/b.pem&ssl_keyfile=/opt/key", ["/opt/a/b.pem", "/opt/key"]),
    ],
)
def test_the_sockets_and_keys_in_an_address_are_found(url: str, paths: list[str]) -> None:
    assert list(paths_of_address(url)) == paths
