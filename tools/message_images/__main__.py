"""`python -m tools.message_images`: render the messages that the documents show."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.chromium import chromium
from tools.message_images.images import write_images

_FOLDER: Final = Path(__file__).parents[2] / "docs" / "images"


def main() -> None:
    """Write the images into the documents, and name each file."""
    with chromium() as browser:
        for path in write_images(browser, _FOLDER):
            print(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


if __name__ == "__main__":
    main()
