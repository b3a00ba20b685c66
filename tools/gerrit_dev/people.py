"""Create the accounts and the group of reviewers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tools.gerrit_dev.programs import output_of
from tools.gerrit_dev.rest import one

if TYPE_CHECKING:
    from tools.gerrit_dev.place import Place
    from tools.gerrit_dev.rest import Rest


@dataclass(frozen=True, slots=True)
class Account:
    """An account on the server."""

    user: str
    name: str
    password: str
    groups: tuple[str, ...] = ()

    @property
    def email(self) -> str:
        """The account's only email address, which its commits must have."""
        return f"{self.user}@example.com"


# Gerrit creates this account with this password.
ADMIN: Final = Account("admin", "Administrator", "secret", ("Administrators",))
# Gerrit allows its members to stream events, and keeps them out of the attention set.
SERVICE_USERS: Final = "Service Users"
BUILDBOT: Final = Account("buildbot", "Build Bot", "buildbot-secret", (SERVICE_USERS,))
ALICE: Final = Account("alice", "Alice Author", "alice-secret")
BOB: Final = Account("bob", "Bob Reviewer", "bob-secret")
MALLORY: Final = Account("mallory", "Mallory Stranger", "mallory-secret")
ACCOUNTS: Final = (ADMIN, BUILDBOT, ALICE, BOB, MALLORY)


def make_accounts(admin: Rest, place: Place) -> None:
    """Create missing accounts and their SSH keys."""
    place.keys.mkdir(mode=0o700, exist_ok=True)
    for account in ACCOUNTS:
        path = f"/accounts/{account.user}"
        if not admin.has(path):
            wanted = {"name": account.name, "email": account.email, "http_password": account.password}
            admin.put(path, {**wanted, "groups": account.groups})
        public = _public_key(place, account)
        if public.split()[1] not in {key["encoded_key"] for key in admin.get(f"{path}/sshkeys")}:
            admin.post_text(f"{path}/sshkeys", public)


def make_reviewers(admin: Rest, group: str) -> None:
    """Create the group with its one member if it is missing; its members are visible to all."""
    if not admin.has(f"/groups/{one(group)}"):
        admin.put(f"/groups/{one(group)}", {"visible_to_all": True, "members": [BOB.user]})


def _public_key(place: Place, account: Account) -> str:
    private = place.keys / account.user
    if not private.exists():
        output_of("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", account.email, "-f", str(private))
    return private.with_suffix(".pub").read_text(encoding="ascii")


def described(place: Place, group: str) -> dict[str, dict[str, Any]]:
    """Describe the accounts: credentials and groups."""
    return {
        account.user: {
            "name": account.name,
            "email": account.email,
            "password": account.password,
            "key": str(place.keys / account.user),
            "groups": [*account.groups, *([group] if account == BOB else [])],
        }
        for account in ACCOUNTS
    }
