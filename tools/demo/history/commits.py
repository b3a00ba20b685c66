"""Make the commits of the history: small variations of ``native/`` that end at ``native/`` as it is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tools.demo.scenario import KIM, ROBIN, Author, change_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of a text that a file contains once."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Variation:
    """The edits of one commit, all in one file, with the commit's subject."""

    subject: str
    file: str
    edits: tuple[Edit, ...]
    is_comment: bool = False  # the program stays the same

    @property
    def folder(self) -> str:
        """The folder of the workload."""
        return self.file.partition("/")[0]

    def apply(self, root: Path) -> None:
        """Edit the file below ``root``; raise ValueError if it does not contain each text once."""
        self._replace(root, [(edit.before, edit.after) for edit in self.edits])

    def undo(self, root: Path) -> None:
        """Edit the file back; raise ValueError as :meth:`apply` does."""
        self._replace(root, [(edit.after, edit.before) for edit in reversed(self.edits)])

    def _replace(self, root: Path, replacements: Sequence[tuple[str, str]]) -> None:
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        for old, new in replacements:
            if text.count(old) != 1:
                raise ValueError(f"{self.file}: expected {old!r} once, found it {text.count(old)} times")
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class HistoryCommit:
    """A merged change of the history; its number is its place."""

    change: int
    variation: Variation
    author: Author
    patch_set: int = 1

    @property
    def text(self) -> str:
        """The commit message."""
        return f"{self.variation.subject}\n\nChange-Id: {change_id(self.change)}\n"


def _tuned(file: str, line: str, subject: str, *values: str) -> tuple[Variation, ...]:
    """Change a setting from each value to the next; the last one is that of ``native/``."""
    return tuple(
        Variation(subject.format(new), file, (Edit(line.format(old), line.format(new)),))
        for old, new in pairwise(values)
    )


def _commented(file: str, line: str, subject: str, *comments: str) -> tuple[Variation, ...]:
    """Vary comments above a line, which do not change the program; ``native/`` has none of them."""
    texts = ["", *(f"// {comment}\n" for comment in comments), ""]
    subjects = [*(subject for _ in comments), f"{subject.partition(':')[0]}: Remove an outdated comment"]
    return tuple(
        Variation(each, file, (Edit(f"\n{old}{line}", f"\n{new}{line}"),), is_comment=True)
        for each, (old, new) in zip(subjects, pairwise(texts), strict=True)
    )


def _there_and_back(
    file: str, subject: str, back: str, edits: tuple[Edit, ...]
) -> tuple[Variation, Variation]:
    returned = tuple(Edit(edit.after, edit.before) for edit in reversed(edits))
    return Variation(subject, file, edits), Variation(back, file, returned)


_PRINTED: Final = """\
inline void PrintTo(TaskId task, std::ostream* out) {
    std::ostringstream name;
    name << "TaskId " << static_cast<int>(task);
    *out << name.str();
}

"""
_CLASS: Final = "/// The mock has no expectations,"
# The step of the executor's trend: each printed call becomes about 8 % slower, until the repair.
_SLOWER, _REPAIRED = _there_and_back(
    "executor/mock_taskable.h",
    "executor: Print the kind of a task in the mock's warnings",
    "executor: Print tasks in GoogleMock's own way again",
    (Edit(f"\n{_CLASS}", f"\n{_PRINTED}{_CLASS}"),),
)
# The step of the flusher's trend: eight bytes for each queued item.
_LARGER, _SMALLER = _there_and_back(
    "flush_vbucket/request.h",
    "flush_vbucket: Count the attempts of each request",
    "flush_vbucket: Do not count attempts, because no request is repeated",
    (
        Edit("    Document document_;\n", "    Document document_;\n    std::size_t attempts_ = 0;\n"),
        Edit("Request<PerItemCallback>) == 224", "Request<PerItemCallback>) == 232"),
        Edit("Request<PerTransactionCallback>) == 192", "Request<PerTransactionCallback>) == 200"),
    ),
)

_EXECUTOR: Final = (
    *_tuned(
        "executor/baton.h",
        "std::chrono::microseconds{{{}}}",
        "executor: Spin for {} µs before a thread parks",
        *("1", "2"),
    ),
    *_commented(
        "executor/baton.h",
        "    static constexpr std::chrono::nanoseconds spinLimit",
        "executor: Explain the limit of spinning",
        "Longer than a hand-off between two cores.",
        "Longer than a hand-off between two cores, shorter than a system call that parks.",
    ),
    _SLOWER,
    *_commented(
        "executor/two_lock_queue.h",
        "    static constexpr std::size_t segmentSize",
        "executor: Explain the size of a segment",
        "Few enough to stay in the cache.",
        "Few enough to stay in the cache of a core.",
    ),
    *_tuned(
        "executor/two_lock_queue.h",
        "segmentSize = {};",
        "executor: Allocate {} tasks at once",
        *("512", "128"),
    ),
    *_commented(
        "executor/spin_mutex.cpp",
        "constexpr int spinLimit",
        "executor: Explain how often a lock is tried",
        "Then the holder is probably not running.",
    ),
    _REPAIRED,
    *_commented(
        "executor/timer_wheel.h",
        "    static constexpr std::size_t slotCount",
        "executor: Explain the number of slots",
        "Five seconds.",
        "Five seconds at ten milliseconds each.",
    ),
    *_commented(
        "executor/baton.h",
        "    static constexpr std::chrono::nanoseconds spinLimit",
        "executor: Note where the limit of spinning was measured",
        "Measured with two CPUs.",
    ),
)
_FLUSH: Final = (_LARGER, _SMALLER)
_HASH_TABLE: Final = (
    *_tuned(
        "hash_table/hash_table.h",
        "defaultLocks = {};",
        "hash_table: Use {} locks",
        *("23", "97", "31", "47"),
    ),
    *_tuned(
        "hash_table/hash_table.h",
        "defaultBuckets = {};",
        "hash_table: Begin with {} buckets",
        *("11", "97", "23", "31", "47"),
    ),
)
_TEXT: Final = "known_effects/text_benchmark.cpp"
_HEAP: Final = "known_effects/heap_benchmark.cpp"
_COMPUTING: Final = "known_effects/computing_benchmark.cpp"
# No job measures this suite; the executor's trend shows that these commits leave it alone.
_NOT_MEASURED: Final = (
    *_tuned(_TEXT, "digits = {};", "known_effects: Use numbers of {} digits", *"4586"),
    *_tuned(_TEXT, "longest = {};", "known_effects: Use words of up to {} letters", "16", "64", "24", "32"),
    *_tuned(_TEXT, "_t count = {};", "known_effects: Use {} texts", "1024", "2048", "8192", "4096"),
    *_tuned(_HEAP, "smallest = {};", "known_effects: Allocate at least {} bytes", "8", "32", "16"),
    *_tuned(_HEAP, "largest = {};", "known_effects: Allocate at most {} bytes", "512", "2048", "768", "1024"),
    *_tuned(_HEAP, "sizeCount = {};", "known_effects: Use {} sizes", "2048", "4096", "16384", "8192"),
    *_tuned(_HEAP, "window = {};", "known_effects: Keep {} blocks", "64", "128", "512", "256"),
    *_tuned(_HEAP, "objectCount = {};", "known_effects: Share {} objects", "16", "128", "64"),
    *_tuned(_HEAP, "ringSize = {};", "known_effects: Hold {} references", "128", "256"),
    *_tuned(_COMPUTING, "operationCount = {};", "known_effects: Use {} operations", "2048", "4096", "8192"),
    *_tuned(
        _COMPUTING,
        "poolSize = {};",
        "known_effects: Use {} values",
        *("64", "128", "256", "768", "1024", "512"),
    ),
    *_tuned(_COMPUTING, "median = {};", "known_effects: Repeat {} times", "16", "64", "32"),
    *_tuned(
        "known_effects/memory_benchmark.cpp",
        "nodeBytes = {};",
        "known_effects: Use nodes of {} bytes",
        *("32", "128", "64"),
    ),
)


_VARIATIONS: Final = (
    *_EXECUTOR[:2],
    *_NOT_MEASURED[:7],
    *_EXECUTOR[2:6],
    *_NOT_MEASURED[7:15],
    *_FLUSH[:1],
    *_EXECUTOR[6:9],
    *_NOT_MEASURED[15:24],
    *_EXECUTOR[9:13],
    *_NOT_MEASURED[24:31],
    *_FLUSH[1:],
    *_EXECUTOR[13:],
    *_NOT_MEASURED[31:],
    *_HASH_TABLE,
)
HISTORY: Final = tuple(
    HistoryCommit(place, variation, KIM if place % 3 else ROBIN)
    for place, variation in enumerate(_VARIATIONS, 1)
)
"""The commits of the history, oldest first."""
VOTING: Final = Variation(
    "kv: Let every series vote, and build the executor only if its files change",
    "benchgate.yaml",
    (
        Edit("layout: off\n      max_pairs: 14\n      probation: 40", "layout: off\n      probation: off"),
        Edit(
            "false_alarms: 1%\n      probation: 40\n      max_pairs: 14\n      layout: off",
            "false_alarms: 1%\n      probation: off",
        ),
        Edit(
            "    # without paths: every commit is measured\n",
            '    paths: ["executor/**", "harness/**", "cmake/**", "CMake*", "benchgate.yaml"]\n',
        ),
    ),
)
"""The commit after the history.

Until then a series needs evidence to vote, few pairs are measured, and every commit measures the executor.
"""
