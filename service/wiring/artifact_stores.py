"""Choose where the control plane keeps artifacts: in a directory, or in a bucket."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.building.object_store import open_bucket
from service.domain.values.errors import BadInput
from service.ports.building import ArtifactKind
from service.wiring.build_host import directory_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.config.control import ControlSettings
    from service.ports.building import ArtifactStore


def artifact_stores(settings: ControlSettings) -> Mapping[ArtifactKind, ArtifactStore]:
    """Return the stores; asks no server.

    Raises:
        BadInput: the setting, or the environment of the provider, cannot be used.
    """
    url = settings.bucket_url
    if not url:
        root = settings.artifacts_path
        return {kind: DirectoryArtifacts(directory_of(root, kind)) for kind in ArtifactKind}
    urls = {ArtifactKind.BUILDS: url, ArtifactKind.DOWNLOADS: f"{url}/{ArtifactKind.DOWNLOADS}"}
    unfinished = settings.home.absolute() / "control" / "transfers"
    # The client's own variable, which it does not read beside options of ours.
    may_use_http = os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true"
    try:
        return {
            kind: open_bucket(address, unfinished, may_use_http=may_use_http)
            for kind, address in urls.items()
        }
    except ValueError as error:
        raise BadInput(str(error), "BENCHGATE_ARTIFACTS") from None
