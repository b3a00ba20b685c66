"""Step through a campaign: what is repeated, what is kept, and which results belong together."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bench.real.campaign import Campaign
from bench.real.projects import Change, Edit, Project
from bench.real.repositories import commit_all, git
from bench.real.results import GateResult, InitResult, Results

if TYPE_CHECKING:
    from pathlib import Path

ROW = {"name": "Hash/1", "metric": "cpu_time", "verdict": "same", "ratio": 1.0, "better": "lower"}
ANSWER: dict[str, Any] = {
    "benchmarks": [ROW | {"pairs": 8, "spread": 0.01}],
    "jobs": [{"outcome": "passed", "seconds": {}}],
}
# Stands for the command: `init` writes a file that needs work, and `gate` notes the call and answers.
COMMAND = """\
#!/bin/sh
case "$1" in
  init) echo 'version: 1' > benchgate.yaml; exit 1 ;;
  gate) echo "$*" >> "$0.calls"; cat "$0.json" ;;
esac
"""


def change(name: str, text: str) -> Change:
    return Change(name=name, percent=0, edit=(Edit(file="hash.cc", after="int a;", insert=text),))


def project(commit: str = "1" * 40, choice: str = "", *changes: Change) -> Project:
    return Project(
        name="hashes",
        repository="example/hashes",
        commit=commit,
        build_system="CMake",
        dependencies="none",
        filter=choice,
        change=changes or (change("a comment", "// a"),),
    )


def gate(base: str, minutes: int, choice: str = "") -> GateResult:
    asked = {"base": base, "patch": "2f", "minutes": minutes, "filter": choice}
    return GateResult(asked, 0, 60.0, ANSWER)


class Calls:
    """A campaign with a command that only answers; ``interrupted_at`` names the progress that ends it."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        self.command = place / "bin/benchgate"
        self.command.parent.mkdir()
        self.command.write_text(COMMAND)
        self.command.chmod(0o755)
        self.command.with_suffix(".json").write_text(json.dumps(ANSWER))
        monkeypatch.setattr(sys, "executable", str(self.command.with_name("python")))
        given = place / "given/example/hashes.git"
        given.mkdir(parents=True)
        (given / "hash.cc").write_text("int a;\n")
        git(given, "init", "--quiet", "--initial-branch=main")
        self.commit = commit_all(given, "first")
        self.interrupted_at = ""

    def campaign(self, minutes: int = 1) -> Campaign:
        return Campaign(self.place / "given", self.place / "work", minutes, self._say)

    @property
    def gates(self) -> int:
        calls = self.command.with_suffix(".calls")
        return len(calls.read_text().splitlines()) if calls.exists() else 0

    def _say(self, text: str) -> None:
        if self.interrupted_at and text.endswith(self.interrupted_at):
            raise KeyboardInterrupt


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("stored", "minutes", "is_one"),
    [
        (gate("1f", 5), 5, True),
        (gate("1f", 5), None, True),
        (gate("1f", 1), 5, False),
        (gate("3f", 5), 5, False),
        (gate("1f", 5, "Sort"), 5, False),
        (GateResult({}, 0, 0.0, failure="there is no file hash.cc"), 5, True),
    ],
)
def test_results_of_another_base_filter_or_time_are_not_reported(
    tmp_path: Path, stored: GateResult, minutes: int | None, *, is_one: bool
) -> None:
    results = Results(tmp_path / "work/results/hashes")
    results.store(InitResult("1f", 1.0, {}))
    results.store(stored, "a comment")

    tried = Campaign(tmp_path, tmp_path / "work", 5, lambda _: None).tried(project(), minutes)

    assert ("a comment" in tried.gates) is is_one


def test_results_of_a_project_that_can_no_longer_be_prepared_are_not_reported(tmp_path: Path) -> None:
    results = Results(tmp_path / "work/results/hashes")
    results.store(InitResult("1f", 1.0, {}))
    results.store(gate("1f", 5), "a comment")
    campaign = Campaign(tmp_path, tmp_path / "work", 5, lambda _: None)

    campaign.run(project())

    assert not campaign.tried(project()).gates
    assert campaign.tried(project()).failures == ("there is no mirror example/hashes.git",)


@pytest.mark.integration
def test_a_later_call_repeats_only_what_failed(calls: Calls) -> None:
    one = project(calls.commit)
    calls.command.with_suffix(".json").write_text("Traceback")
    calls.campaign().run(one)
    calls.command.with_suffix(".json").write_text(json.dumps(ANSWER))

    calls.campaign().run(one)
    calls.campaign().run(one)

    assert calls.gates == 2
    assert calls.campaign().tried(one, 1).failures == ()


@pytest.mark.integration
def test_an_interrupted_campaign_keeps_its_results_and_has_none_of_an_earlier_one(calls: Calls) -> None:
    old = project(calls.commit, "", change("a", "// a"), change("b", "// b"), change("c", "// c"))
    new = project(calls.commit, "", change("a", "// a"), change("b", "// new"), change("c", "// new"))
    calls.campaign().run(old)
    calls.interrupted_at = "b: gate"

    with pytest.raises(KeyboardInterrupt):
        calls.campaign().run(new)

    assert list(calls.campaign().tried(new).gates) == ["a"]
    assert sorted(file.name for file in (calls.place / "work/results/hashes").glob("*.old")) == [
        "change-b.old",
        "change-c.old",
    ]


@pytest.mark.integration
def test_a_change_that_can_no_longer_be_made_keeps_its_measured_result_aside(calls: Calls) -> None:
    calls.campaign().run(project(calls.commit))
    wrong = Change(name="a comment", percent=0, edit=(Edit(file="hash.cc", after="int b;", insert="x"),))

    calls.campaign().run(project(calls.commit, "", wrong))

    tried = calls.campaign().tried(project(calls.commit, "", wrong))
    assert tried.failures == ("a comment: hash.cc has 0 times, not once: int b;",)
    assert (calls.place / "work/results/hashes/change-a-comment.old").exists()


@pytest.mark.integration
def test_a_project_file_that_cannot_be_committed_does_not_end_the_campaign(calls: Calls) -> None:
    # Git finds the lock of another command.
    calls.command.write_text("#!/bin/sh\n: > benchgate.yaml; mkdir .git/index.lock\n")

    calls.campaign().run(project(calls.commit))

    assert "git" in calls.campaign().tried(project(calls.commit)).failures[0]
