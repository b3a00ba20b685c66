"""Editors complete and check benchgate.yaml by its JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from jsonschema import Draft202012Validator

from service.adapters.project.editor_schema import editor_schema
from service.domain.project.project_file import parse_project_file
from tests.support.review.changes import PROJECT_FILE
from tests.unit.domain.project.test_project_file import JOB, WHOLE

ROOT: Final = Path(__file__).parents[4]
REFERENCE: Final = (ROOT / "docs" / "user" / "reference.md").read_text()
EXAMPLE: Final = REFERENCE.partition("```yaml\n")[2].partition("```")[0]
BOOLEAN: Final = "tag:yaml.org,2002:bool"


class Yaml12(yaml.SafeLoader):
    """YAML as editors read it: only true and false are booleans."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as in the base
        first: [each for each in resolvers if each[0] != BOOLEAN or first in "tTfF"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json.loads(json.dumps(editor_schema()))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def wrong(validator: Draft202012Validator, text: str) -> list[str]:
    found = validator.iter_errors(yaml.load(text, Yaml12))  # noqa: S506 - a safe loader
    return [error.json_path for error in found]


@pytest.mark.parametrize(
    "text",
    [
        (ROOT / "native" / "benchgate.yaml").read_text(),
        EXAMPLE,
        WHOLE.replace("kind: style-check, pool: lint", "kind: external"),
        PROJECT_FILE,
    ],
    ids=["native", "reference", "every key", "short"],
)
def test_a_good_file_is_good_in_an_editor(validator: Draft202012Validator, text: str) -> None:
    assert parse_project_file(text).jobs
    assert wrong(validator, text) == []


@pytest.mark.parametrize(
    "lines",
    [
        "kind: bench",
        "pool: perf",
        "kind: benchmark",
        "kind: external\n    pool: perf",
        "kind: external\n    policy: {floor: 1%}",
        "kind: benchmark\n    suites: [{name: a}]",
        "kind: benchmark\n    suites: [{name: a, program: /b}]",
        'kind: benchmark\n    suites: [{name: a, program: "b\\n"}]',
        "kind: benchmark\n    suites: [{name: a, program: b, timeout: 1d}]",
        "kind: benchmark\n    suites: [{name: a, program: b}]\n    instructions: perhaps",
        "kind: benchmark\n    suites: [{name: a, program: b}]\n    retries: 1",
        "kind: command\n    command: x\n    retries: 6",
        "kind: command\n    command: ''",
        "kind: ctest\n    memory: 4T",
        "kind: ctest\n    memory: 5",
        "kind: gtest\n    programs: []",
        "kind: gtest\n    programs: [../x]",
        "kind: gtest",
    ],
)
def test_a_bad_job_is_bad_in_an_editor(validator: Draft202012Validator, lines: str) -> None:
    assert wrong(validator, JOB.format(f"    {lines}")) == ["$.jobs.perf"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("version: 2\njobs: {a: {kind: external}}", "$.version"),
        ("version: 1\njobs: {}", "$.jobs"),
        ("version: 1\njobs: {a b: {kind: external}}", "$.jobs"),
        ("version: 1\njobs: {a: {kind: external}}\njob: 1", "$"),
    ],
)
def test_a_bad_file_is_bad_in_an_editor(validator: Draft202012Validator, text: str, path: str) -> None:
    assert wrong(validator, text) == [path]


def test_every_key_has_a_description() -> None:
    def keys(node: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - any part of a JSON document
        if isinstance(node, list):
            return [each for item in node for each in keys(item)]
        if not isinstance(node, dict):
            return []
        return [*node.get("properties", {}).items(), *(each for item in node.values() for each in keys(item))]

    found = keys(editor_schema())
    assert {"kind", "suites", "floor", "rerun"} <= {name for name, _ in found}
    assert [name for name, node in found if not node.get("description")] == []
