#!/usr/bin/env python3
"""Collects real definitions of tools, and sentences that say what each is for without its name or description.

    collect.py FOLDER

The packages of packages.toml are installed below the folder, and what servers list is kept there. Each server is started without a network, where the kernel
lets it, and lists its tools; the operations of each OpenAPI document become tools as well. Sentences come from a package's
documentation, or from the longer description of an operation, of which the definition has the summary alone. A sentence
that shares five words in a row with its definition is left out, and so is one that stands for several tools.

Writes FOLDER/definitions.json: by origin, definitions and queries. Prints a line for each; what can't be had is a note.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Semaphore
from typing import Any

import documentation
import install
from definition import texts
from documents import Document
from listing import SilentError, list_tools

OWN = Path(__file__).resolve().parent
# Without a network nobody is sent a value that stands for a password, and what is listed depends on nothing outside.
ALONE = ["unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]

# So many servers are started at a time; more packages are waited for.
STARTS = Semaphore(2)


@dataclass
class Origin:
    """A server or a document: its definitions, and a query for some of them by their names."""

    name: str
    kind: str
    package: str
    definitions: list[dict[str, Any]]
    queries: dict[str, str]


def queries(sentences: Iterable[tuple[str, str]], definitions: list[dict[str, Any]]) -> dict[str, str]:
    """The first good sentence about each tool."""
    about = {one["name"]: "\n".join(texts(one)) for one in definitions}
    found: dict[str, str] = {}
    for name, sentence in sentences:
        if name not in found and (query := documentation.query(sentence, name, about[name])):
            found[name] = query
    return found


def from_server(entry: dict[str, Any], folder: Path, alone: list[str]) -> Origin:
    package = entry.get("npm") or entry["pypi"]
    own = folder / "packages" / entry["name"]
    programs = install.npm(package, own) if "npm" in entry else install.pypi([package, *entry.get("with", [])], own)
    definitions = listed(entry, programs, folder / "lists", alone)
    names = {one["name"] for one in definitions}
    sentences = [pair for text in install.documentation(package, own) for pair in documentation.described(text, names)]
    return Origin(entry["name"], "server", package, definitions, queries(sentences, definitions))


def listed(entry: dict[str, Any], programs: Path, lists: Path, alone: list[str]) -> list[dict[str, Any]]:
    """The definitions that a server lists; it is asked once for each way of starting it."""
    key = hashlib.sha256(json.dumps(entry).encode()).hexdigest()
    file = lists / f"{entry['name']}-{key[:16]}.json"
    if not file.is_file():
        command = [*alone, str(programs / entry["run"]), *entry.get("arguments", [])]
        with STARTS:
            tools = list_tools(command, programs, entry.get("variables", {}))
        kept = ({key: tool[key] for key in ("name", "title", "description", "inputSchema", "annotations") if tool.get(key)} for tool in tools)
        lists.mkdir(exist_ok=True)
        file.write_text(json.dumps(list({one["name"]: one for one in kept}.values())))
    found: list[dict[str, Any]] = json.loads(file.read_text())
    return found


def from_document(entry: dict[str, Any], folder: Path) -> Origin:
    package = entry.get("npm") or entry["pypi"]
    operations = Document(install.file_of(package, entry["file"], folder / "packages" / entry["name"])).operations()
    unique = list({definition["name"]: (definition, longer) for definition, longer in operations}.values())
    definitions = [definition for definition, _ in unique]
    sentences = ((one["name"], documentation.first_sentence(longer)) for one, longer in unique if longer)
    return Origin(entry["name"], "document", package, definitions, queries(sentences, definitions))


def without_network() -> list[str]:
    """The words before a command that take the network away; none where that isn't allowed."""
    try:
        done = subprocess.run([*ALONE, "true"], capture_output=True, timeout=10)
    except OSError:
        return []
    return ALONE if done.returncode == 0 else []


def collect(folder: Path) -> list[Origin]:
    """All origins that can be had."""
    packages = tomllib.loads((OWN / "packages.toml").read_text())
    alone = without_network()
    if not alone:
        print("note: the servers are started with the network, for none can be taken away here", file=sys.stderr)

    def one(entry: dict[str, Any]) -> Origin | None:
        try:
            origin = from_document(entry, folder) if "file" in entry else from_server(entry, folder, alone)
        except (install.AbsentError, SilentError, OSError, KeyError) as error:
            sys.stderr.write(f"note: {entry['name']}: {' '.join(str(error).split())[:300]}\n")
            return None
        return origin

    install.npm(packages["tokenizer"], folder / "packages" / "tokenizer")
    with ThreadPoolExecutor(8) as several:
        origins = [origin for origin in several.map(one, [*packages["servers"], *packages["documents"]]) if origin]
    counts = Counter(query.lower() for origin in origins for query in origin.queries.values())
    for origin in origins:
        origin.queries = {name: query for name, query in origin.queries.items() if counts[query.lower()] == 1}
        print(f"  {origin.name:<28} {len(origin.definitions):>5} definitions {len(origin.queries):>5} queries")
    return origins


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    origins = collect(folder)
    (folder / "definitions.json").write_text(json.dumps([asdict(origin) for origin in origins]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
