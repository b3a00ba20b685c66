"""Executed instructions of functions and their costs, in real dumps and small ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.domain.measuring.callgrind_loop import Code, last_loop

if TYPE_CHECKING:
    from collections.abc import Collection

SAMPLES = Path(__file__).parents[3] / "samples" / "callgrind"
DUMPS = {side: (SAMPLES / "code" / f"{side}.out").read_bytes() for side in ("base", "patch")}
MISSES = {"base": 500_160, "patch": 504_390}  # of branches, as the caller has them
END = "desc: Trigger: --dump-before=benchmark::State::FinishKeepRunning()"


def code_of(
    dumps: bytes, function: str, columns: tuple[str, ...], callees: Collection[str] = ()
) -> tuple[Code, ...]:
    return last_loop(dumps).code(function, columns, callees)


def loop(*lines: str) -> bytes:
    return "\n".join(("# callgrind format", "part: 1", END, *lines, "totals: 1", "")).encode()


SMALL = (
    "positions: instr",
    "events: Ir D1mr",
    "ob=(1) /src/build/why",
    "fn=(1) push(int)",
    "0x100 4 1",
    "+4 4",
    "cob=(2) /lib/libc.so.6",
    "cfn=(2) malloc@@GLIBC_2.2.5",
    "calls=3 0x77",
    "* 90 6",
    "* 4 2",
    "cfn=(3) push(int)'2",
    "calls=2 0x100",
    "+4 50 5",
    "-4 1",
    "fn=(4) std::sort<int>(int)",
    "0x200 7",
    "fn=(5) push(char)",
    "0x300 9",
    "cfn=(4)",
    "calls=1 0x200",
    "+2 7",
)


@pytest.mark.parametrize(
    ("side", "executed"),
    [("base", {1: 11, 500: 13, 115: 1, 226: 7}), ("patch", {1: 12, 500: 19, 118: 1, 329: 7})],
)
def test_each_instruction_of_a_recorded_function_is_counted(side: str, executed: dict[float, int]) -> None:
    (code,) = code_of(DUMPS[side], "lib::look_up", ("Bcm",))
    calls = code.executed[min(code.executed)]
    assert code.path == "/src/build/why"
    assert Counter(count / calls for count in code.executed.values()) == executed
    assert sum(code.costs.values()) == MISSES[side]


def test_costs_of_a_library_are_those_of_the_instruction_that_calls_it() -> None:
    one, other = code_of(loop(*SMALL), "push", ("D1mr",))
    assert one.executed == {0x100: 5, 0x104: 8}
    assert +one.costs == {0x100: 1, 0x104: 8}, "own and malloc's misses, not those of the recursion"
    assert (one.name, other.name) == (b"push(int)", b"push(char)")


def test_costs_of_templates_of_the_standard_library_are_those_of_their_caller() -> None:
    _, other = code_of(loop(*SMALL), "push", ("Ir",))
    assert other.costs == {0x300: 9, 0x302: 7}


@pytest.mark.parametrize(
    "positions", [("+4", "+2", "+7", "+2"), ("0x1151", "0x1153", "0x1158", "0x115a")], ids=["relative", "not"]
)
def test_a_line_after_a_call_is_relative_to_the_line_before_it(positions: tuple[str, ...]) -> None:
    """Valgrind 3.19 wrote both, of a loop that began in this call (--compress-pos=yes and no)."""
    test, call, jump, end = positions
    called = f"{test} 2", "cfn=(2) begin()", "calls=0 -40", f"{call} 1 1", f"{jump} 1", f"{end} 1 0 1"
    (code,) = code_of(loop(*SMALL[:2], "fn=(1) outer()", "0x114d 2", *called), "outer", ("Ir",))
    assert code.executed == {0x114D: 2, 0x1151: 2, 0x1158: 1, 0x115A: 1}


def test_calls_are_counted_by_the_name_of_the_callee() -> None:
    (code, _) = code_of(loop(*SMALL), "push", (), {"malloc"})
    assert +code.costs == {0x104: 3}


@pytest.mark.parametrize(
    "lines",
    [
        ("events: Ir", "fn=(1) push(int)", "3 4"),
        ("positions: line", "events: Ir", "fn=(1) push(int)", "3 4"),
        ("positions: instr", "events: Ir", "fn=(1) 0x000000000040", "0x3 4"),
        ("positions: instr", "events: Ir", "0x3 4", "calls=", "fn=", "+x 1"),
    ],
)
def test_what_is_not_known_is_left_out(lines: tuple[str, ...]) -> None:
    assert code_of(loop(*lines), "push", ("Ir",)) == ()


def test_odd_positions_stay_in_range() -> None:
    (code,) = code_of(loop(*SMALL[:2], "fn=(1) f", "-9 1", "0xffffffffffffffff 1", "+9 1 1"), "f", ("Ir",))
    assert min(code.executed) == 0


def test_overloads_are_functions_of_their_own_and_libraries_have_no_code() -> None:
    found = last_loop(loop(*SMALL, "ob=(2)", "fn=(2)", "0x77 90")).code()
    assert [(each.name, each.executed) for each in found] == [
        (b"push(int)", {0x100: 5, 0x104: 8}),
        (b"std::sort<int>(int)", {0x200: 7}),
        (b"push(char)", {0x300: 9}),
    ]


@pytest.mark.parametrize("file", ["/src/build/w\0hy", "/" + "a" * 200_000], ids=["NUL", "long"])
def test_a_path_that_no_command_takes_is_unknown(file: str) -> None:
    lines = "positions: instr", "events: Ir", f"ob=(1) {file}", "fn=(1) push(int)", "0x100 4"
    (code,) = code_of(loop(*lines), "push", ("Ir",))
    assert (code.path, code.executed) == ("", {0x100: 4})
