"""Write a page with one message, in the layout of Gerrit's list of messages on a phone."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from tests.support.messages.markdown import as_html

if TYPE_CHECKING:
    from tests.support.messages.typical import Posted

WIDTH: Final = 390
HEIGHT: Final = 844
SCALE: Final = 2
# The sizes of an opened message in Gerrit 3.9: inline code does not wrap, and what is too wide scrolls.
# Earlier versions show plain text.
_PAGE: Final = """<!doctype html>
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
_VOTES: Final = {-1: ("−1", "#fad2cf"), 1: ("+1", "#ceead6")}


def page_of(posted: Posted) -> str:
    """Write the page of a message with a vote."""
    if posted.vote is None:
        raise ValueError("the page is for a message with a vote")
    vote, colour = _VOTES[posted.vote]
    return _PAGE.format(vote=vote, colour=colour, markdown=as_html(posted.text), plain=escape(posted.text))
