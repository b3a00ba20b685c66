"""The key `renamed` of a suite: the names that it refuses."""

from __future__ import annotations

import pytest

from service.domain.project.project_file import parse_project_file
from service.domain.values.errors import BadProjectFile

FILE = """\
version: 1
jobs:
  perf:
    kind: benchmark
    suites: [{name: a, program: build/a, RENAMED}]
"""


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("renamed: [a]", ".renamed: a mapping is needed, found a list"),
        ("renamed: {a: b, c: b}", ".renamed: new names must differ; twice: b"),
        ("renamed: {a: b, b: c}", ".renamed: a new name must not be renamed again: b"),
        ("renamed: {a: a}", ".renamed: a new name must not be renamed again: a"),
        ("renamed: {a: 1}", ".renamed.a: a text is needed, found 1"),
        ("renamed: {a: }", ".renamed.a: a text is needed, found nothing"),
        ("renamed: {a: ''}", ".renamed.a: '' is not allowed; allowed are names of benchmarks"),
        ("renamed: {'': a}", ".renamed.: '' is not allowed as a name here; allowed are names of bench"),
    ],
)
def test_names_that_are_refused(entry: str, message: str) -> None:
    with pytest.raises(BadProjectFile) as caught:
        parse_project_file(FILE.replace("RENAMED", entry))
    assert str(caught.value).startswith(f"benchgate.yaml:5: jobs.perf.suites[0]{message}")
