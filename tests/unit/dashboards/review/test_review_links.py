from __future__ import annotations

from dashboards.rendering import ReviewLinks


def test_a_hostile_project_or_revision_stays_inside_the_address() -> None:
    links = ReviewLinks("https://review.example.com/gerrit/")
    assert links.patch_set('a/b "?#', 7, 2) == "https://review.example.com/gerrit/c/a/b%20%22%3F%23/+/7/2"
    assert links.patch_set("kv", 7, None) == "https://review.example.com/gerrit/c/kv/+/7"
    assert links.commit("../x") == "https://review.example.com/gerrit/q/..%2Fx"


def test_the_console_has_no_addresses() -> None:
    links = ReviewLinks("")
    assert (links.patch_set("kv", 7, 2), links.commit("a" * 40)) == ("", "")
