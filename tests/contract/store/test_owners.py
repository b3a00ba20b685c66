"""From the project file to the notices: whom Benchgate tells of a slower commit, on each store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.domain.trunk.notice import Channel
from service.steps.runs.finish_run import finish_run
from service.steps.runs.plan_run import plan_run
from tests.support.building.memory_source import MemorySource
from tests.support.fakes import FakeReviewServer
from tests.support.review.changes import LINKS
from tests.support.store_samples import post_submit_run
from tests.support.trunk import SLOWER, finish, key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.contract.store.sites import StoreSite

PROJECT_FILE = """\
version: 1
label: Verified
jobs:
  cv-perf:
    kind: benchmark
    build: {configure: "", compile: make}
    suites: [{name: executor, program: build/executor}]
"""
ANN, BOB = "ann@example.com", "bob@example.com"


@dataclass
class Branch:
    """A branch whose every commit makes ``BM_a`` slower."""

    site: StoreSite
    source: MemorySource = field(default_factory=MemorySource)
    tip: str | None = None

    def push(self, revision: str, owners: str, **changed: str) -> Sequence[str]:
        """Push a commit with these owners and files, and measure it; return whom its mails go to."""
        before = self.source.commits[self.tip].files if self.tip else {}
        files = {**before, "benchgate.yaml": PROJECT_FILE + owners, **changed}
        self.tip = self.source.commit(revision, self.tip, files, "refs/heads/master")
        store = self.site.store
        with store.transaction() as tx:
            run_id = tx.runs.add(post_submit_run(revision))
            assert run_id is not None
        plan_run(store, FakeReviewServer(), self.source, run_id, LINKS.run(run_id))
        with store.transaction() as tx:
            run = tx.runs.lock(run_id)
            [build] = tx.builds.of_run(run_id)
            finish(tx, build.id, run.kind, {key("BM_a"): SLOWER})
        finish_run(store, LINKS, run_id)
        mails = [each for each in self.site.notices.due_notices() if each.recipient.channel is Channel.MAIL]
        return [each.recipient.address for each in mails if each.run_id == run_id]


def branch(site: StoreSite) -> Branch:
    """A branch with one commit that nobody owns."""
    made = Branch(site)
    assert made.push("1" * 40, "", src="int a;") == []
    return made


def test_the_owners_of_a_changed_path_get_a_mail_and_those_of_others_none(site: StoreSite) -> None:
    owners = f"    path_owners: {{src: [{ANN}], docs: [{BOB}]}}\n"
    assert branch(site).push("2" * 40, owners, src="int b;") == [ANN]


def test_an_owner_who_left_the_project_file_gets_no_further_mail(site: StoreSite) -> None:
    master = branch(site)
    owners = f"    owners: {{BM_a: [{ANN}, {BOB}]}}\n    path_owners: {{src: [{ANN}]}}\n"
    assert master.push("2" * 40, owners, src="int b;") == [ANN, BOB]
    assert master.push("3" * 40, f"    owners: {{BM_a: [{BOB}]}}\n", src="int c;") == [BOB]


def test_an_owner_of_a_benchmark_and_of_a_path_gets_one_mail(site: StoreSite) -> None:
    owners = f"    owners: {{BM_a: [{ANN}]}}\n    path_owners: {{src: [{ANN}], 's*': [{ANN}]}}\n"
    assert branch(site).push("2" * 40, owners, src="int b;") == [ANN]
