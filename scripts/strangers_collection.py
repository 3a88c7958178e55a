"""The scripts of strangers: where they come from, and what they import that isn't there."""

from __future__ import annotations

import ast
import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COLLECTION = "claude-code-skills@0.5.0"
DIGEST = "9w2o/yhA+ux/rUYeNR2pl8Q/QWTh+XXgNl1ddrIIO4U7ekdeghteNbW3C8n3XEPLHMtBv4QKzt4itr7MzptJbQ=="
# How long the registry may take, in seconds.
PATIENCE = 300.0
# Folders whose scripts are about a skill, not of it.
ASIDE = {"benchmarks", "results", "node_modules", "__pycache__"}


@dataclass
class Script:
    """A script, and what came of it."""

    skill: str
    path: str
    packages: list[str]
    absent: list[str]
    heavy: list[str]
    # `works`, `exceeds`, or `fails`; empty until it was tried.
    reference: str = ""
    why_not: str = ""
    # It works without any package as well.
    bare: bool = False
    gongfu: str = ""
    problem: str = ""
    seconds: float = 0.0
    mebibytes: int = 0


@dataclass
class Skill:
    """A folder of a skill, and its candidates."""

    folder: Path
    name: str
    scripts: list[Script] = field(default_factory=list)


def fetch(cache: Path) -> Path:
    """Gets the collection by npm, checks that it is the known one, and unpacks it; answers its skills."""
    folder = cache / COLLECTION
    archive = cache / f"{COLLECTION.replace('@', '-')}.tgz"
    if not archive.is_file():
        done = subprocess.run(["npm", "pack", COLLECTION, "--silent"], cwd=cache, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode != 0:
            sys.exit(f"error: `npm pack {COLLECTION}` failed: {done.stderr.strip()[-500:]}\n  hint: the registry must be reachable")
    if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != DIGEST:
        archive.unlink()
        sys.exit(f"error: {COLLECTION} isn't the one that is known: its sha512 differs, so it was removed")
    if not folder.is_dir():
        part = Path(tempfile.mkdtemp(dir=cache))
        with tarfile.open(archive) as tar:
            tar.extractall(part, filter="data", members=[one for one in tar if one.isfile() and one.name.startswith("package/data/skills/")])
        part.rename(folder)
    return folder / "package" / "data" / "skills"


def imports(tree: ast.AST) -> set[str]:
    """The full names of all modules that a script imports, in functions and try blocks as well."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def is_strange(module: str, near: set[str], own: set[str], table: dict[str, Any]) -> bool:
    """True for a module that is neither Python's nor the skill's: far from the script a known name isn't the skill's."""
    known = any(name.split(".")[0] == module for name in table["packages"])
    return module not in sys.stdlib_module_names and module not in near and (known or module not in own)


def candidates(folder: Path, name: str, table: dict[str, Any]) -> Skill:
    """The scripts of a skill that import what neither Python nor the skill has."""
    skill = Skill(folder, name)
    files = [file for file in sorted(folder.rglob("*.py")) if file.is_file() and not file.is_symlink()]
    inside: dict[Path, set[str]] = defaultdict(set)
    for path in (file.relative_to(folder) for file in files):
        inside[path.parent].add(path.stem)
        for parent in path.parent.parents if path.parent.parts else []:
            inside[parent].add(path.relative_to(parent).parts[0])
    own = set().union(*inside.values())
    for file in files:
        path = file.relative_to(folder)
        if ASIDE & set(path.parts[:-1]):
            continue
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError):
            continue
        near = {name for parent in path.parents for name in inside[parent]}
        strange = {module for module in imports(tree) if is_strange(module.split(".")[0], near, own, table)}
        if not strange:
            continue
        packages, absent, heavy = set(), set(), set()
        for module in strange:
            parts = module.split(".")
            names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
            heavy |= {one for one in names if one in table["heavy"]}
            known = [table["packages"][one] for one in names if one in table["packages"]]
            packages |= set(known[:1])
            absent |= set() if known else {parts[0]}
        skill.scripts.append(Script(name, path.as_posix(), sorted(packages), sorted(absent), sorted(heavy)))
    return skill


def find(skills: Path, only: str, table: dict[str, Any]) -> list[Skill]:
    """The skills below a folder that have candidates."""
    folders = [(file.parent, file.parent.relative_to(skills).as_posix()) for file in sorted(skills.rglob("SKILL.md"))]
    found = [candidates(folder, name, table) for folder, name in folders if only in name]
    return [skill for skill in found if skill.scripts]
