from __future__ import annotations

import pytest

from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox


@pytest.fixture(scope="module")
def sandbox() -> BubblewrapSandbox:
    return BubblewrapSandbox()
