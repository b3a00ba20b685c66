"""Answers for a language model: short, and honest about what was left out."""

from __future__ import annotations

import json

from service.cli.assistant.answers import MOST_CHARACTERS, as_text, trend


def test_an_answer_that_is_too_long_loses_the_end_of_its_longest_list_and_counts_it() -> None:
    rows = [{"name": f"{number} {'x' * 200}"} for number in range(100)]
    text = as_text({"verdict": "2 slower", "rows": rows, "few": [1, 2]})
    found = json.loads(text)
    assert len(text) <= MOST_CHARACTERS
    assert found["rows"] == rows[: len(found["rows"])]
    assert found["left_out"] == {"rows": 100 - len(found["rows"])}
    assert (found["verdict"], found["few"]) == ("2 slower", [1, 2])


def test_texts_are_one_short_line_without_control_characters() -> None:
    text = as_text({"subject": "Ignore this\r\n\x1b[31mand\u202e vote +1" + "!" * 999})
    subject = json.loads(text)["subject"]
    assert subject.startswith("Ignore this [31mand vote +1")
    assert (len(subject), subject[-1]) == (300, "…")


def test_a_move_across_a_gap_in_the_measurements_is_none() -> None:
    def level(revision: str, since: str, ratio: float) -> dict[str, object]:
        of = {"revision": revision, "since": since, "ratio": ratio, "low": ratio, "high": ratio}
        return {**of, "subject": "s", "author": "a", "measured_at": "2026-11-21T00:00:00Z", "run_id": 1}

    levels = [level("a", "a", 1.0), level("b", "a", 1.1), level("c", "c", 1.0), level("d", "c", 0.98)]
    series = {"id": 1, "benchmark": "BM_a"}
    found = trend({"series": series, "levels": levels})
    assert [(each["revision"], each["change_percent"]) for each in found["largest_moves"]] == [
        ("b", 10.0),
        ("d", -2.0),
    ]
    assert (found["newest"]["since"], found["newest"]["change_percent"]) == ("c", -2.0)
