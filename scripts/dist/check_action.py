#!/usr/bin/env python3
"""Runs the last step of action.yml as GitHub does, on a skill with faults and names that it must escape."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
# GitHub's rule for a command: properties without raw separators, and a message on one line.
COMMAND = re.compile(r"^::(error|warning|notice) file=([^,:]+),line=\d+,col=\d+,title=[^,:]+::[^\n]+$")
BAD = "---\nname: Bad Name\ndescription: Use when: x\n---\nRead [it](missing.md).\n"
GOOD = "---\nname: good\ndescription: Adds two numbers. Use it when somebody asks for a sum.\n---\nAdd them.\n"


def check(folder: Path, name: str) -> tuple[int, list[str]]:
    """The exit code and the lines for a skill, with the program of this build."""
    program = REPOSITORY / "target/debug"
    path = f"{program}:{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "PATHS": name, "STRICT": "false", "GITHUB_WORKSPACE": str(folder),
                 "GONGFU_HOME": str(folder / "home")}
    step = re.search(r'run: \'"\$GITHUB_ACTION_PATH/(\S+)"\'', (REPOSITORY / "action.yml").read_text())
    done = subprocess.run([REPOSITORY / step.group(1)], cwd=folder, env=variables, capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines() + done.stderr.splitlines()


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, text in (("good/good", GOOD), ("bad/a,b:c%0Ad", BAD)):
            (folder / name).mkdir(parents=True)
            (folder / name / "SKILL.md").write_text(text)
        code, lines = check(folder, "good")
        is_good = code == 0 and lines == ["1 skills checked, 0 invalid"]
        code, lines = check(folder, "bad")
        commands = [line for line in lines if line.startswith("::")]
        is_bad = code == 1 and len(commands) > 1 and all(COMMAND.match(line) for line in commands)
        is_escaped = all("file=bad/a%2Cb%3Ac%250Ad/SKILL.md" in line for line in commands)
        wrong, said = check(folder, "missing")
        is_told = wrong != 0 and said
    if is_good and is_bad and is_escaped and is_told:
        print(f"action.yml: {len(commands)} annotations, each a command; a clean folder passes")
        return 0
    print("error: the action does not annotate:", *lines, *said, sep="\n  ", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
