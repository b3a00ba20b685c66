"""Read the planted causes, and lay out the library with one of them."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Cause:
    """A replacement in one file of the library, and what an explanation must say of it.

    An explanation is right if it names one of the functions ``first`` and one of the ``kinds`` first.
    Both are empty if the replacement makes nothing slower, and one name is empty if no function is to blame.
    """

    name: str
    file: str
    old: str
    new: str
    benchmark: str
    first: tuple[str, ...]
    kinds: tuple[str, ...]

    def plant(self, text: str) -> str:
        """Return the file's text with the cause.

        Raises:
            ValueError: the text does not have the replaced part exactly once.
        """
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.file} has {self.old!r} {text.count(self.old)} times")
        return text.replace(self.old, self.new)


def read(name: str) -> tuple[Cause, ...]:
    """Read ``seen`` or ``unseen`` causes."""
    found = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))
    return tuple(_cause(each, of) for each, of in found.items())


def lay_out(tree: Path, cause: Cause | None = None) -> Path:
    """Copy the library into ``tree``, with the cause if one is given; equal files stay as they are."""
    tree.mkdir(exist_ok=True)
    for file in (HERE / "library").iterdir():
        text, to = file.read_text(encoding="utf-8"), tree / file.name
        if cause and cause.file == file.name:
            text = cause.plant(text)
        if not to.exists() or to.read_text(encoding="utf-8") != text:
            to.write_text(text, encoding="utf-8")
    return tree


def make_repository(tree: Path, cause: Cause) -> None:
    """Make a repository with two commits: the library, and the cause."""
    git = ("git", "-C", str(tree), "-c", "user.name=Why", "-c", "user.email=why@example.org")
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    for what in (None, cause):
        lay_out(tree, what)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", what.name if what else "library"], check=True)


def build(tree: Path, flags: str = "") -> Path:
    """Build a tree, perhaps with other flags than those of CMakeLists.txt, and return the program."""
    chosen = f"-DCMAKE_CXX_FLAGS={flags}" if flags else "-DCMAKE_BUILD_TYPE=RelWithDebInfo"
    for argv in (["-S", tree, "-B", tree / "build"], ["--build", tree / "build", "-j2"]):
        settings = [chosen] if argv[0] == "-S" else []
        subprocess.run(["cmake", *map(str, argv), *settings], check=True, stdout=subprocess.DEVNULL)
    return tree / "build" / "why"


def _cause(name: str, of: Mapping[str, Any]) -> Cause:
    (file, old, new), expected = of["change"], of["expect"]
    first, kinds = tuple(expected["first"]), tuple(expected["kinds"])
    return Cause(name, file, old, new, expected["benchmark"], first, kinds)
