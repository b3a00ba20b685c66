from __future__ import annotations

import pytest

from service.domain.errors import CommandFailed, Transient, Unfit
from service.domain.identity import Side
from service.domain.wording import build_causes

FAILED = "suite bench: exit code 139"


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (build_causes.unresponsive(3), "the machine stopped responding 3 times"),
        (
            build_causes.attempts_failed(3, Transient("git: no route to host")),
            "3 attempts failed, the last one with: git: no route to host",
        ),
        (build_causes.unfit(Unfit("no sandbox")), "the machine cannot run builds: no sandbox"),
        (
            build_causes.program_missing("program build/bench"),
            "neither the patch nor its parent makes program build/bench: check benchgate.yaml, or rebase",
        ),
        (
            build_causes.build_failed(Side.PATCH, CommandFailed("compile failed", "exit code 2")),
            "compile failed: exit code 2",
        ),
        (
            build_causes.build_failed(Side.BASE, CommandFailed("compile failed", "exit code 2")),
            "nothing to compare with: the parent does not build (compile failed: exit code 2)",
        ),
        (
            build_causes.side_failed(Side.PATCH, FAILED, is_same_program=False),
            "measured nothing: suite bench: exit code 139",
        ),
        (
            build_causes.side_failed(Side.BASE, FAILED, is_same_program=False),
            "nothing to compare with: the parent's benchmarks do not run (suite bench: exit code 139)",
        ),
        (
            build_causes.side_failed(Side.PATCH, FAILED, is_same_program=True),
            (
                "nothing to compare with: the program is identical on both sides, which does not run "
                "(suite bench: exit code 139)"
            ),
        ),
        (
            build_causes.parent_failed(FAILED),
            "measuring ended early because the parent failed (suite bench: exit code 139)",
        ),
        (
            build_causes.shared_cpus("bench", 3, 2, 4),
            (
                "suite bench needs 3 CPUs, but 2 are kept for measuring: "
                "it shared all 4 CPUs of the machine, which adds noise"
            ),
        ),
        (
            build_causes.too_few_cpus("bench", 5, 2),
            "suite bench needs 5 CPUs, but this machine measures on 2",
        ),
        (
            build_causes.layout_not_checked(build_causes.OUT_OF_MACHINE_TIME),
            (
                "slow-downs below 50 % were not confirmed on relinked programs: the machine time is used up; "
                "set `layout: off` in the policy to let them vote without this check"
            ),
        ),
        (
            build_causes.relink_failed(Side.BASE, FAILED),
            "the relinked program of the parent fails (suite bench: exit code 139)",
        ),
        (build_causes.relinks_short(["BM_a"]), "BM_a gave a result in too few pairs of a relink"),
        (
            build_causes.relinks_short(["BM_a", "BM_b", "BM_c"]),
            "BM_a and 2 more gave a result in too few pairs of a relink",
        ),
    ],
)
def test_each_cause_reads_as_recorded(cause: str, expected: str) -> None:
    assert cause == expected


def test_the_words_of_a_program_stay_on_one_bounded_line() -> None:
    text = "x\n\u202e" * 1000

    for cause in (
        build_causes.side_failed(Side.PATCH, text, is_same_program=False),
        build_causes.build_failed(Side.PATCH, CommandFailed(text, text)),
        build_causes.unfit(Unfit(text)),
        build_causes.layout_not_checked(text),
    ):
        assert len(cause) < 1000
        assert cause.isprintable()
