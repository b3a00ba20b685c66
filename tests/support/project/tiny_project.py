"""A project under test that builds in no time: its benchmark program is a shell script with a set time."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROJECT_FILE = """\
version: 1
jobs:
  tiny-perf:
    kind: benchmark
    pool: perf
    paths: ["*.txt", "*.sh"]
    build: {compile: sh compile.sh}
    suites: [{name: tiny, program: build/tiny, repetitions: 1}]
    policy: {probation: off, layout: off, max_pairs: 14}
"""
COMPILE = """\
set -e
[ ! -f slow.txt ] || sleep "$(cat slow.txt)"
[ ! -f broken.txt ] || { echo 'tiny.cc:7: error: no such thing' >&2; exit 2; }
sed "s/@TIME@/$(cat time.txt)/g" program.sh > build/tiny
chmod +x build/tiny
"""
PROGRAM = """\
#!/bin/sh
for word in "$@"; do
  case "$word" in
    --benchmark_list_tests=true) echo BM_Work; exit 0 ;;
    --benchmark_out=*) out=${word#*=} ;;
  esac
done
cat > "$out" <<END
{"context": {"library_build_type": "release"}, "benchmarks": [
 {"name": "BM_Work", "run_name": "BM_Work", "run_type": "iteration", "repetitions": 1, "repetition_index": 0,
  "threads": 1, "iterations": 1000, "real_time": @TIME@, "cpu_time": @TIME@, "time_unit": "ns"}]}
END
"""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A patch set that was pushed for review."""

    number: int
    patch_set: int
    revision: str
    parent: str

    def event(self, kind: str = "patchset-created", **more: object) -> bytes:
        """The event about it, as ``stream-events`` prints it."""
        change = {
            "project": "tiny",
            "branch": "main",
            "id": f"I{self.number:040x}",
            "number": self.number,
            "subject": f"Change {self.number}",
            "owner": {"name": "Ada", "email": "ada@example.com", "username": "ada"},
            "status": {"change-merged": "MERGED", "change-abandoned": "ABANDONED"}.get(kind, "NEW"),
        }
        patch_set = {
            "number": self.patch_set,
            "revision": self.revision,
            "parents": [self.parent],
            "ref": f"refs/changes/{self.number % 100:02d}/{self.number}/{self.patch_set}",
            "author": {"name": "Ada", "email": "ada@example.com"},
            "kind": "REWORK",
        }
        return json.dumps(
            {"type": kind, "change": change, "patchSet": patch_set, "project": "tiny", **more}
        ).encode()


class TinyProject:
    """Its repository. ``more`` is added to its project file."""

    def __init__(self, path: Path, more: str = "") -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        files = {
            "benchgate.yaml": PROJECT_FILE + more,
            "compile.sh": COMPILE,
            "program.sh": PROGRAM,
            "time.txt": "100",
        }
        self.commit(files)

    def commit(self, files: Mapping[str, str | None], message: str = "a change") -> str:
        """Commit these contents (None: removed) on what is checked out; the commit id."""
        for name, text in files.items():
            if text is None:
                (self.path / name).unlink()
            else:
                (self.path / name).write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def propose(
        self,
        number: int,
        files: Mapping[str, str | None],
        patch_set: int = 1,
        *,
        on: str = "main",
        message: str = "a change",
    ) -> Proposal:
        """Push a patch set on top of the branch, or of another commit."""
        parent = self.git("rev-parse", on)
        self.git("checkout", "-q", "--detach", on)
        return self._pushed(number, patch_set, self.commit(files, message), parent)

    def propose_merge(self, number: int, files: Mapping[str, str | None], *parents: str) -> Proposal:
        """Push a merge of these parents; it has the branch's files, and these."""
        self.git("checkout", "-q", "--detach", "main")
        tree = self.git("rev-parse", f"{self.commit(files)}^{{tree}}")
        revision = self.git("commit-tree", tree, *(f"-p{each}" for each in parents), "-m", "a merge")
        return self._pushed(number, 1, revision, self.git("rev-parse", parents[0]))

    def _pushed(self, number: int, patch_set: int, revision: str, parent: str) -> Proposal:
        self.git("update-ref", f"refs/changes/{number % 100:02d}/{number}/{patch_set}", revision)
        self.git("checkout", "-q", "main")
        return Proposal(number, patch_set, revision, parent)

    def merge(self, proposal: Proposal) -> None:
        """Fast-forward the branch."""
        self.git("merge", "-q", "--ff-only", proposal.revision)

    def git(self, *words: str) -> str:
        """Run git there; what it prints."""
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *identity, *words], cwd=self.path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()
