from __future__ import annotations

from html import escape
from pathlib import Path

import pytest

from tests.support.messages.markdown import as_html
from tests.support.messages.typical import TYPICAL
from tools.message_images.images import NAMES, text_in
from tools.message_images.page import page_of

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "samples" / "messages"


def recorded(name: str) -> str:
    """A message as `tests/unit/domain/wording/test_message.py` finds that the wording writes it."""
    return (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n")


def test_every_typical_message_has_an_image() -> None:
    assert set(NAMES) == set(TYPICAL)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_the_text_of_the_wording_and_its_vote(name: str) -> None:
    page = page_of(TYPICAL[name])

    assert as_html(recorded(name)) in page
    assert escape(recorded(name)) in page
    assert f"Verified {'+1' if name == 'known_failure' else '−1'}</b>" in page


@pytest.mark.parametrize("name", NAMES)
def test_the_images_of_the_documents_show_the_messages_of_now(name: str) -> None:
    image = (ROOT / "docs" / "images" / NAMES[name]).read_bytes()

    assert text_in(image) == recorded(name), "run `make message-images`"
