"""Name the user of a command, as the audit log shows them."""

from __future__ import annotations

import socket
from getpass import getuser


def user_here() -> str:
    """Return ``ann on build-01``."""
    return f"{getuser()} on {socket.gethostname()}"
