"""Run the steps of a campaign: `init` once for a project, and `gate` for each of its changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.real.area import Area, NotPrepared
from bench.real.edits import CannotEdit
from bench.real.report import Tried
from bench.real.repositories import GitFailed, check_out, commit_index, git
from bench.real.results import GateResult, InitResult, Results, json_in, programs_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bench.real.projects import Change, Project

_FILE: Final = "benchgate.yaml"
_EDIT: Final = "# EDIT"
_INIT_SECONDS: Final = 3600.0
_WRITTEN: Final = (0, 1)  # the exit codes of `init`; 1: the file needs work
_BUILDS: Final = 4800.0  # seconds for those of both sides
_MEASURING: Final = 8  # up to four times the machine time, and as much on relinked programs
_TAIL: Final = 400  # characters of an error in the report; the whole is in a log
_UNPREPARED: Final = (CannotEdit, GitFailed, NotPrepared)


@dataclass(frozen=True, slots=True)
class _Done:
    """A call of the command ``benchgate``."""

    code: int
    seconds: float
    printed: str
    errors: str

    @property
    def tail(self) -> str:
        """The end of the errors, in one line."""
        text = " ".join((self.errors or self.printed).split())
        return text if len(text) <= _TAIL else f"…{text[-_TAIL:]}"


class Campaign:
    """A campaign that can be ended at any time and continued.

    Args:
        mirrors: has bare repositories ``OWNER/NAME.git``.
        work: the directory of the campaign.
        minutes: the machine time of each gate.
        say: prints progress.
    """

    def __init__(self, mirrors: Path, work: Path, minutes: int, say: Callable[[str], None]) -> None:
        self._area = Area(mirrors, work)
        self._work = work.resolve()
        self._minutes = minutes
        self._say = say

    def tried(self, project: Project, minutes: int | None = None) -> Tried:
        """Return the stored results of a project that belong together.

        Gates of another base or filter are left out, and those of other minutes unless that is None.
        """
        results = self._results(project)
        init = results.init()
        asked: dict[str, Any] = {"base": init.base if init else "", "filter": project.filter}
        if minutes is not None:
            asked["minutes"] = minutes
        found = {change.name: results.gate(change.name) for change in project.change}
        gates = {name: gate for name, gate in found.items() if gate and gate.fits(asked)}
        return Tried(project, init, gates)

    def run(self, project: Project) -> None:
        """Try a project. What succeeded before is not repeated unless its commits or options differ.

        Results that do not fit are set aside before anything is measured, so that a campaign that is
        interrupted has none of them.
        """
        results = self._results(project)
        self._area.link_mirrors()
        begun = results.init()
        try:
            top, commit = self._area.lay_out(project)
            init = begun if begun and self._restored(top, begun, commit) else None
            if init is None:
                init = self._init(project, top, commit)
                results.store(init)
        except _UNPREPARED as error:
            results.store(InitResult("", 0.0, {}, failure=str(error)))
            self._say(f"{project.name}: {error}")
            return
        if init.failure:
            return
        gates = [(change, self._asked(project, top, init.base, change)) for change in project.change]
        for change, asked in gates:
            if asked:
                self._try(project, top, asked, change)

    def _results(self, project: Project) -> Results:
        return Results(self._work / "results" / project.name)

    def _kept(self, project: str) -> Path:
        return self._work / "results" / project / _FILE

    def _restored(self, top: Path, init: InitResult, commit: str) -> bool:
        """Put the project file of an earlier `init` on the commit; return whether that is its base."""
        kept = self._kept(top.name)
        if init.failure or not kept.exists():
            return False
        return self._commit_file(top, commit, kept.read_bytes()) == init.base

    @staticmethod
    def _commit_file(top: Path, commit: str, text: bytes) -> str:
        check_out(top, commit)
        (top / _FILE).write_bytes(text)
        git(top, "add", "--force", _FILE)  # a project may ignore it
        return commit_index(top, "benchgate.yaml", commit)

    def _init(self, project: Project, top: Path, commit: str) -> InitResult:
        if missing := missing_packages(project.packages):
            return InitResult("", 0.0, {}, failure=f"install {' '.join(missing)}")
        self._say(f"{project.name}: init")
        file = top / _FILE
        force = ("--force",) if file.exists() else ()
        done = self._benchgate(project, "init", top, _INIT_SECONDS, "init", *force)
        if done.code not in _WRITTEN or not file.exists():
            self._say(f"{project.name}: init failed: {done.tail}")
            failure = f"init: exit code {done.code}: {done.tail}"
            return InitResult("", done.seconds, programs_in(done.printed), failure=failure)
        text = file.read_bytes()
        kept = self._kept(project.name)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(text)
        to_edit = text.decode(errors="replace").count(_EDIT)
        base = self._commit_file(top, commit, text)
        return InitResult(base, done.seconds, programs_in(done.printed), to_edit)

    def _asked(self, project: Project, top: Path, base: str, change: Change) -> Mapping[str, Any] | None:
        """Commit a change, and set aside a result of other commits or options; None: it cannot be made."""
        results = self._results(project)
        earlier = results.gate(change.name)
        try:
            patch = self._area.commit_change(top, base, change)
        except _UNPREPARED as error:
            if earlier and earlier.is_measured:
                results.set_aside(change.name)
            results.store(GateResult({}, 0, 0.0, failure=str(error)), change.name)
            self._say(f"{project.name}, {change.name}: {error}")
            return None
        asked = {"base": base, "patch": patch, "minutes": self._minutes, "filter": project.filter}
        if earlier and not earlier.fits(asked):
            results.set_aside(change.name)
        return asked

    def _try(self, project: Project, top: Path, asked: Mapping[str, Any], change: Change) -> None:
        results = self._results(project)
        earlier = results.gate(change.name)
        if earlier and earlier.is_measured:
            return
        self._say(f"{project.name}, {change.name}: gate")
        commits = ["--base", asked["base"], "--patch", asked["patch"]]
        options = ["--json", *commits, "--minutes", str(self._minutes)]
        if project.filter:
            options += ["--filter", project.filter]
        seconds = _BUILDS + _MEASURING * 60 * self._minutes
        done = self._benchgate(project, change.name, top, seconds, "gate", *options)
        answer = json_in(done.printed)
        failure = "" if answer else done.tail
        result = GateResult(asked, done.code, done.seconds, answer, failure)
        results.store(result, change.name)
        self._say(f"{project.name}, {change.name}: {result.outcome} ({done.seconds:.0f} s)")

    def _benchgate(self, project: Project, step: str, top: Path, seconds: float, *words: str) -> _Done:
        """Run the command in the project's directory; its errors are kept in a log."""
        log = self._work / "logs" / project.name / f"{step.replace('/', '-')}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        env = {
            **os.environ,
            "BENCHGATE_FETCH_FROM": f'["{self._area.address}"]',
            "XDG_CACHE_HOME": str(self._work / "cache"),
        }
        begun = time.monotonic()
        with log.open("w", encoding="utf-8") as errors:
            try:
                done = subprocess.run(
                    [str(_command()), *words],
                    cwd=top,
                    env=env,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    errors="replace",
                    timeout=seconds,
                    check=False,
                )
                code, printed = done.returncode, done.stdout
            except subprocess.TimeoutExpired:
                code, printed = 124, ""
                errors.write(f"\nended after {seconds:.0f} s")
        return _Done(code, time.monotonic() - begun, printed, log.read_text("utf-8", "replace"))


def missing_packages(packages: Sequence[str]) -> tuple[str, ...]:
    """Return the Debian packages that are not installed; none if this is no Debian."""
    if not packages or not shutil.which("dpkg-query"):
        return ()
    words = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\\n", *packages]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    states: Mapping[str, str] = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    return tuple(name for name in packages if states.get(name) != "installed")


def _command() -> Path:
    """Return the command of this installation."""
    return Path(sys.executable).with_name("benchgate")
