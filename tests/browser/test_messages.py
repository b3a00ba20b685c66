"""Messages on a phone, as Gerrit shows them."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.messages.typical import TYPICAL
from tools.message_images.images import NAMES, text_in, write_images
from tools.message_images.page import HEIGHT, SCALE, WIDTH, page_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

_NAME: Final = re.compile(r"https?://\S+|[\w.:-]+(?:/[\w.:-]+)+")
_WORDS_BEYOND: Final = """box => {
  const right = box.getBoundingClientRect().right, words = [], range = document.createRange();
  const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/\\S+/g)) {
    range.setStart(texts.currentNode, word.index);
    range.setEnd(texts.currentNode, word.index + word[0].length);
    if (range.getBoundingClientRect().right > right) words.push(word[0]);
  }
  return words;
}"""
each_message = pytest.mark.parametrize("name", TYPICAL)


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE)
    yield page
    page.close()


def shown(phone: Page, name: str) -> Locator:
    """Show a message; return it."""
    phone.set_content(page_of(TYPICAL[name]))
    return phone.locator("article")


def height(box: Locator) -> float:
    return float(box.evaluate("each => each.getBoundingClientRect().height"))


def words_beyond(box: Locator) -> list[str]:
    """Return the words that reach beyond the right of their box."""
    return list(box.evaluate(_WORDS_BEYOND))


@each_message
def test_a_message_fits_on_the_screen_of_a_phone(phone: Page, name: str) -> None:
    message = shown(phone, name)
    assert height(message) <= HEIGHT
    # Gerrit breaks no address and no name: a long one is scrolled, and the rest of its line is in view.
    assert [word for word in words_beyond(message.locator(".markdown")) if not _NAME.fullmatch(word)] == []
    assert phone.evaluate("document.documentElement.scrollWidth") == WIDTH


@each_message
def test_an_earlier_gerrit_breaks_also_the_names_in_a_message(phone: Page, name: str) -> None:
    message = shown(phone, name)
    message.evaluate("each => each.querySelectorAll('div').forEach(part => part.toggleAttribute('hidden'))")
    assert height(message) <= HEIGHT
    assert words_beyond(message.locator(".plain")) == []


@each_message
def test_the_first_cause_is_in_the_upper_half_of_the_screen(phone: Page, name: str) -> None:
    cause = shown(phone, name).locator(".markdown p").nth(2)
    box = cause.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= HEIGHT / 2


@each_message
def test_a_message_ends_with_one_next_step_if_it_votes_minus_one(phone: Page, name: str) -> None:
    paragraphs = shown(phone, name).locator(".markdown p").all_inner_texts()
    steps = [place for place, text in enumerate(paragraphs) if text.startswith("Next: ")]
    assert steps == ([len(paragraphs) - 3] if TYPICAL[name].vote == -1 else [])
    assert not steps or paragraphs[-2] == "Other ways:"


def test_an_image_is_as_wide_as_the_phone_and_contains_its_text(browser: Browser, tmp_path: Path) -> None:
    images = [path.read_bytes() for path in write_images(browser, tmp_path)]

    assert {path.name for path in tmp_path.iterdir()} == set(NAMES.values())
    assert [struct.unpack(">I", image[16:20])[0] for image in images] == [WIDTH * SCALE] * len(images)
    assert [text_in(image) for image in images] == [TYPICAL[name].text for name in NAMES]
