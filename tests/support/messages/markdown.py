"""Gerrit's rendering of messages, and texts that try to be formatted by it."""

from __future__ import annotations

import html
import re
from typing import Final

from hypothesis import strategies as st
from markdown_it import MarkdownIt

# As Gerrit does: no HTML, and tables and strikethrough as on GitHub.
_GERRIT: Final = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_PLAIN: Final = frozenset({"paragraph_open", "paragraph_close", "inline", "text", "softbreak"})
_CODE: Final = "code_inline"  # only looks different
_ADDRESS: Final = re.compile(r"https?://[^\s<]+")

MARKS: Final = st.lists(
    st.sampled_from(
        [
            *r"\`*_[](){}<>#+-.!|~=:&1 ab",
            "[click](https://evil.example)",
            "**Verified+1**",
            "![i](x)",
            "[x]: /y",
            "1. ",
            "BM_Sort<int>/64",
            "__a__",
            "***",
            "```",
            "    ",
        ]
    ),
    max_size=12,
).map("".join)


def rendered(text: str) -> str:
    """Return the characters that a reader sees of one paragraph."""
    tokens = _GERRIT.parse(_without_html(text))
    return "".join(child.content for token in tokens for child in token.children or ())


def as_html(message: str) -> str:
    """Return a whole message as Gerrit 3.9 and later show it, with links."""
    return _ADDRESS.sub(r'<a href="\g<0>">\g<0></a>', _GERRIT.render(_without_html(message)))


def formats_in(text: str) -> set[str]:
    """Return the kinds of formats that a text gets, beside that of code."""
    tokens = _GERRIT.parse(_without_html(text))
    kinds = {child.type for token in tokens for child in token.children or ()}
    return (kinds | {token.type for token in tokens}) - _PLAIN - {_CODE}


def _without_html(text: str) -> str:
    # Gerrit escapes HTML before it renders, except the marks of quotes.
    return html.escape(text, quote=False).replace("&gt;", ">")
