#!/usr/bin/env python3
"""Runs the official conformance suite of MCP against gongfu as a client, and judges each of its checks.

    conformance_clients.py [--gongfu BIN] [--results DIR]

The suite is the server, and scripts/conformance_client.py does with it what a person does with gongfu. All that the
suite requires of clients must succeed, in both revisions; a check that is skipped, and a scenario without a check that
succeeds, fail. What the suite runs and doesn't score stands in scripts/conformance.toml with the reason why it fails,
and so does each check that can't be made; one that succeeds there fails the run. First a client that does nothing must be found.

Prints one table. Exits 1 on any failure; 77 when the suite is not installed here.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from conformance import (
    NODE,
    NOT_INSTALLED,
    REPOSITORY,
    SUCCESS,
    Expectation,
    Row,
    conformance,
    kept,
    listed,
    print_table,
)

CLIENT = REPOSITORY / "scripts" / "conformance_client.py"
# The suite writes the results of a scenario into a folder of its name and this time.
TIME = "-????-??-??T*Z"
RESULT = re.compile(r"(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z")


def checks_of(folder: Path, scenario: str) -> list[dict[str, Any]]:
    """The checks of a scenario in a folder of results; none where it didn't run."""
    found = sorted(folder.glob(f"{scenario}{TIME}/checks.json"))
    return json.loads(found[-1].read_text()) if found else []


def judged(row: Row, checks: list[dict[str, Any]], fails_as: str | None, skips: dict[str, str] | None = None) -> Row:
    """Fills a row. A scenario that is not scored must fail, or the reason why it does is out of date; and a check that
    may be skipped must be."""
    unused = dict(skips or {})
    for check in checks:
        # A note of the suite's gives no verdict.
        if check["status"] != "INFO":
            row.statuses[check["status"]] += 1
            if check["status"] != SUCCESS:
                said = check.get("errorMessage") or check.get("description") or ""
                words = next((words for words in unused if words in said), None)
                if check["status"] == "SKIPPED" and words:
                    del unused[words]
                    continue
                row.problems.append(f"{check['id']}: {check['status']}: {' '.join(str(said).split())[:300]}")
    row.problems += [f"`{words}`: it isn't skipped; take it out of `client_skipped`" for words in unused]
    if not row.statuses[SUCCESS]:
        row.problems.append("no check succeeded")
    if fails_as is not None:
        row.scored = False
        row.problems = [] if row.problems else ["it succeeds; take it out of `client_unscored`"]
    return row


def run(
    revision: str, required: list[str], options: list[str], folder: Path, expectation: dict[str, Any]
) -> list[Row]:
    """The rows of one run: each scenario that is required, and each that ran."""
    unscored = {name: entry["reason"] for entry in expectation["client_unscored"] for name in entry["scenarios"]}
    skipped = {entry["scenario"]: entry["checks"] for entry in expectation["client_skipped"]}
    out = folder / "-".join([revision, *required[:1]]).replace("/", "-")
    command = f"{sys.executable} {CLIENT}"
    conformance("client", "--command", command, *options, "--output-dir", str(out), folder=folder)
    folders = [str(path.parent.relative_to(out)) for path in out.glob("**/checks.json")]
    ran = [found[1] if (found := RESULT.fullmatch(name)) else name for name in folders]
    rows = []
    for scenario in dict.fromkeys([*required, *sorted(ran)]):
        fails_as = None if scenario in required else unscored.get(scenario)
        row = Row("gongfu", revision, scenario, None)
        rows.append(judged(row, checks_of(out, scenario), fails_as, skipped.get(scenario)))
    return rows


def self_test(folder: Path) -> Row:
    """A client that does nothing must be found."""
    row = Row("self-test", "", "a client that does nothing", None)
    out = folder / "nothing"
    conformance("client", "--command", "true", "--scenario", "tools_call", "--output-dir", str(out), folder=folder)
    found = judged(Row("", "", "", None), checks_of(out, "tools_call"), None)
    if not found.problems:
        row.problems.append("the fault was not found")
    row.statuses[SUCCESS] = int(not row.problems)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = REPOSITORY / "target" / "debug" / "gongfu"
    parser.add_argument("--gongfu", type=Path, default=default, help="the product")
    parser.add_argument("--results", type=Path, help="where to keep the results of the suite")
    options = parser.parse_args()
    if not all((NODE / name).exists() for name in ("node", "conformance")):
        print("error: the conformance suite is not installed", file=sys.stderr)
        print("  hint: run `scripts/test --install`", file=sys.stderr)
        return NOT_INSTALLED
    os.environ["GONGFU"] = str(options.gongfu.resolve())
    expectation = Expectation.read().text
    with tempfile.TemporaryDirectory(prefix="gongfu-conformance-") as name:
        folder = Path(name).resolve()
        rows = [self_test(folder)]
        for revision in expectation["fixtures"]:
            required = listed("--requirements", revision, folder=folder)[0].get("client", [])
            row = Row("list", revision, "(the list)", None)
            if not required:
                row.problems.append("the suite requires nothing of clients")
            rows += [row, *run(revision, required, ["--requirements", revision], folder, expectation)]
        for revision, scenarios in expectation["client"].items():
            for scenario in scenarios:
                rows += run(revision, [scenario], ["--scenario", scenario], folder, expectation)
        kept(folder, options.results, "clients")
    print_table(rows)
    scored = [row for row in rows if row.scored]
    failed = sum(bool(row.problems) for row in rows)
    checks = sum(row.statuses[SUCCESS] for row in scored)
    print(f"{len(scored)} scored rows, {checks} checks passed, {failed} rows failed")
    for entry in expectation["client_unscored"]:
        print(f"not scored: {', '.join(entry['scenarios'])}: {entry['reason']}")
    for entry in expectation["client_skipped"]:
        print(f"skipped: {entry['scenario']}: {', '.join(entry['checks'])}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
