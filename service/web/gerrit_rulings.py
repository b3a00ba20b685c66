"""Finds, in what was told of a patch set's rounds, the sentences by which people excused builds."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from service.domain.identity import BuildName
from service.domain.text import ELLIPSIS, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.domain.links import Links
    from service.domain.views import BuildSummary, RunDetail

MAX_CAUSE: Final = 1000  # as long as messages have them
_RULING: Final = re.compile(r"overridden by |.{1,300} accepted by ")


def rulings(rounds: Sequence[RunDetail], links: Links) -> Mapping[int, str]:
    """By build, the sentence by which the newest decision on it excuses its failure, if it does.

    ``rounds`` are oldest first. No view holds rulings: the messages are their record.
    """
    found: dict[int, str] = {}
    for each in rounds:
        if each.decisions:
            said = _said(each, links)
            found.update({build.id: said.get(build.id, "") for build in each.builds})
    return {build_id: sentence for build_id, sentence in found.items() if sentence}


def page_of(build: BuildSummary, links: Links) -> str:
    """Where messages say that a build is."""
    return build.url or links.build(BuildName(build.job, build.number))


def _said(found: RunDetail, links: Links) -> Mapping[int, str]:
    by_title = {f"{page_of(build, links)} : {build.result}": build for build in found.builds}
    pages = [f" ( {build.url} )" for build in found.builds if build.url]
    # Causes hold words of the patch set, which must not pass for a person's.
    causes = {plain(cause, 4 * MAX_CAUSE) for build in found.builds for cause in build.causes}
    spoken = [_without(each, pages) for each in found.decisions[0].message.split("\n\n")]
    spoken = [each for each in spoken if not _is_cause(each, causes)]
    return {
        by_title[title].id: plain(sentence, MAX_CAUSE)
        for title, sentence in pairwise(spoken)
        if title in by_title and _RULING.match(sentence)
    }


def _without(paragraph: str, pages: Iterable[str]) -> str:
    """A paragraph without the link in which those of another CI's build end."""
    ending = next((page for page in pages if paragraph.endswith(page)), "")
    return paragraph.removesuffix(ending)


def _is_cause(paragraph: str, causes: Iterable[str]) -> bool:
    line = " ".join(paragraph.split())
    if line.endswith(ELLIPSIS):
        return any(cause.startswith(line.removesuffix(ELLIPSIS).rstrip()) for cause in causes)
    return line in causes
