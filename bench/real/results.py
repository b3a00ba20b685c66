"""Store the results of a campaign in JSON files: what `init` and each `gate` gave."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from service.cli import EXIT_OK, EXIT_SLOWER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_PROGRAM: Final = re.compile(r"^ +benchmark program (\S+?)(?:, benchmarks: (\d+))?$", re.MULTILINE)
_WITH_VERDICTS: Final = (EXIT_OK, EXIT_SLOWER)
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class InitResult:
    """The result of ``benchgate init``.

    Args:
        base: the commit of the project with its ``benchgate.yaml``; empty if there is none.
        seconds: its duration.
        programs: the benchmarks of each program.
        to_edit: the lines that a person must complete.
        failure: why the project cannot be measured; empty if it can.
    """

    base: str
    seconds: float
    programs: Mapping[str, int | None]
    to_edit: int = 0
    failure: str = ""


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of ``benchgate gate`` on a change.

    Args:
        asked: base, patch, minutes and filter; a result with other values is of no use. Empty: the change
            could not be made.
        code: the exit code.
        seconds: its duration.
        answer: the JSON that it printed; None if it printed none.
        failure: the end of what it printed to stderr, if there is no answer.
    """

    asked: Mapping[str, Any]
    code: int
    seconds: float
    answer: Mapping[str, Any] | None = None
    failure: str = ""

    @property
    def outcome(self) -> str:
        """The outcomes of its jobs, or why there are none."""
        jobs = self.answer["jobs"] if self.answer else []
        outcomes = [
            job["outcome"] for job in jobs if job["outcome"]
        ]  # None: the filter chooses nothing of it
        return ", ".join(outcomes) or self.failure or f"exit code {self.code}"

    @property
    def is_measured(self) -> bool:
        """Return whether a benchmark was compared; equal programs are the same without a pair."""
        rows = self.answer["benchmarks"] if self.answer else []
        return any(row["pairs"] or row["verdict"] == "same" for row in rows)

    def fits(self, asked: Mapping[str, Any]) -> bool:
        """Return whether it is of these values, or asked nothing, because the change could not be made."""
        return not self.asked or asked.items() <= self.asked.items()

    @property
    def has_verdicts(self) -> bool:
        """Return whether each job ended with verdicts; a vote that would be withheld is none."""
        return self.is_measured and self.code in _WITH_VERDICTS

    @property
    def benchmarks(self) -> Mapping[tuple[str, str], None]:
        """The suites and names of the benchmarks that it compared, in their order."""
        rows = self.answer["benchmarks"] if self.answer else []
        return dict.fromkeys((row.get("suite", ""), row["name"]) for row in rows)

    @property
    def phases(self) -> Mapping[str, float]:
        """The seconds of each phase of its jobs."""
        jobs = self.answer["jobs"] if self.answer else []
        names = dict.fromkeys(name for job in jobs for name in job["seconds"])
        return {name: sum(job["seconds"].get(name, 0.0) for job in jobs) for name in names}


def programs_in(printed: str) -> Mapping[str, int | None]:
    """Find the programs, with the number of their benchmarks, in what ``benchgate init`` printed."""
    return {path: int(count) if count else None for path, count in _PROGRAM.findall(printed)}


def json_in(printed: str) -> Mapping[str, Any] | None:
    """Read what ``benchgate gate --json`` printed; return None if it is no JSON."""
    try:
        found = json.loads(printed)
    except ValueError:
        return None
    return found if isinstance(found, dict) and {"jobs", "benchmarks"} <= found.keys() else None


def file_of(change: str) -> str:
    """Return the name of the file with the result of a change."""
    return f"change-{_UNUSUAL.sub('-', change).strip('-').lower()}.json"


class Results:
    """The files of the results of one project."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def init(self) -> InitResult | None:
        """Return the stored result of `init`, or None."""
        found = self._load(self._directory / "init.json")
        return InitResult(**found) if found else None

    def gate(self, change: str) -> GateResult | None:
        """Return the stored result of a change, or None."""
        found = self._load(self._file_of(change))
        return GateResult(**found) if found else None

    def store(self, result: InitResult | GateResult, change: str = "") -> None:
        """Store the result of `init` or of a change."""
        file = self._file_of(change) if change else self._directory / "init.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(json.dumps(asdict(result), indent=1), "utf-8")
        os.replace(new, file)  # noqa: PTH105 - the name says that it is atomic

    def set_aside(self, change: str) -> None:
        """Let a change have no result; the file of the one it has is kept under another name."""
        file = self._file_of(change)
        os.replace(file, file.with_suffix(".old"))  # noqa: PTH105 - the name says that it is atomic

    def _file_of(self, change: str) -> Path:
        return self._directory / file_of(change)

    @staticmethod
    def _load(file: Path) -> dict[str, Any] | None:
        if not file.exists():
            return None
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return found
