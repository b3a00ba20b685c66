from __future__ import annotations

from typing import Final

import pytest

from service.domain.access.caller import Role, role_of

GROUPS: Final = {Role.REVIEWER: ["perf", "core"], Role.OPERATOR: ["ops"]}
CLOSED: Final = {Role.READER: ["staff"], **GROUPS}


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        ([], Role.READER),
        (["unknown"], Role.READER),
        (["core"], Role.REVIEWER),
        (["ops"], Role.OPERATOR),
        (["perf", "ops", "unknown"], Role.OPERATOR),
        (["Ops"], Role.READER),
        (["ops "], Role.READER),
        ([""], Role.READER),
    ],
)
def test_the_highest_role_of_all_groups_counts(groups: list[str], role: Role) -> None:
    assert role_of(groups, GROUPS) is role


@pytest.mark.parametrize(
    ("groups", "role"), [([], None), (["unknown"], None), (["staff"], Role.READER), (["ops"], Role.OPERATOR)]
)
def test_with_groups_for_readers_others_may_not_sign_in(groups: list[str], role: Role | None) -> None:
    assert role_of(groups, CLOSED) is role


def test_without_any_groups_everybody_reads_and_nobody_acts() -> None:
    assert role_of(["ops", "perf"], {}) is Role.READER
