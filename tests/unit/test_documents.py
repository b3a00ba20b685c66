"""Check that documents name only existing files, pages, sections and keys, in working examples."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path
from typing import Final

import pytest
from click import Context

from service.adapters.review.gerrit.events import ABOUT_CHANGES
from service.cli import benchgate
from service.domain.project.job_kinds import KINDS, JobKind
from service.domain.project.project_file import job_keys, parse_project_file
from service.domain.runs.vote import CONSEQUENCES, Counts
from service.ports.runs.queue import Task

ROOT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("native/*.md")])
ARCHITECTURE: Final = ROOT / "docs" / "contributor" / "architecture.md"
_EXAMPLE: Final = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
_PATH: Final = re.compile(r"`((?:bench|dashboards|docs|migrations|service|tests|tools|workers)/[\w./-]+)`")

LEAST_REQUIREMENTS: Final = 15  # a table of another form has none
_REQUIREMENT: Final = re.compile(r"^\| \d+\.?\d.*\|$", re.MULTILINE)
_JOBS: Final = re.compile(
    r"^```yaml\n(?:version: 1\n)?((?:[^`]*\n)?jobs:\n.*?)^```", re.DOTALL | re.MULTILINE
)
_KEYS_OF_ALL: Final = {"kind", "pool", "paths", "policy", "voting"}  # reference.md has them
_PAGES: Final = {
    **dict.fromkeys(["ctest", "gtest", "command"], "test-jobs.md"),
    **dict.fromkeys(["clang-format", "clang-tidy", "clang-analyzer"], "lint-jobs.md"),
}
_COMMAND_LINES: Final = re.compile(
    r"^```(?:sh|console)\n.*?^```|`(?:benchgate|make) [^`\n]+`", re.DOTALL | re.MULTILINE
)
_CODE_OR_TEST: Final = re.compile(r"`([\w/-]+(?:\.\w+|/))?((?:::\w+)*)`")


def prose_of(document: Path) -> str:
    """Return a document without its examples."""
    return _EXAMPLE.sub("", document.read_text(encoding="utf-8"))


def anchors_of(document: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub forms them."""
    headings = re.findall(r"^#+ (.*)$", prose_of(document), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_links_to_existing_pages_and_sections(document: Path) -> None:
    missing = []
    for target, anchor in _LINK.findall(prose_of(document)):
        page = document.parent / target if target else document
        if not page.exists() or (anchor and anchor not in anchors_of(page)):
            missing.append(f"{target}#{anchor}")
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_names_existing_files(document: Path) -> None:
    assert [path for path in _PATH.findall(prose_of(document)) if not (ROOT / path).exists()] == []


def test_the_jobs_of_the_examples_are_right() -> None:
    texts = [text for path in DOCUMENTS for text in _JOBS.findall(path.read_text(encoding="utf-8"))]
    jobs = [job for text in texts for job in parse_project_file(f"version: 1\n{text}").jobs]

    assert {str(job.kind) for job in jobs} >= {"benchmark", "clang-format", "ctest", "external"}
    assert [(job.name, job.problem) for job in jobs if job.problem] == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_keys_of_a_kind_are_in_the_tables_of_its_page(kind: str) -> None:
    page = (ROOT / "docs" / "user" / _PAGES.get(kind, "reference.md")).read_text(encoding="utf-8")
    described = {
        key
        for cells in re.findall(r"^\| (`[^|]*`) \|", page, re.MULTILINE)
        for key in re.findall(r"`(\w+)`", cells)
    }
    keys = set(job_keys(JobKind(kind))) - _KEYS_OF_ALL
    assert keys - described == set()


def test_each_requirement_of_access_names_code_and_tests_that_exist() -> None:
    lines = _REQUIREMENT.findall((ROOT / "docs" / "operator" / "security.md").read_text(encoding="utf-8"))
    missing = [name for line in lines for name in missing_of(line)]
    assert (len(lines) >= LEAST_REQUIREMENTS, missing) == (True, [])


@pytest.mark.parametrize(
    "name", ["test_no", "TestTokens::test_no", "TestNo::test_a_ticket_creates_one_token"]
)
def test_a_requirement_with_a_missing_test_is_reported(name: str) -> None:
    line = (
        f"| 9 tokens | `service/web/access` | `contract/access/test_tokens.py::{name}`, `::test_of_nothing` |"
    )
    assert missing_of(line) == [f"contract/access/test_tokens.py::{name}", "::test_of_nothing"]


def missing_of(requirement: str) -> list[str]:
    """Return the files and tests that a line of the table names, and that do not exist."""
    missing = []
    folder, file = ROOT / "tests", ROOT
    for name, parts in _CODE_OR_TEST.findall(requirement):
        if name:  # without a folder, it is in that of the file before
            places = (folder / name, ROOT / "tests" / name, ROOT / name)
            file = next((place for place in places if place.exists()), ROOT)
            folder = file.parent
        code = file.read_text(encoding="utf-8") if file.is_file() else ""
        wanted = [part for part in parts.split("::") if part]
        if file == ROOT or not all(
            re.search(rf"^ *(?:class|def) {part}\b", code, re.MULTILINE) for part in wanted
        ):
            missing.append(f"{name}{parts}")
    return missing


def test_the_index_names_every_document() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / target).resolve() for target, _ in _LINK.findall(prose_of(index))}
    pages = {path for path in ROOT.glob("docs/*/*.md") if path not in linked}

    assert sorted(str(path.relative_to(ROOT)) for path in pages) == []


def test_the_documents_name_commands_and_targets_that_exist() -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    examples = "\n".join(_COMMAND_LINES.findall(texts))
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    assert (
        set(re.findall(r"(?<!-U )\bbenchgate ([a-z]+)\b", examples))
        - set(benchgate.list_commands(Context(benchgate)))
        == set()
    )
    assert set(re.findall(r"\bmake ([a-z]+(?:-[a-z]+)*)(?![\w-])", examples)) - set(targets) == set()


def table_below(heading: str, document: Path) -> list[list[str]]:
    """Return the cells of the first table below a heading, without its head."""
    lines = document.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows = takewhile(lambda line: line.startswith("|"), lines[start + 2 :])
    return [[cell.strip(" `") for cell in row.strip("| ").split(" | ")] for row in rows]


def test_the_architecture_names_each_subject() -> None:
    named = {subject for subject, *_ in table_below("Twelve subjects on every floor", ARCHITECTURE)}
    rooms = {path.name for path in (ROOT / "service" / "domain").iterdir() if (path / "__init__.py").exists()}
    steps = {path.name for path in (ROOT / "service" / "steps").iterdir() if (path / "__init__.py").exists()}

    assert rooms == named | {"values", "wording"}
    assert steps - named == set()


def test_the_architecture_names_the_step_of_each_task() -> None:
    rows = table_below("The flow", ARCHITECTURE)

    assert {task for task, *_ in rows} == set(Task)
    assert [
        step
        for _, step, _ in rows
        if not (ROOT / "service" / "steps" / f"{step.replace('.', '/')}.py").is_file()
    ] == []


def test_the_reference_prints_for_each_outcome_whether_a_patch_could_choose_it() -> None:
    rows = table_below("Outcomes and the vote", ROOT / "docs" / "user" / "reference.md")
    printed = [(result, counts.replace("−", "-"), answer) for _, result, counts, answer in rows]
    words = {Counts.IGNORED: "ignored"}
    expected = [
        (str(each.result), words.get(each.counts, str(each.counts)), each.choosable)
        for each in CONSEQUENCES.values()
    ]

    assert printed == expected


def test_the_webhooks_to_configure_are_those_that_count() -> None:
    page = (ROOT / "docs" / "operator" / "gerrit.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^ +event = ([a-z-]+)$", page, re.MULTILINE)) == ABOUT_CHANGES
