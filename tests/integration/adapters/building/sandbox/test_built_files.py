"""Programs of a real linker are compared by their loaded parts, hostile files by their bytes."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest
from elftools.elf.elffile import ELFFile

from service.adapters.building import built_files
from service.adapters.building.built_files import digest, inspect
from service.adapters.building.elf import loaded_digest
from service.domain.values.errors import Cancelled

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.building.built_files import BuiltFile

pytestmark = pytest.mark.integration

SOURCE = """
#include <stdio.h>
static int table[] = {1, 2, 3, LAST};
static int seen[SEEN];
int work(int n) { seen[n % SEEN] += table[n & 3]; return seen[0] * FACTOR; }
#ifndef IS_LIBRARY
int main(int argc, char **argv) { printf("%d %s\\n", work(argc), argv[0]); return 0; }
#endif
"""


def compiled(
    build: Path, name: str, *flags: str, factor: int = 3, last: int = 4, seen: int = 100
) -> dict[str, BuiltFile]:
    """Link a program or shared object, and digest the build directory."""
    source = build.parent / "work.c"
    source.write_text(SOURCE)
    macros = (f"-DFACTOR={factor}", f"-DLAST={last}", f"-DSEEN={seen}")
    build.mkdir(exist_ok=True)
    words = ["gcc", "-O1", *macros, *flags, "-o", str(build / name), str(source)]
    subprocess.run(words, check=True, timeout=60)
    found = inspect(build, lambda: None)
    assert found is not None
    return dict(found)


@pytest.fixture
def build(tmp_path: Path) -> Path:
    return tmp_path / "build"


class TestPrograms:
    @pytest.mark.parametrize("pie", ["-pie", "-no-pie", "-static"])
    def test_another_build_id_makes_no_difference(self, build: Path, pie: str) -> None:
        kind = (pie, "-fPIE") if pie == "-pie" else (pie,)
        first = compiled(build, "bench", *kind, "-Wl,--build-id=0x" + "11" * 20)
        second = compiled(build, "bench", *kind, "-Wl,--build-id=0x" + "22" * 20)

        assert first == second
        assert first["bench"].is_native

    def test_debug_information_makes_no_difference(self, build: Path) -> None:
        assert compiled(build, "bench", "-g0") == compiled(build, "bench", "-g3")

    def test_stripped_symbols_make_no_difference(self, build: Path) -> None:
        assert compiled(build, "bench") == compiled(build, "bench", "-s")

    @pytest.mark.parametrize("changed", [{"factor": 5}, {"last": 7}, {"seen": 200}])
    def test_another_constant_in_code_data_or_size_makes_a_difference(
        self, build: Path, changed: dict[str, int]
    ) -> None:
        """A constant in an instruction, an initial value, and the size of zero-initialised data."""
        assert compiled(build, "bench") != compiled(build, "bench", **changed)

    def test_another_library_path_makes_a_difference(self, build: Path) -> None:
        first = compiled(build, "bench", "-Wl,-rpath,/src/build/one")
        assert first != compiled(build, "bench", "-Wl,-rpath,/src/build/two")

    def test_unlinked_objects_are_compared_by_their_bytes(self, build: Path) -> None:
        """Relocations are in no loaded section, but they decide which function is called."""
        found = compiled(build, "bench.o", "-c")

        assert not found["bench.o"].is_native

    def test_loaded_code_counts_even_if_its_section_header_denies_it(self, build: Path) -> None:
        """The loader reads the segments, so a false section header hides nothing."""
        compiled(build, "bench")
        hidden = _hide_code(build / "bench")
        first = inspect(build, lambda: None)
        with (build / "bench").open("r+b") as file:
            file.seek(hidden)
            file.write(b"\xcc")
        second = inspect(build, lambda: None)

        assert first is not None
        assert second is not None
        assert first["bench"].is_native
        assert second["bench"].is_native
        assert first != second


def _hide_code(program: Path) -> int:
    """Remove ``SHF_ALLOC`` from the program's ``.text``, and return the section's offset in the file."""
    with program.open("r+b") as file:
        elf = ELFFile(file)
        number = elf.get_section_index(".text") or 0
        start: int = elf.get_section(number)["sh_offset"]
        file.seek(elf["e_shoff"] + number * elf["e_shentsize"] + 8)
        file.write(bytes(8))
        return start


class TestFiles:
    def test_a_changed_shared_object_makes_a_difference(self, build: Path) -> None:
        library = ("-shared", "-fPIC", "-DIS_LIBRARY")
        compiled(build, "libwork.so", *library)
        first = compiled(build, "bench")
        compiled(build, "libwork.so", *library, factor=5)
        second = compiled(build, "bench")

        assert {name for name in first if first[name] != second[name]} == {"libwork.so"}
        assert first["libwork.so"].is_native

    def test_other_files_are_compared_by_bytes_and_mode_and_links_by_target(self, build: Path) -> None:
        (build / "data").mkdir(parents=True)
        (build / "data/keys.txt").write_text("a b c")
        (build / "data/latest").symlink_to("keys.txt")
        found = inspect(build, lambda: None)
        assert found is not None
        assert set(found) == {"data/keys.txt", "data/latest"}
        (build / "data/keys.txt").chmod(0o755)
        changed = inspect(build, lambda: None)
        assert changed is not None
        assert found["data/keys.txt"] != changed["data/keys.txt"]
        (build / "data/latest").unlink()
        (build / "data/latest").symlink_to("../data/keys.txt")
        relinked = inspect(build, lambda: None)
        assert relinked is not None
        assert relinked["data/latest"] != changed["data/latest"]

    def test_links_are_not_followed(self, build: Path, tmp_path: Path) -> None:
        (tmp_path / "host").mkdir()
        (tmp_path / "host/secret").write_text("secret")
        build.mkdir()
        (build / "out").symlink_to(tmp_path / "host")

        assert set(inspect(build, lambda: None) or ()) == {"out"}

    def test_an_entry_other_than_a_file_makes_everything_unknown(self, build: Path) -> None:
        build.mkdir()
        os.mkfifo(build / "pipe")

        assert inspect(build, lambda: None) is None

    @pytest.mark.parametrize(("bound", "value"), [("MAX_FILES", 2), ("MAX_BYTES", 5), ("_MAX_NAMES", 2)])
    def test_too_many_files_make_everything_unknown(
        self, build: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
    ) -> None:
        build.mkdir()
        for name in "abc":
            (build / name).write_text("xy")
        assert inspect(build, lambda: None) is not None
        monkeypatch.setattr(built_files, bound, value)

        assert inspect(build, lambda: None) is None

    def test_watch_can_end_the_work(self, build: Path) -> None:
        def watch() -> None:
            raise Cancelled("a newer patch set")

        build.mkdir()
        (build / "a").touch()
        with pytest.raises(Cancelled):
            inspect(build, watch)


class TestChosenPaths:
    def test_a_program_that_is_data_counts_with_all_of_its_bytes(self, build: Path) -> None:
        compiled(build, "bench")
        tree, places = build.parent, {"build/bench", "data.so"}
        (tree / "data.so").write_bytes((build / "bench").read_bytes())
        before = digest(tree, places, lambda: None)
        for place in places:
            with (tree / place).open("ab") as file:
                file.write(b"debug")
        after = digest(tree, places, lambda: None)

        assert before is not None
        assert after is not None
        assert {place for place in places if before[place] != after[place]} == {"data.so"}

    def test_files_have_the_digests_that_the_build_directory_has(self, build: Path) -> None:
        found = compiled(build, "bench")

        assert digest(build.parent, {"build/bench"}, lambda: None) == {"build/bench": found["bench"]}

    @pytest.mark.parametrize(
        ("change", "is_same"),
        [
            ("mv keys.txt words.txt", False),
            ("echo more >> keys.txt", False),
            ("rm keys.txt; mkdir keys.txt", False),
            ("rmdir inner; ln -s keys.txt inner", False),
            ("touch new.md", False),
            ("touch keys.txt; touch inner/deeper; chmod 600 keys.txt", True),
        ],
    )
    def test_directories_differ_by_names_kinds_and_sizes_of_their_entries(
        self, tmp_path: Path, change: str, *, is_same: bool
    ) -> None:
        (tmp_path / "data" / "inner").mkdir(parents=True)
        (tmp_path / "data" / "keys.txt").write_text("a b c")
        before = digest(tmp_path, {"data"}, lambda: None)
        subprocess.run(["sh", "-ec", change], cwd=tmp_path / "data", check=True)
        after = digest(tmp_path, {"data"}, lambda: None)

        assert before is not None
        assert after is not None
        assert (after == before) == is_same

    def test_the_top_of_the_tree_is_a_path_too(self, tmp_path: Path) -> None:
        found = digest(tmp_path, {"."}, lambda: None)

        assert found is not None
        assert set(found) == {"."}

    def test_one_that_is_missing_makes_all_unknown(self, tmp_path: Path) -> None:
        (tmp_path / "keys.txt").touch()

        assert digest(tmp_path, {"keys.txt", "gone.txt"}, lambda: None) is None

    def test_too_long_a_directory_makes_all_unknown(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in "abc":
            (tmp_path / name).touch()
        monkeypatch.setattr(built_files, "_MAX_NAMES", 3)

        assert digest(tmp_path, {"."}, lambda: None) is None


class TestHostileFiles:
    @pytest.mark.parametrize(
        "damage",
        [
            (40, b"\xff" * 8),  # section headers beyond any file
            (60, b"\xff\xff"),  # more sections than fit
            (58, b"\0\0"),  # section headers of no size
            (62, b"\xff\xff"),  # names in no section
            (32, b"\xff" * 8),  # program headers beyond any file
            (56, b"\xff\xff"),  # more segments than fit
            (52, b"\xff\xff"),  # a file header that covers the code
            (4, b"\7\7"),  # neither 32 nor 64 bits
        ],
    )
    def test_a_file_with_false_headers_is_compared_by_its_bytes(
        self, build: Path, damage: tuple[int, bytes]
    ) -> None:
        compiled(build, "bench")
        where, what = damage
        whole = bytearray((build / "bench").read_bytes())
        whole[where : where + len(what)] = what
        (build / "bench").write_bytes(whole)
        found = inspect(build, lambda: None)

        assert found is not None
        assert not found["bench"].is_native

    def test_overlapping_sections_are_not_read_repeatedly(self, build: Path) -> None:
        compiled(build, "bench")
        with (build / "bench").open("r+b") as file:
            elf = ELFFile(file)
            for number in range(1, elf.num_sections() - 1):
                file.seek(elf["e_shoff"] + number * elf["e_shentsize"] + 24)
                file.write(struct.pack("<QQ", 0, elf.stream_len))
        found = inspect(build, lambda: None)

        assert found is not None
        assert not found["bench"].is_native

    @pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\2\1\1" + b"\xff" * 200])
    def test_a_truncated_file_is_compared_by_its_bytes(self, build: Path, content: bytes) -> None:
        build.mkdir()
        (build / "bench").write_bytes(content)
        found = inspect(build, lambda: None)

        assert found is not None
        assert not found["bench"].is_native

    def test_a_damaged_file_raises_no_error(self, build: Path) -> None:
        compiled(build, "bench", "-s")
        whole = (build / "bench").read_bytes()
        chance = random.Random(1)  # noqa: S311 - repeatable on purpose
        at = int.from_bytes(whole[40:48], "little")
        for _ in range(300):
            damaged = bytearray(whole[: chance.randrange(len(whole))] if chance.random() < 0.2 else whole)
            for _ in range(chance.randrange(1, 8)):
                first = chance.choice([0, 64, at])
                where = first + chance.randrange(min(400, max(len(whole) - first, 1)))
                if where < len(damaged):
                    damaged[where] = chance.choice([0, 1, 255, chance.randrange(256)])
            (build / "bench").write_bytes(damaged)
            with (build / "bench").open("rb") as file:
                digest = loaded_digest(file)
            assert digest is None or len(digest) == 64
