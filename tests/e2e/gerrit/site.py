"""A Benchgate that votes on a real Gerrit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from tests.e2e.conftest import RunningSite

if TYPE_CHECKING:
    from tests.e2e.gerrit.server import GerritServer, Proposal

_BUILDS: Final = """
SELECT count(DISTINCT run_build.build_id) FROM run_build JOIN run ON run.id = run_build.run_id
JOIN patch_set ON patch_set.id = run.patch_set_id JOIN change ON change.id = patch_set.change_id
WHERE change.number = :number
"""


class GerritSite(RunningSite):
    """A Benchgate that votes on a real Gerrit."""

    gerrit: GerritServer

    def posted(self, number: int) -> list[dict[str, Any]]:
        """Benchgate's messages on a change, oldest first."""
        messages = self.gerrit.rest("admin", "GET", f"/changes/{number}/messages")
        return [message for message in messages if message.get("author", {}).get("username") == "buildbot"]

    def remarks(self, number: int) -> dict[str, list[tuple[str, int, bool]]]:
        """Text, line and resolution of the comments on a change's files."""
        by_path = self.gerrit.rest("admin", "GET", f"/changes/{number}/comments")
        return {
            path: [(comment["message"], comment["line"], comment["unresolved"]) for comment in comments]
            for path, comments in by_path.items()
        }

    def vote_on(self, proposal: Proposal) -> int | None:
        """The service's vote on the current patch set."""
        return self.gerrit.votes(proposal.number, "Verified").get("buildbot")

    def wait_for(self, vote: int | None, proposal: Proposal) -> str:
        """Wait for a vote, and return the last message."""
        self.wait(lambda: self.vote_on(proposal) == vote, f"Verified {vote} on change {proposal.number}")
        return str(self.posted(proposal.number)[-1]["message"])

    def builds_of(self, number: int) -> int:
        """Count the builds of a change."""
        return int(self.value(_BUILDS, number=number))

    def value(self, query: str, **values: object) -> Any:  # noqa: ANN401 - any result of a query
        """Read one value from the database."""
        with self.plane.engine.begin() as connection:
            return connection.execute(text(query), values).scalar_one()


def settings_for(gerrit: GerritServer) -> dict[str, str]:
    """Make the BENCHGATE_ variables of a site that votes on a server and listens to its events."""
    bot, ssh = gerrit.description["accounts"]["buildbot"], gerrit.description["ssh"]
    return {
        "BENCHGATE_GIT_URL": f"{gerrit.url}/{{project}}",
        "BENCHGATE_GERRIT_URL": gerrit.url,
        "BENCHGATE_GERRIT_USER": "buildbot",
        "BENCHGATE_GERRIT_PASSWORD": bot["password"],
        "BENCHGATE_GERRIT_SSH_HOST": ssh["host"],
        "BENCHGATE_GERRIT_SSH_PORT": str(ssh["port"]),
        "BENCHGATE_GERRIT_SSH_KEY": bot["key"],
        "BENCHGATE_GERRIT_KNOWN_HOSTS": ssh["known_hosts"],
    }
