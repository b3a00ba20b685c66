"""Check what deploy/prometheus and deploy/grafana name: metrics, and sections of the runbook."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from service.domain.runs.activity import STAGES, Activity, PoolEvidence
from service.domain.runs.health import Heartbeat
from tests.support.promtool import RULES, promtool
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import NOW, healthy
from tests.support.web import build_pages, call

ROOT: Final = Path(__file__).parents[3]
DASHBOARD: Final = ROOT / "deploy" / "grafana" / "benchgate.json"
RUNBOOK: Final = (ROOT / "docs" / "operator" / "runbook.md").read_text(encoding="utf-8")
ALERTS: Final = re.findall(r"^ +- alert: (\w+)$", RULES.read_text(encoding="utf-8"), re.MULTILINE)
METRIC: Final = re.compile(r"\bbenchgate_[a-z_]+\b")


def exported() -> set[str]:
    """The names of all metrics that the application can export."""
    parts = ("schedule", "backup", "prune")
    reading = FakeReading(
        state=healthy(heartbeats=tuple(Heartbeat(part, NOW) for part in parts)),
        recent=Activity(until_vote=(1.0, 2.0), evidence=(PoolEvidence("perf", 1, 0, 0.01),)),
    )
    families = text_string_to_metric_families(call(build_pages(reading), "GET", "/metrics").text)
    return {family.name for family in families}


def test_promtool_accepts_the_rules_and_their_tests() -> None:
    for arguments in (
        ("check", "rules", RULES),
        ("check", "config", RULES.with_name("scrape.yaml")),
        ("test", "rules", RULES.with_name("benchgate.rules.test.yaml")),
    ):
        done = promtool(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr


def test_rules_and_dashboard_ask_for_metrics_that_exist() -> None:
    targets = [
        target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel["targets"]
    ]
    asked = {name for text in (RULES.read_text(), *targets) for name in METRIC.findall(text)}
    assert len(asked) >= 20
    assert asked - exported() == set()


def test_the_runbook_describes_every_metric_and_every_stage() -> None:
    table = "".join(line for line in RUNBOOK.splitlines() if line.startswith("| `benchgate_"))
    assert set(METRIC.findall(table)) == exported()
    assert [stage for stage in STAGES if f"`{stage}`" not in table] == []


def test_every_alert_has_its_section_in_the_runbook() -> None:
    assert re.findall(r"^## (Benchgate\w+)$", RUNBOOK, re.MULTILINE) == ALERTS
    named = re.findall(r"runbook: docs/operator/runbook.md#(\w+)$", RULES.read_text(), re.MULTILINE)
    assert named == [alert.lower() for alert in ALERTS]
    used = (RULES.with_name("benchgate.rules.test.yaml")).read_text(encoding="utf-8")
    assert [alert for alert in ALERTS if f'"{alert}"' not in used] == []
