"""Files of Google Benchmark results, recorded and made up."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.domain.measuring.formats.reader import GBenchRun, ReadLimits, read_run

if TYPE_CHECKING:
    from service.domain.measuring.formats.reader import ResultRow

SAMPLES = Path(__file__).parents[2] / "samples" / "gbench"
REPEATED = (SAMPLES / "v1.7.1_repetitions.json").read_bytes()
UNITS = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}


def row(name: object = "BM_a", **other: object) -> dict[str, Any]:
    """A row as the library writes it; a value of ... leaves its key out."""
    values = {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "repetitions": 3,
        "repetition_index": 0,
        "threads": 1,
        "iterations": 1000,
        "real_time": 120.0,
        "cpu_time": 100.0,
        "time_unit": "ns",
    } | other
    return {key: value for key, value in values.items() if value is not ...}


def whole(*rows: object, **context: object) -> bytes:
    """A file of rows; a text among them stands in it as it is."""
    texts = [each if isinstance(each, str) else json.dumps(each) for each in rows]
    return f'{{"context": {json.dumps(context)}, "benchmarks": [{", ".join(texts)}]}}'.encode()


def read(data: bytes, **limits: int) -> GBenchRun:
    return read_run(data, source="out.json", limits=ReadLimits(**limits))


def names(run: GBenchRun) -> list[str]:
    return [each.name for each in run.rows]


def complaints(run: GBenchRun) -> str:
    return "\n".join(str(warning) for warning in run.warnings)


def counters(found: ResultRow) -> dict[str, float]:
    """The values of a row that are no times."""
    return {key: value for key, value in found.values.items() if not key.endswith("_time")}


def repetition_values(run: GBenchRun, metric: str) -> dict[str, tuple[float, ...]]:
    """By benchmark the values of a metric, in the order measured."""
    values: defaultdict[str, tuple[float, ...]] = defaultdict(tuple)
    for each in run.rows:
        if each.is_measured and metric in each.values:
            values[each.name] += (each.values[metric],)
    return dict(values)
