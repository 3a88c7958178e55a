#!/usr/bin/env python3
"""Measures how well `tool_search` finds the right one of thousands of real tools, beside plain BM25.

    bench_tools.py [--gongfu BIN] [--cache FOLDER]

The definitions and queries are those that `tool_definitions/collect.py` wrote into the cache: of servers from npm and PyPI,
and of OpenAPI documents. Each origin becomes a connection of a fresh home, to a server that offers its definitions, and is
approved; then a `gongfu mcp` is asked each query. Plain BM25 gets the same definitions: name, title, description, the names
and descriptions of arguments, and the server; identifiers split, small letters, k1 1.2, b 0.75; once as they stand, and once
with English stems.

Prints the tokens of `tools/list` with every definition and with the directory; Hit@1, Hit@5 and MRR by kind of query, by
half of the origins, and of all; and milliseconds a search. Ties are broken for BM25. Exits 1 when BM25 isn't beaten on Hit@1
and Hit@5, when less than half is found, or when there are fewer than 1,000 definitions or queries. In the end the same is
judged with the answers shuffled, which has to fail.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import bm25s
import numpy as np
import Stemmer

from clients import REPOSITORY, binary
from stdio_client import StdioClient
from tool_definitions.definition import texts
from tool_definitions.documentation import words

SCRIPTS = Path(__file__).resolve().parent
CACHE = REPOSITORY / ".tools" / "tool-definitions"
# The least number of definitions, and of queries.
LEAST = 1_000
# So many tools are asked for, and at least this share of the right ones has to be among them.
FOUND, LEAST_FOUND = 5, 0.5
# A list of so many definitions is over any budget; with this one they are all listed.
ALL, USUAL = 1_000_000_000, 2_000
MAX_WIRE, DIGITS = 64, 8
# How long the servers of all connections may take to start, in seconds.
PATIENCE = 300.0


@dataclass
class Query:
    """A query, the name of the right tool, and the names that each ranking found, best first."""

    text: str
    answer: str
    kind: str
    half: int
    found: dict[str, list[str]] = field(default_factory=dict)

    def place(self, ranking: str) -> int:
        """The place of the right tool, from 1; 0 for nowhere."""
        found = self.found[ranking]
        return found.index(self.answer) + 1 if self.answer in found else 0


def wire_name(server: str, tool: str) -> str:
    """The name under which gongfu lists a tool."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", tool)
    whole = f"{server}__{plain}"
    if plain == tool and len(whole) <= MAX_WIRE:
        return whole
    return f"{whole[: MAX_WIRE - DIGITS - 1]}_{hashlib.sha256(tool.encode()).hexdigest()[:DIGITS]}"


class Home:
    """A home of gongfu's in which every origin is an approved connection."""

    def __init__(self, folder: Path, gongfu: Path, origins: list[dict[str, Any]]) -> None:
        self.folder, self.gongfu = folder, gongfu
        (folder / "user").mkdir()
        self.variables = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(folder / "user"), "GONGFU_HOME": str(folder / "home")}
        connections = []
        for origin in origins:
            file = folder / f"{origin['name']}.json"
            file.write_text(json.dumps(origin["definitions"]))
            command = ["-I", "-S", str(SCRIPTS / "offering_server.py"), str(file)]
            connections.append({"name": origin["name"], "command": sys.executable, "args": command})
        (folder / "connections.json").write_text(json.dumps({"connections": connections}))
        self.variables["LLP_MCP_CONNECTIONS_FILE"] = str(folder / "connections.json")
        for origin in origins:
            words = [str(gongfu), "connection", "approve", origin["name"], "--yes"]
            run = subprocess.run(words, env=self.variables, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
            if run.returncode:
                raise AssertionError(f"gongfu connection approve {origin['name']}: {run.stdout}{run.stderr}")

    def start(self, budget: int) -> StdioClient:
        """A client of gongfu with a budget for the definitions of other servers."""
        (self.folder / "home").mkdir(exist_ok=True)
        (self.folder / "home" / "config.toml").write_text(f"[tools]\nbudget = {budget}\n")
        return StdioClient([str(self.gongfu), "mcp", "--standalone", "--no-default-dirs"], self.variables, self.folder)


def whole_list(home: Home, wanted: set[str]) -> list[dict[str, Any]]:
    """The list of all definitions, once every connection is there."""
    deadline = time.monotonic() + PATIENCE
    with home.start(ALL) as client:
        while True:
            tools = client.tools()
            missing = wanted - {tool["name"] for tool in tools}
            if not missing:
                return tools
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(missing)} tools aren't listed: {sorted(missing)[:5]}")
            time.sleep(1)


def search(home: Home, queries: list[Query], samples: list[str]) -> tuple[list[dict[str, Any]], list[float]]:
    """Asks gongfu each query; its list with the directory, and the milliseconds of each search."""
    took = []
    with home.start(USUAL) as client:
        tools = client.tools()
        client.call("tool_search", {"query": "make the index"}, PATIENCE)
        for query in queries:
            started = time.perf_counter()
            answer = client.call("tool_search", {"query": query.text, "limit": FOUND})
            took.append((time.perf_counter() - started) * 1000)
            query.found["gongfu"] = [tool["name"] for tool in answer["result"]["structuredContent"]["results"]]
        for name in samples:
            if client.call("tool_describe", {"names": [name]})["result"].get("isError"):
                raise AssertionError(f"{name} wasn't in the directory")
    return tools, took


def plain_bm25(origins: list[dict[str, Any]], queries: list[Query]) -> None:
    """Asks plain BM25 each query, with and without stems."""
    names, documents = [], []
    for origin in origins:
        for one in origin["definitions"]:
            names.append(wire_name(origin["name"], one["name"]))
            documents.append(words("\n".join([origin["name"], one["name"], *texts(one)])))
    stem = Stemmer.Stemmer("english").stemWords
    for title, prepare in {"BM25": lambda text: text, "BM25, stems": stem}.items():
        ranking = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        ranking.index([prepare(document) for document in documents], show_progress=False)
        for query in queries:
            scores = ranking.get_scores(prepare(words(query.text)))
            best = sorted(np.flatnonzero(scores), key=lambda at: (-scores[at], names[at] != query.answer))[:FOUND]
            query.found[title] = [names[at] for at in best]


def tokens(tools: list[dict[str, Any]], cache: Path) -> tuple[int, int | None]:
    """The tokens of a list: four bytes each, and by the vocabulary of a real tokenizer where that is installed."""
    text = json.dumps(tools, ensure_ascii=False, separators=(",", ":"))
    script = "let all=''; process.stdin.on('data',d=>all+=d).on('end',()=>console.log(require('gpt-tokenizer').encode(all).length))"
    run = subprocess.run(["node", "-e", script], cwd=cache / "packages" / "tokenizer", input=text, capture_output=True, text=True)
    return len(text.encode()) // 4, int(run.stdout) if run.returncode == 0 else None


def rates(queries: list[Query], ranking: str) -> tuple[float, float, float]:
    """Hit@1, Hit@5 and MRR."""
    places = [query.place(ranking) for query in queries]
    count = len(places)
    return places.count(1) / count, sum(1 for place in places if place) / count, sum(1 / place for place in places if place) / count


def table(queries: list[Query]) -> None:
    """Prints the rates of each ranking."""
    parts = {f"of a {kind}": [query for query in queries if query.kind == kind] for kind in ("server", "document")}
    parts |= {f"half {half} of the origins": [query for query in queries if query.half == half] for half in (1, 2)}
    parts["all"] = queries
    print(f"\n{'queries':<24}{'':>7}  {'ranking':<12}{'Hit@1':>8}{'Hit@5':>8}{'MRR':>8}")
    for title, some in parts.items():
        for at, ranking in enumerate(queries[0].found if some else []):
            first, five, mean = rates(some, ranking)
            print(f"{title if at == 0 else '':<24}{len(some) if at == 0 else '':>7}  {ranking:<12}{first:>8.1%}{five:>8.1%}{mean:>8.3f}")


def judge(queries: list[Query]) -> list[str]:
    """What is wrong with the answers."""
    own = rates(queries, "gongfu")
    wrong = ["less than half is found"] if own[1] < LEAST_FOUND else []
    for ranking in queries[0].found:
        other = rates(queries, ranking)
        wrong += [f"{ranking} isn't beaten on {rate}" for rate, ours, theirs in zip(("Hit@1", "Hit@5"), own, other) if ranking != "gongfu" and ours <= theirs]
    return wrong


def shuffled(queries: list[Query]) -> list[Query]:
    """The queries, each with the right answer of another."""
    answers = [query.answer for query in queries]
    random.Random(1).shuffle(answers)
    return [replace(query, answer=answer) for query, answer in zip(queries, answers, strict=True)]


def read(cache: Path) -> tuple[list[dict[str, Any]], list[Query]]:
    """The origins, and their queries. Halves are by the digest of the origin's name, so that they stay when others come."""
    origins = json.loads((cache / "definitions.json").read_text())
    queries = []
    for origin in origins:
        half = hashlib.sha256(origin["name"].encode()).digest()[0] % 2 + 1
        for tool, text in origin["queries"].items():
            queries.append(Query(text, wire_name(origin["name"], tool), origin["kind"], half))
    return origins, queries


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--cache", type=Path, default=CACHE)
    options = parser.parse_args()
    origins, queries = read(options.cache)
    count = sum(len(origin["definitions"]) for origin in origins)
    kinds = [origin["kind"] for origin in origins]
    print(f"{count:,} definitions of {kinds.count('server')} servers and {kinds.count('document')} documents, {len(queries):,} queries", flush=True)
    if count < LEAST or len(queries) < LEAST:
        print(f"error: fewer than {LEAST:,} definitions or queries", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="gongfu-bench-") as name:
        home = Home(Path(name), binary(options.gongfu), origins)
        everything = whole_list(home, {wire_name(origin["name"], one["name"]) for origin in origins for one in origin["definitions"]})
        directory, took = search(home, queries, [wire_name(origin["name"], origin["definitions"][0]["name"]) for origin in origins])
    plain_bm25(origins, queries)
    three = [tool for tool in directory if tool["name"] in ("tool_search", "tool_describe", "tool_call")]
    for title, listed in {"every definition": everything, "the directory": directory, "that alone": three}.items():
        bytewise, real = tokens(listed, options.cache)
        print(f"tools/list with {title:<17} {bytewise:>10,} tokens of four bytes" + (f" {real:>10,} of o200k" if real else ""))
    print(f"a search takes {median(took):.1f} ms, p99 {quantiles(took, n=100)[98]:.1f} ms")
    table(queries)
    wrong = judge(queries)
    if not judge(shuffled(queries)):
        wrong.append("wrong answers aren't noticed")
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
