"""Suite ``send_buffer``: tests that send 20 MiB under ThreadSanitizer, recorded and here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.native.launching import Arm, Run
from bench.native.measured import NotMeasured
from bench.native.recorded import LARGE_SIZE
from bench.native.table import NOTHING, Change, Table, TableRow, Unit, percent, significant
from bench.native.variants import LARGE_SIZE_TEST, SEND_BUFFER_SUITE

if TYPE_CHECKING:
    from bench.native.measured import Measured

_COPY: Final = "copy_and_send"
_CHUNKS: Final = "send_per_chunk"
_MESSAGE: Final = "sendmsg"
_PLAIN: Final = "ServerRejectsLargeSize"
_COMPRESSED: Final = f"{_PLAIN}Compressed"
_XATTR: Final = f"{_PLAIN}WithXattr"

FASTER: Final = 3.0
SAVED: Final = 0.10  # of the plain test's milliseconds: little is sent, so little can be saved

_ARMS: Final = tuple(Arm(name, name) for name in (_COPY, _CHUNKS, _MESSAGE))
RUNS: Final = (
    Run(LARGE_SIZE_TEST, _ARMS, rounds=3, flags=("--gtest_filter=*ServerRejectsLargeSize*/Mcbp_*",)),
    Run(
        SEND_BUFFER_SUITE,
        _ARMS,
        rounds=5,
        flags=("--benchmark_filter=SendBuffer/", "--benchmark_min_time=0.1"),
    ),
)


def table(found: Measured) -> Table:
    """Tabulate the eight tests, what the controls save, and the suite without a sanitizer."""
    rows = [_test(found, name, json) for name, json in LARGE_SIZE]
    rows += [_saving(found, name, json, _PLAIN) for name, json in LARGE_SIZE if name.endswith("Compressed")]
    rows += [_saving(found, f"{_XATTR}Compressed", json, _XATTR) for json in ("JsonYes", "JsonNo")]
    rows += [_chunked(found, name, json) for name, json in LARGE_SIZE]
    rows += _suite(found)
    note = "The tests are built with the preset `tsan`, the suite with `measure`."
    return Table("send_buffer: `copy_and_send` → `sendmsg`", tuple(rows), notes=(note,))


def _full(name: str, json: str) -> str:
    return f"TransportProtocols/GetSetTest.{name}/Mcbp_XattrYes_{json}_SnappyYes"


def _test(found: Measured, name: str, json: str) -> TableRow:
    here = found.change(_COPY, _MESSAGE, _full(name, json), Unit.MILLISECONDS)
    recorded = Change(*LARGE_SIZE[name, json], Unit.MILLISECONDS)
    required, is_met = NOTHING, None
    if name == _PLAIN:
        required, is_met = f"≥ {significant(FASTER, 1)}×", here.gain >= FASTER
    return TableRow(f"`{name}`, {json}, TSan", recorded.show(), here.show(), required, is_met)


def _saving(found: Measured, name: str, json: str, of: str) -> TableRow:
    """Tabulate the milliseconds that a compressed test saves, as a share of the other test's before."""
    here = found.change(_COPY, _MESSAGE, _full(name, json), Unit.MILLISECONDS)
    share = here.saved / Unit.MILLISECONDS.of_seconds(found.median(_COPY, _full(of, json)))
    recorded = Change(*LARGE_SIZE[name, json], Unit.MILLISECONDS)
    recorded_share = recorded.saved / LARGE_SIZE[of, json][0]
    required, is_met = NOTHING, None
    if name == _COMPRESSED:
        required, is_met = f"≤ {SAVED * 100:.0f} %", share <= SAVED
    return TableRow(
        f"`{name}`, {json}, TSan: saved, of `{of}` before",
        f"{Unit.MILLISECONDS.show(recorded.saved)} ({percent(recorded_share)})",
        f"{Unit.MILLISECONDS.show(here.saved)} ({percent(share)})",
        required,
        is_met,
    )


def _chunked(found: Measured, name: str, json: str) -> TableRow:
    here = found.change(_CHUNKS, _MESSAGE, _full(name, json), Unit.MILLISECONDS)
    return TableRow(f"`{name}`, {json}, TSan: `{_CHUNKS}` → `{_MESSAGE}`", NOTHING, here.show())


def _suite(found: Measured) -> list[TableRow]:
    """Compare both predecessors of sendmsg() in a build without a sanitizer."""
    names = found.benchmarks(_COPY, "SendBuffer/.*")
    if not names:
        raise NotMeasured("SendBuffer measured nothing")
    return [
        TableRow(
            f"`{name}`: `{before}` → `{_MESSAGE}`",
            NOTHING,
            found.change(before, _MESSAGE, name, Unit.MICROSECONDS).show(),
        )
        for name in names
        for before in (_COPY, _CHUNKS)
    ]
