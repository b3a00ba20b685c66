from __future__ import annotations

from service.domain.verdict.comparison.causes import Cause, Kind
from service.domain.verdict.comparison.explanation import Explanation
from service.domain.wording.counted_causes import are_told, causes_told, why_slower

LOCKS = Cause(Kind.LOCKS, "Cache::get", 1.0, 2.0)
BLAMED = [f"BM_{name}" for name in "abcde"]
LINE = "{}: 100 % more locks (1 → 2 per iteration), in Cache::get"


def explained(*names: str) -> list[Explanation]:
    return [Explanation("bench", name, causes=(LOCKS,)) for name in names]


def test_a_reply_has_blamed_benchmarks_with_a_cause() -> None:
    found = [Explanation("bench", "BM_a", obstacle="no Valgrind"), *explained("BM_b", "BM_faster")]
    assert causes_told(found, BLAMED) == (LINE.format("BM_b"),)


def test_a_message_names_three_benchmarks_and_counts_the_others() -> None:
    *lines, more = causes_told(explained(*BLAMED), BLAMED)
    assert lines == [LINE.format(name) for name in BLAMED[:3]]
    assert more == "and 2 more, on the page of the build"


def test_a_message_has_a_header_the_lines_and_a_link_at_last() -> None:
    lines = causes_told(explained("BM*x*", "BM_a"), ["BM*x*", "BM_a"])
    message = why_slower(lines, "https://ci/job/perf/1/#why")
    first = LINE.format(r"BM\*x\*")
    assert message.split("\n\n") == [
        "Slow-Down Explained ",
        first,
        LINE.format("BM_a"),
        "https://ci/job/perf/1/#why",
    ]
    assert are_told(lines, message)
    assert not are_told(lines, message.replace(first, ""))
