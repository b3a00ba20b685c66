"""Puts a linker that shuffles object files where compilers find it before the real one."""

from __future__ import annotations

import tempfile
from importlib import resources
from pathlib import Path
from typing import Final

# Under which gcc and clang look for a linker, by default and for -fuse-ld.
NAMES: Final = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold")
_PARTS: Final = {"arguments.awk": "arguments.awk", **dict.fromkeys(NAMES, "ld.sh")}


def install(directory: Path) -> Path:
    """Write the linker under all its names into ``directory``, to be named in ``COMPILER_PATH``.

    With a seed in ``BENCHGATE_RELINK_SEED`` it shuffles the object files of a link and puts padding of
    random size between its inputs; the same seed gives the same program. Without one it changes nothing.
    A process that uses the directory meanwhile sees each file either as it was or as it is.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name, source in _PARTS.items():
        _write(directory / name, resources.files(__name__).joinpath(source).read_bytes())
    return directory


def _write(path: Path, content: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    written = Path(file.name)
    written.chmod(0o755)
    written.replace(path)
