"""Read Google Benchmark's JSON results, versions 1.3 to 1.9; a bad row does not spoil the others."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.measuring.formats.columns import Columns, read_columns
from service.domain.measuring.formats.document import Damage, Repeated, RowByRow, decode, find_rows
from service.domain.measuring.formats.row import ReadLimits, ResultRow, RowReader, RunType
from service.domain.values.errors import BadResults
from service.domain.values.text import brief, clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["GBenchRun", "ReadLimits", "ReadWarning", "ResultRow", "RunType", "is_written_since", "read_run"]

_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_START: Final = re.compile("\ufeff?[ \t\r\n]*+")
_BYTES_RIGHT_SINCE: Final = (1, 9, 2)
_CONTEXT_KEYS: Final = ("date", "library_version")  # the others have no use
_TO_DO: Final = "run the program again, or leave this file out"
_CONSOLE_CHARACTERS: Final = 1 << 16  # a few lines about the machine precede the heading
_CONSOLE: Final = re.compile(r"^(?:Benchmark +Time +CPU|name,iterations,real_time)", re.MULTILINE)
_NOT_JSON: Final = (
    "it is Google Benchmark's console or CSV output, not JSON: run the program with --benchmark_out=FILE, "
    "or with --benchmark_format=json"
)
_NO_ROWS: Final = "it has no benchmarks; is it what --benchmark_out wrote, in JSON?"
_OLD_AGGREGATES: Final = ("mean", "median", "stddev")  # versions without run_type always wrote all three


@dataclass(frozen=True, slots=True)
class ReadWarning:
    """Warning about a part of a file that was not used; ``row`` counts from 0 in ``benchmarks``."""

    source: str
    row: int | None
    sentence: str

    def __str__(self) -> str:
        row = "" if self.row is None else f"row {self.row}: "
        return f"{self.source}: {row}{self.sentence}"


@dataclass(frozen=True, slots=True)
class GBenchRun:
    """Usable content of a result file.

    Args:
        context: the date of the launch and the library's version, as far as they are texts; one line each.
        content: the rows in the order of the file; columns if each is the only measurement of a benchmark.
        warnings: about the file, then about rows; ``warnings_left_out`` counts the rest.
        lost: measurements that were left out, with what is wrong with each, by name.
        is_cut: rows beyond the limit were not read.
        damage: where and why the file is cut off or damaged; rows behind are lost. Empty if intact.
    """

    context: Mapping[str, str]
    content: Columns | tuple[ResultRow, ...]
    warnings: tuple[ReadWarning, ...] = ()
    damage: str = ""
    warnings_left_out: int = 0
    lost: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False

    @property
    def rows(self) -> tuple[ResultRow, ...]:
        """Rows in the order of the file; each access makes them anew."""
        return tuple(self.content.rows()) if isinstance(self.content, Columns) else self.content

    @property
    def benchmarks(self) -> Iterable[str]:
        """Names of the measurements, failed ones included, without statistics over repetitions."""
        if isinstance(self.content, Columns):
            return self.content.names
        return [row.name for row in self.content if row.aggregate_name is None]


def read_run(data: bytes, *, source: str, limits: ReadLimits | None = None) -> GBenchRun:
    """Read the JSON that ``--benchmark_out`` wrote, in linear time.

    Args:
        data: the file's bytes; UTF-8.
        source: how errors and warnings name the file.
        limits: how much is read; the defaults if None.

    Raises:
        BadResults: the file is unusable (empty, too large, not JSON, no ``benchmarks``).
    """
    return _FileReader(source, limits or ReadLimits()).run(data)


def is_written_since(context: Mapping[str, str], version: tuple[int, int, int]) -> bool:
    """Return whether the library that wrote a file is known to be at least that version.

    Versions before 1.8.4 do not write theirs.
    """
    found = re.match(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})", context.get("library_version", ""))
    return found is not None and tuple(int(part) for part in found.groups()) >= version


class _FileReader:
    """Reader of one file, with the warnings so far."""

    def __init__(self, source: str, limits: ReadLimits) -> None:
        self._source = source
        self._limits = limits
        self._of_file: list[ReadWarning] = []
        self._of_rows: list[ReadWarning] = []
        self._left_out = 0
        self._lost: dict[str, str] = {}
        self._is_cut = False

    def run(self, data: bytes) -> GBenchRun:
        text, start = self._text(data)
        head, values = self._document(text, start)
        context = self._context(head)
        trusts_bytes = is_written_since(context, _BYTES_RIGHT_SINCE)
        reader = RowReader(self._limits, self._warn_row, trusts_bytes=trusts_bytes)
        content = self._content(values, reader, trusts_bytes=trusts_bytes)
        damage = ""
        if isinstance(values, RowByRow) and values.damage:
            damage = f"{_place_of(values.damage, text)}; the rows before it are read: {_TO_DO}"
            self._warn_file(damage)
        return GBenchRun(
            context=context,
            content=content,
            warnings=(*self._of_file, *self._of_rows),
            damage=damage,
            warnings_left_out=self._left_out,
            lost=MappingProxyType(self._lost),
            is_cut=self._is_cut,
        )

    def _text(self, data: bytes) -> tuple[str, int]:
        """Decode the text, and find its ``{``."""
        if len(data) > self._limits.max_bytes:
            what = f"it has {len(data)} bytes; at most {self._limits.max_bytes} are read"
            raise BadResults(what, self._source)
        if data.startswith(_UTF16_MARKS) or b"\0" in data[:2]:
            raise BadResults("it is UTF-16; Google Benchmark writes UTF-8", self._source)
        text = data.decode("utf-8", "surrogateescape")
        blank = _START.match(text)
        start = blank.end() if blank else 0
        if start == len(text):
            raise BadResults("it is empty", self._source)
        if not text.startswith("{", start):
            is_console = _CONSOLE.search(text, 0, _CONSOLE_CHARACTERS)
            raise BadResults(_NOT_JSON if is_console else "it is not a JSON object", self._source)
        return text, start

    def _document(self, text: str, start: int) -> tuple[Mapping[str, object], list[object] | RowByRow]:
        """Decode the object with the context, and the rows."""
        damage: Damage | None = None
        if len(text) <= self._limits.characters_at_once:
            found = decode(text, start)
            if not isinstance(found, Damage):
                return self._whole(text, *found)
            damage = found
        if rows := find_rows(text, start):
            return rows
        if damage:
            what = f"{_place_of(damage, text)}; no benchmarks can be read before it: {_TO_DO}"
            raise BadResults(what, self._source)
        raise BadResults(_NO_ROWS, self._source)

    def _whole(
        self, text: str, found: Mapping[str, object], end: int
    ) -> tuple[Mapping[str, object], list[object]]:
        if "benchmarks" not in found:
            raise BadResults(_NO_ROWS, self._source)
        values = found["benchmarks"]
        if not isinstance(values, list):
            raise BadResults("its benchmarks are not a list", self._source)
        if isinstance(found, Repeated):
            keys = ", ".join(brief(key) for key in found.repeated[:3])
            self._warn_file(f"keys given twice, the first value is used: {keys}")
        if extra := text[end:].strip():
            count = len(extra.encode("utf-8", "surrogateescape"))
            self._warn_file(f"{count} bytes behind the end of the results were ignored")
        return found, values

    def _content(
        self, values: list[object] | RowByRow, reader: RowReader, *, trusts_bytes: bool
    ) -> Columns | tuple[ResultRow, ...]:
        usual: dict[int, ResultRow] = {}
        if isinstance(values, list):
            if len(values) > self._limits.rows:
                values = values[: self._limits.rows]
                self._note_cut()
            groups = read_columns(values, self._limits, trusts_bytes=trusts_bytes)
            for numbers, columns in groups:
                if len(set(columns.names)) == len(values):
                    return columns
                usual.update(zip(numbers, columns.rows(), strict=True))
        rows: list[ResultRow] = []
        for number, value in enumerate(values):
            if number == self._limits.rows:
                self._note_cut()
                break
            row = usual.get(number)
            try:
                rows.append(reader.read(number, value) if row is None else reader.claim(row, row.name))
            except BadResults as error:
                self._warn_row(number, f"left out: {error.what}")
                self._lose(value, error.what)
        return _with_old_aggregates(rows) if reader.has_untyped_rows else tuple(rows)

    def _note_cut(self) -> None:
        self._is_cut = True
        self._warn_file(f"it has more than {self._limits.rows} rows; the others are not read")

    def _lose(self, value: object, what: str) -> None:
        """Keep the name, if any: an unusable measurement must not look like a removed one."""
        match value:
            case {"run_type": RunType.ITERATION, "name": str(name)} if name:
                if len(name) <= self._limits.name_characters:
                    self._lost.setdefault(clean(name), what)

    def _context(self, head: Mapping[str, object]) -> dict[str, str]:
        found = head.get("context")
        if not isinstance(found, dict):
            self._warn_file("it has no context that can be read")
            return {}
        values = {key: found.get(key) for key in _CONTEXT_KEYS}
        longest = self._limits.text_characters
        return {key: clean(value[:longest]) for key, value in values.items() if isinstance(value, str)}

    def _warn_file(self, sentence: str) -> None:
        self._of_file.append(ReadWarning(self._source, None, sentence))

    def _warn_row(self, number: int, sentence: str) -> None:
        if len(self._of_rows) < self._limits.warnings:
            self._of_rows.append(ReadWarning(self._source, number, sentence))
        else:
            self._left_out += 1


def _place_of(damage: Damage, text: str) -> str:
    at = len(text[: damage.at].encode("utf-8", "surrogateescape"))
    return f"it is cut off or damaged at byte {at} ({damage.why})"


def _with_old_aggregates(rows: Iterable[ResultRow]) -> tuple[ResultRow, ...]:
    """Recognise the aggregates of versions before 1.5 by the suffixes of their names."""
    names = {row.name for row in rows}
    typed: list[ResultRow] = []
    for row in rows:
        stem, _, suffix = row.name.rpartition("_")
        is_fit = row.run_type is RunType.AGGREGATE and row.aggregate_name is None
        is_statistic = row.repetition_index is None and row.is_measured and suffix in _OLD_AGGREGATES
        if is_fit or (is_statistic and all(f"{stem}_{each}" in names for each in _OLD_AGGREGATES)):
            typed.append(
                row._replace(run_name=stem or row.name, run_type=RunType.AGGREGATE, aggregate_name=suffix)
            )
        else:
            typed.append(row)
    return tuple(typed)
