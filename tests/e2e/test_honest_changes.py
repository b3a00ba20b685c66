"""Benchgate votes correctly on changes of data, headers and documents, on old parents and in merges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.e2e.conftest import started
from tests.support.project.tiny_project import PROGRAM, TinyProject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.e2e.conftest import RunningSite

    Files = Mapping[str, str | None]

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(900)]

PATIENCE: Final = 840.0  # seconds for all votes; they take three minutes on an idle machine
PROJECT: Final = """\
version: 1
jobs:
  perf:
    kind: benchmark
    build: {compile: sh compile.sh}
    suites: [{name: tiny, program: build/tiny, repetitions: 1}]
    policy: {probation: off, layout: off, max_pairs: 14}
"""
# Two headers and a table are compiled in; the program reads load.json and ranges.h whenever it runs.
COMPILE: Final = r"""
set -e
value() { sed -n "s/^constexpr int $1 = \([0-9]*\);.*/\1/p" "$1.h"; }
fixed=$(($(value cost) + $(value more) + $(tr -dc 0-9 < table.csv)))
read='$(tr -dc 0-9 < load.json) + $(tr -dc 0-9 < ranges.h)'
sed "s|@TIME@|\$(($fixed + $read))|g" program.sh > build/tiny
chmod +x build/tiny
"""


def cost(value: int, comment: str = "") -> str:
    return f"constexpr int cost = {value};{comment}\n"


def more(value: int, comment: str = "") -> str:
    return f"constexpr int more = {value};{comment}\n"


FILES: Final = {
    "benchgate.yaml": PROJECT,
    "compile.sh": COMPILE,
    "program.sh": PROGRAM,
    "cost.h": cost(100),
    "more.h": more(20),
    "ranges.h": "{0}\n",
    "load.json": '{"load": 0}\n',
    "table.csv": "0\n",
    "README.md": "Tiny.\n",
}
OPTIMISED: Final = {"more.h": more(10)}  # merged after FILES

ON_HEAD: Final[Mapping[str, tuple[Files, int]]] = {
    "formats data that the program reads": ({"load.json": '{\n  "load": 0\n}\n'}, 1),
    "reads more data": ({"load.json": '{"load": 30}\n'}, -1),
    "adds data that nobody reads": ({"other.json": '{"load": 30}\n'}, 1),
    "ends a table with a blank line": ({"table.csv": "0\n\n"}, 1),
    "puts more into a table": ({"table.csv": "30\n"}, -1),
    "renames data": (
        {"load.json": None, "loads.json": "0\n", "compile.sh": COMPILE.replace("load.json", "loads.json")},
        1,
    ),
    "moves data into a header": (
        {"load.json": None, "load.h": "{0}\n", "compile.sh": COMPILE.replace("load.json", "load.h")},
        1,
    ),
    "comments a header": ({"cost.h": cost(100, "  // nanoseconds")}, 1),
    "makes a header slower": ({"cost.h": cost(130)}, -1),
    "makes a header faster": ({"cost.h": cost(80)}, 1),
    "adds a header that nobody includes": ({"other.h": cost(500)}, 1),
    "formats a header that the program reads": ({"ranges.h": "{\n  0,\n}\n"}, 1),
    "fills a header that the program reads": ({"ranges.h": "{30}\n"}, -1),
    "writes a document": ({"README.md": "Tiny takes 100 ns.\n"}, 1),
    "removes a document": ({"README.md": None}, 1),
    "writes a document and makes a header slower": ({"README.md": "Checks.\n", "cost.h": cost(125)}, -1),
    "comments the project file": ({"benchgate.yaml": PROJECT + "# nightly, too\n"}, 1),
    "reverts the optimisation": ({"more.h": more(20)}, -1),
}
ON_OLD: Final[Mapping[str, tuple[Files, int | None]]] = {
    "writes a document on an old parent": ({"README.md": "Tiny, and old.\n"}, 1),
    "comments a header on an old parent": ({"cost.h": cost(100, "  // old")}, 1),
    "makes a header slower on an old parent": ({"cost.h": cost(115)}, -1),
    "makes a header faster on an old parent": ({"cost.h": cost(80)}, 1),
    "adds data on an old parent": ({"other.json": "{}\n"}, 1),
    "puts more into a table on an old parent": ({"table.csv": "15\n"}, -1),
    "repeats the optimisation on an old parent": ({**OPTIMISED, "README.md": "Quick.\n"}, 1),
    "optimises otherwise on an old parent": ({"more.h": more(5)}, None),  # a conflict
}
# A branch with these files, made before the optimisation; the merge has the others, too.
BRANCHES: Final[Mapping[str, tuple[Files, Files, int]]] = {
    "merges a document": ({"README.md": "Tiny, on a branch.\n"}, {}, 1),
    "merges a slower header": ({"cost.h": cost(130)}, {}, -1),
    "merges a faster header": ({"cost.h": cost(80)}, {}, 1),
    "merges two data files": ({"load.json": '{"load":0}\n', "table.csv": "00\n"}, {}, 1),
    "resolves a conflict": ({"more.h": more(20, "  // why")}, {"more.h": more(10, "  // why")}, 1),
    "brings back what was optimised": ({"README.md": "Back.\n"}, {"more.h": more(20)}, -1),
}
INTO: Final = "into the branch"
MERGES: Final = {
    f"{name}, {order}": (order, *files)
    for name, files in BRANCHES.items()
    for order in (INTO, "with the branch as second parent")
}
# The first change, and the one above it with its vote.
CHAINS: Final[Mapping[str, tuple[Files, Files, int]]] = {
    "writes a document above a slower change": ({"cost.h": cost(150)}, {"README.md": "Above.\n"}, 1),
    "takes back a half above a faster change": ({"cost.h": cost(50)}, {"cost.h": cost(75)}, -1),
}
VOTES: Final = {
    name: files[-1] for table in (ON_HEAD, ON_OLD, MERGES, CHAINS) for name, files in table.items()
}
NUMBERS: Final = {name: number for number, name in enumerate(VOTES, 1)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    """One Benchgate to which all changes are pushed at once."""
    root: Path = tmp_path_factory.mktemp("honest")
    project = TinyProject(root / "tiny")
    old = project.commit(FILES)
    project.commit(OPTIMISED)
    with started(root, project, PATIENCE) as running:
        for table, on in ((ON_HEAD, "main"), (ON_OLD, old)):
            for name, (files, _) in table.items():
                running.feed(project.propose(NUMBERS[name], files, on=on).event())
        for name, (order, branch, files, _) in MERGES.items():
            side = project.propose(1000 + NUMBERS[name], branch, on=old).revision
            parents = ("main", side) if order == INTO else (side, "main")
            running.feed(project.propose_merge(NUMBERS[name], {**branch, **files}, *parents).event())
        for name, (below, files, _) in CHAINS.items():
            first = project.propose(1000 + NUMBERS[name], below)
            running.feed(first.event())
            running.feed(project.propose(NUMBERS[name], files, on=first.revision).event())
        running.wait(lambda: all(map(running.messages, NUMBERS.values())), "a message on each change")
        yield running


@pytest.mark.parametrize("name", VOTES)
def test_an_honest_change_gets_its_vote(site: RunningSite, name: str) -> None:
    [message] = site.messages(NUMBERS[name])
    assert site.vote(NUMBERS[name]) == VOTES[name], message
    assert ("conflict" in message) is (VOTES[name] is None)
