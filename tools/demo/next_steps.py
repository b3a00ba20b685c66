"""List what a newcomer can do as soon as the votes are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.demo.backend import Uploaded

_BENCHMARK: Final = "TaskStatsBench/LogQTime"  # one commit of the history made it slower, another repaired it


def closing_lines(
    base_url: str,
    answer: Sequence[str],
    failing: Uploaded | None,
    slower: Uploaded | None,
    *,
    has_history: bool,
    has_benchmarks: bool,
) -> Iterator[str]:
    """Yield the last lines of the demo: that it is done, and what to do and to look at now.

    Args:
        base_url: the address of the pages.
        answer: how to answer a −1 on this review server, if there is one.
        failing: an open change in which a test fails.
        slower: an open change in which benchmarks are slower.
        has_history: the pages have the recorded history.
        has_benchmarks: the demo measured benchmarks.
    """
    steps = list(answer)
    if failing:
        steps += [
            f"- then look at the next change: the same test fails there, and does not count: {base_url}/"
        ]
    if slower:
        why = f"see why {slower.name} is slower, on the page of its job, a minute or two after the −1"
        steps += [f"- {why}: {base_url}/changes/{slower.change}/{slower.patch_set}"]
    if has_benchmarks:
        held = "see which figures in the commit messages held; that of flush_vbucket exaggerates one"
        steps += [f"- {held}: {base_url}/claims"]
    trends = f"{base_url}/trends"
    if has_history:
        since = "see what became slower on the branch, since when, and by whose change"
        steps += [f"- {since}: {base_url}/regressions"]
        steps += [f"- see a benchmark over sixty commits: {trends}?{urlencode({'q': _BENCHMARK})}"]
    elif has_benchmarks:
        steps += [f"- see the results of each benchmark: {trends}"]
    done = f"done; the dashboard stays at {base_url} until Ctrl-C."
    yield f"{done} What you can do now:" if steps else done
    yield from steps
