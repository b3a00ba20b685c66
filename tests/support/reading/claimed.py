"""Answered claims."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from service.domain.claims.answers import Answer, AnsweredClaim, Obstacle
from service.domain.claims.values import NearName

NAME: Final = "PureFollyExecutorBench/OneShotScheduleRun/real_time/threads"
CONFIRMED: Final = AnsweredClaim(
    ratio=0.612,
    low=0.601,
    high=0.624,
    line=21,
    benchmark=f"{NAME}:2",
    metric="real_time",
    before=5459.0,
    after=3410.0,
    unit="ns",
    claimed=3410 / 5459,
    answer=Answer.CONFIRMED,
    obstacle="",
    job="kv-engine-cv-perf",
    measured_metric="real_time",
    measured_benchmark="",
    near=(),
)
SMALLER: Final = replace(
    CONFIRMED,
    ratio=1.041,
    low=1.032,
    high=1.05,
    line=22,
    benchmark="TaskStatsBench/LogQTime",
    metric="items_per_second",
    before=163_900.0,
    after=196_700.0,
    unit="",
    claimed=1.2,
    answer=Answer.SMALLER,
    measured_metric="cpu_time",
)
SAME_PROGRAM: Final = replace(
    CONFIRMED, ratio=None, low=None, high=None, line=23, benchmark="BM_Parse/64", answer=Answer.NOT_REPRODUCED
)
NO_BENCHMARK: Final = replace(
    SAME_PROGRAM,
    line=24,
    benchmark=f"{NAME}:16",
    answer=Answer.NOT_MEASURABLE,
    obstacle=str(Obstacle.NO_BENCHMARK),
    job="",
    measured_metric="",
)
OTHER_METRIC: Final = replace(
    NO_BENCHMARK,
    line=21,
    benchmark=CONFIRMED.benchmark,
    metric="cpu_time",
    obstacle=str(Obstacle.NO_METRIC),
)
RENAMED: Final = replace(CONFIRMED, benchmark="HTB/Find", measured_benchmark="HashTableBench/Find")
NEAR: Final = replace(
    NO_BENCHMARK,
    benchmark="HTB/Insert/threads:24",
    near=(NearName("HashTableBench/Insert/threads:2", ("fixture", "threads")),),
)
CLAIMS: Final = (OTHER_METRIC, CONFIRMED, SMALLER, SAME_PROGRAM, NO_BENCHMARK)
SENTENCE: Final = (
    "Claims of the commit message: 1 of 4 benchmarks confirmed, 1 smaller than claimed, 1 not reproduced, "
    "1 not measurable here"
)
