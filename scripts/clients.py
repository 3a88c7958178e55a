#!/usr/bin/env python3
"""Lets real MCP clients speak with gongfu over standard input and output.

    clients.py [--gongfu BIN] [--timeout SECONDS]

The clients are the Python package `mcp` and the Inspector's command line under the Node of
.tools/node; `scripts/test --install` installs both. Each connects in every way that it knows (with a
greeting, without one, and by its own choice), lists the tools, calls each of them and makes mistakes,
on a home and a folder of skills that are made for it and removed again.

Prints one table: what was done, by which client, with what outcome, in how many milliseconds. Exits 1
on any failure and when nothing ran; 77 when nothing failed and a client is not installed here.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

try:
    from mcp import Client, MCPError, StdioServerParameters, stdio_client
except ImportError:
    Client = None

REPOSITORY = Path(__file__).resolve().parent.parent
# What `cargo build --release` and `cargo build` make, in the order in which they are looked for.
BINARIES = [REPOSITORY / "target" / build / "gongfu" for build in ("release", "debug")]
NODE = REPOSITORY / ".tools" / "node" / "node_modules" / ".bin"

NOT_INSTALLED = 77
# How the Inspector ends when a tool answers with an error.
TOOL_ERROR = 5
# JSON-RPC: invalid params.
WRONG_PARAMETERS = -32602

SKILL = """---
name: pdf-tools
description: Fills forms and merges PDF files.
---

# PDF tools

Read references/guide.md first.
"""
GUIDE = "one\ntwo\nthree\n"
DOT = b"\x89PNG\r\n\x1a\n\0\xff"

# One call of each tool, and a text that its answer holds; a tool that is not here is a failure.
# `{turn}` in an argument is another number in each call, and `{set}` the id of another change set.
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "change_list": ({}, "changes by a client"),
    "change_settle": ({"id": "{set}", "action": "drop"}, "dropped"),
    "file_list": ({}, "note.txt"),
    "file_read": ({"path": "note.txt"}, "a note\n"),
    "file_write": ({"path": "new/file-{turn}.txt", "content": "new\n"}, "wrote 4 bytes"),
    "skill_create": ({"name": "new-{turn}", "description": "Count: words of a text. Use it for word counts.",
        "instructions": "Run wc."}, "created the skill skills/new-"),
    "skill_list": ({}, "pdf-tools"),
    "skill_load": ({"skill_name": "pdf-tools"}, SKILL),
    "skill_read": ({"skill_name": "pdf-tools", "path": "references/guide.md"}, GUIDE),
    "skill_run": ({"skill_name": "pdf-tools", "command": "cat references/guide.md"}, GUIDE),
    "skill_search": ({"query": "merging a form"}, "- pdf-tools: Fills forms and merges PDF files."),
    "skill_write": (
        {"skill_name": "pdf-tools", "path": "references/guide.md", "old_text": "two", "new_text": "two"},
        "wrote 14 bytes",
    ),
}
TURNS = itertools.count()
# The change sets that there are, each for one call.
CHANGE_SETS = 200
SETS = itertools.count()


def call_of(tool: str) -> tuple[dict[str, Any], str]:
    """The arguments of one call of a tool, and a text of its answer."""
    arguments, wanted = CALLS[tool]
    turn = str(next(TURNS))
    filled = {name: value.replace("{turn}", turn) for name, value in arguments.items()}
    if "{set}" in filled.values():
        filled["id"] = f"{next(SETS):08}"
    return filled, wanted


class Failure(Exception):
    """What a client got is not what it should have got."""


def expect(holds: bool, what: object) -> None:
    """Fails, saying what was found, unless the condition holds."""
    if not holds:
        raise Failure(str(what))


@dataclass
class Row:
    """One line of the table."""

    what: str
    client: str
    problem: str
    milliseconds: int


@dataclass
class World:
    """A home and a folder of skills for one run, and the server in it."""

    folder: Path
    gongfu: Path
    timeout: float
    # Other folders of skills than the one that is made.
    skills: list[Path] = field(default_factory=list)

    def make(self) -> None:
        """Writes the skill that every client asks for."""
        skill = self.folder / "skills" / "pdf-tools"
        (skill / "references").mkdir(parents=True)
        (skill / "SKILL.md").write_text(SKILL)
        (skill / "references" / "guide.md").write_text(GUIDE)
        (skill / "dot.png").write_bytes(DOT)
        for number in range(CHANGE_SETS):
            change_set = self.folder / "home" / "changes" / f"{number:08}"
            change_set.mkdir(parents=True)
            began = {"time": 0, "steady": 0}
            about = {"format": 2, "id": change_set.name, "made": 0, "about": "a client", "bytes": 0}
            (change_set / "set.json").write_text(json.dumps({**about, "began": began, "folders": []}))
        (self.folder / "person").mkdir()
        (self.folder / "work").mkdir()
        (self.folder / "work" / "note.txt").write_text("a note\n")

    @property
    def arguments(self) -> list[str]:
        """The arguments that start the server."""
        folders = self.skills or [self.folder / "skills"]
        named = [option for folder in folders for option in ("--skills-dir", str(folder))]
        return ["mcp", "--no-default-dirs", *named, "--workspace", str(self.folder / "work")]

    @property
    def variables(self) -> dict[str, str]:
        """The variables of the server, and of a client that keeps files of its own."""
        return {"GONGFU_HOME": str(self.folder / "home"), "HOME": str(self.folder / "person")}


Table = list[Row]


def timed(table: Table, what: str, client: str, run: Callable[[], None]) -> None:
    """Runs one thing and adds its row."""
    started = time.monotonic()
    problem = ""
    try:
        run()
    except Exception as error:
        problem = described(error)
    table.append(Row(what, client, problem, round((time.monotonic() - started) * 1000)))


def described(error: BaseException) -> str:
    """An error in one line; of a group of them the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    words = " ".join(str(error).split()) or "no message"
    return words if isinstance(error, Failure) else f"{type(error).__name__}: {words}"


# The Python client.


def shown(result: Any) -> str:
    """The texts of an answer, together."""
    return "".join(part.text for part in result.content if part.type == "text")


async def lists_tools(client: Any) -> None:
    names = [tool.name for tool in (await client.list_tools()).tools]
    expect(sorted(CALLS) == names, f"the tools are {names}; CALLS in scripts/clients.py has {sorted(CALLS)}")


async def calls_each_tool(client: Any) -> None:
    for tool in (await client.list_tools()).tools:
        arguments, wanted = call_of(tool.name)
        result = await client.call_tool(tool.name, arguments)
        expect(not result.is_error, f"{tool.name}: {shown(result)}")
        expect(wanted in shown(result), f"{tool.name} answers {shown(result)!r}")
        expect((tool.output_schema is None) == (result.structured_content is None), f"{tool.name}: schema and answer differ")


async def reads_a_binary_file(client: Any) -> None:
    result = await client.call_tool("skill_read", {"skill_name": "pdf-tools", "path": "dot.png"})
    resource = result.content[0].resource
    expect(base64.b64decode(resource.blob) == DOT, resource)
    expect(resource.mime_type == "image/png", resource.mime_type)


async def lists_files(client: Any) -> None:
    result = await client.call_tool("skill_read", {"skill_name": "pdf-tools"})
    paths = [file["path"] for file in result.structured_content["files"]]
    expect(paths == ["SKILL.md", "dot.png", "references/guide.md"], paths)


async def is_told_its_mistakes(client: Any) -> None:
    for arguments, code in [
        ({"skill_name": "pdf_tool"}, "SKILL_NOT_FOUND"),
        ({"skill_name": "../pdf-tools"}, "INVALID_SKILL_NAME"),
        ({}, "MISSING_ARGUMENT"),
        ({"skill_name": 5}, "INVALID_ARGUMENT"),
    ]:
        result = await client.call_tool("skill_load", arguments)
        expect(result.is_error and result.structured_content["code"] == code, f"{arguments}: {result}")
        expect(bool(result.structured_content["hint"]), f"{arguments}: no hint")


async def is_told_of_an_unknown_tool(client: Any) -> None:
    try:
        result = await client.call_tool("skill_loads", {})
    except MCPError as error:
        expect(error.code == WRONG_PARAMETERS, error)
        expect(error.data["code"] == "TOOL_NOT_FOUND", error.data)
    else:
        raise Failure(f"an answer: {result}")


async def calls_many_at_once(client: Any) -> None:
    arguments, wanted = CALLS["skill_load"]
    results = await asyncio.gather(*(client.call_tool("skill_load", arguments) for _ in range(100)))
    expect(all(wanted in shown(result) for result in results), "an answer went astray")


STEPS = [
    ("list the tools", lists_tools),
    ("call each tool", calls_each_tool),
    ("read a binary file", reads_a_binary_file),
    ("list files", lists_files),
    ("make mistakes", is_told_its_mistakes),
    ("call an unknown tool", is_told_of_an_unknown_tool),
    ("100 calls at once", calls_many_at_once),
]
# How the client connects, and the version that comes of it.
MODES = [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]


async def python_session(world: World, table: Table, mode: str, version: str) -> None:
    """Connects once and takes every step; what comes behind a hanging step isn't tried."""
    name = f"python mcp, {mode}"
    parameters = StdioServerParameters(command=str(world.gongfu), args=world.arguments, env=world.variables)
    row = Row("connect", name, "", 0)
    started = time.monotonic()

    def done(problem: str) -> None:
        row.problem, row.milliseconds = problem, round((time.monotonic() - started) * 1000)
        table.append(row)

    try:
        with open(world.folder / "log", "a") as log:
            server = Client(stdio_client(parameters, errlog=log), mode=mode, read_timeout_seconds=world.timeout)
            async with server as client:
                expect(client.protocol_version == version, f"it speaks {client.protocol_version}, not {version}")
                # Without a greeting and without a look, nobody introduces the server.
                if mode != version:
                    expect(client.server_info.name == "gongfu", client.server_info)
                    expect("skill_search" in (client.instructions or ""), "no instructions")
                done("")
                for what, step in STEPS:
                    row, started = Row(what, name, "", 0), time.monotonic()
                    try:
                        await step(client)
                        done("")
                    except Exception as error:
                        done(described(error))
                row, started = Row("disconnect", name, "", 0), time.monotonic()
        done("")
    except Exception as error:
        done(described(error))


def run_python(world: World, table: Table) -> None:
    """Every way to connect, each bounded as a whole."""
    for mode, version in MODES:
        bounded = asyncio.wait_for(python_session(world, table, mode, version), world.timeout * 3)
        try:
            asyncio.run(bounded)
        except TimeoutError:
            table.append(Row("end in time", f"python mcp, {mode}", "it hangs", round(world.timeout * 3000)))


# The Inspector.


def inspect(world: World, era: str, *options: str, code: int = 0) -> dict[str, Any]:
    """One run of the Inspector on standard input and output; answers what it prints."""
    values = inspected(world, ["--", str(world.gongfu), *world.arguments], era, *options, code=code)
    return values[0] if values else {}


def inspected(world: World, target: list[str], era: str, *options: str, code: int = 0) -> list[Any]:
    """One run of the Inspector on a server that it starts, or on an address; answers the lines it prints."""
    variables = world.variables
    server = [option for name, value in variables.items() for option in ("-e", f"{name}={value}")]
    command = [str(NODE / "node"), str((NODE / "mcp-inspector").resolve()), "--cli", *server]
    command += ["--format", "json", "--protocol-era", era, *options, *target]
    environment = {**os.environ, "HOME": variables["HOME"], "PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=world.folder,
        # A group of its own, so that what hangs is ended with the server that it started.
        start_new_session=True,
    )
    try:
        printed, noted = process.communicate(timeout=world.timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Failure(f"no answer in {world.timeout:g} s") from None
    ended = process.returncode
    expect(ended == code, f"it ends with {ended}, not {code}: {noted.strip()[-500:]}")
    try:
        values = [json.loads(line) for line in printed.splitlines() if line.strip()]
    except json.JSONDecodeError:
        raise Failure(f"it prints {printed[:200]!r}") from None
    return values


def inspector_lists(world: World, era: str) -> None:
    tools = inspect(world, era, "--method", "tools/list", "--strict")["result"]["tools"]
    names = [tool["name"] for tool in tools]
    expect(names == sorted(CALLS), f"the tools are {names}")


def inspector_calls(world: World, era: str, tool: str) -> None:
    arguments, wanted = call_of(tool)
    options = ["--method", "tools/call", "--tool-name", tool]
    for name, value in arguments.items():
        options += ["--tool-arg", f"{name}={value}"]
    result = inspect(world, era, *options)["result"]
    text = "".join(part["text"] for part in result["content"] if part["type"] == "text")
    expect(wanted in text, f"it answers {text!r}")


def inspector_errs(world: World, era: str) -> None:
    options = ["--method", "tools/call", "--tool-name", "skill_load", "--tool-args-json", '{"skill_name": "pdf_tool"}']
    result = inspect(world, era, *options, code=TOOL_ERROR)["result"]
    expect(result["structuredContent"]["code"] == "SKILL_NOT_FOUND", result)
    expect("pdf-tools" in result["structuredContent"]["available"], result)


def run_inspector(world: World, table: Table) -> None:
    """Every era, each command a process of its own."""
    for era in ("legacy", "auto", "modern"):
        name = f"inspector, {era}"
        timed(table, "list the tools, strictly", name, lambda era=era: inspector_lists(world, era))
        for tool in CALLS:
            timed(table, f"call {tool}", name, lambda era=era, tool=tool: inspector_calls(world, era, tool))
        timed(table, "make a mistake", name, lambda era=era: inspector_errs(world, era))


# The run.


def binary(given: Path | None) -> Path:
    """The gongfu to speak with."""
    found = next((path for path in ([given] if given else BINARIES) if path.is_file()), None)
    if found is None:
        looked = given or " and ".join(str(path.relative_to(REPOSITORY)) for path in BINARIES)
        print(f"error: there is no gongfu at {looked}", file=sys.stderr)
        print("  hint: run `cargo build`, or name one with --gongfu", file=sys.stderr)
        sys.exit(1)
    return found.resolve()


def print_table(table: Table) -> None:
    """Prints what happened, and below it what went wrong."""
    lines = [(row.what, row.client, "failed" if row.problem else "ok", str(row.milliseconds)) for row in table]
    heads = ("what", "client", "outcome", "ms")
    widths = [max(len(line[column]) for line in [heads, *lines]) for column in range(4)]
    for line in [heads, *lines]:
        cells = [cell.ljust(width) for cell, width in zip(line[:3], widths[:3], strict=True)]
        print("  ".join([*cells, line[3].rjust(widths[3])]))
    for row in table:
        if row.problem:
            print(f"error: {row.client}: {row.what}: {row.problem}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path, help="the binary (default: what cargo built)")
    parser.add_argument("--timeout", type=float, default=30, help="seconds for one answer (default: 30)")
    options = parser.parse_args()
    gongfu = binary(options.gongfu)
    clients: list[tuple[str, bool, Callable[[World, Table], None]]] = [
        ("the Python package mcp", Client is not None, run_python),
        ("the Inspector", all((NODE / name).exists() for name in ("node", "mcp-inspector")), run_inspector),
    ]
    table: Table = []
    for _, installed, run in clients:
        if installed:
            # The home of one client is not that of another.
            with tempfile.TemporaryDirectory(prefix="gongfu-clients-") as folder:
                world = World(Path(folder).resolve(), gongfu, options.timeout)
                world.make()
                run(world, table)
    if table:
        print_table(table)
    missing = [name for name, installed, _ in clients if not installed]
    for name in missing:
        print(f"error: {name} is not installed", file=sys.stderr)
        print("  hint: run `scripts/test --install`, and this with .tools/venv/bin/python", file=sys.stderr)
    failed = sum(bool(row.problem) for row in table)
    print(f"{gongfu.parent.name} build: {len(table) - failed} ok, {failed} failed, {len(missing)} clients missing")
    if failed or not (table or missing):
        return 1
    return NOT_INSTALLED if missing else 0


if __name__ == "__main__":
    sys.exit(main())
