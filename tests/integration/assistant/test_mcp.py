"""The MCP server of ``benchgate mcp``, asked by the SDK's client over a running Benchgate."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import unicodedata
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters

from service import cli
from service.cli.assistant.answers import MOST_CHARACTERS
from service.cli.assistant.server_api import ServerApi
from service.cli.assistant.tools import AS_DATA, create_server
from service.cli.local import mcp as command
from service.domain.access.caller import TokenHolder
from service.domain.access.scopes import parse_scope
from service.domain.values.errors import Unfit
from tests.contract.reading.site import CHANGE
from tests.integration.postgres.whole_site import COMMITS, WholeSite, fill
from tests.support.access.callers import Callers
from tests.support.reading.sample_project import HOSTILE_CHANGE, HOSTILE_NAMES, REGRESSION, sample_project
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fastapi import FastAPI
    from starlette.types import Receive, Scope, Send

    from tests.support.postgres import Server

pytestmark = pytest.mark.integration
TOOLS: Final[Mapping[str, Mapping[str, Any]]] = {
    "list_changes": {"words": "hash -threads"},
    "get_change": {"change": str(REGRESSION), "patch_set": 1},
    "list_regressions": {"of": "new"},
    "get_regression": {"regression": 1},
    "get_trend": {"series": 1},
    "compare_commits": {
        "instance": "review",
        "project": "kv_engine",
        "branch": "master",
        "first": COMMITS[0],
        "second": COMMITS[2],
    },
    "list_known_failures": {"status": "active"},
    "list_benchmarks": {"words": "-threads"},
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(build_app(sample_project())) as address:
        yield address


@pytest.fixture(scope="module")
def stored(server: Server) -> Iterator[tuple[str, WholeSite]]:
    """A running Benchgate with a database."""
    with server.database() as database:
        site = fill(database)
        with serving(site.app) as address:
            yield address, site


def answer_of(server: Any, tool: str, **given: object) -> tuple[str, bool]:  # noqa: ANN401 - of the SDK
    """Call a tool; return its text, and whether that is an error."""

    async def call() -> tuple[str, bool]:
        async with Client(server) as client:
            result = await client.call_tool(tool, given)
            (content,) = result.content
            assert content.type == "text"
            return content.text, bool(result.is_error)

    return asyncio.run(call())


def ask(address: str, tool: str, token: str = "", **given: object) -> dict[str, Any]:
    with closing(ServerApi(address, token)) as api:
        text, is_error = answer_of(create_server(api), tool, **given)
    assert not is_error, text
    answer: dict[str, Any] = json.loads(text)
    return answer


def error_of(address: str, tool: str, token: str = "", **given: object) -> str:
    with closing(ServerApi(address, token)) as api:
        text, is_error = answer_of(create_server(api), tool, **given)
    assert is_error, text
    return text


def test_each_tool_is_marked_as_reading_only_and_its_texts_as_data(address: str) -> None:
    async def tools() -> Any:  # noqa: ANN401 - of the SDK
        async with Client(create_server(ServerApi(address))) as client:
            return (await client.list_tools()).tools

    found = asyncio.run(tools())
    assert {tool.name for tool in found} == set(TOOLS)
    for tool in found:
        assert tool.annotations.read_only_hint
        sentence = tool.description.removesuffix(AS_DATA).strip()
        assert sentence.endswith(".")
        assert sentence.count(". ") == 0


def test_a_change_has_its_verdict_and_the_worst_results(address: str) -> None:
    found = ask(address, "get_change", change=str(REGRESSION))
    assert (found["vote"], found["patch_set"]) == (-1, 2)
    assert found["verdict"].startswith("2 of 21 results are slower; worst: ")
    assert "run_state" not in found
    worst = found["worst_results"][0]
    assert (worst["verdict"], worst["change_percent"], worst["better"]) == ("slower", -12.3, "higher")
    assert worst["interval_percent"][0] < -12.3 < worst["interval_percent"][1]
    assert worst["suite"] == "executor"
    assert sum(found["benchmarks_by_verdict"].values()) > len(found["worst_results"])
    assert "same" not in {row["verdict"] for row in found["worst_results"]}


def test_changes_are_found_by_words(address: str) -> None:
    everything = ask(address, "list_changes")["changes"]
    some = ask(address, "list_changes", words=f"{REGRESSION}")["changes"]
    assert [each["address"] for each in some] == [str(REGRESSION)]
    assert len(everything) > 1
    assert ask(address, "list_changes", limit=1)["has_more"] is True


def test_hostile_names_come_back_as_short_lines_of_data(address: str) -> None:
    found = ask(address, "get_change", change=str(HOSTILE_CHANGE))
    names = {row["benchmark"] for row in found["worst_results"]}
    assert names & {HOSTILE_NAMES[0], HOSTILE_NAMES[4]}
    text = json.dumps(found, ensure_ascii=False)
    assert len(text) < 2 * MOST_CHARACTERS
    assert not {c for c in text if unicodedata.category(c) in {"Cc", "Cf"}}


def test_a_trend_is_summed_up_and_several_series_are_listed(address: str) -> None:
    several = ask(address, "get_trend", words="-threads")["series"]
    assert len(several) > 1
    found = ask(address, "get_trend", series=several[0]["id"])
    assert found["series"]["benchmark"] == several[0]["benchmark"]
    newest = found["newest"]
    low, high = newest["interval_percent"]
    assert low <= newest["change_percent"] <= high
    assert len(newest["since"]) > 7
    assert len(found["largest_moves"]) < found["steps"] == found["commits"]
    later = ask(address, "get_trend", series=several[0]["id"], since=newest["revision"][:7], limit=3)
    assert (later["commits"], later["newest"]["interval_percent"]) == (3, [0, 0])
    assert " answers 404: no measured commit begins with f" in error_of(
        address, "get_trend", series=several[0]["id"], since="f" * 8
    )


def test_regressions_commits_and_known_failures_are_read_from_a_database(
    stored: tuple[str, WholeSite],
) -> None:
    address, site = stored
    listed = {each["id"] for each in ask(address, "list_regressions")["regressions"]}
    assert site.regression in listed
    found = ask(address, "get_regression", regression=site.regression)
    (result,) = found["slower_results"]
    assert (result["benchmark"], result["change_percent"], result["gate_said"]) == ("BM_a", 10.0, "same")
    pair = ask(address, "compare_commits", **TOOLS["compare_commits"])
    assert (pair["base"]["revision"], pair["patch"]["revision"]) == (COMMITS[0], COMMITS[2])
    assert {row["benchmark"] for row in pair["worst_results"]} == {"BM_a"}
    assert pair["benchmarks_by_verdict"] == pair["runs"][0]["counts"]
    (known,) = ask(address, "list_known_failures")["known_failures"]
    assert (known["id"], known["bug"], known["failed"]) == (site.known, "MB-37948", 1)
    assert (known["instance"], known["waives"]) == ("review", True)
    benchmarks = ask(address, "list_benchmarks", words="BM_b")["benchmarks"]
    assert {each["series"]["benchmark"] for each in benchmarks} == {"BM_b"}


def test_no_tool_sends_anything_but_get(stored: tuple[str, WholeSite]) -> None:
    _, site = stored
    given_here = {"get_change": {"change": f"gerrit~{CHANGE}"}}
    seen: list[tuple[str, str]] = []

    async def recorded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            seen.append((scope["method"], scope["path"]))
        await site.app(scope, receive, send)

    with serving(recorded) as address, closing(ServerApi(address)) as api:  # type: ignore[arg-type]
        for tool, given in TOOLS.items():
            text, is_error = answer_of(create_server(api), tool, **given_here.get(tool, given))
            assert not is_error, text
    assert {method for method, _ in seen} == {"GET"}
    assert len({path for _, path in seen}) >= len(TOOLS)
    assert all(path.startswith("/api/v1/") for _, path in seen)


@pytest.mark.parametrize("change", ["../../account", "core~../x?y", "7/../../sign-in"])
def test_an_argument_cannot_leave_its_part_of_the_path(address: str, change: str) -> None:
    assert "change" in error_of(address, "get_change", change=change)


def test_errors_are_sentences(address: str) -> None:
    assert error_of(address, "get_change", change="99").endswith(
        ": Benchgate answers 404: there is no change 99"
    )
    missing = error_of(address, "compare_commits", **{**TOOLS["compare_commits"], "first": "1" * 7})
    assert ": Benchgate answers 404: " in missing
    assert "limit" in error_of(address, "list_changes", limit=5000)


def test_a_server_that_does_not_answer_is_an_error_that_says_so() -> None:
    assert ": Benchgate cannot be reached: " in error_of("http://127.0.0.1:1", "list_changes")


def test_an_address_of_another_program_is_an_error_that_says_so() -> None:
    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"<html>"})

    with serving(page) as address:  # type: ignore[arg-type]
        assert "is this the address of a Benchgate server?" in error_of(address, "list_changes")


def test_the_token_of_the_environment_gives_its_rights() -> None:
    holder = TokenHolder(token_id=1, name="laptop", scopes=frozenset({parse_scope("read")}))
    app: FastAPI = build_app(
        sample_project(), access=Callers(tokens={"bgt_1": holder}).access(is_public=False)
    )
    with serving(app) as address:
        assert ask(address, "list_changes", token="bgt_1")["changes"]
        refused = error_of(address, "list_changes")
    assert ": Benchgate answers 401: " in refused
    assert refused.endswith("set BENCHGATE_TOKEN to an API token with the scope read")


def test_an_assistant_talks_to_the_command_over_stdin_and_stdout(address: str) -> None:
    program = StdioServerParameters(
        command=sys.executable,
        args=["-m", "service.cli", "mcp", "--server", address],
        env=dict(os.environ),
    )
    text, is_error = answer_of(program, "list_changes", limit=1)
    assert (is_error, len(json.loads(text)["changes"])) == (False, 1)


def test_other_commands_do_not_load_the_sdk() -> None:
    code = (
        "import sys, click.testing as t; from service.cli import benchgate;"
        "t.CliRunner().invoke(benchgate, ['--help']); t.CliRunner().invoke(benchgate, ['mcp', '--help']);"
        "sys.exit('mcp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_the_package_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    done = CliRunner().invoke(cli.benchgate, ["mcp", "--server", "http://127.0.0.1:1"])
    assert isinstance(done.exception, Unfit)
    assert str(done.exception).endswith("run: .venv/bin/pip install -e '.[mcp]'")


def test_an_address_that_cannot_be_used_is_wrong_usage() -> None:
    done = CliRunner().invoke(cli.benchgate, ["mcp", "--server", "ftp://host"])
    assert str(done.exception) == (
        "benchgate mcp: Benchgate's address must begin with https:// (or http://) and name a host"
    )
