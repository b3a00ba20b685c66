"""Create and configure Gerrit's site: its settings, repositories, index and keys."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from tools.gerrit_dev.ports import HOST
from tools.gerrit_dev.programs import output_of
from tools.gerrit_dev.reporting import report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.gerrit_dev.place import Place
    from tools.gerrit_dev.ports import Ports

# With `--dev` anybody can sign in as any account without a password, so the server listens only on loopback.
INIT: Final = ("init", "--batch", "--dev", "--no-auto-start", "--skip-plugins", "--skip-all-downloads")


def make_site(place: Place, gerrit: Sequence[str]) -> None:
    """Create the site if it is missing or incomplete."""
    if place.site.exists():
        return
    report(f"creating a site in {place.directory}")
    unfinished = place.directory / "site.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    output_of(*gerrit, *INIT, "-d", str(unfinished))
    # A copy of the largest jar, which this tool does not use.
    (unfinished / "bin" / "gerrit.war").unlink(missing_ok=True)
    unfinished.rename(place.site)


def configure(place: Place, ports: Ports) -> None:
    """Write the settings that depend on the ports or differ from Gerrit's defaults."""
    http, ssh = ports
    settings = {
        "gerrit.canonicalWebUrl": f"http://{HOST}:{http}/",
        "httpd.listenUrl": f"http://{HOST}:{http}/",
        "sshd.listenAddress": f"{HOST}:{ssh}",
        "sshd.advertisedAddress": f"{HOST}:{ssh}",
        "sendemail.enable": "false",
        "user.email": "gerrit@example.com",
        # The history of a seed may be longer than Gerrit's default limit for a push.
        "receive.maxBatchCommits": "1000000",
    }
    for name, value in settings.items():
        output_of("git", "config", "-f", str(place.site / "etc" / "gerrit.config"), name, value)
    _write_known_hosts(place, ssh)


def _write_known_hosts(place: Place, ssh: int) -> None:
    """Write the server's SSH keys in the format of `ssh`."""
    lines = [
        f"[{HOST}]:{ssh} {' '.join(key.read_text(encoding='ascii').split()[:2])}\n"
        for key in sorted((place.site / "etc").glob("ssh_host_*_key.pub"))
    ]
    place.known_hosts.write_text("".join(lines), encoding="ascii")
