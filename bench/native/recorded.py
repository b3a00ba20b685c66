"""Figures that the recorded changes report, as data.

Their ``k`` and ``M`` of rates and counters are 1024-based and are converted here; times are as printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_K: Final = 1024
_M: Final = 1024 * 1024

# Real nanoseconds of a hand-off by number of threads: GoogleMock's owner, the one that does nothing.
ONE_SHOT: Final[Mapping[int, tuple[int, int]]] = {
    1: (6099, 731),
    2: (5459, 410),
    4: (5961, 249),
    8: (6453, 407),
    16: (6524, 2222),
}

# By items and mode (0 insert, 1 replace): a callback per item, and one per transaction.
FLUSH_CASES: Final = tuple((items, mode) for items in (1, 100, 10_000, 1_000_000) for mode in (0, 1))
PEAK_FLUSH_BYTES: Final[Mapping[tuple[int, int], tuple[float, float]]] = {
    (1, 0): (169.625 * _K, 169.625 * _K),
    (1, 1): (174.188 * _K, 174.156 * _K),
    (100, 0): (237.406 * _K, 232.734 * _K),
    (100, 1): (251.109 * _K, 246.438 * _K),
    (10_000, 0): (7.49782 * _M, 7.0401 * _M),
    (10_000, 1): (7.72064 * _M, 7.26289 * _M),
    (1_000_000, 0): (769.735 * _M, 723.958 * _M),
    (1_000_000, 1): (774.458 * _M, 728.682 * _M),
}
# Nanoseconds of CPU.
FLUSH_CPU: Final[Mapping[tuple[int, int], tuple[int, int]]] = {
    (1, 0): (452_554, 443_523),
    (1, 1): (543_200, 589_517),
    (100, 0): (738_063, 716_488),
    (100, 1): (844_754, 814_641),
    (10_000, 0): (46_909_813, 44_793_957),
    (10_000, 1): (57_698_943, 56_463_184),
    (1_000_000, 0): (7_322_659_695, 7_028_926_875),
    (1_000_000, 1): (8_583_865_915, 8_390_218_442),
}

# Items per second of CPU time, with 24 threads: one instance, one per last-level cache, one per core.
HASH_TABLE: Final[Mapping[str, tuple[float, float, float]]] = {
    "Insert": (117.449 * _K, 146.156 * _K, 197.316 * _K),
    "Replace": (116.3 * _K, 120.723 * _K, 125.556 * _K),
    "Delete": (1.12525 * _M, 1.50055 * _M, 1.79742 * _M),
    "HTStatsEpilogue": (118.185 * _K, 207.188 * _K, 2.91141 * _M),
}
STATISTICS_BYTES: Final = 144  # of a table and stripe
RECORDED_LLCS: Final = 2
RECORDED_CPUS: Final = 24

# Milliseconds under ThreadSanitizer by test and kind of value: copied into one frame, sent by sendmsg().
LARGE_SIZE: Final[Mapping[tuple[str, str], tuple[int, int]]] = {
    ("ServerRejectsLargeSize", "JsonYes"): (2912, 541),
    ("ServerRejectsLargeSize", "JsonNo"): (2927, 537),
    ("ServerRejectsLargeSizeCompressed", "JsonYes"): (560, 446),
    ("ServerRejectsLargeSizeCompressed", "JsonNo"): (548, 441),
    ("ServerRejectsLargeSizeWithXattr", "JsonYes"): (10_176, 2850),
    ("ServerRejectsLargeSizeWithXattr", "JsonNo"): (9908, 2765),
    ("ServerRejectsLargeSizeWithXattrCompressed", "JsonYes"): (3790, 3371),
    ("ServerRejectsLargeSizeWithXattrCompressed", "JsonNo"): (3819, 3370),
}
