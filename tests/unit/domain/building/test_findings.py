"""Findings of jobs by file and line: stored unchanged, and posted once on a change."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from service.domain.building.compile_errors import errors_in
from service.domain.building.findings import MOST, Finding, finding_at, findings_from
from service.domain.review.change import InlineComment
from service.domain.review.inline_comments import comments_to_post

SAMPLES = Path(__file__).parents[3] / "samples" / "compile_logs"
BAD = Finding("lib/a.cc", 3, "error: no such thing")


class TestKept:
    def test_findings_survive_the_database(self) -> None:
        found = errors_in((SAMPLES / "gcc12_make.log").read_bytes())
        assert findings_from(json.loads(json.dumps([asdict(each) for each in found]))) == found

    @pytest.mark.parametrize(
        "row",
        [
            None,
            "text",
            {},
            {"path": "a.cc", "line": 1},
            {"path": 1, "line": 1, "text": "x"},
            {"path": "a.cc", "line": "1", "text": "x"},
            {"path": "a.cc", "line": True, "text": "x"},
            {"path": "a.cc", "line": 0, "text": "x"},
            {"path": "a.cc", "line": 10**9, "text": "x"},
            {"path": "a.cc", "line": 1, "text": " \x00"},
            {"path": "", "line": 1, "text": "x"},
            {"path": "/COMMIT_MSG", "line": 1, "text": "x"},
            {"path": "../a.cc", "line": 1, "text": "x"},
            {"path": "a\ncc", "line": 1, "text": "x"},
            {"path": "\ud800", "line": 1, "text": "x"},
        ],
    )
    def test_invalid_findings_are_left_out(self, row: object) -> None:
        assert findings_from([row, asdict(BAD)]) == (BAD,)

    @pytest.mark.parametrize("found", [None, {}, "text", 7])
    def test_a_value_other_than_a_list_holds_nothing(self, found: object) -> None:
        assert findings_from(found) == ()

    def test_their_number_is_bounded(self) -> None:
        rows = [asdict(Finding("a.cc", line, "x")) for line in range(1, 100)]
        assert len(findings_from(rows + rows)) == MOST

    @pytest.mark.parametrize(("length", "is_kept"), [(1000, True), (1001, False)])
    def test_the_length_of_a_path_is_bounded(self, length: int, *, is_kept: bool) -> None:
        assert (finding_at("a" * length, 1, "x") is not None) == is_kept

    def test_a_finding_is_made_harmless(self) -> None:
        assert finding_at("./a//b.cc", 1, "two\nlines \u202e") == Finding("a/b.cc", 1, "two lines")


JOBS = ("perf", "one", "two")


class TestRemarks:
    def test_a_remark_begins_with_its_job(self) -> None:
        assert comments_to_post([("perf", BAD)], JOBS, set()) == (
            InlineComment("lib/a.cc", 3, "perf: error: no such thing"),
        )

    def test_a_remark_shows_the_error_without_its_formats(self) -> None:
        hostile = Finding("lib/a.cc", 3, "error: [click](https://evil.example) **Verified+1**")
        (told,) = comments_to_post([("perf", hostile)], JOBS, set())

        assert told.text == r"perf: error: [click]\(https://evil.example) \*\*Verified+1\*\*"
        assert comments_to_post([("perf", hostile)], JOBS, {(told.path, told.text)}) == ()

    def test_a_message_about_a_file_is_not_repeated_for_another_line(self) -> None:
        moved = Finding(BAD.path, 30, BAD.text)
        other = Finding("lib/b.cc", 3, BAD.text)
        told = comments_to_post(
            [("perf", moved), ("perf", other)], JOBS, {(BAD.path, "perf: error: no such thing")}
        )
        assert [each.path for each in told] == ["lib/b.cc"]

    def test_an_error_that_two_compilers_word_differently_is_one_remark(self) -> None:
        clang, second = (Finding(BAD.path, BAD.line, f"error: {text}") for text in ("undeclared", "no type"))
        warning = Finding(BAD.path, BAD.line, "warning: slow [performance-x]")
        named = [("one", BAD), ("one", second), ("two", clang), ("two", warning)]
        assert [each.text for each in comments_to_post(named, JOBS, set())] == [
            *(f"one: {BAD.text}", "one: error: no type", "two: warning: slow [performance-x]"),
        ]

    def test_the_same_text_on_two_lines_is_two_remarks(self) -> None:
        assert (
            len(comments_to_post([("perf", BAD), ("perf", Finding(BAD.path, 30, BAD.text))], JOBS, set()))
            == 2
        )

    def test_the_first_of_two_jobs_posts_their_common_finding(self) -> None:
        assert [each.text for each in comments_to_post([("one", BAD), ("two", BAD)], JOBS, set())] == [
            f"one: {BAD.text}"
        ]
        assert comments_to_post([("one", BAD), ("two", BAD)], JOBS, {(BAD.path, f"one: {BAD.text}")}) == ()

    def test_a_job_does_not_repeat_another_jobs_finding(self) -> None:
        """After a recheck the other job may come first."""
        assert comments_to_post([("two", BAD), ("one", BAD)], JOBS, {(BAD.path, f"one: {BAD.text}")}) == ()
        assert comments_to_post([("two", BAD)], JOBS, {(BAD.path, f"one: {BAD.text}")}) == ()

    def test_the_number_on_a_message_is_bounded_after_repeated_ones_are_left_out(self) -> None:
        named = [("perf", Finding("a.cc", line, f"error: {line}")) for line in range(1, 50)]
        said = {("a.cc", "perf: error: 1")}
        assert [each.line for each in comments_to_post(named, JOBS, said)] == list(range(2, MOST + 2))
