"""Copies of the sources that differ in one line, and the order in which their programs are launched."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.native.launching import Arm, in_random_order
from bench.native.trees import lay_out
from bench.native.variants import EXECUTOR, WORKLOADS, Workload

NATIVE = Path(__file__).parents[3] / "native"
ARMS = tuple(Arm(name, name) for name in "abc")


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda each: each.name)
def test_the_tree_selects_the_variant_of_before(workload: Workload) -> None:
    text = (NATIVE / workload.selecting_file).read_text()
    before, *others = workload.types
    assert workload.select(text, before) == text
    for other in others:
        changed = workload.select(text, other)
        differing = [
            pair for pair in zip(text.splitlines(), changed.splitlines(), strict=True) if len({*pair}) > 1
        ]
        ((was, becomes),) = differing
        assert was.endswith(f" = {workload.types[before]};")
        assert becomes.endswith(f" = {workload.types[other]};")


def test_a_file_that_selects_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="found 0"):
        EXECUTOR.select("using Other = MockTaskable;\n", "null_taskable")


@pytest.fixture
def native(tmp_path: Path) -> Path:
    native = tmp_path / "native"
    selecting = native / EXECUTOR.selecting_file
    selecting.parent.mkdir(parents=True)
    selecting.write_text("using SelectedTaskable = MockTaskable;\n")
    (native / "main.cpp").write_text("int main() {}\n")
    (native / "build/measure").mkdir(parents=True)
    (native / "build/measure/program").write_text("old")
    return native


def test_a_copy_has_its_line_and_no_builds(native: Path, tmp_path: Path) -> None:
    tree = lay_out(native, tmp_path / "work", EXECUTOR, "null_taskable")
    assert (tree / EXECUTOR.selecting_file).read_text() == "using SelectedTaskable = NullTaskable;\n"
    assert (tree / "main.cpp").read_text() == "int main() {}\n"
    assert not (tree / "build").exists()


def test_a_second_copy_touches_only_what_changed_and_keeps_its_build(native: Path, tmp_path: Path) -> None:
    (native / "gone.cpp").write_text("")
    tree = lay_out(native, tmp_path / "work", EXECUTOR, "null_taskable")
    built = tree / "build/measure/program"
    built.parent.mkdir(parents=True)
    built.write_text("ours")
    age = (tree / EXECUTOR.selecting_file).stat().st_mtime_ns
    (native / "gone.cpp").unlink()
    (native / "main.cpp").write_text("int main() { return 0; }\n")
    assert lay_out(native, tmp_path / "work", EXECUTOR, "null_taskable") == tree
    assert (tree / EXECUTOR.selecting_file).stat().st_mtime_ns == age
    assert (tree / "main.cpp").read_text() == "int main() { return 0; }\n"
    assert not (tree / "gone.cpp").exists()
    assert built.read_text() == "ours"


def test_every_round_launches_every_arm_once() -> None:
    order = list(in_random_order(ARMS, 20, seed=7))
    rounds = [order[at : at + 3] for at in range(0, 60, 3)]
    assert all(Counter(each) == Counter(ARMS) for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1


def test_the_order_follows_from_the_seed() -> None:
    assert list(in_random_order(ARMS, 9, seed=7)) == list(in_random_order(ARMS, 9, seed=7))
    assert list(in_random_order(ARMS, 9, seed=7)) != list(in_random_order(ARMS, 9, seed=8))
