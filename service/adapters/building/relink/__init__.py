"""Install a linker that shuffles object files in a directory that compilers search first.

Beside it are the scripts that remove what it linked, and link it again. They run in a sandbox, in the
directory of the sources.
"""

from __future__ import annotations

import tempfile
from importlib import resources
from pathlib import Path
from typing import Final

# gcc and clang look for linkers by these names, by default and for -fuse-ld.
NAMES: Final = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold")
_PARTS: Final = {
    **{
        name: name
        for name in (
            *("words.awk", "arguments.awk", "record.awk", "loaded.awk", "variables"),
            *("link.sh", "find_shared.sh", "remove.sh", "put_back.sh"),
        )
    },
    **dict.fromkeys(NAMES, "ld.sh"),
}


def install(directory: Path) -> Path:
    """Write the linker under all its names into ``directory``, and return that for ``COMPILER_PATH``.

    With a seed in ``BENCHGATE_RELINK_SEED``, the linker shuffles the object files and puts padding of random
    size between its inputs; the same seed gives the same program. Without a seed it changes nothing. A
    process that uses the directory meanwhile sees either the old or the new version of each file.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name, source in _PARTS.items():
        with tempfile.NamedTemporaryFile(dir=directory, delete=False) as file:
            file.write(resources.files(__name__).joinpath(source).read_bytes())
        written = Path(file.name)
        written.chmod(0o755)
        written.replace(directory / name)
    return directory
