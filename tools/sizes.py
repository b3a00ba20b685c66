"""Ask whether long files and full folders hold two subjects; people answer, so it always succeeds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("service", "workers", "dashboards", "migrations", "tests", "tools", "bench")
LONG_FILE: Final = 400  # lines
FULL_FOLDER: Final = 15  # modules


def questions() -> list[str]:
    """List the files and folders that may hold two subjects, the largest first."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    lines = Counter({path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths})
    modules = Counter(path.parent for path in paths if path.name != "__init__.py")
    return [
        f"{place.relative_to(ROOT)}: {count} {unit}; two subjects?"
        for counts, most, unit in ((lines, LONG_FILE, "lines"), (modules, FULL_FOLDER, "modules"))
        for place, count in counts.most_common()
        if count > most
    ]


if __name__ == "__main__":
    print("\n".join(questions()) or "every file and folder is short")
