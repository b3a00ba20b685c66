"""Packed programs, built files, artifacts and the differences of texts in memory."""

from __future__ import annotations

import gzip
import hashlib
import time
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from service.domain.building.built_files import BuiltFile, Opened
from service.domain.values.errors import BadInput, BadResults, NotFound, Permanent, ProgramMissing
from service.ports.building import KeptArtifact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from service.domain.measuring.lint.touched_lines import Lines
    from service.ports.building import Artifacts, Sandbox


@runtime_checkable
class HasLaunches(Protocol):
    """A sandbox that remembers them."""

    launches: list[tuple[str, str]]


@dataclass
class MemoryPacker:
    """An archive is the program itself.

    ``renewed`` has of each renewal the launches that measured before it, and both programs in its order.
    """

    renewed: list[tuple[int, tuple[str, str]]] = field(default_factory=list)
    is_too_large: bool = False
    fault: Exception | None = None

    def pack(
        self,
        sandbox: object,
        build: Path,
        programs: Sequence[str],
        keep: Sequence[str],
        out: Path,
        watch: Callable[[], None],
    ) -> Path:
        if not (build / "bench").exists():
            raise ProgramMissing(f"program {programs[0]}")
        return (build / "bench").rename(out / "archive")

    def unpack(self, sandbox: object, archive: Path, into: Path, watch: Callable[[], None]) -> None:
        (into / "bench").write_bytes(archive.read_bytes())

    def renew(self, sandbox: Sandbox, builds: tuple[Path, Path], watch: Callable[[], None]) -> bool:
        watch()
        if self.fault:
            raise self.fault
        first, second = builds
        programs = (first / "bench").read_text(), (second / "bench").read_text()
        assert isinstance(sandbox, HasLaunches)
        self.renewed.append((len(sandbox.launches), programs))
        return not self.is_too_large

    def read_output(self, path: Path, at_most: int) -> bytes:
        if not path.exists():
            raise BadResults("there is no such file")
        return path.read_bytes()


@dataclass(frozen=True)
class MemoryScratch:
    """Directories in one that a test has; a file system is the one thing that memory cannot replace."""

    root: Path

    @contextmanager
    def directory(self) -> Iterator[Path]:
        with TemporaryDirectory(dir=self.root) as name:
            yield Path(name)


@dataclass
class MemoryInspector:
    """Every file is a program of its own text; ``is_blind``: it can tell nothing of any directory."""

    is_blind: bool = False

    def inspect(self, build: Path, watch: Callable[[], None]) -> Mapping[str, BuiltFile] | None:
        watch()
        if self.is_blind:
            return None
        return {path.name: BuiltFile(path.read_text(), is_native=True) for path in build.iterdir()}

    def digest(
        self, tree: Path, paths: Collection[str], watch: Callable[[], None]
    ) -> Mapping[str, BuiltFile] | None:
        watch()
        is_there = all((tree / path).is_file() for path in paths)
        return {path: BuiltFile((tree / path).read_text()) for path in paths} if is_there else None


@dataclass
class MemoryOpenedFiles:
    """Launches open their program, and those of ``reads`` that the tree has; or that is ``unknown``."""

    reads: Collection[str] = ()
    unknown: str = ""

    @contextmanager
    def observe(self, tree: Path) -> Iterator[Callable[[], Opened]]:
        paths = frozenset(path for path in ("build/bench", *self.reads) if (tree / path).exists())
        yield lambda: Opened(paths, self.unknown)


@dataclass
class MemoryArtifacts:
    """Bytes by their digest."""

    kept: dict[str, bytes] = field(default_factory=dict)
    site: str = ""

    def mark(self, site: str) -> None:
        self.site = site

    def marked(self) -> str:
        return self.site

    def watched(self, watch: Callable[[], None]) -> Artifacts:
        return self

    def put(self, data: bytes) -> str:
        key = hashlib.sha256(data).hexdigest()
        self.kept[key] = data
        return key

    def get(self, key: str, *, at_most: int = 1 << 30) -> bytes:
        if key not in self.kept:
            raise NotFound(f"no artifact {key}")
        if len(self.kept[key]) > at_most:
            raise BadInput(f"larger than {at_most} bytes", f"artifact {key}")
        return self.kept[key]

    def stream(self, key: str) -> Iterator[bytes]:
        data = self.get(key)
        if data:
            yield data

    def put_file(self, path: Path) -> str:
        return self.put(path.read_bytes())

    def listed(self, prefix: str) -> Iterator[KeptArtifact]:
        for key, data in self.kept.items():
            if key.startswith(prefix):
                yield KeptArtifact(key, time.time(), len(gzip.compress(data)))

    def receive(self, key: str) -> MemoryIncoming:
        if len(key) != 64:
            raise NotFound(f"not the key of an artifact: {key}")
        return MemoryIncoming(self, key)

    def packed(self, key: str) -> BytesIO:
        return BytesIO(gzip.compress(self.get(key)))

    def delete(self, key: str, stored_before: float) -> bool:
        if key in self.kept and stored_before > 0:  # all were stored just now
            return False
        self.kept.pop(key, None)
        return True

    def get_file(self, key: str, path: Path) -> None:
        data = self.get(key)
        if path.exists():
            raise Permanent(f"{path}: File exists")
        path.write_bytes(data)


@dataclass
class MemoryIncoming:
    """A transfer that is checked at its end."""

    artifacts: MemoryArtifacts
    key: str
    packed: bytes = b""

    def take(self, data: bytes) -> None:
        self.packed += data

    def publish(self) -> None:
        try:
            data = gzip.decompress(self.packed)
        except (EOFError, OSError, zlib.error) as error:
            raise BadInput(str(error), f"artifact {self.key}") from error
        if hashlib.sha256(data).hexdigest() != self.key:
            raise BadInput("has other bytes", f"artifact {self.key}")
        self.artifacts.kept[self.key] = data

    def close(self) -> None:
        self.packed = b""


def added_lines(old: str, new: str) -> tuple[range, ...]:
    """Return the lines of the new text that the old one does not have."""
    matcher = SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    edits = (each[3:] for each in matcher.get_opcodes() if each[0] in {"insert", "replace"})
    return tuple(range(begin + 1, end + 1) for begin, end in edits)


def lines_between(old: Mapping[str, str], new: Mapping[str, str], endings: tuple[str, ...]) -> Lines:
    """The lines that these files of a revision add or change; a moved file has none."""
    former = {text: path for path, text in old.items() if path not in new}
    diffs = {
        path: added_lines(old.get(path, old.get(former.get(text, ""), "")), text)
        for path, text in new.items()
        if path.endswith(endings)
    }
    return {path: ranges for path, ranges in diffs.items() if ranges}
