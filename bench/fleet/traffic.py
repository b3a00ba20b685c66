"""Make projects with as many changes as a run needs, and the events that tell of them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PROJECTS: Final = 5
POOLS_OF_PROJECT: Final = 2
BUILDS_OF_CHANGE: Final = 3
_FILE: Final = """\
version: 1
jobs:
  executor-perf:
    kind: benchmark
    pool: {perf}
    build: {{compile: make}}
    suites: [{{name: executor, program: build/executor, repetitions: 1}}]
    policy: {{probation: off, layout: off, max_pairs: 16}}
  unit-tests: {{kind: command, pool: {build}, command: make test}}
  api-tests: {{kind: command, pool: {build}, command: make api-test}}
"""
_MAIN: Final = 1  # mark of the branch's commit; a change's mark is 1 more than its number


@dataclass(frozen=True, slots=True)
class Project:
    """A project and the two pools that work for it: one measures, one builds and tests."""

    name: str
    perf: str
    build: str

    @property
    def pools(self) -> tuple[str, str]:
        """Both pools."""
        return self.perf, self.build


def projects() -> tuple[Project, ...]:
    """The projects of the fleet."""
    return tuple(Project(f"engine-{k}", f"perf-{k}", f"build-{k}") for k in range(PROJECTS))


def project_of(number: int) -> Project:
    """Return the project of a change."""
    return projects()[number % PROJECTS]


class Repositories:
    """Bare repositories in a directory, with patch set 1 of every change.

    Args:
        directory: the repositories are made there, each under its project's name.
        changes: the changes are numbered from 1 up to this.
    """

    def __init__(self, directory: Path, changes: int) -> None:
        self.commits: dict[int, str] = {}
        self._branches: dict[str, str] = {}
        for project in projects():
            numbers = [number for number in range(1, changes + 1) if project_of(number) == project]
            marks = _import(directory / project.name, _FILE.format(**_pools(project)), numbers)
            self._branches[project.name] = marks[_MAIN]
            self.commits.update({number: marks[number + 1] for number in numbers})

    def event(self, number: int, owner: str) -> bytes:
        """Return the event about a new change, as a webhook delivers it."""
        project = project_of(number).name
        person = {"name": owner, "email": f"{owner}@example.com", "username": owner}
        change = {
            "project": project,
            "branch": "main",
            "id": f"I{number:040x}",
            "number": number,
            "subject": f"Change {number}",
            "owner": person,
            "status": "NEW",
        }
        patch_set = {
            "number": 1,
            "revision": self.commits[number],
            "parents": [self._branches[project]],
            "ref": _ref(number),
            "author": person,
            "kind": "REWORK",
        }
        event = {"type": "patchset-created", "change": change, "patchSet": patch_set, "project": project}
        return json.dumps(event).encode()


def _pools(project: Project) -> Mapping[str, str]:
    return {"perf": project.perf, "build": project.build}


def _ref(number: int) -> str:
    return f"refs/changes/{number % 100:02d}/{number}/1"


def _import(path: Path, project_file: str, numbers: Sequence[int]) -> Mapping[int, str]:
    """Make a repository in one go, because a process for each commit takes long; return commits by mark."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
    stream = [_commit("refs/heads/main", _MAIN, None, {"benchgate.yaml": project_file})]
    stream += [
        _commit(_ref(number), number + 1, _MAIN, {"engine.cpp": f"// change {number}\n"})
        for number in numbers
    ]
    marks = path / "marks"
    command = ["git", "fast-import", "--quiet", f"--export-marks={marks}"]
    subprocess.run(command, cwd=path, input="".join(stream).encode(), check=True)
    lines = (line.split() for line in marks.read_text().splitlines())
    return {int(mark.removeprefix(":")): commit for mark, commit in lines}


def _commit(ref: str, mark: int, parent: int | None, files: Mapping[str, str]) -> str:
    person = "Ada <ada@example.com> 1764000000 +0000"
    start = f"from :{parent}\n" if parent else ""
    changed = "".join(f"M 100644 inline {name}\ndata {len(text)}\n{text}\n" for name, text in files.items())
    head = f"commit {ref}\nmark :{mark}\nauthor {person}\ncommitter {person}\ndata 8\na change\n"
    return f"{head}{start}{changed}\n"
