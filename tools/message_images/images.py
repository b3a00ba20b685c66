"""Render images of messages; each contains the text that it shows, so that a test finds outdated ones."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

from tests.support.messages.typical import TYPICAL
from tools.message_images.page import HEIGHT, SCALE, WIDTH, page_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

NAMES: Final = {
    "failed_test": "message-test.png",
    "slower": "message-benchmark.png",
    "known_failure": "message-known.png",
}
"""The file of each message."""

_SIGNATURE: Final = 8  # bytes that open a PNG file
_HEADER: Final = 25  # bytes of its first chunk
_KEYWORD: Final = b"Description\0\0\0\0\0"  # not compressed, in no language, not translated
_TEXT: Final = b"iTXt"  # a chunk with a text in UTF-8


def write_images(browser: Browser, folder: Path) -> Iterator[Path]:
    """Write the image of each message into a folder; yield each file."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE)
    for name, file in NAMES.items():
        page.set_content(page_of(TYPICAL[name]))
        image = page.locator("article").screenshot()
        (folder / file).write_bytes(_with_text(image, TYPICAL[name].text))
        yield folder / file
    page.close()


def text_in(image: bytes) -> str:
    """Return the text that an image contains; empty if it has none."""
    place = _SIGNATURE
    while place < len(image):
        size, kind = struct.unpack(">I4s", image[place : place + 8])
        content = image[place + 8 : place + 8 + size]
        if kind == _TEXT and content.startswith(_KEYWORD):
            return content.removeprefix(_KEYWORD).decode()
        place += size + 12
    return ""


def _with_text(image: bytes, text: str) -> bytes:
    content = _TEXT + _KEYWORD + text.encode()
    chunk = struct.pack(">I", len(content) - len(_TEXT)) + content + struct.pack(">I", zlib.crc32(content))
    place = _SIGNATURE + _HEADER
    return image[:place] + chunk + image[place:]
