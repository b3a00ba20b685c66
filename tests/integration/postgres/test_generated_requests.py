"""Send generated requests to each operation of the API over a real database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from tests.contract.reading.site import CHANGE
from tests.integration.postgres.whole_site import COMMITS, WholeSite, fill
from tests.support.reading.fake_reading import FakeReading
from tests.support.web import build_app, call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from schemathesis import Case
    from schemathesis.schemas import BaseSchema

    from tests.support.postgres import Server

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
CHECKS: Final = [
    *(not_a_server_error, status_code_conformance, content_type_conformance),
    *(response_schema_conformance, negative_data_rejection),
]
DOCUMENT: Final = build_app(FakeReading()).openapi()
OPERATIONS: Final = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]
# Nothing is wrong with a request without parameters.
REQUESTS: Final = [
    (path, method, mode)
    for path, method in OPERATIONS
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or DOCUMENT["paths"][path][method].get("parameters")
]
BRANCH: Final = {"instance": "review", "project": "kv_engine", "branch": "master"}
# Parameters that lead to something that the database has; any others of a list may find nothing.
QUERIES: Final[Mapping[str, Mapping[str, object]]] = {
    "changes": {"q": "faster"},
    "changes/{change}/patch-sets": {"limit": 6},
    "series": {"q": "BM_a"},
    "series/{series_id}/levels": {"limit": 9},
    "benchmarks": {"q": "BM_a"},
    "regressions": {"list": "new"},
    "known-failures": {"status": "active"},
    "queue": {"limit": 9},
    "voting-statuses": {"limit": 9},
    "commits": BRANCH,
    "compare": {**BRANCH, "base": COMMITS[0], "patch": COMMITS[2]},
    "builds/{job}/{number}/samples": {"series": 1},
    "builds/{job}/{number}/explanations": {"stacks": 1},
    "gerrit/checks": {"change": CHANGE, "patchset": 1, "sha": "", "repo": ""},
}


@pytest.fixture(scope="module")
def site(server: Server) -> Iterator[WholeSite]:
    with server.database() as database:
        yield fill(database)


@pytest.fixture(scope="module")
def schema(site: WholeSite) -> BaseSchema:
    return schemathesis.openapi.from_asgi("/api/v1/openapi.json", site.app)


def statuses_of(schema: BaseSchema, path: str, method: str, mode: GenerationMode, **fixed: Any) -> set[int]:  # noqa: ANN401 - of schemathesis
    """Send some generated requests; return the statuses of the answers, each as the document promises it."""
    seen: set[int] = set()

    @seed(20261128)
    @settings(
        max_examples=8,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(schema[path][method].as_strategy(generation_mode=mode, **fixed))
    def send(case: Case[Any]) -> None:
        seen.add(case.call_and_validate(checks=CHECKS).status_code)

    send()
    return seen


@pytest.mark.parametrize(("path", "method", "mode"), REQUESTS)
def test_an_answer_is_one_that_the_document_promises(
    schema: BaseSchema, path: str, method: str, mode: GenerationMode
) -> None:
    assert statuses_of(schema, path, method, mode)


@pytest.mark.parametrize("path", [path for path, method in OPERATIONS if method == "get"])
def test_what_is_stored_is_answered_as_the_document_describes_it(
    schema: BaseSchema, site: WholeSite, path: str
) -> None:
    ids = {
        "change": str(CHANGE),
        "patch_set": 1,
        "run_id": 1,
        "job": "perf",
        "number": 1,
        "series_id": site.series,
        "regression_id": site.regression,
        "known_id": site.known,
    }
    fixed: dict[str, Any] = {
        "path_parameters": {key: value for key, value in ids.items() if f"{{{key}}}" in path}
    }
    name = path.removeprefix("/api/v1/")
    if name in QUERIES:
        fixed["query"] = QUERIES[name]
    assert statuses_of(schema, path, "get", GenerationMode.POSITIVE, **fixed) >= {200}
    found = call(site.app, "GET", path.format(**ids), params=fixed.get("query", {})).json()
    lists = [value for value in found.values() if isinstance(value, list)]
    assert lists == [] or any(lists), "it is about what is stored"


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_the_examples_of_the_document_are_accepted(site: WholeSite, path: str, method: str) -> None:
    """They name nothing that is stored; a report is refused without a token."""
    given: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "header": {}}
    for each in DOCUMENT["paths"][path][method].get("parameters", ()):
        if examples := each["schema"].get("examples"):
            given[each["in"]][each["name"]] = examples[0]
    answer = call(site.app, method.upper(), path.format(**given["path"]), params=given["query"])
    assert answer.status_code in ({200, 404} if method == "get" else {401, 422}), answer.text
