"""Table of the right that each route asks of its caller; a route without an entry is closed."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.access.needs import Need

if TYPE_CHECKING:
    from collections.abc import Mapping

RIGHTS: Final[Mapping[tuple[str, str], Need]] = MappingProxyType(
    {
        ("GET", "/healthz"): Need.NOTHING,
        ("GET", "/readyz"): Need.NOTHING,  # load balancers have no credentials
        ("GET", "/static/{name}"): Need.NOTHING,  # the page for signing in needs them
        ("POST", "/webhooks/gerrit/{secret}"): Need.NOTHING,  # the path holds a secret of its own
        ("GET", "/sign-in"): Need.NOTHING,
        ("GET", "/sign-in/begin"): Need.NOTHING,
        ("GET", "/sign-in/callback"): Need.NOTHING,
        ("POST", "/sign-in/local"): Need.NOTHING,  # the form holds a secret of its own
        ("POST", "/sign-out"): Need.SESSION,
        ("POST", "/sign-out/everywhere"): Need.SESSION,
        ("GET", "/metrics"): Need.READ,
        ("GET", "/api/v1/openapi.json"): Need.READ,
        ("GET", "/api/v1/changes"): Need.READ,
        ("GET", "/api/v1/changes/{change}"): Need.READ,
        ("GET", "/api/v1/changes/{change}/patch-sets"): Need.READ,
        ("GET", "/api/v1/changes/{change}/patch-sets/{patch_set}"): Need.READ,
        ("GET", "/api/v1/runs/{run_id}"): Need.READ,
        ("GET", "/api/v1/runs/{run_id}/claims"): Need.READ,
        ("GET", "/api/v1/builds/{job}/{number}"): Need.READ,
        ("GET", "/api/v1/builds/{job}/{number}/samples"): Need.READ,
        ("GET", "/api/v1/builds/{job}/{number}/explanations"): Need.READ,
        ("GET", "/api/v1/series"): Need.READ,
        ("GET", "/api/v1/series/{series_id}"): Need.READ,
        ("GET", "/api/v1/series/{series_id}/levels"): Need.READ,
        ("GET", "/api/v1/branches"): Need.READ,
        ("GET", "/api/v1/commits"): Need.READ,
        ("GET", "/api/v1/compare"): Need.READ,
        ("GET", "/api/v1/regressions"): Need.READ,
        ("GET", "/api/v1/regressions/{regression_id}"): Need.READ,
        ("GET", "/api/v1/ledger"): Need.READ,
        ("GET", "/api/v1/known-failures"): Need.READ,
        ("GET", "/api/v1/known-failures/{known_id}"): Need.READ,
        ("GET", "/api/v1/machines"): Need.READ,
        ("GET", "/api/v1/queue"): Need.READ,
        ("GET", "/api/v1/benchmarks"): Need.READ,
        ("GET", "/api/v1/voting-statuses"): Need.READ,
        ("GET", "/api/v1/gerrit/checks"): Need.READ,
        # The route compares the token's project and job.
        ("POST", "/api/v1/builds/{job}/{number}"): Need.REPORT,
        ("POST", "/api/v1/builds/{job}/{number}/tests"): Need.REPORT,
        # The routes compare the token's machine, which must hold a build.
        ("GET", "/api/v1/artifacts/{kind}/{key}"): Need.STORE,
        ("PUT", "/api/v1/artifacts/{kind}/{key}"): Need.STORE,
        ("GET", "/"): Need.READ,
        ("GET", "/changes/{change}"): Need.READ,
        ("GET", "/changes/{change}/{patch_set}"): Need.READ,
        ("POST", "/changes/{change}/{patch_set}/actions"): Need.ACT,
        ("GET", "/runs/{run_id}"): Need.READ,
        ("GET", "/claims"): Need.READ,
        ("GET", "/job/{job}/{number}"): Need.READ,
        ("GET", "/job/{job}/{number}/comparisons.csv"): Need.READ,
        ("GET", "/job/{job}/{number}/comparisons.md"): Need.READ,
        ("GET", "/job/{job}/{number}/"): Need.READ,
        ("GET", "/job/{job}/{number}/log"): Need.READ,
        ("GET", "/job/{job}/{number}/log.txt"): Need.READ,
        ("GET", "/job/{job}/{number}/tests.json"): Need.READ,
        ("GET", "/job/{job}/{number}/why/{place}"): Need.READ,
        ("GET", "/trends"): Need.READ,
        ("GET", "/trends/{series_id}/figure.json"): Need.READ,
        ("GET", "/trends/{series_id}/embed"): Need.READ,
        ("GET", "/trends/{series_id}/family"): Need.READ,
        ("GET", "/benchmarks"): Need.READ,
        ("GET", "/benchmarks.csv"): Need.READ,
        ("GET", "/compare"): Need.READ,
        ("POST", "/compare"): Need.ACT,
        ("GET", "/regressions"): Need.READ,
        ("GET", "/regressions.atom"): Need.READ,
        ("GET", "/regressions.csv"): Need.READ,
        ("POST", "/regressions"): Need.ACT,
        ("GET", "/regressions/{regression_id}"): Need.READ,
        ("GET", "/failures"): Need.READ,
        ("GET", "/failures/new"): Need.ACT,  # it searches the failures of a month
        ("POST", "/failures/new"): Need.ACT,
        ("GET", "/failures/{known_id}"): Need.READ,
        ("POST", "/failures/{known_id}"): Need.ACT,
        ("GET", "/machines"): Need.READ,
        ("POST", "/machines"): Need.OPERATE,
        ("GET", "/docs"): Need.READ,
        ("GET", "/account"): Need.SESSION,
        ("POST", "/account/tokens"): Need.SESSION,
        ("POST", "/account/tokens/{token_id}/revoke"): Need.SESSION,
        ("GET", "/audit"): Need.OPERATE,
        ("GET", "/audit.csv"): Need.OPERATE,
        ("GET", "/audit.jsonl"): Need.OPERATE,
    }
)
