"""Follow the symbolic links of a tree."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_ROUNDS: Final = 4  # links that lead through links
_MOST_NAMES: Final = 500_000  # a link to a directory above itself multiplies all paths


def with_other_names(paths: Sequence[str], links: Mapping[str, str]) -> Sequence[str]:
    """Add the names that paths have through symbolic links.

    Args:
        paths: from the top; a path below which anything may differ ends with a slash.
        links: what each symbolic link contains, by its path.

    Raises:
        BadInput: there are too many names.
    """
    sources: dict[str, list[str]] = defaultdict(list)
    for link, content in links.items():
        target = posixpath.normpath(posixpath.join(posixpath.dirname(link), content))
        if not (target.startswith(("/", "../")) or target == ".."):
            sources["" if target == "." else target].append(link)
    found = dict.fromkeys(paths)
    new: Iterable[str] = paths if sources else ()
    for _ in range(_ROUNDS):
        added: dict[str, None] = {}
        for name in (each for path in new for each in _names_of(path, sources)):
            if name not in found:
                added[name] = None
            if len(added) > _MOST_NAMES:
                raise BadInput(f"the changed files have more than {_MOST_NAMES} names by symbolic links")
        found |= added
        new = added
    return list(found)


def _names_of(path: str, sources: Mapping[str, Sequence[str]]) -> Iterator[str]:
    above = path.rstrip("/")
    while True:
        rest = path[len(above) :] if above else f"/{path}"
        yield from (
            f"{link}{rest}" for link in sources.get(above, ()) if not f"{path}/".startswith(f"{link}/")
        )
        if not above:
            break
        above = posixpath.dirname(above)
    if path.endswith("/"):
        for target, links in sources.items():
            if target.startswith(path):
                yield from (f"{link}/" for link in links)
