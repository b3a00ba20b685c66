"""Configured patterns over the log of a failed build."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.building.logs.stored_log import LogPart, StoredLog
from service.domain.failures.configured import NO_PATTERNS, read_patterns
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.output.ends import is_specific
from service.domain.project.job_kinds import JobKind
from service.domain.runs.machine_report import PATCH_BUILT, MachineReport
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Transient
from service.steps.failures import configured_failures
from service.steps.failures.configured_failures import Search, with_configured
from service.steps.runs.analyse import analyse
from tests.support.memory.files import MemoryArtifacts
from tests.support.memory.store import MemoryStore
from tests.support.runs.finished import Farm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.ports.store import Transaction

PATTERNS = read_patterns("device: '^fatal: device (?P<subject>[a-z]+) is lost'", "patterns.yaml")
LOST = "0" * 64
LOG = b"make\nfatal: device b is lost\nfatal: device a is lost\n"
END = Failure(FailureKind.COMMAND, "nightly", "exit code 3", "nightly ended with exit code 3: bye")
LOST_A = Failure(
    FailureKind.CONFIGURED, "a", "device: fatal: device a is lost", "device: fatal: device a is lost"
)
OWN = Failure(FailureKind.TEST, "t", "Failed", "Failure of a CTest test 1/1 Test #1: t")


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    farm = Farm(tmp_path)
    farm.review()
    return farm


def log_in(farm: Farm, text: bytes) -> StoredLog:
    return StoredLog("1", (LogPart(0, 0, len(text), farm.artifacts.put(text)),))


def stored(key: str) -> Search:
    return Search(PATTERNS, lambda *_: StoredLog("1", (LogPart(0, 0, len(LOG), key),)))


def reported(farm: Farm, report: MachineReport, log: StoredLog | None = None) -> MachineReport:
    farm.report(report)
    log = log or log_in(farm, LOG)
    found = with_configured(farm.service.store, farm.artifacts, 1, Search(PATTERNS, lambda *_: log))
    assert found is not None
    return found


def test_its_failures_come_behind_those_of_the_machine_with_their_causes(farm: Farm) -> None:
    found = reported(farm, MachineReport(Outcome.FAILED, ("ctest ended with 8",), failures=(OWN,)))
    assert [(each.kind, each.subject) for each in found.failures] == [
        (FailureKind.TEST, "t"),
        (FailureKind.CONFIGURED, "b"),
        (FailureKind.CONFIGURED, "a"),
    ]
    assert found.causes == (
        "ctest ended with 8",
        "device: fatal: device b is lost",
        "device: fatal: device a is lost",
    )
    assert not found.is_cut


def built(causes: tuple[str, ...], *failures: Failure) -> MachineReport:
    seconds = {PATCH_BUILT: 1.0}
    return MachineReport(Outcome.FAILED, causes, failures=failures, seconds=seconds)


def of_command(headline: str) -> Failure:
    return Failure(FailureKind.COMMAND, "", headline, headline)


def of_kind(farm: Farm, kind: str) -> None:
    farm.service.store.update(1, kind=JobKind(kind))


@pytest.mark.parametrize(
    "end",
    [
        END,
        Failure(FailureKind.COMMAND, "all", "Error 2", "make: *** [all] Error 2"),
        Failure(
            FailureKind.LINK, "", "linker failed", "Linker error: collect2: error: ld returned 1 exit status"
        ),
    ],
)
def test_a_commands_mere_end_is_replaced_by_what_the_patterns_find(farm: Farm, end: Failure) -> None:
    of_kind(farm, "command")
    log = log_in(farm, b"fatal: device a is lost\n")
    found = reported(farm, built((end.line, "a note"), end), log)
    assert found.failures == (LOST_A,)
    assert found.causes == ("a note", LOST_A.line)
    assert is_specific(LOST_A)


def test_a_pattern_for_the_line_of_the_end_itself_replaces_it(farm: Farm) -> None:
    of_kind(farm, "command")
    end = Failure(FailureKind.COMMAND, "", LOST_A.line.removeprefix("device: "), LOST_A.line[8:])
    log = log_in(farm, b"fatal: device a is lost\n")
    found = reported(farm, built((end.line,), end), log)
    assert (found.failures, found.causes) == ((LOST_A,), (LOST_A.line,))


@pytest.mark.parametrize(
    ("kind", "failures", "is_cut"),
    [
        ("ctest", (END,), False),  # tests may have failed that the patterns do not know
        ("command", (OWN,), False),
        ("command", (OWN, END), False),
        ("command", (END,), True),
        ("command", (Failure(FailureKind.TIMEOUT, "", "timeout", "nightly was stopped after 9 s"),), False),
        ("command", (Failure(FailureKind.SANITIZER, "", "AddressSanitizer: SEGV"),), False),
        # other faults may end a command like this, whatever a pattern finds before them
        ("command", (of_command("AssertionError: lists differ"),), False),
        ("command", (of_command("ld: a.o: No space left on device"),), False),
        ("command", (of_command("exit code 139"),), False),
        (
            "command",
            (Failure(FailureKind.COMPILE, "", "error: unable to execute command: Bus error"),),
            False,
        ),
    ],
)
def test_other_failures_are_not_replaced(
    farm: Farm, kind: str, failures: tuple[Failure, ...], *, is_cut: bool
) -> None:
    of_kind(farm, kind)
    found = reported(farm, replace(built(("because",), *failures), is_cut=is_cut))
    assert found.failures[: len(failures)] == failures
    assert len(found.failures) == len(failures) + 2
    assert found.causes[0] == "because"


def test_the_end_of_an_unbuilt_patch_is_not_replaced(farm: Farm) -> None:
    """The command never ran, so its patterns do not say why."""
    of_kind(farm, "command")
    report = MachineReport(Outcome.FAILED, (END.line,), failures=(END,))
    assert reported(farm, report).failures[0] == END


def test_the_end_of_a_command_stays_if_no_pattern_matches(farm: Farm) -> None:
    of_kind(farm, "command")
    log = log_in(farm, b"bye\n")
    report = built((END.line,), END)
    assert reported(farm, report, log) == report


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.FAILED])
def test_a_build_that_did_not_fail_is_not_searched(farm: Farm, outcome: Outcome) -> None:
    report = MachineReport(outcome, ("because",))
    assert reported(farm, report) == report


def test_a_list_that_the_machine_cut_stays_cut(farm: Farm) -> None:
    assert reported(farm, MachineReport(Outcome.FAILED, is_cut=True)).is_cut


def test_only_the_first_lines_of_an_overlong_log_are_searched(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configured_failures, "_MOST_LINES", 2)
    found = reported(farm, MachineReport(Outcome.FAILED))
    assert [each.subject for each in found.failures] == ["b"]
    assert found.is_cut


def test_a_log_of_as_many_lines_as_are_searched_is_complete(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configured_failures, "_MOST_LINES", 3)
    assert not reported(farm, MachineReport(Outcome.FAILED)).is_cut


def test_a_lost_log_makes_the_list_incomplete_and_the_build_still_fails(farm: Farm) -> None:
    """Otherwise known failures in the list would waive a build although nobody can read the others."""
    found = reported(
        farm,
        MachineReport(Outcome.FAILED, ("because",), failures=(OWN,)),
        StoredLog("1", (LogPart(0, 0, 9, LOST),)),
    )
    assert (found.outcome, found.failures, found.is_cut) == (Outcome.FAILED, (OWN,), True)


def test_a_log_without_its_middle_makes_the_list_incomplete(farm: Farm) -> None:
    parts = (LogPart(0, 0, 9, data=b"x\nfatal: "), LogPart(50, 9, 17, data=b"device b is lost\n"))
    found = reported(farm, MachineReport(Outcome.FAILED), StoredLog("1", parts))
    assert (found.failures, found.is_cut) == ((), True)


def test_a_line_may_lie_in_two_parts(farm: Farm) -> None:
    parts = (
        LogPart(0, 0, 9, data=b"x\nfatal: "),
        LogPart(9, 1, 17, farm.artifacts.put(b"device b is lost\n")),
    )
    found = reported(farm, MachineReport(Outcome.FAILED), StoredLog("1", parts))
    assert [each.subject for each in found.failures] == ["b"]
    assert not found.is_cut


def test_a_build_without_a_log_has_the_failures_of_the_machine(farm: Farm) -> None:
    found = reported(farm, MachineReport(Outcome.FAILED, failures=(OWN,)), StoredLog("1", ()))
    assert (found.failures, found.is_cut) == ((OWN,), False)


class _OutOfReach(MemoryArtifacts):
    def stream(self, key: str) -> Iterator[bytes]:
        raise Transient(f"{key} cannot be read now")


def test_a_log_that_cannot_be_read_now_is_read_again_later(farm: Farm) -> None:
    farm.report(MachineReport(Outcome.FAILED))
    before = repr(farm.service.store.memory)
    with pytest.raises(Transient):
        analyse(farm.service.store, _OutOfReach(), 1, stored(LOST))
    assert repr(farm.service.store.memory) == before


@pytest.mark.parametrize(
    "search", [None, Search(NO_PATTERNS, lambda *_: StoredLog("1", (LogPart(0, 0, 9, LOST),)))]
)
def test_without_patterns_no_log_is_read(farm: Farm, search: Search | None) -> None:
    farm.report(MachineReport(Outcome.FAILED))
    found = with_configured(farm.service.store, farm.artifacts, 1, search)
    assert found is not None
    assert not found.is_cut


def test_the_log_is_read_outside_of_a_transaction(farm: Farm) -> None:
    """A transaction that reads a log for seconds would keep the build locked."""
    open_now, seen = [0], []

    class Watched(MemoryStore):
        @contextmanager
        def transaction(self) -> Iterator[Transaction]:
            open_now[0] += 1
            with super().transaction() as tx:
                yield tx
            open_now[0] -= 1

    class Read(MemoryArtifacts):
        def stream(self, key: str) -> Iterator[bytes]:
            seen.append(open_now[0])
            return super().stream(key)

    artifacts, store = Read(), Watched()
    store.memory = farm.service.store.memory
    farm.report(MachineReport(Outcome.FAILED))
    analyse(store, artifacts, 1, stored(artifacts.put(LOG)))
    assert set(seen) == {0}
    assert store.memory.builds[0].causes[0] == "device: fatal: device b is lost"
