"""Names of changed files by the symbolic links of the tree."""

from __future__ import annotations

import pytest

from service.domain.sources import links as module
from service.domain.sources.links import with_other_names
from service.domain.values.errors import BadInput


@pytest.mark.parametrize(
    ("links", "path", "others"),
    [
        ({"engine": "impl/v2"}, "impl/v2/a/x.cc", {"engine/a/x.cc"}),
        ({"engine": "impl/v2/"}, "impl/v2/x.cc", {"engine/x.cc"}),
        ({"engine": "impl/v2"}, "impl/v20/x.cc", set()),
        ({"src/engine": "../impl"}, "impl/x.cc", {"src/engine/x.cc"}),
        ({"src/engine": "impl"}, "impl/x.cc", set()),
        ({"flags.mk": "config/flags.mk"}, "config/flags.mk", {"flags.mk"}),
        ({"engine": "current", "current": "impl"}, "impl/x", {"current/x", "engine/x"}),
        ({"engine": "impl/a", "impl/a/b": "../../lib"}, "lib/x", {"impl/a/b/x", "engine/b/x"}),
        ({"engine": "third_party/lib"}, "third_party/lib/", {"engine/"}),
        ({"engine": "third_party/lib/src"}, "third_party/lib/", {"engine/"}),
        ({"include/lib": ".."}, "x.h", {"include/lib/x.h"}),
        ({"self": "."}, "x.h", {"self/x.h"}),
        ({"out": "../x", "root": "/x", "up": ".."}, "x", set()),
        ({"a": "b", "b": "a"}, "c", set()),
    ],
)
def test_a_file_has_other_names_by_symbolic_links(links: dict[str, str], path: str, others: set[str]) -> None:
    assert set(with_other_names([path], links)) == {path, *others}


def test_links_that_multiply_the_paths_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_NAMES", 100)
    with pytest.raises(BadInput, match="more than 100 names"):
        with_other_names(["x"], {f"l{number}": "." for number in range(20)})
