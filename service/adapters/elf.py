"""Digests what a loader takes from an ELF file: all that is allocated, but for the build id."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from elftools.common.utils import struct_parse
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

_MAX_HEADERS: Final = 128  # linked programs have some forty sections; many more are an attack on our time
_MAX_NAME: Final = 256
_MAX_BUILD_ID: Final = 64  # bytes with the note's header: SHA-1 takes 36, the longest in use 48
_CHUNK: Final = 1 << 20
_LINKED: Final = frozenset({"ET_EXEC", "ET_DYN"})  # of objects, relocations count as well
_IDENTITY: Final = ("e_ident", "e_type", "e_machine", "e_version", "e_entry", "e_flags")


class _MalformedError(Exception):
    """The headers contradict the file, or say more than a linker would."""


@dataclass(frozen=True, slots=True)
class _Section:
    """An allocated section; ``size`` bytes in memory, and in the file unless it is ``SHT_NOBITS``."""

    name: bytes
    kind: str | int
    flags: int
    address: int
    offset: int
    size: int

    @property
    def is_build_id(self) -> bool:
        is_note = self.kind == "SHT_NOTE" and self.flags == SH_FLAGS.SHF_ALLOC
        return is_note and self.name == b".note.gnu.build-id" and self.size <= _MAX_BUILD_ID

    @property
    def extent(self) -> tuple[int, int]:
        """Its first byte in the file and the one behind its last."""
        return self.offset, self.offset + (0 if self.kind == "SHT_NOBITS" else self.size)


def loaded_digest(file: BinaryIO) -> str | None:
    """The SHA-256 of what a program or shared object is once it is loaded; None for any other file.

    It covers every section with ``SHF_ALLOC`` by name, type, flags, address, size and contents (one without
    contents by its size), the build id's contents excepted; the program headers and the entry point; and
    whatever else the segments load. Debug information, symbols for the linker and the compiler's name are
    not loaded, so that they do not count. A malformed file is "any other file".
    """
    try:
        return _digest(ELFFile(file))
    except Exception:  # noqa: BLE001 - an attacker's file makes the parser raise whatever it likes
        return None


def _digest(elf: ELFFile) -> str | None:
    if elf.header["e_type"] not in _LINKED:
        return None
    sections = [each for each in _sections(elf) if each.flags & SH_FLAGS.SHF_ALLOC]
    segments = list(_headers(elf, "e_phoff", "e_phentsize", "e_phnum", elf.structs.Elf_Phdr))
    digest = hashlib.sha256()
    for said in (
        [str(elf.header[name]) for name in _IDENTITY],
        [sorted(segment.items()) for segment in segments],
        sections,
    ):
        digest.update(repr(said).encode())
    for start, end in _extents(elf, sections, segments):
        digest.update(f"{start} {end}\n".encode())
        for chunk in _chunks(elf, start, end):
            digest.update(chunk)
    return digest.hexdigest()


def _extents(
    elf: ELFFile, sections: Sequence[_Section], segments: Sequence[Any]
) -> Iterator[tuple[int, int]]:
    """Where contents that count are in the file: those of sections, then what segments load beside them."""
    counted = [each.extent for each in sections if not each.is_build_id]
    if not counted or sum(end - start for start, end in counted) > elf.stream_len:
        raise _MalformedError
    yield from counted
    loaded = [(each["p_offset"], each["p_offset"] + each["p_filesz"]) for each in segments]
    yield from _beyond(loaded, [*_header_extents(elf), *(each.extent for each in sections)])


def _headers(elf: ELFFile, at: str, size: str, count: str, struct: Any) -> Iterator[Any]:  # noqa: ANN401 - untyped there
    """The entries of a table of headers."""
    if elf.header[count] > _MAX_HEADERS or elf.header[size] != struct.sizeof():
        raise _MalformedError
    for number in range(elf.header[count]):
        yield struct_parse(struct, elf.stream, elf.header[at] + number * struct.sizeof())


def _sections(elf: ELFFile) -> list[_Section]:
    headers = list(_headers(elf, "e_shoff", "e_shentsize", "e_shnum", elf.structs.Elf_Shdr))
    names = headers[elf.header["e_shstrndx"]]["sh_offset"]
    return [
        _Section(
            _name_at(elf, names + each["sh_name"]),
            each["sh_type"],
            each["sh_flags"],
            each["sh_addr"],
            each["sh_offset"],
            each["sh_size"],
        )
        for each in headers
    ]


def _name_at(elf: ELFFile, offset: int) -> bytes:
    elf.stream.seek(offset)
    name, end, _ = elf.stream.read(_MAX_NAME).partition(b"\0")
    if not end:
        raise _MalformedError
    return name


def _header_extents(elf: ELFFile) -> Iterator[tuple[int, int]]:
    """Where the headers are: they are loaded too, and tell where sections lie that are not."""
    if elf.header["e_ehsize"] != elf.structs.Elf_Ehdr.sizeof():
        raise _MalformedError
    yield 0, elf.header["e_ehsize"]
    yield elf.header["e_phoff"], elf.header["e_phoff"] + elf.header["e_phnum"] * elf.header["e_phentsize"]


def _beyond(
    wanted: Sequence[tuple[int, int]], covered: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """The parts of the wanted extents that no covered one has, in order and without overlap."""
    for start, end in pairwise(sorted({bound for extent in (*wanted, *covered) for bound in extent})):
        part = (start, end)
        if _is_within(part, wanted) and not _is_within(part, covered):
            yield part


def _is_within(part: tuple[int, int], extents: Sequence[tuple[int, int]]) -> bool:
    return any(start <= part[0] and part[1] <= end for start, end in extents)


def _chunks(elf: ELFFile, start: int, end: int) -> Iterator[bytes]:
    elf.stream.seek(start)
    left = end - start
    while left:
        chunk = elf.stream.read(min(_CHUNK, left))
        if not chunk:
            raise _MalformedError  # it ends before its headers say
        left -= len(chunk)
        yield chunk
