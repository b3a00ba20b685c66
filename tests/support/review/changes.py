"""Changes of a review server, and a service that follows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from service.domain.review.change import Change, ChangeStatus, PatchSet, Person
from service.domain.review.links import Links
from service.domain.values.identity import ChangeKey, RunKind
from service.steps.review.deliver import deliver_reviews
from service.steps.review.look_at_change import handle_event, look_at_change
from service.steps.review.reconcile import reconcile
from service.steps.review.run_comment_commands import run_comment_commands
from service.steps.runs.finish_run import finish_run
from service.steps.runs.plan_run import plan_run
from tests.support.building.memory_source import CODE, MemorySource, code
from tests.support.fakes import FakeReviewServer
from tests.support.memory.state import NOW
from tests.support.memory.store import MemoryStore

if TYPE_CHECKING:
    from service.domain.runs.states import RunState

KEY = ChangeKey("gerrit", 7)
LINKS = Links("https://bench.example.com/")
PROJECT_FILE = """\
version: 1
label: Performance
jobs:
  perf:
    kind: benchmark
    paths: ["bench.json", "src/"]
    build: {configure: "", compile: make}
    suites: [{name: bench, program: build/bench}]
    policy: {probation: off, layout: off}
"""


def change_at(number: int, *, minutes: int = 0, **other: Any) -> Change:  # noqa: ANN401 - any field of a change
    """Make the change with a patch set of the given number."""
    values: dict[str, Any] = {
        "key": KEY,
        "project": "kv",
        "branch": "master",
        "change_id": "I7",
        "subject": "Speed up",
        "status": ChangeStatus.NEW,
        "updated": NOW + timedelta(minutes=number * 10 + minutes),
        "current": PatchSet(number, f"patch{number}", f"refs/changes/07/7/{number}", ("parent",)),
        "owner": Person("Alice"),
    }
    return Change(**values | other)


def project(text: str | None = PROJECT_FILE, **files: str) -> MemorySource:
    """Make a repository with a parent on its branch, and two slower patch sets."""
    source = MemorySource()
    content = {CODE: code(BM_a=1e-6, BM_b=2e-6), **files} | ({} if text is None else {"benchgate.yaml": text})
    source.commit("root", None, content)
    source.commit("parent", "root", content, "refs/heads/master")
    for number in (1, 2):
        slower = {**content, CODE: code(BM_a=1e-6 * (1 + number / 10), BM_b=2e-6)}
        source.commit(f"patch{number}", "parent", slower, f"refs/changes/07/7/{number}")
    return source


@dataclass
class Service:
    """The control plane with an in-memory store and a fake review server."""

    store: MemoryStore = field(default_factory=MemoryStore)
    server: FakeReviewServer = field(default_factory=FakeReviewServer)
    source: MemorySource = field(default_factory=project)

    def see(self, change: Change) -> None:
        """Put a change on the server, and look at it."""
        self.server.put(change)
        look_at_change(self.store, self.server, change.key)

    def plan(self, run_id: int = 1) -> None:
        plan_run(self.store, self.server, self.source, run_id, LINKS.run(run_id))

    def vote(self, run_id: int = 1) -> None:
        finish_run(self.store, LINKS, run_id)

    def deliver(self) -> int:
        """Post the due reviews, and return their number."""
        return deliver_reviews(self.store, self.store, self.server)

    def reconcile(self, *, is_full: bool = False) -> int | None:
        """Reconcile, and handle the resulting events."""
        queued = reconcile(self.store, self.server, is_full=is_full)
        for number, event in enumerate(self.store.memory.events, 1):
            if not event.is_handled:
                handle_event(self.store, self.server, number)
        return queued

    def run_comment_commands(self) -> list[str]:
        """Run the commands of pending comments, and return the new reviews with their labels."""
        memory, before = self.store.memory, len(self.store.memory.reviews)
        for comment in [comment for comment in memory.comment if comment.is_pending]:
            run_comment_commands(self.store, self.server, self.source, LINKS, comment.id)
        queued = [stored.review for stored in memory.reviews.values()][before:]
        return [f"{dict(review.labels)} {review.message}" for review in queued]

    def runs(self, kind: RunKind = RunKind.CHECK) -> list[tuple[str, RunState]]:
        """List revision and state of the runs of a kind."""
        return [(run.revision, run.state) for run in self.store.memory.runs if run.kind is kind]
