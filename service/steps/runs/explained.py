"""Read what machines found out about the slower benchmarks of builds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog

from service.domain.values.errors import BadResults
from service.domain.verdict.comparison.explanation import unpack
from service.domain.wording.counted_causes import causes_told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.ports.runs.builds import BuildRecord
    from service.ports.verdict import Explanations

_LOG: Final = structlog.get_logger(__name__)


def explained(stored: Explanations, builds: Sequence[BuildRecord]) -> Mapping[int, tuple[str, ...]]:
    """Return lines about the blamed benchmarks of builds; a build without any is left out.

    Machines write explanations; one that cannot be read is left out, too.
    """
    blamed = {build.id: build.blamed for build in builds if build.blamed}
    found = {}
    for build, packed in stored.packed_of(list(blamed)).items() if blamed else ():
        try:
            lines = causes_told(unpack(packed), blamed[build])
        except BadResults as error:
            _LOG.warning("explanation.unreadable", id=build, error=str(error))
            continue
        if lines:
            found[build] = lines
    return found
