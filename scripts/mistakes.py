#!/usr/bin/env python3
"""Print the answer of gongfu to each typical mistake at the command line, with its exit code.

The mistakes are in crates/gongfu/tests/it/cli/mistakes.txt, where a test holds their answers.
"""

import os
import shlex
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "crates/gongfu/tests/it/cli/mistakes.txt"

SKILL = """---
name: pdf-tools
description: Merge, split and fill PDF files. Use when the user works with PDF files.
---

# PDF tools

## Merge

Run `scripts/merge.py`.
"""


def prepare(root: Path) -> dict[str, str]:
    files = {
        "skills/pdf-tools/SKILL.md": SKILL,
        "skills/pdf-tools/references/guide.md": "# Guide\n",
        "project/data.csv": "a,b\n",
        "project/pack.zip": "PK",
        "user/.cursor/mcp.json": '{ "mcpServers": {',
        "typo/config.toml": "skils_dirs = []\n",
        "typo/open/config.toml": 'skills_dirs = ["~/skills"\n\n[log]\n',
        "skills/drafts/README.md": "Notes.\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(root / "user"),
        "GONGFU_HOME": str(root / "home"),
        "GONGFU_SKILLS_DIRS": str(root / "skills"),
        "COLUMNS": "80",
    }


def main() -> int:
    program = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/debug/gongfu").resolve()
    lines = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as taken:
        root = Path(folder)
        environment = prepare(root)
        for number, line in enumerate(lines, start=1):
            expected, command, _ = (part.strip() for part in line.split(" |", 2))
            variables, arguments = command.split("gongfu", 1)
            arguments = arguments.replace("{port}", str(taken.getsockname()[1]))
            values = variables.replace("{typo}", str(root / "typo")).split()
            own = dict(value.split("=", 1) for value in values)
            ran = subprocess.run(
                [program, *shlex.split(arguments)],
                cwd=root / "project",
                env=environment | own,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            answer = (ran.stdout + ran.stderr).replace(folder, "…").rstrip()
            wrong += ran.returncode != int(expected)
            print(f"{number}. $ {command}\n{answer}\n[exit {ran.returncode}]\n")
    print(f"{len(lines)} mistakes, {wrong} with another exit code than expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
