"""Keep an attempt to sign in in a cookie while the person is on the provider's pages.

Nothing in it is secret from its browser, and no other browser has it.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Final

from service.ports.access import SignInAttempt

SECONDS: Final = 600  # enough for a password and a second factor
_LONGEST: Final = 3000  # browsers drop longer cookies
# One slash: two begin the name of another host, and browsers read a backslash as a slash. They also drop tabs
# and line breaks, so no such character may be between.
_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]{0,1000}")
_FIELDS: Final = ("state", "nonce", "verifier", "wanted")


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """An attempt, and the path to return to."""

    attempt: SignInAttempt
    wanted: str


def encode(stored: StoredAttempt) -> str:
    """Write the value of the cookie."""
    attempt = stored.attempt
    values = (attempt.state, attempt.nonce, attempt.verifier, stored.wanted)
    return urlsafe_b64encode(json.dumps(dict(zip(_FIELDS, values, strict=True))).encode()).decode("ascii")


def decode(cookie: str) -> StoredAttempt | None:
    """Read the value of the cookie; None if it is not one."""
    try:
        fields = json.loads(urlsafe_b64decode(cookie[:_LONGEST]))
    except (binascii.Error, ValueError):
        return None
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in _FIELDS):
        return None
    attempt = SignInAttempt(url="", state=fields["state"], nonce=fields["nonce"], verifier=fields["verifier"])
    return StoredAttempt(attempt, return_path(fields["wanted"]))


def return_path(text: str) -> str:
    """Return a path of Benchgate to return to; the first page instead of anything else."""
    return text if _PATH.fullmatch(text) else "/"
