#!/usr/bin/env python3
"""Compares the packages that `skill check` proposes with those of `env build`, on imports of real scripts.

    import_agreement.py --gongfu PROGRAM --cache FOLDER [--count N]

Each import becomes a skill of its own with one script. Exits 1 when the two differ anywhere.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from strangers_collection import fetch

# How long one call of gongfu may take, in seconds.
PATIENCE = 120.0


def statements(skills: Path) -> list[str]:
    """Import statements of scripts, one name each, the most common first."""
    found: Counter[str] = Counter()
    for path in sorted(skills.rglob("*.py")):
        own = {other.stem for other in path.parent.parent.rglob("*.py")} | {folder.name for folder in path.parent.parent.rglob("*") if folder.is_dir()}
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
                lines = [f"import {name}" for name in names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module] * len(node.names)
                lines = [f"from {node.module} import {alias.name}" for alias in node.names]
            else:
                continue
            for name, line in zip(names, lines, strict=True):
                top = name.split(".")[0]
                if top not in sys.stdlib_module_names and top not in own:
                    found[line] += 1
    # One statement a module before a second one, so that different packages are compared.
    lines = [line for line, _ in found.most_common()]
    chosen: dict[str, str] = {}
    for line in lines:
        chosen.setdefault(line.split()[1], line)
    first = list(chosen.values())
    return first + [line for line in lines if line not in first]


def call(gongfu: Path, *arguments: str) -> object:
    done = subprocess.run([gongfu, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    try:
        return json.loads(done.stdout)
    except ValueError:
        sys.exit(f"error: gongfu {' '.join(arguments)}: {done.stderr.strip()[-500:]}")


def of_check(hint: str) -> set[str]:
    """The packages that a finding proposes."""
    listed = re.search(r"dependencies = \[([^\]]*)\]", hint)
    return set(re.findall(r'"([^"]+)"', listed.group(1))) if listed else set()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gongfu", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    lines = statements(fetch(options.cache))[: options.count]
    with tempfile.TemporaryDirectory() as folder:
        skills = Path(folder) / "skills"
        for number, line in enumerate(lines):
            skill = skills / f"import-{number}"
            (skill / "scripts").mkdir(parents=True)
            (skill / "SKILL.md").write_text(f"---\nname: import-{number}\ndescription: Imports a module.\n---\nRun it.\n")
            (skill / "scripts/run.py").write_text(f"{line}\n")
        checked = call(options.gongfu, "skill", "check", str(skills), "--json")
        hints = {
            skill["name"]: found["hint"]
            for skill in checked["skills"]
            for found in skill["diagnostics"]
            if found["code"] == "script-dependencies-undeclared"
        }
        known = differing = 0
        for number, line in enumerate(lines):
            name = f"import-{number}"
            built = call(options.gongfu, "env", "build", name, "--json", "--no-default-dirs", "--skills-dir", str(skills))
            proposals = [report for report in built if "proposed" in report]
            of_run = {package for report in proposals for package in report["proposed"] if package not in report["unknown"]}
            proposed = of_check(hints.get(name, ""))
            known += bool(of_run)
            if proposed != of_run:
                differing += 1
                print(f"{line}: check proposes {sorted(proposed)}, env build {sorted(of_run)}")
        print(f"{len(lines)} imports: {known} of the table, {differing} differ")
    return 1 if differing or not known else 0


if __name__ == "__main__":
    sys.exit(main())
