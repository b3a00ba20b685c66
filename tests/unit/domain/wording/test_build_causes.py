from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.building.missing_downloads import MissingDownload
from service.domain.measuring.formats.program import ForeignProgram
from service.domain.runs.side_end import SideEnd, Stage
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput, CommandFailed, Transient, Unfit
from service.domain.values.identity import Side
from service.domain.wording import build_causes
from service.domain.wording.build_causes import sides_failed

FAILED = "suite bench: exit code 139"
NO_PROGRAM = SideEnd(Stage.PROGRAM, "program build/bench", "the build did not create it")
MOVED = SideEnd(Stage.PROGRAM, "program build/bench", "missing", elsewhere="build/bin/bench")
TOO_LARGE = SideEnd(Stage.PACK, "packing of the programs", "they have more than 8 GiB")
INCOMPLETE = SideEnd(Stage.CHECKOUT, "submodule lib", "URL at 1234: allow it")
UNCOMPILED = SideEnd(Stage.COMPILE, "compile failed", "src/x.cc:10: error: no")
OFFLINE = SideEnd(
    Stage.CONFIGURE,
    "configure failed",
    build_causes.not_downloaded(MissingDownload("https://example.org/fmt.git", "fmt")),
    misses_input=True,
)
CRASHES = SideEnd(Stage.LAUNCH, "suite bench", "exit code 139")
EMPTY = SideEnd(Stage.LISTING, "suite bench", "lists no benchmark", is_empty=True)
NO_TEST = SideEnd(Stage.LISTING, "suite unit", "runs no test", is_empty=True)


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
            build_causes.crashed(RecursionError("too deep")),
            (
                "Benchgate failed while it worked on the build (RecursionError: too deep); "
                "the log of the machine has more"
            ),
        ),
        (
            sides_failed(Outcome.MISCONFIGURED, NO_PROGRAM, NO_PROGRAM),
            "neither the patch nor its parent makes program build/bench: check benchgate.yaml, or rebase",
        ),
        (
            sides_failed(Outcome.MISCONFIGURED, MOVED, NO_PROGRAM),
            (
                "neither the patch nor its parent makes program build/bench, but build/bin/bench: name that "
                "one in benchgate.yaml"
            ),
        ),
        (
            build_causes.not_installed("CURL"),
            (
                "package CURL is not found: install it on the machines that build, or add it to "
                "`dependencies` in benchgate.yaml"
            ),
        ),
        (
            sides_failed(Outcome.MISCONFIGURED, EMPTY, EMPTY),
            "suite bench lists no benchmark on either side: check its filter in benchgate.yaml",
        ),
        (
            sides_failed(Outcome.MISCONFIGURED, TOO_LARGE, TOO_LARGE),
            "on both sides, packing of the programs: they have more than 8 GiB: check benchgate.yaml",
        ),
        (
            sides_failed(Outcome.MISCONFIGURED, OFFLINE, OFFLINE),
            (
                "configure failed: https://example.org/fmt.git cannot be downloaded, because builds have no "
                "network: add it as `fmt` to `dependencies` in benchgate.yaml"
            ),
        ),
        (
            sides_failed(Outcome.FAILED, OFFLINE, None),
            (
                "configure failed: https://example.org/fmt.git cannot be downloaded, because builds have no "
                "network: add it as `fmt` to `dependencies` in benchgate.yaml"
            ),
        ),
        (
            build_causes.not_downloaded(MissingDownload("")),
            (
                "a file cannot be downloaded, because builds have no network: add it to `dependencies` in "
                "benchgate.yaml"
            ),
        ),
        (
            build_causes.not_downloaded(MissingDownload("example.org", "zlib", is_external=True)),
            (
                "example.org cannot be downloaded, because builds have no network: ExternalProject takes "
                "nothing from `dependencies`, so switch zlib off by an option of the project, or let the "
                "project use FetchContent"
            ),
        ),
        (
            build_causes.unusable_dependency(BadInput("the server answers 404", "dependency fmt")),
            "dependency fmt: the server answers 404",
        ),
        (
            sides_failed(Outcome.MISCONFIGURED, CRASHES, CRASHES),
            (
                "suite bench fails on both sides (exit code 139): check its program, args, cwd, format and "
                "data in benchgate.yaml; it must use Google Benchmark, nanobench or Catch2"
            ),
        ),
        (
            sides_failed(Outcome.MISCONFIGURED, replace(CRASHES, program=ForeignProgram.CATCH2), CRASHES),
            (
                "suite bench fails on both sides (exit code 139): its program uses Catch2: set "
                "`format: catch2` in benchgate.yaml"
            ),
        ),
        (
            sides_failed(Outcome.MISCONFIGURED, CRASHES, CRASHES, are_tests=True),
            "suite bench fails on both sides (exit code 139): check its filter and args in benchgate.yaml",
        ),
        (
            sides_failed(Outcome.MISCONFIGURED, NO_TEST, NO_TEST, are_tests=True),
            "suite unit runs no test on either side: check its filter in benchgate.yaml",
        ),
        (
            sides_failed(Outcome.MEASURED_NOTHING, NO_TEST, None),
            "suite unit measured nothing: the patch runs no test",
        ),
        (
            sides_failed(Outcome.PARENT_BROKEN, INCOMPLETE, INCOMPLETE),
            "the sources of the parent are not complete either (submodule lib: URL at 1234: allow it)",
        ),
        (
            sides_failed(Outcome.PARENT_BROKEN, UNCOMPILED, UNCOMPILED),
            (
                "the parent does not build either (compile failed: src/x.cc:10: error: no): "
                "rebase onto a commit that builds"
            ),
        ),
        (
            sides_failed(Outcome.PARENT_BROKEN, None, UNCOMPILED),
            (
                "the parent, which is not merged, does not build (compile failed: src/x.cc:10: error: no): "
                "fix it first, or rebase"
            ),
        ),
        (
            sides_failed(Outcome.PARENT_BROKEN, None, CRASHES),
            (
                "the parent, which is not merged, does not run (suite bench: exit code 139): "
                "fix it first, or rebase"
            ),
        ),
        (
            sides_failed(Outcome.FAILED, UNCOMPILED, None),
            "compile failed: src/x.cc:10: error: no",
        ),
        (
            sides_failed(Outcome.NO_PARENT, None, UNCOMPILED),
            ("nothing to compare with: the parent does not build (compile failed: src/x.cc:10: error: no)"),
        ),
        (
            sides_failed(Outcome.NO_PARENT, None, None),
            "nothing to compare with: the commit has no parent",
        ),
        (
            sides_failed(Outcome.MEASURED_NOTHING, EMPTY, None),
            "suite bench measured nothing: the patch lists no benchmark",
        ),
        (
            sides_failed(Outcome.MEASURED_NOTHING, CRASHES, None),
            "measured nothing: suite bench: exit code 139",
        ),
        (
            sides_failed(Outcome.NO_PARENT, None, CRASHES),
            "nothing to compare with: the parent does not run (suite bench: exit code 139)",
        ),
        (
            sides_failed(Outcome.INFRASTRUCTURE, CRASHES, None),
            (
                "the program is identical on both sides; it ran as the parent and fails as the patch "
                "(suite bench: exit code 139)"
            ),
        ),
        (
            build_causes.lost_after_rehearsal(Side.BASE, FAILED),
            "the parent ran before the patch did, and fails since (suite bench: exit code 139)",
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
            build_causes.layout_not_checked("no linker"),
            (
                "slow-downs below 100 % were not confirmed on relinked programs: no linker; "
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
        (
            build_causes.opens_others("bench", ["data/keys.h", "page.md"]),
            (
                "suite bench has identical binaries and is measured nevertheless: its launches open files "
                "that differ: data/keys.h, page.md"
            ),
        ),
        (
            build_causes.opens_unknown("bench", "the kernel does not report which files are opened"),
            (
                "suite bench has identical binaries and is measured nevertheless: the files that its "
                "launches open cannot be compared: the kernel does not report which files are opened"
            ),
        ),
    ],
)
def test_each_cause_reads_as_recorded(cause: str, expected: str) -> None:
    assert cause == expected


def test_the_words_of_a_program_stay_on_one_bounded_line() -> None:
    text = "x\n\u202e" * 1000

    for cause in (
        build_causes.side_failed(Side.PATCH, text),
        sides_failed(Outcome.MISCONFIGURED, SideEnd(Stage.LAUNCH, text, text), None),
        build_causes.build_failed(Side.PATCH, CommandFailed(text, text)),
        build_causes.unfit(Unfit(text)),
        build_causes.layout_not_checked(text),
        build_causes.opens_others(text, [text, text, text, text]),
        build_causes.opens_unknown(text, text),
    ):
        assert len(cause) < 1000
        assert cause.isprintable()


@pytest.mark.parametrize("program", ForeignProgram)
def test_each_recognised_program_has_a_sentence_that_says_what_to_do(program: ForeignProgram) -> None:
    cause = sides_failed(Outcome.MISCONFIGURED, replace(CRASHES, program=program), CRASHES)

    assert "fails on both sides (exit code 139): " in cause
    assert "benchgate.yaml" in cause
