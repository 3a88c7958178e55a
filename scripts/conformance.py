#!/usr/bin/env python3
"""Runs the official conformance suite of MCP against gongfu, and judges each of its checks.

    conformance.py [--gongfu BIN] [--fixtures BIN] [--corpus DIR] [--results DIR]
    conformance.py --self-test [--fixtures BIN]

The suite's requirements of both revisions run against `gongfu-conformance`, the product's server with
fixtures in its lists; its single scenarios against the product alone, on a library of skills that is
made for it and on the corpus where there is one. What is expected stands in scripts/conformance.toml.

The suite ends well when checks were skipped; this doesn't. It reads every checks.json and fails when a
check is anything but SUCCESS, when a scenario is missing or makes another number of checks than
expected, when the suite ends with anything but 0, and when the suite has a scenario that
conformance.toml doesn't name. `--self-test` plants such faults and fails unless each is found; one of
them is a proxy that drops a field of the server's answers.

Prints one table. Exits 1 on any failure; 77 when the suite is not installed here.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from library import make_library
from server import Server, ServerError

REPOSITORY = Path(__file__).resolve().parent.parent
NODE = REPOSITORY / ".tools" / "node" / "node_modules" / ".bin"
LIST = REPOSITORY / "scripts" / "conformance.toml"
CORPUS = REPOSITORY.parent / "shared" / "corpus"

NOT_INSTALLED = 77
SUCCESS = "SUCCESS"
# A folder of results is called after the scenario and the time.
RESULT = re.compile(r"server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z")
LEGS = {"Server scenarios": "server", "Client scenarios": "client", "Authorization server scenarios": "authorization"}
# How long one run of the suite may take.
TIMEOUT = 300.0
# How many problems of a row are printed.
SHOWN = 5


@dataclass
class Row:
    """One line of the table."""

    on: str
    revision: str
    scenario: str
    expected: int | None
    statuses: Counter[str] = field(default_factory=Counter)
    scored: bool = True
    problems: list[str] = field(default_factory=list)


@dataclass
class Expectation:
    """What conformance.toml says."""

    text: dict[str, Any]

    @classmethod
    def read(cls) -> Expectation:
        return cls(tomllib.loads(LIST.read_text()))

    @property
    def unscored(self) -> set[str]:
        return {name for entry in self.text["unscored"] for name in entry["scenarios"]}

    @property
    def not_run(self) -> set[str]:
        return {name for entry in self.text["not_run"] for name in entry["scenarios"]}

    @property
    def counted(self) -> set[str]:
        tables = [*self.text["fixtures"].values(), *self.text["product"].values()]
        return {name for table in tables for name in table}

    def information(self, scenario: str, revision: str) -> set[str]:
        """The checks of a scenario that may give no verdict."""
        return {
            check
            for entry in self.text.get("information", [])
            if (entry["scenario"], entry["revision"]) == (scenario, revision)
            for check in entry["checks"]
        }

    def exceptions(self, on: str, scenario: str) -> dict[str, str]:
        """The checks of a scenario that end otherwise on this library, with how they end."""
        entries = self.text.get("exception", [])
        return {
            entry["check"]: entry["status"]
            for entry in entries
            if (entry["library"], entry["scenario"]) == (on, scenario)
        }


# The suite.


def conformance(*arguments: str, folder: Path) -> tuple[int, str]:
    """One run of the suite's program; answers how it ended and what it printed."""
    command = [str(NODE / "node"), str((NODE / "conformance").resolve()), *arguments]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}"},
        cwd=folder,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        printed, _ = process.communicate()
        return 124, printed
    return process.returncode, printed


def listed(*arguments: str, folder: Path) -> tuple[dict[str, list[str]], str]:
    """The scenarios that the suite lists, by whom they test; and what else is wrong with the list."""
    code, printed = conformance("list", *arguments, folder=folder)
    if code != 0:
        return {}, f"`conformance list` ends with {code}: {printed.strip()[-300:]}"
    return parsed_list(printed), ""


def parsed_list(printed: str) -> dict[str, list[str]]:
    """The scenarios of a printed list; those that are never scored stand in it under no leg."""
    found: dict[str, list[str]] = {leg: [] for leg in LEGS.values()}
    leg = None
    for line in printed.splitlines():
        head = next((name for text, name in LEGS.items() if line.startswith(text)), None)
        if head or not line.startswith(" "):
            leg = head if head or line.strip() else leg
        elif leg and (name := re.match(r"  - (\S+)", line)):
            found[leg].append(name.group(1))
    return found


# The judgement.


def results(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The checks of each scenario in a folder of results, and what is wrong with the folder."""
    found: dict[str, Any] = {}
    problems = []
    for path in sorted(folder.glob("*/")) if folder.is_dir() else []:
        name = RESULT.fullmatch(path.name)
        if not name:
            problems.append(f"{path.name} is no result of the suite")
            continue
        try:
            checks = json.loads((path / "checks.json").read_text())
            ok = isinstance(checks, list) and all(isinstance(check, dict) for check in checks)
            found[name.group(1)] = checks if ok else None
        except (OSError, ValueError) as error:
            found[name.group(1)] = None
            problems.append(f"{path.name}/checks.json can't be read: {error}")
    return found, problems


def judged(row: Row, checks: list[dict[str, Any]] | None, expectation: Expectation) -> Row:
    """Fills a row: how many checks ended how, and what is wrong with that."""
    if not checks:
        if row.scored:
            row.problems.append("there are no results" if checks is None else "it made no check at all")
        return row
    information = expectation.information(row.scenario, row.revision)
    exceptions = expectation.exceptions(row.on, row.scenario)
    for check in checks:
        name, status = str(check.get("id")), str(check.get("status"))
        if status == "INFO" and name in information:
            continue
        if status == exceptions.get(name):
            status = SUCCESS
        elif status == SUCCESS and name in exceptions:
            row.problems.append(f"{name}: it succeeds; take its exception out of {LIST.name}")
        row.statuses[status] += 1
        if status != SUCCESS:
            said = check.get("errorMessage") or check.get("description") or ""
            row.problems.append(f"{name}: {status}: {' '.join(str(said).split())[:300]}")
    if row.expected is not None and (number := row.statuses.total()) != row.expected:
        row.problems.append(f"it made {number} checks, not {row.expected}")
    if not row.scored:
        row.problems = []
    return row


def judge(
    on: str, revision: str, table: dict[str, int], folder: Path, code: int, said: str, expectation: Expectation
) -> list[Row]:
    """The rows of one run: each scenario that was expected, and each that ran."""
    found, problems = results(folder)
    run = Row(on, revision, "(the run)", None, problems=problems)
    if code != 0:
        run.problems.append(f"the suite ends with {code}: {said.strip()[-300:]}")
    if not found:
        run.problems.append("the suite ran no scenario")
    rows = [run]
    for scenario, expected in table.items():
        rows.append(judged(Row(on, revision, scenario, expected), found.get(scenario), expectation))
    for scenario, checks in found.items():
        if scenario in table:
            continue
        row = Row(on, revision, scenario, None, scored=scenario not in expectation.unscored)
        if row.scored:
            row.problems.append(f"it ran, and {LIST.name} doesn't name it for this revision")
        rows.append(judged(row, checks, expectation))
    return rows


def judge_list(
    expectation: Expectation,
    legs: dict[str, list[str]],
    required: dict[str, dict[str, list[str]]],
    version: str,
) -> Row:
    """Whether conformance.toml names what the suite has, and counts what the suite requires."""
    row = Row("list", "", "(the list)", None)
    run = expectation.counted | expectation.unscored
    if version != expectation.text["suite"]:
        row.problems.append(f"this is version {version} of the suite, not {expectation.text['suite']}")
    server = set(legs.get("server", []))
    others = {name for leg in ("client", "authorization") for name in legs.get(leg, [])}
    if not server or not others:
        row.problems.append("the suite lists nothing")
    for name in sorted(server - run - expectation.not_run):
        row.problems.append(f"{name}: the suite has it, and {LIST.name} doesn't name it")
    for name in sorted(others - expectation.not_run):
        row.problems.append(f"{name}: the suite has it, and {LIST.name} doesn't say why it isn't run")
    for name in sorted((run | expectation.not_run) - server - others):
        row.problems.append(f"{name}: {LIST.name} names it, and the suite doesn't have it")
    for name in sorted(run & expectation.not_run | expectation.counted & expectation.unscored):
        row.problems.append(f"{name}: {LIST.name} names it twice")
    for revision, table in expectation.text["fixtures"].items():
        names = required.get(revision, {}).get("server", [])
        if not names:
            row.problems.append(f"the suite requires nothing for {revision}")
        for name in sorted(set(names) - set(table)):
            row.problems.append(f"{name}: {revision} requires it, and {LIST.name} doesn't count it")
    return row


# The run.


@contextmanager
def serving(gongfu: Path, skills: list[Path]) -> Iterator[tuple[Server, Path]]:
    """A server on these skills in a home of its own, and a folder for results."""
    with tempfile.TemporaryDirectory(prefix="gongfu-conformance-") as name:
        folder = Path(name).resolve()
        for part in ("person", "work", "results"):
            (folder / part).mkdir()
        variables = {"GONGFU_HOME": str(folder / "home"), "HOME": str(folder / "person")}
        places = [option for path in skills for option in ("--skills-dir", str(path))]
        options = ["--no-default-dirs", *places, "--workspace", str(folder / "work")]
        with Server(gongfu, "serve", *options, variables=variables, folder=folder) as server:
            yield server, folder / "results"


@contextmanager
def serving_fixtures(program: Path, skills: Path) -> Iterator[tuple[Server, Path]]:
    """The server with the fixtures on these skills, and a folder for results."""
    with tempfile.TemporaryDirectory(prefix="gongfu-conformance-") as name:
        folder = Path(name).resolve()
        (folder / "results").mkdir()
        options = ["--skills-dir", str(skills), "--folder", str(folder)]
        with Server(program, *options, variables={}, folder=folder) as server:
            yield server, folder / "results"


def run_fixtures(program: Path, skills: Path, expectation: Expectation, keep: Path | None) -> list[Row]:
    """The requirements of each revision, with the fixtures."""
    rows = []
    with serving_fixtures(program, skills) as (server, folder):
        for revision, table in expectation.text["fixtures"].items():
            out = folder / revision
            options = ["--url", server.url, "--requirements", revision, "--output-dir", str(out)]
            code, said = conformance("server", *options, folder=folder)
            rows += judge("fixtures", revision, table, out, code, said, expectation)
        kept(folder, keep, "fixtures")
    return rows


def run_product(gongfu: Path, on: str, skills: list[Path], expectation: Expectation, keep: Path | None) -> list[Row]:
    """Each single scenario on the product alone."""
    rows = []
    with serving(gongfu, skills) as (server, folder):
        for revision, table in expectation.text["product"].items():
            for scenario, expected in table.items():
                out = folder / revision / scenario
                options = ["--url", server.url, "--scenario", scenario, "--output-dir", str(out)]
                # A scenario of an extension belongs to no revision.
                if not scenario.startswith("sep-2640-"):
                    options += ["--spec-version", revision]
                code, said = conformance("server", *options, folder=folder)
                run, *others = judge(on, revision, {scenario: expected}, out, code, said, expectation)
                others[0].problems = run.problems + others[0].problems
                rows += others
        kept(folder, keep, on)
    return rows


def kept(folder: Path, keep: Path | None, name: str) -> None:
    """Copies results to where somebody wants to read them."""
    if keep:
        shutil.copytree(folder, keep / name, dirs_exist_ok=True)


def check_list(expectation: Expectation, folder: Path) -> Row:
    """Compares conformance.toml with what the suite lists."""
    legs, problem = listed(folder=folder)
    required = {}
    for revision in expectation.text["fixtures"]:
        required[revision], wrong = listed("--requirements", revision, folder=folder)
        problem = problem or wrong
    _, version = conformance("--version", folder=folder)
    row = judge_list(expectation, legs, required, version.strip())
    if problem:
        row.problems.insert(0, problem)
    return row


def without_fixtures(gongfu: Path) -> Row:
    """The product contains no fixture."""
    row = Row("product", "", "(no fixtures)", None)
    if b"test_input_required_result" in gongfu.read_bytes():
        row.problems.append("the binary names the tools of the suite: it contains the fixtures")
    return row


# The check of the check.


class Dropping(BaseHTTPRequestHandler):
    """Passes requests on to the server, and drops a field from its JSON answers."""

    protocol_version = "HTTP/1.1"
    target = ""
    dropped: str | None = None

    def pass_on(self) -> None:
        address = urlsplit(self.target)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        link = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        try:
            # The names of the headers are compared in any case; Host names the proxy, which is loopback too.
            link.request(self.command, address.path, body, dict(self.headers.items()))
            answer = link.getresponse()
            data = answer.read()
            if self.dropped and "json" in (answer.getheader("Content-Type") or ""):
                data = json.dumps(without(json.loads(data), self.dropped)).encode()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        finally:
            link.close()

    do_POST = do_GET = do_DELETE = pass_on

    def log_message(self, *_: object) -> None:
        """Says nothing: the table does."""


def without(value: Any, dropped: str) -> Any:
    """A JSON value without the members of this name."""
    if isinstance(value, dict):
        return {name: without(inner, dropped) for name, inner in value.items() if name != dropped}
    return [without(inner, dropped) for inner in value] if isinstance(value, list) else value


def through_proxy(program: Path, skills: Path, dropped: str | None, expectation: Expectation) -> list[Row]:
    """The scenario `caching` behind a proxy that drops a field."""
    revision, scenario = "2026-07-28", "caching"
    with serving_fixtures(program, skills) as (server, folder):
        handler = type("Handler", (Dropping,), {"target": server.url, "dropped": dropped})
        proxy = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        try:
            url = f"http://127.0.0.1:{proxy.server_address[1]}/mcp"
            options = ["--url", url, "--scenario", scenario, "--output-dir", str(folder / "out")]
            code, said = conformance("server", *options, folder=folder)
        finally:
            proxy.shutdown()
            proxy.server_close()
        table = {scenario: expectation.text["fixtures"][revision][scenario]}
        return judge("proxy", revision, table, folder / "out", code, said, expectation)


def write_results(folder: Path, table: dict[str, int]) -> None:
    """Results as the suite writes them when all is well."""
    for scenario, number in table.items():
        path = folder / f"server-{scenario}-2026-01-01T00-00-00-000Z"
        path.mkdir(parents=True)
        checks = [{"id": f"check-{turn}", "status": SUCCESS} for turn in range(number)]
        (path / "checks.json").write_text(json.dumps(checks))


def changed(scenario: str, change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[Path], None]:
    """A fault in the checks of a scenario."""

    def plant(folder: Path) -> None:
        path = next(folder.glob(f"server-{scenario}-2*")) / "checks.json"
        path.write_text(json.dumps(change(json.loads(path.read_text()))))

    return plant


def removed(pattern: str) -> Callable[[Path], None]:
    """A fault: results that are not there."""

    def plant(folder: Path) -> None:
        for path in list(folder.glob(pattern)):
            shutil.rmtree(path)

    return plant


def status(word: str) -> Callable[[Path], None]:
    """A fault: the last check of a scenario ends otherwise."""
    return changed("caching", lambda checks: [*checks[:-1], {**checks[-1], "status": word}])


def self_test(program: Path, folder: Path) -> list[Row]:
    """Plants each fault, and answers a row for each: a problem when the fault was not found."""
    expectation = Expectation.read()
    revision = "2026-07-28"
    table = expectation.text["fixtures"][revision]
    faults: list[tuple[str, bool, int, Callable[[Path], None]]] = [
        ("nothing is wrong", False, 0, lambda _: None),
        ("a skipped check", True, 0, status("SKIPPED")),
        ("a warning", True, 0, status("WARNING")),
        ("a failure", True, 0, status("FAILURE")),
        ("no verdict", True, 0, status("INFO")),
        ("a status that nobody knows", True, 0, status("FINE")),
        ("a check too few", True, 0, changed("caching", lambda checks: checks[1:])),
        ("a check too many", True, 0, changed("caching", lambda checks: [*checks, checks[0]])),
        ("no check at all", True, 0, changed("caching", lambda _: [])),
        ("checks that are no list", True, 0, changed("caching", lambda _: {})),
        ("a scenario that is missing", True, 0, removed("server-caching-*")),
        ("an empty run", True, 0, removed("*")),
        ("a scenario that nobody named", True, 0, lambda out: write_results(out, {"brand-new": 3})),
        ("the suite ends badly", True, 1, lambda _: None),
    ]
    rows = []
    for number, (what, wrong, code, plant) in enumerate(faults):
        out = folder / str(number)
        write_results(out, table)
        plant(out)
        found = judge("fixtures", revision, table, out, code, "", expectation)
        rows.append(verdict(what, wrong, found))

    names = [*expectation.counted, *expectation.unscored]
    legs = {"server": names, "client": [*expectation.not_run], "authorization": []}
    required = {revision: {"server": [*table]} for revision, table in expectation.text["fixtures"].items()}
    version = expectation.text["suite"]
    lists: list[tuple[str, bool, Any, Any, str]] = [
        ("the list is right", False, legs, required, version),
        ("a new scenario of a server", True, {**legs, "server": [*names, "brand-new"]}, required, version),
        ("a new scenario of a client", True, {**legs, "client": [*legs["client"], "brand-new"]}, required, version),
        ("a scenario that is gone", True, {**legs, "server": names[1:]}, required, version),
        ("an empty list", True, {}, required, version),
        ("a requirement that isn't counted", True, legs, {**required, revision: {"server": ["tasks-lifecycle"]}}, version),
        ("no requirements", True, legs, {**required, revision: {}}, version),
        ("another version", True, legs, required, "0.1.0"),
    ]
    for what, wrong, some, needed, of in lists:
        rows.append(verdict(what, wrong, [judge_list(expectation, some, needed, of)]))

    skills = folder / "skills"
    make_library(skills)
    rows.append(verdict("a proxy that passes all on", False, through_proxy(program, skills, None, expectation)))
    for dropped in ("ttlMs", "resultType"):
        found = through_proxy(program, skills, dropped, expectation)
        rows.append(verdict(f"a proxy that drops {dropped}", True, found))
    return rows


def verdict(what: str, wrong: bool, found: list[Row]) -> Row:
    """Whether a planted fault was found, and nothing where there was none."""
    row = Row("self-test", "", what, None)
    problems = [problem for one in found for problem in one.problems]
    if wrong and not problems:
        row.problems.append("the fault was not found")
    if problems and not wrong:
        row.problems.append(f"a fault was found where there is none: {problems[0]}")
    row.statuses[SUCCESS] = int(not row.problems)
    return row


# The table.


def print_table(rows: list[Row]) -> None:
    """Prints what was checked, and below it what is wrong."""
    heads = ("on", "revision", "scenario", "checks", "passed", "failed", "skipped", "scored", "outcome")
    lines = []
    for row in rows:
        passed, skipped = row.statuses[SUCCESS], row.statuses["SKIPPED"]
        total = row.statuses.total()
        numbers = [str(number) for number in (total, passed, total - passed - skipped, skipped)]
        outcome = "failed" if row.problems else "ok" if row.scored else "-"
        lines.append((row.on, row.revision, row.scenario, *numbers, "yes" if row.scored else "no", outcome))
    widths = [max(len(line[column]) for line in [heads, *lines]) for column in range(len(heads))]
    for line in [heads, *lines]:
        cells = [
            cell.rjust(width) if 3 <= column <= 6 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    sys.stdout.flush()
    for row in rows:
        problems = row.problems[:SHOWN]
        if more := len(row.problems) - len(problems):
            problems.append(f"and {more} more")
        for problem in problems:
            print(f"error: {row.on} {row.revision} {row.scenario}: {problem}", file=sys.stderr)


def attempt(rows: list[Row], on: str, run: Callable[[], list[Row]]) -> None:
    """Adds the rows of a part; a server that doesn't start or end is a row, too."""
    try:
        rows += run()
    except (ServerError, OSError, subprocess.SubprocessError) as error:
        rows.append(Row(on, "", "(the server)", None, problems=[" ".join(str(error).split())]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = REPOSITORY / "target" / "debug"
    parser.add_argument("--gongfu", type=Path, default=default / "gongfu", help="the product")
    parser.add_argument("--fixtures", type=Path, default=default / "gongfu-conformance", help="the server with the fixtures")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="real skills, where there are any")
    parser.add_argument("--results", type=Path, help="where to keep the results of the suite")
    parser.add_argument("--self-test", action="store_true", help="plant faults, and fail unless they are found")
    options = parser.parse_args()
    if not all((NODE / name).exists() for name in ("node", "conformance")):
        print("error: the conformance suite is not installed", file=sys.stderr)
        print("  hint: run `scripts/test --install`", file=sys.stderr)
        return NOT_INSTALLED
    gongfu, fixtures = options.gongfu.resolve(), options.fixtures.resolve()
    for path in [fixtures] if options.self_test else [gongfu, fixtures]:
        if not path.is_file():
            print(f"error: there is no gongfu at {path}", file=sys.stderr)
            print("  hint: run `just conformance`, which builds both", file=sys.stderr)
            return 1
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="gongfu-conformance-") as name:
        folder = Path(name).resolve()
        if options.self_test:
            attempt(rows, "self-test", lambda: self_test(fixtures, folder))
            wanted = 1
        else:
            expectation = Expectation.read()
            skills = folder / "skills"
            make_library(skills)
            libraries = {"skills": [skills]}
            if options.corpus.is_dir():
                libraries["corpus"] = sorted(path for path in options.corpus.resolve().iterdir() if path.is_dir())
            keep = options.results
            rows.append(check_list(expectation, folder))
            rows.append(without_fixtures(gongfu))
            attempt(rows, "fixtures", lambda: run_fixtures(fixtures, skills, expectation, keep))
            for on, folders in libraries.items():
                attempt(rows, on, lambda on=on, folders=folders: run_product(gongfu, on, folders, expectation, keep))
            wanted = sum(map(len, [*expectation.text["fixtures"].values(), *expectation.text["product"].values()]))
    print_table(rows)
    failed = sum(bool(row.problems) for row in rows)
    scored = [row for row in rows if row.scored]
    checks = sum(row.statuses[SUCCESS] for row in scored)
    if len(scored) < wanted:
        print(f"error: only {len(scored)} of {wanted} scenarios are in the table", file=sys.stderr)
        failed += 1
    print(f"{len(scored)} scored rows, {checks} checks passed, {failed} rows failed, {len(rows) - len(scored)} not scored")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
