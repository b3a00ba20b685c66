"""Messages on a phone, as Gerrit shows them."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.markdown import as_html

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

GOLDEN: Final = Path(__file__).parents[1] / "samples" / "messages"
WIDTH, HEIGHT = 390, 844
# The sizes of an opened message in Gerrit 3.9: inline code does not wrap, and what is too wide scrolls.
PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>A message</title>
<style>
  body {{ margin: 0; color: #202124; font: 14px/20px Roboto, "Helvetica Neue", Arial, sans-serif; }}
  article {{ padding: 8px 12px; background: #f8f9fa; }}
  header {{ margin-bottom: 8px; font-weight: 500; }}
  header b {{ padding: 0 8px; border-radius: 12px; font-weight: 500; background: {colour}; }}
  .markdown {{ overflow-x: auto; }}
  .markdown p {{ margin: 0 0 8px; max-width: 120ch; }}
  .markdown p:last-child {{ margin: 0; }}
  .markdown code {{ padding: 1px 4px; border: 1px solid #dadce0; background: #f1f3f4;
    font: 12px/18px monospace; white-space: pre; }}
  .plain {{ white-space: pre-wrap; overflow-wrap: break-word; }}
</style></head>
<body><article><header>Benchgate <b>Verified {vote}</b></header>
<div class="markdown">{markdown}</div><div class="plain" hidden>{plain}</div></article></body></html>
"""
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
VOTES: Final = {"failed_test": -1, "slower": -1, "known_failure": 1}


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=2)
    yield page
    page.close()


def shown(phone: Page, name: str) -> Locator:
    """Show a message; return it."""
    message = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    vote, colour = ("−1", "#fad2cf") if VOTES[name] < 0 else ("+1", "#ceead6")
    phone.set_content(PAGE.format(colour=colour, vote=vote, markdown=as_html(message), plain=escape(message)))
    return phone.locator("article")


def height(box: Locator) -> float:
    return float(box.evaluate("each => each.getBoundingClientRect().height"))


def words_beyond(box: Locator) -> list[str]:
    """Return the words of which a part is to the right of their box."""
    return list(box.evaluate(_WORDS_BEYOND))


@pytest.mark.parametrize("name", VOTES)
def test_a_message_fits_on_the_screen_of_a_phone(phone: Page, name: str) -> None:
    message = shown(phone, name)
    assert height(message) <= HEIGHT
    # Gerrit breaks no address and no name: a long one is scrolled, and the rest of its line is in view.
    assert [word for word in words_beyond(message.locator(".markdown")) if not _NAME.fullmatch(word)] == []
    assert phone.evaluate("document.documentElement.scrollWidth") == WIDTH


@pytest.mark.parametrize("name", VOTES)
def test_an_earlier_gerrit_breaks_also_the_names_in_a_message(phone: Page, name: str) -> None:
    message = shown(phone, name)
    message.evaluate("each => each.querySelectorAll('div').forEach(part => part.toggleAttribute('hidden'))")
    assert height(message) <= HEIGHT
    assert words_beyond(message.locator(".plain")) == []


@pytest.mark.parametrize("name", VOTES)
def test_the_first_cause_is_in_the_upper_half_of_the_screen(phone: Page, name: str) -> None:
    cause = shown(phone, name).locator(".markdown p").nth(2)
    box = cause.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= HEIGHT / 2


@pytest.mark.parametrize("name", VOTES)
def test_a_message_ends_with_one_next_step_if_it_votes_minus_one(phone: Page, name: str) -> None:
    paragraphs = shown(phone, name).locator(".markdown p").all_inner_texts()
    steps = [place for place, text in enumerate(paragraphs) if text.startswith("Next: ")]
    assert steps == ([len(paragraphs) - 2] if VOTES[name] < 0 else [])
