from __future__ import annotations

import json
from dataclasses import replace

import pytest

from service.domain.building.spec import BuildSpec, Revision
from service.domain.project.project_file import Commands, Permission, parse_job
from service.domain.sources.workspace import OtherProject, Workspace
from service.domain.values.identity import RunKind

CONFIG = {
    "kind": "benchmark",
    "suites": [{"name": "a", "program": "build/a"}],
    "policy": {"probation": False},
}
BASE = Revision("b" * 40, "t1", "refs/changes/01/1/1", "reviewed")
PATCH = Revision("p" * 40, "t2", "refs/changes/01/1/1", "unreviewed")
SPEC = BuildSpec(RunKind.CHECK, "gerrit", "kv", "master", BASE, PATCH, parse_job("perf", CONFIG))

ALL = Workspace("https://h/m", "c" * 40, "core", (OtherProject("net", "https://h/net", "d" * 40),))
MOVED = replace(ALL, others=(replace(ALL.others[0], commit="e" * 40),))


@pytest.mark.parametrize(
    "spec",
    [
        SPEC,
        replace(SPEC, workspace=ALL),
        replace(SPEC, base=None, commands=Commands(rerun="perf")),
        replace(SPEC, filter="BM_a"),
        replace(SPEC, claimed_names=("BM_a", "BM_b")),
    ],
)
def test_a_spec_survives_the_database(spec: BuildSpec) -> None:
    again = BuildSpec.from_mapping(json.loads(json.dumps(spec.to_mapping())))

    assert again == spec
    assert again.sequence == spec.sequence


def test_a_spec_of_a_previous_version_names_permissions_without_their_groups() -> None:
    old = {**SPEC.to_mapping(), "permissions": ["rerun"]}
    new = replace(SPEC, commands=Commands(rerun="perf", override="owners")).to_mapping()

    assert BuildSpec.from_mapping(old).commands == Commands(rerun="")
    assert BuildSpec.from_mapping(old).commands.granted == (Permission.RERUN,)
    assert new["permissions"] == ["rerun", "override"]  # a previous version reads these


@pytest.mark.parametrize(
    "other",
    [
        replace(SPEC, base=None),
        replace(SPEC, base=replace(BASE, tree="t0")),
        replace(SPEC, patch=replace(PATCH, tree="t0")),
        replace(SPEC, job=parse_job("perf", {**CONFIG, "instructions": "report"})),
        replace(SPEC, job=parse_job("other", CONFIG)),
        replace(SPEC, project="other"),
        replace(SPEC, kind=RunKind.CALIBRATION),
        replace(SPEC, workspace=ALL),
    ],
)
def test_a_setting_that_changes_the_measurement_starts_a_new_sequence(other: BuildSpec) -> None:
    assert other.sequence != SPEC.sequence


def test_a_new_patch_set_with_the_same_trees_continues_the_sequence() -> None:
    again = replace(SPEC, patch=replace(PATCH, commit="q" * 40, ref="refs/changes/01/1/2"))

    assert again.sequence == SPEC.sequence


def test_claims_change_no_sequence_and_a_spec_without_them_is_as_before() -> None:
    claimed = replace(SPEC, claimed_names=("BM_a",))

    assert (claimed.sequence, claimed.shared_sequence) == (SPEC.sequence, SPEC.shared_sequence)
    assert "claimed_names" not in SPEC.to_mapping()


def test_a_merged_commit_continues_the_pairs_of_its_check() -> None:
    again = replace(SPEC, kind=RunKind.POST_SUBMIT, patch=replace(PATCH, commit="m" * 40, ref=""))
    of_tests = replace(SPEC, job=parse_job("unit", {"kind": "ctest", "pool": "perf"}))

    assert again.sequence == SPEC.sequence
    assert replace(of_tests, kind=RunKind.POST_SUBMIT).sequence != of_tests.sequence


def test_a_moved_repository_beside_the_project_makes_other_pairs_and_programs() -> None:
    before, after = replace(SPEC, workspace=ALL), replace(SPEC, workspace=MOVED)

    assert before.sequence != after.sequence
    assert len({SPEC.build_hash, before.build_hash, after.build_hash}) == 3
    assert SPEC.build_hash == SPEC.job.build_hash  # programs of earlier versions stay in the cache
