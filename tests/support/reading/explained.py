"""Explanations such as a machine reports, and stacks without end."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.verdict.explanation.assembly import Assembly, CodeRow, Line
from service.domain.verdict.explanation.causes import Cause, Kind
from service.domain.verdict.explanation.explanation import Explanation, Part, Stack

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOP: Final = ("main", "benchmark::RunSpecifiedBenchmarks", "BM_Hash")
GET: Final = (*LOOP, "kv::Store::get", "kv::HashTable<kv::StoredValue, std::less<void>>::find")
SET: Final = (*LOOP, "kv::Store::set")
EVICT: Final = (*SET, "kv::HashTable<kv::StoredValue, std::less<void>>::evict")
STACKS: Final = (
    Stack(LOOP, 0.04, 0.041),
    Stack(GET[:4], 0.05, 0.05),
    Stack(GET, 0.21, 0.208),
    Stack((*GET, "kv::crc32c"), 0.09, 0.152),
    Stack((*GET, "std::_Hash_bytes"), 0.07, 0.071),
    Stack((*GET, "__memcmp_avx2_movbe"), 0.05, 0.05),
    Stack(SET, 0.06, 0.062),
    Stack((*SET, "malloc"), 0.05, 0.081),
    Stack((*SET, "malloc", "_int_malloc"), 0.06, 0.093),
    Stack((*SET, "kv::Blob::copy", "__memmove_avx_unaligned_erms"), 0.11, 0.112),
    Stack((*SET, "kv::Checkpoint::queueDirty"), 0.08, 0.052),
    Stack((*SET, "kv::Checkpoint::queueDirty", "pthread_mutex_lock"), 0.03, 0.0295),
    Stack(EVICT, 0.03, 0.0302),
    Stack((*EVICT, "kv::Stats::add"), 0.02, 0.0),
    Stack((*EVICT, "clock_gettime"), 0.0, 0.0002),
    Stack((*LOOP, "benchmark::State::KeepRunning"), 0.05, 0.05),
)
EXPLAINED: Final = Explanation(
    "executor",
    "BM_Hash",
    slowdown=0.088,
    causes=(
        Cause(Kind.ALLOCATIONS, "kv::Store::set", 1.0, 2.0),
        Cause(Kind.INSTRUCTIONS, "kv::crc32c", 1204.0, 1588.0),
    ),
    sampled=0.0819,
    parts=(
        Part("kv::crc32c", 0.062, 0.055, 0.069),
        Part("_int_malloc", 0.033, 0.027, 0.039),
        Part("malloc", 0.031, 0.024, 0.038),
        Part("kv::Checkpoint::queueDirty", -0.028, -0.036, -0.02),
    ),
    stacks=STACKS,
)
SOURCE: Final = "src/kv/crc32c.cc"


def _code_row(text: str) -> CodeRow:
    base, patch, base_rate, patch_rate, line = text.split("|")
    return CodeRow(base or None, patch or None, float(base_rate), float(patch_rate), SOURCE, int(line))


# g++ -O2 of a checksum by tables, whose patch counts the bytes in memory; aligned.
_ROWS: Final = Path(__file__).parents[2] / "samples/disassembly/crc32c.txt"
CODE: Final = Assembly(
    "kv::crc32c",
    tuple(map(_code_row, _ROWS.read_text().splitlines())),
    (
        *(Line(SOURCE, line, 0.0, 128.0) for line in (17, 18)),
        *(Line(SOURCE, line, cost, cost + 1) for line, cost in ((21, 19.0), (10, 0.0), (12, 262.0))),
        *(Line(SOURCE, line, cost, cost) for line, cost in ((13, 256.0), (14, 1664.0), (16, 512.0))),
    ),
    "instructions",
)
DISASSEMBLED: Final = replace(EXPLAINED, causes=EXPLAINED.causes[1:], assembly=CODE)


def random_stacks(number: int, seed: int = 1) -> Iterator[Stack]:
    """Yield stacks of up to 25 of 400 functions; most begin like another one."""
    rng = random.Random(seed)  # noqa: S311 - repeatable on purpose
    names = [f"kv::engine::Bucket<{place}>::method_{place}" for place in range(400)]
    made: list[tuple[str, ...]] = [()]
    for _ in range(number):
        before = rng.choice(made)
        kept = before[: rng.randint(0, len(before))] if rng.random() < 0.9 else ()
        depth = rng.randint(len(kept) + 1, 25) if len(kept) < 25 else 25
        frames = (*kept, *rng.choices(names, k=depth - len(kept)))
        made.append(frames)
        base = rng.expovariate(number)
        yield Stack(frames, base, base * rng.choice((0.0, 1.0, 1.0, 1.0, 1.5)))
