"""Run the installed clang-tidy and static analyzer in the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.domain.building.findings import Finding
from service.domain.failures.failure import FailureKind
from service.domain.runs.vote import Outcome
from tests.support.kinds.linted import lint, patch_set

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from service.domain.runs.machine_report import MachineReport

pytestmark = pytest.mark.integration

CONFIGURE = """\
mkdir -p build && { echo '['
for unit in $(find src -name '*.cc'); do
    echo "$comma {\\"directory\\": \\"/src/build\\", \\"file\\": \\"/src/$unit\\","
    echo "\\"command\\": \\"c++ -std=c++20 FLAGS -I/src/include -c /src/$unit\\"}"
    comma=,
done
echo ']'; } > build/compile_commands.json
"""
HEADER = "include/lib/value.h"
BASE = {
    ".clang-tidy": "Checks: '-*,modernize-use-nullptr,clang-analyzer-*'\nWarningsAsErrors: '*'\n",
    HEADER: "#pragma once\ninline int* old() { return 0; }\n",
    "src/a.cc": '#include "lib/value.h"\nint* a() { return 0; }\n',
    "src/b.cc": "#include <lib/value.h>\nint* b() { return 0; }\n",
    "src/c.cc": "int* c() { return 0; }\n",
}
NULLPTR = "warning: use nullptr [modernize-use-nullptr]"
DEREFERENCE = "Dereference of null pointer (loaded from variable 'p') [clang-analyzer-core.NullDereference]"


def run(
    tmp_path: Path, after: Mapping[str, str], kind: str = "clang-tidy", *, flags: str = "", **keys: object
) -> MachineReport:
    keys = {"build": {"configure": CONFIGURE.replace("FLAGS", flags)}, **keys}
    return lint(kind, patch_set(BASE, {**BASE, **after}), BubblewrapSandbox(), tmp_path, **keys)


def test_findings_on_touched_lines_of_a_unit_fail_the_build(tmp_path: Path) -> None:
    report = run(tmp_path, {"src/a.cc": BASE["src/a.cc"] + "int* more() { return 0; }\n"})

    assert report.outcome is Outcome.FAILED
    assert report.causes == ("src/a.cc:3: use nullptr [modernize-use-nullptr]",)
    assert report.findings == (Finding("src/a.cc", 3, NULLPTR),)
    (failure,) = report.failures
    assert (failure.kind, failure.subject, failure.headline, failure.place) == (
        FailureKind.LINT,
        "src/a.cc",
        "use nullptr [modernize-use-nullptr]",
        "src/a.cc:3",
    )
    assert "LLVM" in report.conditions["tools"]["clang-tidy"]


def test_a_finding_in_a_header_is_reported_once(tmp_path: Path) -> None:
    report = run(tmp_path, {HEADER: BASE[HEADER] + "inline int* more() { return 0; }\n"})

    assert report.causes == (f"{HEADER}:3: use nullptr [modernize-use-nullptr]",)


def test_findings_on_untouched_lines_do_not_count(tmp_path: Path) -> None:
    after = {
        "src/a.cc": BASE["src/a.cc"] + "int more() { return 0; }\n",
        HEADER: BASE[HEADER] + "// more\n",
    }
    report = run(tmp_path, after)

    assert (report.outcome, report.causes) == (Outcome.PASSED, ())


def test_the_analyzer_runs_its_own_checks_only(tmp_path: Path) -> None:
    # It analyses functions of headers when a function of the unit calls them.
    lines = "inline int more(int* p) {\n  if (p == 0) return *p;\n  return 1;\n}\n"
    call = BASE["src/a.cc"] + "int call(int* p) { return more(p); }\n"
    report = run(tmp_path, {HEADER: BASE[HEADER] + lines, "src/a.cc": call}, "clang-analyzer")

    assert report.outcome is Outcome.FAILED
    assert report.causes == (f"{HEADER}:4: {DEREFERENCE}",)


def test_an_error_in_a_changed_file_fails_the_build(tmp_path: Path) -> None:
    report = run(tmp_path, {"src/c.cc": BASE["src/c.cc"] + "int c2() { return unknown_name; }\n"})

    assert report.outcome is Outcome.FAILED
    assert report.causes == (
        "Compile error at src/c.cc:2: error: use of undeclared identifier 'unknown_name'",
    )


def test_a_flag_that_clang_does_not_know_is_a_misconfiguration(tmp_path: Path) -> None:
    report = run(tmp_path, {"src/c.cc": "int c3;\n"}, flags="-fno-canonical-system-headers")

    assert report.outcome is Outcome.MISCONFIGURED
    assert "error: unknown argument: '-fno-canonical-system-headers'" in report.causes[0]
    assert report.causes[0].endswith("; configure the job for Clang (CC=clang CXX=clang++)")


def test_a_header_that_the_build_does_not_generate_is_a_misconfiguration(tmp_path: Path) -> None:
    include = '#include "generated.h"\n'
    base = {**BASE, "src/c.cc": include}
    source = patch_set(base, {**base, "src/c.cc": include + "int c4;\n"})
    report = lint("clang-tidy", source, BubblewrapSandbox(), tmp_path, build={"configure": CONFIGURE})

    assert report.outcome is Outcome.MISCONFIGURED
    assert (
        "'generated.h' file not found; if the build generates the file, let `compile` do so"
        in (report.causes[0])
    )


def test_a_build_without_compile_commands_is_a_misconfiguration(tmp_path: Path) -> None:
    report = run(tmp_path, {"src/c.cc": "int c5;\n"}, build={"configure": "true"})

    assert report.outcome is Outcome.MISCONFIGURED
    assert report.causes[0].startswith("build/compile_commands.json cannot be used (")
    assert "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON" in report.causes[0]


def test_a_configure_command_that_fails_fails_the_build(tmp_path: Path) -> None:
    report = run(
        tmp_path, {"src/c.cc": "int c6;\n"}, build={"configure": "! grep -q c6 src/c.cc || make nothing"}
    )

    assert (report.outcome, report.causes) == (
        Outcome.FAILED,
        ("make: *** No rule to make target 'nothing'.  Stop.",),
    )


def test_a_source_without_a_unit_is_named(tmp_path: Path) -> None:
    report = run(tmp_path, {"windows.cc": "int* w() { return 0; }\n"})

    assert (report.outcome, report.causes) == (
        Outcome.PASSED,
        ("not checked, because compile_commands.json has no unit that includes them: windows.cc",),
    )


def test_a_tool_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    loop = "constexpr int f() { int n = 0; for (long i = 0; i < 1000000000; ++i) ++n; return n; }\n"
    after = {"src/c.cc": f"{loop}static_assert(f());\n"}
    report = run(tmp_path, after, flags="-fconstexpr-steps=2147483647", timeout="2s")

    assert report.outcome is Outcome.MISCONFIGURED
    assert "limit on wall time; raise `timeout` of the job" in report.causes[0]
