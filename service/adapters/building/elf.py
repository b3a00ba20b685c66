"""Digest what a loader uses of an ELF file: everything except the build ID."""

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

_MAX_HEADERS: Final = 128  # a linked program has about forty sections; far more would be an attack
_MAX_NAME: Final = 256
_MAX_BUILD_ID: Final = 64  # bytes with the note's header: SHA-1 needs 36, the longest in use 48
_CHUNK: Final = 1 << 20
_LINKED: Final = frozenset({"ET_EXEC", "ET_DYN"})  # in unlinked objects, relocations also matter
_IDENTITY: Final = ("e_ident", "e_type", "e_machine", "e_version", "e_entry", "e_flags")


class _MalformedError(Exception):
    """The headers contradict the file, or are larger than those of any linker."""


@dataclass(frozen=True, slots=True)
class _Section:
    """An allocated section: ``size`` bytes in memory, and also in the file unless it is ``SHT_NOBITS``."""

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
        """The offset of its first byte in the file, and of the byte after its last."""
        return self.offset, self.offset + (0 if self.kind == "SHT_NOBITS" else self.size)


def loaded_digest(file: BinaryIO) -> str | None:
    """Compute the SHA-256 of the loaded parts of a program or shared object; return None for any other file.

    It covers name, type, flags, address, size and contents of every section with ``SHF_ALLOC`` (except the
    contents of the build ID), the program headers, the entry point, and everything else in the segments.
    Debug information, linker symbols and the compiler's name are not loaded and therefore not covered. A
    malformed file is "any other file".
    """
    try:
        return _digest(ELFFile(file))
    except Exception:  # noqa: BLE001 - an attacker's file can make the parser raise any error
        return None


def _digest(elf: ELFFile) -> str | None:
    if elf.header["e_type"] not in _LINKED:
        return None
    sections = [section for section in _sections(elf) if section.flags & SH_FLAGS.SHF_ALLOC]
    segments = list(_headers(elf, "e_phoff", "e_phentsize", "e_phnum", elf.structs.Elf_Phdr))
    digest = hashlib.sha256()
    for headers in (
        [str(elf.header[name]) for name in _IDENTITY],
        [sorted(segment.items()) for segment in segments],
        sections,
    ):
        digest.update(repr(headers).encode())
    for start, end in _extents(elf, sections, segments):
        digest.update(f"{start} {end}\n".encode())
        for chunk in _chunks(elf, start, end):
            digest.update(chunk)
    return digest.hexdigest()


def _extents(
    elf: ELFFile, sections: Sequence[_Section], segments: Sequence[Any]
) -> Iterator[tuple[int, int]]:
    """Yield the extents to digest: contents of sections, then the other contents of segments."""
    counted = [section.extent for section in sections if not section.is_build_id]
    if not counted or sum(end - start for start, end in counted) > elf.stream_len:
        raise _MalformedError
    yield from counted
    loaded = [(segment["p_offset"], segment["p_offset"] + segment["p_filesz"]) for segment in segments]
    yield from _beyond(loaded, [*_header_extents(elf), *(section.extent for section in sections)])


def _headers(elf: ELFFile, at: str, size: str, count: str, struct: Any) -> Iterator[Any]:  # noqa: ANN401 - untyped there
    """Yield the entries of a header table."""
    if elf.header[count] > _MAX_HEADERS or elf.header[size] != struct.sizeof():
        raise _MalformedError
    for number in range(elf.header[count]):
        yield struct_parse(struct, elf.stream, elf.header[at] + number * struct.sizeof())


def _sections(elf: ELFFile) -> list[_Section]:
    headers = list(_headers(elf, "e_shoff", "e_shentsize", "e_shnum", elf.structs.Elf_Shdr))
    names = headers[elf.header["e_shstrndx"]]["sh_offset"]
    return [
        _Section(
            _name_at(elf, names + header["sh_name"]),
            header["sh_type"],
            header["sh_flags"],
            header["sh_addr"],
            header["sh_offset"],
            header["sh_size"],
        )
        for header in headers
    ]


def _name_at(elf: ELFFile, offset: int) -> bytes:
    elf.stream.seek(offset)
    name, end, _ = elf.stream.read(_MAX_NAME).partition(b"\0")
    if not end:
        raise _MalformedError
    return name


def _header_extents(elf: ELFFile) -> Iterator[tuple[int, int]]:
    """Yield the extents of the headers: they are loaded, but contain offsets of sections that are not."""
    if elf.header["e_ehsize"] != elf.structs.Elf_Ehdr.sizeof():
        raise _MalformedError
    yield 0, elf.header["e_ehsize"]
    yield elf.header["e_phoff"], elf.header["e_phoff"] + elf.header["e_phnum"] * elf.header["e_phentsize"]


def _beyond(
    wanted: Sequence[tuple[int, int]], covered: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the parts of the wanted extents that are not covered, in order and without overlap."""
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
            raise _MalformedError  # the file is shorter than its headers claim
        left -= len(chunk)
        yield chunk
