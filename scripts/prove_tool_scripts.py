#!/usr/bin/env python3
"""Proves with generated scripts that what `tool_script` calls passes the gate, and that nothing else does.

    prove_tool_scripts.py [--gongfu BIN] [--count N] [--seed N]

Each script makes calls in an order that a seed decides: good ones, one after another and from threads, to another server
and to gongfu's own tools; ones that a person would have to allow, with nobody there; unknown tools, wrong arguments, a
script in a script, more calls than one may make, requests that it writes to the channel by itself; and it may fail in
the middle. What it prints has to be what was expected before it ran. Then the audit has to have exactly its calls, each
under its script and with its outcome, and the servers, which log what they execute, exactly those that were good.

Three plants must be found: a call by the client itself, a call that a person allowed after all, and an entry of the audit
that is missing.

At last the same task of 20 calls by one script and by 20 `tool_call`s: the bytes that pass through the model, which are
the arguments and the answers, and the time without the model's own. Exits 1 when an expectation isn't met.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clients import binary
from stdio_client import StdioClient, text

HERE = Path(__file__).resolve().parent
# The scripts of one home, whose audit is read at once; and how many run at once.
BATCH, AT_ONCE = 250, 4
# The most calls of a script, and how long it may take.
MAX_CALLS, LONGEST = 200, 120.0
# The different calls that need a person: not more may wait than gongfu keeps questions.
HIGH = 50
# The calls of the task that is measured, and the bytes of each answer.
TASK, ANSWER = 20, 4_000

# Runs before each script: notes what came of each call.
PROLOGUE = """# script {number}
import json, os, sys, threading
from concurrent.futures import ThreadPoolExecutor
from gongfu import tools, ToolError
notes = []
def note(name, n, call=tools.call):
    try:
        call(name, {{"n": n}} if n is not None else {{}})
        notes.append([name, n, "ok"])
    except ToolError as error:
        notes.append([name, n, error.code])
def forge(name, n):
    line = f'999999 {{json.dumps({{"name": name, "arguments": {{"n": n}}}})}}\\n'.encode()
    for number in range(3, 20):
        try:
            os.write(number, line)
            return
        except OSError:
            pass
def run():
"""
EPILOGUE = """
try:
    run()
finally:
    print(json.dumps(notes))
"""


@dataclass
class Script:
    """A script, and what has to come of it."""

    number: int
    code: str = ""
    # What it has to print: the calls whose outcome it sees.
    notes: list[list[Any]] = field(default_factory=list)
    # What has to be in the audit, and in the logs of the servers.
    audited: Counter[tuple[str, str]] = field(default_factory=Counter)
    executed: Counter[str] = field(default_factory=Counter)
    # Calls that it doesn't wait for: they may as well be cancelled with it, or never begin.
    forged: list[tuple[str, str, str]] = field(default_factory=list)
    is_failing: bool = False
    calls: int = 0

    def expect(self, name: str, n: int | None, outcome: str, is_noted: bool = True) -> None:
        self.calls += 1
        if self.calls > MAX_CALLS:
            outcome = "QUOTA_EXCEEDED"
        if is_noted:
            self.notes.append([name, n, outcome])
        if outcome not in ("TOOL_NOT_FOUND", "QUOTA_EXCEEDED"):
            self.audited[name, outcome] += 1
        if outcome == "ok" and n is not None:
            self.executed[f"{name.partition('__')[2]} {n}"] += 1


def generate(number: int, seed: int) -> Script:
    """The script of a number; each of its calls has a number of its own."""
    choose = random.Random(f"{seed}-{number}")
    script, lines = Script(number), []
    ids = iter(range(number * 1_000, (number + 1) * 1_000))
    kinds = choose.choices(
        ["good", "dotted", "own", "high", "unknown", "nested", "wrong", "threads", "forged", "many"],
        [30, 10, 8, 12, 8, 6, 6, 8, 4, 1],
        k=choose.randint(1, 12),
    )
    stop = choose.randrange(len(kinds)) if choose.random() < 0.2 else None
    for at, kind in enumerate(kinds):
        if at == stop:
            script.is_failing = True
            lines.append(choose.choice(["raise ValueError('planned')", "tools.calm.nothing()", "1 / 0"]))
            if "nothing" in lines[-1]:
                script.expect("calm__nothing", None, "TOOL_NOT_FOUND", is_noted=False)
            break
        n, tool = next(ids), choose.choice(["write", "drop"])
        if kind == "good":
            lines.append(f"note('calm__{tool}', {n})")
            script.expect(f"calm__{tool}", n, "ok")
        elif kind == "dotted":
            lines.append(f"note('calm__{tool}', {n}, lambda _, all: tools.calm.{tool}(**all))")
            script.expect(f"calm__{tool}", n, "ok")
        elif kind == "own":
            lines.append("note('skill_list', None)")
            script.expect("skill_list", None, "ok")
        elif kind == "high":
            n = choose.randrange(HIGH)
            lines.append(f"note('high__{tool}', {n})")
            script.expect(f"high__{tool}", n, "APPROVAL_REQUIRED")
        elif kind == "unknown":
            lines.append(f"note('calm__{tool}s', {n})")
            script.expect(f"calm__{tool}s", n, "TOOL_NOT_FOUND")
        elif kind == "nested":
            lines.append(f"note('tool_script', {n}, lambda name, _: tools.call(name, code='from gongfu import tools'))")
            script.expect("tool_script", n, "NESTED_SCRIPT")
        elif kind == "wrong":
            lines.append(f"note('skill_list', {n})")
            script.expect("skill_list", n, "UNKNOWN_ARGUMENT")
        elif kind == "threads":
            numbers = [next(ids) for _ in range(choose.randint(2, 30))]
            # Nobody knows which of them would be over the limit.
            if script.calls < MAX_CALLS < script.calls + len(numbers):
                continue
            lines.append(f"with ThreadPoolExecutor(12) as pool: list(pool.map(lambda n: note('calm__{tool}', n), {numbers}))")
            for one in numbers:
                script.expect(f"calm__{tool}", one, "ok")
        elif kind == "forged":
            if script.calls >= MAX_CALLS:
                continue
            target, n, outcome = choose.choice([("high__write", choose.randrange(HIGH), "APPROVAL_REQUIRED"), ("calm__write", n, "ok")])
            lines.append(f"forge('{target}', {n})")
            script.expect(target, n, outcome, is_noted=False)
            script.forged.append((target, outcome, f"write {n}"))
        else:
            numbers = [next(ids) for _ in range(MAX_CALLS + 5)]
            lines.append(f"for n in {numbers}: note('calm__{tool}', n)")
            for one in numbers:
                script.expect(f"calm__{tool}", one, "ok")
    body = "\n".join(f"    {line}" for line in lines or ["pass"])
    script.code = PROLOGUE.format(number=number) + body + EPILOGUE
    return script


class World:
    """A home with a calm server, one whose tools need a person, and one with long answers; and gongfu in it."""

    def __init__(self, folder: Path, gongfu: Path) -> None:
        self.folder, self.gongfu = folder, gongfu
        (folder / "user").mkdir(parents=True)
        (folder / "work").mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.variables = {**kept, "HOME": str(folder / "user"), "GONGFU_HOME": str(folder / "home"), "GONGFU_STANDALONE": "1"}
        for name, level in (("calm", "medium"), ("high", "high")):
            (folder / name).mkdir()
            self.add(name, level, str(HERE / "counting_server.py"), str(folder / name))
        self.client = self.start()

    def add(self, name: str, level: str, *words: str) -> None:
        self.command("connection", "add", name, "--safety", level, "--", sys.executable, *words)
        self.command("connection", "approve", name, "--yes")

    def start(self) -> StdioClient:
        return StdioClient([str(self.gongfu), "mcp", "--no-default-dirs"], self.variables, self.folder / "work")

    def command(self, *words: str) -> str:
        run = subprocess.run([self.gongfu, *words], env=self.variables, cwd=self.folder / "work", capture_output=True, text=True, timeout=90)
        if run.returncode:
            raise AssertionError(f"gongfu {' '.join(words)}: {run.stdout}{run.stderr}")
        return run.stdout

    def executed(self, name: str) -> Counter[str]:
        log = self.folder / name / "calls"
        return Counter(log.read_text().splitlines() if log.exists() else [])

    def audit(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.command("log", "--json", "--since", "7d").splitlines()]


def run(world: World, script: Script) -> list[str]:
    """Runs a script; what is not as expected of its answer."""
    answer = world.client.call("tool_script", {"code": script.code}, LONGEST)
    if "error" in answer:
        return [f"script {script.number}: {answer['error']}"]
    printed = text(answer)
    end = "[exit code: 1]" if script.is_failing else ""
    try:
        notes = json.loads(printed.splitlines()[0])
    except (ValueError, IndexError):
        return [f"script {script.number} printed {printed[:500]!r}"]
    problems = []
    # Threads note in any order.
    if sorted(map(json.dumps, notes)) != sorted(map(json.dumps, script.notes)):
        problems.append(f"script {script.number} noted {notes}, not {script.notes}")
    is_failed = printed.rstrip().endswith("[exit code: 1]") and "Traceback" in printed
    if is_failed != script.is_failing:
        problems.append(f"script {script.number} {'fails' if is_failed else 'ends well'}: {printed[-300:]!r}, expected {end!r}")
    return problems


def compare(scripts: list[Script], audit: list[dict[str, Any]], calm: Counter[str], high: Counter[str]) -> list[str]:
    """What the audit and the servers' own logs have that the scripts didn't do, and the other way round."""
    problems = [f"the audit has no end of {entry}" for entry in audit if entry["phase"] != "end"]
    ends = [entry for entry in audit if entry["phase"] == "end"]
    own: dict[tuple[int, int], int] = {}
    for entry in ends:
        if entry["tool"] == "tool_script" and "parent" not in entry:
            own[entry["process"], entry["call"]] = int(entry["command"].split()[2])
            if entry["outcome"] != "ok":
                problems.append(f"a script ended with {entry['outcome']}")
    found: dict[int, Counter[tuple[str, str]]] = {script.number: Counter() for script in scripts}
    for entry in ends:
        if "parent" in entry:
            number = own.get((entry["process"], entry["parent"]))
            if number is None:
                problems.append(f"a call is under no script: {entry}")
                continue
            found[number][entry["tool"], entry["outcome"]] += 1
        elif entry["tool"] != "tool_script" and "/" not in entry["tool"]:
            problems.append(f"a call is nobody's: {entry['tool']}")
    executed = {script.number: Counter(script.executed) for script in scripts}
    for script in scripts:
        for tool, outcome, key in script.forged:
            made = found[script.number]
            if made[tool, outcome] == script.audited[tool, outcome]:
                continue
            if made[tool, "CANCELLED"]:
                made[tool, "CANCELLED"] -= 1
            elif calm[key]:
                continue
            # Cancelled, or the script had ended before the request was read.
            made[tool, outcome] += 1
            if not calm[key]:
                del executed[script.number][key]
        if found[script.number] != script.audited:
            more, less = found[script.number] - script.audited, script.audited - found[script.number]
            problems.append(f"the audit of script {script.number} has {dict(more)} too much, {dict(less)} too little")
    expected = sum(executed.values(), Counter())
    if calm != expected:
        problems.append(f"the server executed {dict(calm - expected)} too much, {dict(expected - calm)} too little")
    if high:
        problems.append(f"a server executed what was refused: {dict(high)}")
    if len(own) != len(scripts):
        problems.append(f"{len(own)} scripts are in the audit, not {len(scripts)}")
    return problems


def batch(folder: Path, gongfu: Path, numbers: range, seed: int) -> tuple[list[str], int]:
    """Scripts in a home of their own; what is wrong, and how many calls they made."""
    world, scripts = World(folder, gongfu), [generate(number, seed) for number in numbers]
    with world.client as client, ThreadPoolExecutor(AT_ONCE) as pool:
        problems = [problem for found in pool.map(lambda script: run(world, script), scripts) for problem in found]
        code = client.end()
    if code != 0 or any("panicked" in line for _, line in client.log):
        problems.append(f"gongfu ended with {code}: {client.log[-1:]}")
    problems += compare(scripts, world.audit(), world.executed("calm"), world.executed("high"))
    return problems, sum(sum(script.audited.values()) for script in scripts)


def planted(folder: Path, gongfu: Path, seed: int) -> list[str]:
    """What the checks must find; answers what they don't."""
    world, scripts = World(folder, gongfu), [generate(number, seed) for number in range(4)]
    harm = Script(4, PROLOGUE.format(number=4) + "    note('high__write', 4000)" + EPILOGUE)
    harm.expect("high__write", 4_000, "APPROVAL_REQUIRED")
    scripts.append(harm)
    with world.client as client:
        problems = [problem for script in scripts for problem in run(world, script)]
        clean = world.audit(), world.executed("calm"), world.executed("high")
        problems += compare(scripts, *clean)
        refused = client.call("high__write", {"n": 4_000})["result"]["structuredContent"]
        world.command("approve", "allow", refused["approval"])
        if not run(world, harm):
            problems.append("a script whose call was allowed after all isn't noticed")
        client.call("calm__write", {"n": 7})
        client.end()
    found = compare(scripts, world.audit(), world.executed("calm"), world.executed("high"))
    for part in ("executed what was refused: {'write 4000': 1}", "executed {'write 7': 1} too much", "is nobody's: calm__write"):
        if not any(part in problem for problem in found):
            problems.append(f"not found: {part}, but {found}")
    shorter = [entry for entry in clean[0] if "parent" not in entry] + [entry for entry in clean[0] if "parent" in entry][1:]
    if len(compare(scripts, shorter, *clean[1:])) != 1:
        problems.append("an entry of the audit that is missing isn't noticed")
    return problems


def measure(folder: Path, gongfu: Path) -> str:
    """The same task by 20 calls and by one script."""
    world = World(folder, gongfu)
    world.client.end()
    world.add("pages", "medium", str(HERE / "faulty_server.py"), "huge-answer", str(ANSWER))
    code = f"from gongfu import tools\nprint(sum(len(tools.pages.echo(text=str(n))) for n in range({TASK})))"
    by_calls = [("tool_call", {"name": "pages__echo", "arguments": {"text": str(n)}}) for n in range(TASK)]
    figures = []
    with world.start() as client:
        client.call("pages__echo", {"text": "starts the server"})
        for calls in (by_calls, [("tool_script", {"code": code})]):
            size, times = 0, []
            for _ in range(5):
                started, size = time.monotonic(), 0
                for name, arguments in calls:
                    result = client.call(name, arguments)["result"]
                    size += len(json.dumps({"name": name, "arguments": arguments})) + len(json.dumps(result["content"]))
                times.append(time.monotonic() - started)
            figures.append((size, sorted(times)[2] * 1000))
        client.end()
    (calls_size, calls_time), (size, duration) = figures
    return (
        f"a task of {TASK} calls with answers of {ANSWER} bytes: by tool_call {calls_size} bytes through the model in {calls_time:.0f} ms and "
        f"{TASK} turns, by tool_script {size} bytes in {duration:.0f} ms and 1 turn: {calls_size / size:.0f} times fewer bytes"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--count", type=int, default=10_000, help="scripts (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started, gongfu, failed, calls = time.monotonic(), binary(options.gongfu), 0, 0
    with tempfile.TemporaryDirectory(prefix="gongfu-tool-scripts-") as name:
        folder = Path(name)
        problems = planted(folder / "planted", gongfu, options.seed)
        print(f"planted: {'; '.join(problems) or 'a call beside the scripts, one that was allowed, and a missing entry are noticed'}", flush=True)
        failed += len(problems)
        for start in range(0, options.count, BATCH):
            numbers = range(start, min(start + BATCH, options.count))
            problems, made = batch(folder / str(start), gongfu, numbers, options.seed)
            failed, calls = failed + len(problems), calls + made
            for problem in problems[:20]:
                print(f"  fault: {problem}", flush=True)
            took = time.monotonic() - started
            print(f"{numbers.stop} scripts, {calls} calls in the audit, {failed} faults, {took:.0f} s", flush=True)
        print(measure(folder / "task", gongfu))
    print(f"prove-tool-scripts: {options.count} scripts, seed {options.seed}, {failed} faults, in {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
