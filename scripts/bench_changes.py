#!/usr/bin/env python3
"""Measures what a run costs, by the number of files that it changes, over stdio, beside a plain spawn.

    bench_changes.py [--gongfu BIN] [--before BIN] [--rounds N]

Each line is one program: least and median time in milliseconds of a plain spawn, of another gongfu when one is given
with --before, and of this one, in turns in one process each; and the median beside the first figure. The last lines
are in a project of 200,000 files.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from clients import binary

FOLDERS, FILES = 1_000, 200
# Where a sandbox looks for programs.
PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
WRITES = "import sys\nfor n in range({count}): open('{at}/f%d' % n, 'w').write('{round}')"
# The name, the words of the program, the number of runs in a round, and whether it is in the large project.
# `{at}` is the workspace, `{round}` a number that no other run has.
CASES: list[tuple[str, list[str], int, bool]] = [
    ("true", ["true"], 40, False),
    ("python3 -c pass", ["python3", "-c", "pass"], 25, False),
    ("writes 1 file", ["python3", "-c", WRITES.replace("{count}", "1")], 20, False),
    ("writes 100 files", ["python3", "-c", WRITES.replace("{count}", "100")], 10, False),
    ("writes 10,000 files", ["python3", "-c", WRITES.replace("{count}", "10000")], 2, False),
    ("200,000 files: true", ["true"], 20, True),
    ("200,000 files: writes 1", ["sh", "-c", "echo {round} > {at}/d7/f7"], 15, True),
    ("200,000 files: writes 100", ["sh", "-c", "for n in $(seq 100); do echo {round} > {at}/d$n/f1; done"], 8, True),
]

Times = defaultdict[tuple[str, str], list[float]]


class Server:
    """A gongfu over stdio."""

    def __init__(self, program: Path, base: Path, workspace: Path) -> None:
        command = [str(program), "mcp", "--no-default-dirs", "--skills-dir", str(base / "skills"), "--workspace", str(workspace)]
        variables = {**os.environ, "GONGFU_HOME": str(base / f"home-{program.stat().st_ino}")}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables, text=True)
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdout is not None
        self.number += 1
        self.send({"id": self.number, "method": method, "params": parameters})
        answers = (json.loads(line) for line in self.process.stdout)
        return next(answer for answer in answers if answer.get("id") == self.number)

    def run(self, words: list[str]) -> float:
        began = time.perf_counter()
        answer = self.ask("tools/call", {"name": "skill_run", "arguments": {"skill_name": "s", "command": words[0], "arguments": words[1:]}})
        took = time.perf_counter() - began
        if answer["result"].get("structuredContent", {}).get("exit_code") != 0:
            raise SystemExit(f"error: {words} failed: {answer}")
        return took * 1000

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def spawn(words: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(words, check=True, env={"PATH": PROGRAMS}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return (time.perf_counter() - began) * 1000


def measured(words: list[str], at: str, number: int) -> list[str]:
    return [word.replace("{at}", at).replace("{round}", str(number)) for word in words]


def play(base: Path, programs: dict[str, Path], rounds: int) -> Times:
    times: Times = defaultdict(list)
    number = 0
    for turn in range(rounds):
        names = list(programs) if turn % 2 == 0 else list(programs)[::-1]
        for is_large in (False, True):
            for name in ["plain", *names]:
                workspace = base / "large" if is_large else base / f"small-{turn}-{name}"
                workspace.mkdir(exist_ok=True)
                server = None if name == "plain" else Server(programs[name], base, workspace)
                if server:
                    server.run(["true"])
                for what, words, count, large in CASES:
                    for _ in range(count if large == is_large else 0):
                        number += 1
                        if server:
                            took = server.run(measured(words, "/workspace", number))
                        else:
                            took = spawn(measured(words, str(workspace), number))
                        times[what, name].append(took)
                if server:
                    server.end()
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path, help="the binary (default: what cargo built)")
    parser.add_argument("--before", type=Path, help="another binary, to be compared with")
    parser.add_argument("--rounds", type=int, default=3, help="the turns of each (default: 3)")
    options = parser.parse_args()
    programs = {"gongfu": binary(options.gongfu).resolve()}
    if options.before:
        programs = {"before": options.before.resolve(), **programs}
    with tempfile.TemporaryDirectory(prefix="gongfu-bench-") as folder:
        base = Path(folder)
        (base / "skills/s").mkdir(parents=True)
        (base / "skills/s/SKILL.md").write_text("---\nname: s\ndescription: A skill to measure with.\n---\nx\n")
        for number in range(FOLDERS):
            here = base / f"large/d{number}"
            here.mkdir(parents=True)
            for one in range(FILES):
                (here / f"f{one}").touch()
        times = play(base, programs, options.rounds)
    names = ["plain", *programs]
    print(f"{'least, median, in ms':28}" + "".join(f"{name:>22}" for name in names))
    for what, *_ in CASES:
        first = statistics.median(times[what, names[1] if options.before else names[0]])
        cells = [f"{min(times[what, name]):9.2f} {statistics.median(times[what, name]):9.2f}" for name in names]
        ratio = statistics.median(times[what, "gongfu"]) / first
        print(f"{what:28}" + "".join(f"{cell:>22}" for cell in cells) + f"{ratio:8.2f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
