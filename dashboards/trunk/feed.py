"""Write regressions as an Atom feed (RFC 4287)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from service.domain.values.text import plain
from service.domain.wording.regressions import mail_of
from service.ports.trunk import as_told

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from service.domain.review.links import Links
    from service.ports.trunk import Regression

_ATOM: Final = "http://www.w3.org/2005/Atom"
# Characters that no XML document may have; the others that are not shown are gone already.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NEVER: Final = "1970-01-01T00:00:00Z"


def atom_feed(found: Sequence[Regression], links: Links) -> bytes:
    """Write a feed of regressions, given with the newest first."""
    feed = ET.Element("feed", {"xmlns": _ATOM})
    _add(feed, "title", "Regressions that Benchgate found")
    _add(feed, "id", links.regressions)
    _add(feed, "updated", _moment(found[0].found_at) if found else _NEVER)
    for each in found:
        mail = mail_of(as_told(each, links))
        entry = ET.SubElement(feed, "entry")
        _add(entry, "title", mail.title.removeprefix("[Benchgate] "))
        _add(entry, "id", links.regression(each.id))
        ET.SubElement(entry, "link", {"href": links.regression(each.id)})
        _add(entry, "updated", _moment(each.changed_at or each.found_at))
        _add(ET.SubElement(entry, "author"), "name", plain(each.author, 100) or "unknown")
        _add(entry, "content", mail.text)
    document: bytes = ET.tostring(feed, encoding="utf-8", xml_declaration=True)
    return document


def _add(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, name).text = _NOT_XML.sub("\ufffd", text)


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
