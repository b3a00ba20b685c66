from __future__ import annotations

import pytest

from service.domain.failures.known import Ends
from service.domain.project.project_file import Permission
from service.domain.values.errors import Permanent
from service.domain.wording import replies

ENDED = (
    "overridden on this patch set only: all that is known of the failed builds is how they ended, and many "
    "faults end like this"
)
BYE = Ends(("ended: bye",), may_match=True)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (replies.reply_to("cancel", replies.NO_RUN), "`cancel`: no run is in progress"),
        (replies.misspelt("cancel it", "write `cancel`"), "cancel it: write `cancel`"),
        (
            replies.not_enabled(Permission.RERUN),
            "not enabled: set `commands: {rerun: GROUP}` in benchgate.yaml",
        ),
        (replies.refused(Permanent("no group perf")), "refused: no group perf"),
        (replies.not_a_member("Ann\u202e", "perf"), "refused: Ann is not a member of perf"),
        (replies.outdated(3), "patch set 3 is outdated or its change is closed"),
        (replies.nothing_to_override(""), "there is no failed build to override"),
        (replies.nothing_to_override("unit"), "there is no failed build of unit to override"),
        (replies.nothing_to_accept([]), "the filter matches no slower or removed benchmark"),
        (
            replies.nothing_to_accept([*"abcdef"]),
            "the filter matches no slower or removed benchmark; these are a, b, c, d, e",
        ),
        (replies.no_measured_match("BM_\n"), "the filter BM_ matches no measured benchmark"),
        (
            replies.made_known(
                [], str, has_others=True, ends=[*[Ends(("ld returned 1",), may_match=False)] * 2, BYE]
            ),
            f"{ENDED}: ld returned 1; ended: bye",
        ),
        (
            replies.made_known([], str, has_others=True, ends=[BYE]),
            f"{ENDED}: ended: bye; to recognise the failure, add a pattern for it",
        ),
        (replies.made_known([], str, has_others=True), replies.NOTHING_KNOWN),
        (replies.too_many_pairs(1000), "a benchmark can have at most 1000 pairs"),
    ],
)
def test_each_reply_has_its_sentence(reply: str, expected: str) -> None:
    assert reply == expected
