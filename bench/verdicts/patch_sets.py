"""Make commits on ``native/`` that change no instruction that its benchmarks execute."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

NATIVE: Final = Path(__file__).parents[2] / "native"
SUITES: Final = ("known_effects", "hash_table")
_MOST_STATEMENTS: Final = 40
_SOURCES: Final = re.compile(r"SOURCES((?:\s+\w+\.cpp)+)")
_NOBODY: Final = {"NAME": "Soak", "EMAIL": "soak@example.com", "DATE": "2026-01-01T00:00:00+0000"}


class Kind(StrEnum):
    """The content of such a commit."""

    COMMENT = "a comment in a text file"
    ORDER = "another order of the object files"
    UNUSED = "functions that nobody calls"


@dataclass(frozen=True, slots=True)
class PatchSet:
    """One of them, with its parent."""

    number: int
    kind: Kind
    base: str
    commit: str


class PatchSets:
    """A repository with such commits, each a child of the same commit.

    Args:
        path: where it lies; made anew.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(NATIVE, path, ignore=shutil.ignore_patterns("build", "__pycache__"))
        self._git("init", "--quiet", "--initial-branch=main")
        self.base = self._commit("what all patch sets start from")

    def make(self, number: int) -> PatchSet:
        """Make the patch set of this number: half are comments, the others move code to other places."""
        kind = (Kind.COMMENT, Kind.ORDER, Kind.COMMENT, Kind.UNUSED)[number % 4]
        rng = random.Random(number)  # noqa: S311 - what is edited is no secret
        self._git("checkout", "--quiet", "--force", self.base)
        {Kind.COMMENT: self._comment, Kind.ORDER: self._reorder, Kind.UNUSED: self._add_functions}[kind](rng)
        return PatchSet(number, kind, self.base, self._commit(f"{number}: {kind}"))

    def _comment(self, rng: random.Random) -> None:
        _edit(self.path / "README.md", lambda text: f"{text}\nNote {rng.randrange(10**9)}.\n")

    def _reorder(self, rng: random.Random) -> None:
        def shuffled(found: re.Match[str]) -> str:
            names = found[1].split()
            rng.shuffle(names)
            return f"SOURCES {' '.join(names)}"

        for suite in SUITES:
            _edit(self.path / suite / "CMakeLists.txt", lambda text: _SOURCES.sub(shuffled, text))

    def _add_functions(self, rng: random.Random) -> None:
        """Add a function of any size to a source of each suite: what follows it in the program moves."""
        for suite in SUITES:
            sources = sorted(
                path for path in (self.path / suite).glob("*.cpp") if not path.stem.endswith("_test")
            )
            _edit(rng.choice(sources), lambda text: text + _unused_function(rng))

    def _commit(self, message: str) -> str:
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", message)
        return self._git("rev-parse", "HEAD")

    def _git(self, *words: str) -> str:
        env = {f"GIT_{who}_{key}": text for who in ("AUTHOR", "COMMITTER") for key, text in _NOBODY.items()}
        done = subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", *words],
            cwd=self.path,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()


def _unused_function(rng: random.Random) -> str:
    name = f"unusedFunction{rng.randrange(10**9)}"
    lines = [
        f"    value = value * {rng.randrange(3, 10**6)} + {rng.randrange(10**6)};"
        for _ in range(rng.randint(1, _MOST_STATEMENTS))
    ]
    body = "\n".join(lines)
    return (
        f"\nunsigned {name}(volatile unsigned&);\nunsigned {name}(volatile unsigned& value) {{\n{body}\n"
        f"    return value;\n}}\n"
    )


def _edit(path: Path, edit: Callable[[str], str]) -> None:
    before = path.read_text()
    after = edit(before)
    if after == before:
        raise SystemExit(f"{path}: the edit changed nothing")
    path.write_text(after)
