"""Makes and configures what Gerrit calls a site: its settings, repositories, index and keys."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from tools.gerrit_dev.ports import HOST
from tools.gerrit_dev.programs import output_of
from tools.gerrit_dev.reporting import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.gerrit_dev.place import Place
    from tools.gerrit_dev.ports import Ports

# Signing in as anybody without a password is part of `--dev`: the reason why only loopback is listened on.
INIT: Final = ("init", "--batch", "--dev", "--no-auto-start", "--skip-plugins", "--skip-all-downloads")


def make_site(place: Place, gerrit: Sequence[str]) -> None:
    """See to it that there is a site; one that was not finished is made anew."""
    if place.site.exists():
        return
    say(f"making a site in {place.directory}")
    unfinished = place.directory / "site.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    output_of(*gerrit, *INIT, "-d", str(unfinished))
    # A copy of the largest jar, for a kind of start that is not ours.
    (unfinished / "bin" / "gerrit.war").unlink(missing_ok=True)
    unfinished.rename(place.site)


def configure(place: Place, ports: Ports) -> None:
    """Write the settings that depend on the ports or differ from what Gerrit takes by itself."""
    http, ssh = ports
    settings = {
        "gerrit.canonicalWebUrl": f"http://{HOST}:{http}/",
        "httpd.listenUrl": f"http://{HOST}:{http}/",
        "sshd.listenAddress": f"{HOST}:{ssh}",
        "sshd.advertisedAddress": f"{HOST}:{ssh}",
        "sendemail.enable": "false",
        "user.email": "gerrit@example.com",
        # A project may be seeded with a history longer than anybody pushes at once.
        "receive.maxBatchCommits": "1000000",
    }
    for name, value in settings.items():
        output_of("git", "config", "-f", str(place.site / "etc" / "gerrit.config"), name, value)
    _write_known_hosts(place, ssh)


def _write_known_hosts(place: Place, ssh: int) -> None:
    """The server's SSH keys, as `ssh` reads them."""
    lines = [
        f"[{HOST}]:{ssh} {' '.join(key.read_text(encoding='ascii').split()[:2])}\n"
        for key in sorted((place.site / "etc").glob("ssh_host_*_key.pub"))
    ]
    place.known_hosts.write_text("".join(lines), encoding="ascii")
