"""Act as another CI: report a build to Benchgate by curl, with an API token."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import Permanent
from service.steps.access.manage_tokens import TokenRequest, create_token_by_command
from tools.demo.repository import PROJECT

if TYPE_CHECKING:
    from service.cli.services.child_processes import Site
    from service.wiring.control import Control
    from tools.demo.backend import Uploaded

JOB: Final = "windows"
_NUMBER: Final = 5904
_WHO: Final = "gate-native"


class OtherCi:
    """A CI with one build, of the job that Benchgate only waits for."""

    def __init__(self, site: Site, plane: Control, uploaded: Uploaded) -> None:
        request = TokenRequest(_WHO, (f"report:{PROJECT}/{JOB}",), 1)
        _, self._token = create_token_by_command(plane.tokens, request, _WHO)
        self._address = f"{site.base_url}/api/v1/builds/{JOB}/{_NUMBER}"
        self._build = {
            "project": PROJECT,
            "change": uploaded.change,
            "revision": uploaded.commit.revision,
            "url": f"https://ci.example.com/job/{JOB}/{_NUMBER}/",
        }

    def report(self, result: str) -> None:
        """Report that the build started, or its result.

        Raises:
            Permanent: Benchgate refused the report; the message has its answer.
        """
        argv = ("curl", "--silent", "--show-error", "--fail-with-body", "--noproxy", "*", "--config", "-")
        # On stdin, because every user of the machine can read arguments.
        options = (
            f'header = "Authorization: Bearer {self._token}"\nheader = "Content-Type: application/json"\n'
        )
        body = ("--data", json.dumps({**self._build, "result": result}))
        done = subprocess.run(  # noqa: S603 - the system's curl with our own words
            (*argv, *body, self._address), input=options, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Permanent(f"the report of {JOB} was refused: {done.stdout or done.stderr}")
