"""Import files and ask for pages under LNT's own Python; print the seconds as JSON."""

from __future__ import annotations

import json
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import lnt.server.instance  # type: ignore[import-not-found]
import lnt.util.ImportData  # type: ignore[import-not-found]
from lnt.server.db.rules_manager import register_hooks  # type: ignore[import-not-found]
from lnt.server.ui.app import App  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> None:
    """Run ``lnt_measure.py INSTANCE PLAN.json``; the plan names files to import and pages to ask for."""
    instance = lnt.server.instance.Instance.frompath(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:  # noqa: PTH123 - no more imports than needed
        plan = json.load(file)
    register_hooks()
    imports = [
        {"seconds": _import(instance, each["file"], **each["options"]), "way": each["way"]}
        for each in plan["imports"]
    ]
    client = App.create_with_instance(instance).test_client()
    pages = {name: _ask(client, plan["calls"], **page) for name, page in plan["pages"].items()}
    json.dump({"imports": imports, "pages": pages}, sys.stdout)


def _import(instance: Any, path: str, **options: bool) -> float:  # noqa: ANN401 - LNT has no types
    """Import a report as ``lnt import`` and its web form do; return the seconds."""
    with closing(instance.config.get_database("default")) as database:
        session = database.make_session()
        begun = time.perf_counter()
        result = lnt.util.ImportData.import_and_report(
            instance.config, "default", database, session, path, "json", "nts", **options
        )
        seconds = time.perf_counter() - begun
    if not result["success"]:
        raise SystemExit(f"LNT refused {path}: {result['error']}")
    return seconds


def _ask(client: Any, calls: int, path: str, holds: str, times: int) -> Sequence[float]:  # noqa: ANN401
    """Return the seconds of each whole answer, in memory; the first two do not count.

    An answer that holds the text less than ``times`` times is another page.
    """
    seconds = []
    for _ in range(2 + calls):
        begun = time.perf_counter()
        answer = client.get(path)
        seconds.append(time.perf_counter() - begun)
        count = answer.data.decode().count(holds)
        if answer.status_code != 200 or count < times:
            raise SystemExit(f"{path} answers {answer.status_code} and holds {holds!r} {count} times")
    return seconds[2:]


if __name__ == "__main__":
    main()
