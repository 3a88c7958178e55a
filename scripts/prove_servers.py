#!/usr/bin/env python3
"""Proves that real MCP servers work through gongfu as they do alone, however they are connected and whoever calls.

    prove_servers.py [--gongfu BIN] [--tools FOLDER] [--short]

The servers are server-everything and server-filesystem (npm) and mcp-server-git (PyPI), as `just servers` installs them.
They are connected from a YAML file and from a JSON file that the environment names, and imported from the files of Claude
Code, VS Code (with an input) and Codex; then approved. Each server is asked directly first: its tools have to be listed,
and several of them called, with the same answer on every surface: MCP over standard input and output and over HTTP, the
command line, and REST of a server with accounts, whose operator offers them to a user. A tool that says that it may destroy
something needs a person, and only on the command line there is one. Over MCP, the progress of a call has to arrive before its
answer, and an image as it was sent. Over REST, the connections have to be listed with their tools.

Prints a table: tools listed and calls that were answered rightly. `--short` connects by YAML and from VS Code alone. Exits
1 when anything differs, and when a wrong answer that is planted isn't noticed.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clients import REPOSITORY, binary
from server import Server
from stdio_client import StdioClient
from surfaces import PROGRESS, Commands, Rest, Result, Stdio, Surface, Web, plain

# The value of the input of VS Code, which is a variable of that name.
INPUT, TOKEN = "input:token", "a b ü"
NEEDS_PERSON = "APPROVAL_REQUIRED"
# The connections to the servers, which are offered to users as well.
NAMES = ["everything", "files", "git"]
# The capabilities that gongfu offers to servers: with them, they may have more tools.
OFFERED = {"elicitation": {"form": {}, "url": {}}}


@dataclass
class Real:
    """A real server: its command, calls whose answers are compared, and one that needs a person, with its answer's start."""

    name: str
    command: list[str]
    calls: list[tuple[str, dict[str, Any]]]
    guarded: tuple[str, dict[str, Any], str]
    # The tools that its entry of a file lists; None for all.
    wanted: list[str] | None = None
    tools: list[str] = field(default_factory=list)
    answers: list[Result] = field(default_factory=list)

    def ask(self, variables: dict[str, str], folder: Path) -> None:
        """Asks the server itself, without gongfu."""
        with StdioClient(self.command, variables, folder, OFFERED) as client:
            self.tools = sorted(tool["name"] for tool in client.tools())
            self.answers = [plain(client.call(tool, arguments)["result"]) for tool, arguments in self.calls]


class World:
    """A home whose connections come from one place."""

    def __init__(self, folder: Path, gongfu: Path, variables: dict[str, str]) -> None:
        self.folder, self.gongfu = folder, gongfu
        (folder / "user").mkdir(parents=True)
        self.variables = {**variables, "HOME": str(folder / "user"), "GONGFU_HOME": str(folder / "home")}
        # Every tool is listed, however many there are.
        self.write("home/config.toml", f"[tools]\nbudget = 100000000\n[accounts]\nconnections = {json.dumps(NAMES)}\n")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.gongfu, *words], env=self.variables, cwd=self.folder, capture_output=True, text=True, timeout=90)

    def good(self, *words: str) -> str:
        run = self.run(*words)
        if run.returncode:
            raise AssertionError(f"gongfu {' '.join(words)}: {run.stdout}{run.stderr}")
        return run.stdout

    def user(self) -> str:
        """The token of a new user of a server with accounts."""
        add = [self.gongfu, "user", "add", "ann", "--email", "ann@example.com", "--password-stdin"]
        subprocess.run(add, env=self.variables, cwd=self.folder, input="four unrelated words", capture_output=True, text=True, check=True)
        return self.good("token", "create", "--user", "ann", "--name", "ann", "--quiet").strip()

    def write(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


def by_yaml(world: World, servers: list[Real]) -> None:
    """The form of the YAML example, with every field."""
    lines = ["connections:"]
    for server in servers:
        lines += [f"  - name: {server.name}", f"    command: {server.command[0]}", f"    args: {json.dumps(server.command[1:])}"]
        lines += ["    env:", "      CHANNEL: stable", f"    workdir: {world.folder}", "    safety: MEDIUM"]
        lines += [f"    tools: {json.dumps(server.wanted)}"] if server.wanted else []
    world.variables["LLP_MCP_CONNECTIONS_FILE"] = str(world.write("connections.yaml", "\n".join(lines) + "\n"))


def by_json(world: World, servers: list[Real]) -> None:
    """The same form in JSON."""
    entries = [{"name": one.name, "command": one.command[0], "args": one.command[1:], "env": {"CHANNEL": "stable"}, "tools": one.wanted} for one in servers]
    world.variables["LLP_MCP_CONNECTIONS_FILE"] = str(world.write("connections.json", json.dumps({"connections": entries})))


def from_claude_code(world: World, servers: list[Real]) -> None:
    entries = {one.name: {"type": "stdio", "command": one.command[0], "args": one.command[1:], "env": {"CHANNEL": "${CHANNEL:-stable}"}} for one in servers}
    world.good("connection", "import", str(world.write(".mcp.json", json.dumps({"mcpServers": entries}, indent=2))))


def from_vs_code(world: World, servers: list[Real]) -> None:
    """With comments, and an input that VS Code would ask its person for: without its value, nothing of it is used."""
    entries = {one.name: {"type": "stdio", "command": one.command[0], "args": one.command[1:], "env": {"CHANNEL": f"${{{INPUT}}}"}} for one in servers}
    inputs = [{"type": "promptString", "id": "token", "description": "A token", "password": True}]
    text = json.dumps({"inputs": inputs, "servers": entries}, indent=2).replace("{", "{ // Servers of a project.", 1)
    world.good("connection", "import", str(world.write(".vscode/mcp.json", text)))
    without = world.run("connection", "list", "--json")
    if json.loads(without.stdout) or without.stderr.count(f"`${{{INPUT}}}` has no value") != len(servers):
        raise AssertionError(f"an input without a value isn't told: {without.stdout}{without.stderr}")
    world.variables[INPUT] = TOKEN


def from_codex(world: World, servers: list[Real]) -> None:
    lines = ['model = "a-model"']
    for one in servers:
        lines += [f"[mcp_servers.{one.name}]", f"command = {json.dumps(one.command[0])}", f"args = {json.dumps(one.command[1:])}"]
        lines += [f"[mcp_servers.{one.name}.env]", 'CHANNEL = "stable"']
    world.good("connection", "import", str(world.write(".codex/config.toml", "\n".join(lines) + "\n")))


WAYS: dict[str, Callable[[World, list[Real]], None]] = {
    "YAML file": by_yaml,
    "JSON file": by_json,
    "of Claude Code": from_claude_code,
    "of VS Code": from_vs_code,
    "of Codex": from_codex,
}


def check(surface: Surface, server: Real, wanted: list[str], listed: list[str]) -> tuple[int, int, list[str]]:
    """The tools of a server that are listed, the calls that were answered rightly, and everything that wasn't."""
    problems = []
    own = sorted(name.removeprefix(f"{server.name}__") for name in listed if name.startswith(f"{server.name}__"))
    if own != sorted(wanted):
        problems.append(f"lists {own}, not {sorted(wanted)}")

    def one(call: tuple[tuple[str, dict[str, Any]], Result]) -> str:
        (tool, arguments), expected = call
        got = surface.call(f"{server.name}__{tool}", arguments)
        return "" if got == expected else f"{tool}: {str(got)[:200]}, not {str(expected)[:200]}"

    calls = list(zip(server.calls, server.answers, strict=True))
    with ThreadPoolExecutor(4) as several:
        wrong = [line for line in several.map(one, calls) if line]
    tool, arguments, start = server.guarded
    got = surface.call(f"{server.name}__{tool}", arguments) if tool else {"code": NEEDS_PERSON}
    is_right = got.get("text", "").startswith(start) if surface.has_person and tool else got.get("code") == NEEDS_PERSON
    if not is_right:
        wrong.append(f"{tool}: {str(got)[:200]}")
    count = len(calls) + bool(tool)
    return len(own), count - len(wrong), problems + wrong


def servers_of(folder: Path, tools: Path) -> list[Real]:
    """The servers, with a repository and files for them."""
    files = folder / "files"
    files.mkdir()
    (files / "a.txt").write_text("one\ntwo ü\n")
    (files / "deep").mkdir()
    (files / "deep" / "b.md").write_text("# b\n")
    identity = ["-c", "user.name=me", "-c", "user.email=me@example.com", "-c", "init.defaultBranch=main"]
    for words in (["init", "--quiet"], ["add", "a.txt"], ["commit", "--quiet", "--message", "The first one"]):
        subprocess.run(["git", *identity, *words], cwd=files, check=True)
    node, path = tools / "node_modules" / ".bin", str(files)
    return [
        Real(
            "everything",
            [str(node / "mcp-server-everything"), "stdio"],
            [("echo", {"message": "hi ü"}), ("get-sum", {"a": 2, "b": 40}), ("get-tiny-image", {}), ("get-structured-content", {"location": "New York"}),
             ("get-annotated-message", {"messageType": "error", "includeImage": True}), ("get-resource-links", {"count": 2}), ("get-sum", {"a": "no number"})],
            ("", {}, ""),
        ),
        Real(
            "files",
            [str(node / "mcp-server-filesystem"), path],
            [("list_directory", {"path": path}), ("read_text_file", {"path": f"{path}/a.txt", "head": 1}), ("search_files", {"path": path, "pattern": "**/*.md"}),
             ("read_text_file", {"path": "/etc/passwd"})],
            ("write_file", {"path": f"{path}/deep/new.txt", "content": "x"}, "Successfully wrote"),
        ),
        Real(
            "git",
            [str(tools / "python" / "bin" / "mcp-server-git"), "--repository", path],
            [("git_log", {"repo_path": path}), ("git_show", {"repo_path": path, "revision": "HEAD"}), ("git_branch", {"repo_path": path, "branch_type": "local"})],
            ("git_reset", {"repo_path": path}, "All staged changes reset"),
            ["git_log", "git_show", "git_branch", "git_reset"],
        ),
    ]


def proved(way: str, world: World, servers: list[Real]) -> list[str]:
    """One way of connecting, with all surfaces; everything that is wrong."""
    problems: list[str] = []
    started = time.monotonic()
    WAYS[way](world, servers)
    for server in servers:
        world.good("connection", "approve", server.name, "--yes")
    token = world.user()
    with StdioClient([str(world.gongfu), "mcp"], world.variables, world.folder) as client, Server(
        world.gongfu, "serve", variables=world.variables, folder=world.folder
    ) as web, Server(world.gongfu, "serve", "--accounts", variables=world.variables, folder=world.folder) as site:
        rest = Rest(site.url, token)
        surfaces: list[Surface] = [Stdio(client), Web(web.url), Commands(world.run), rest]
        for surface in surfaces:
            listed, cells = surface.tools(), []
            for server in servers:
                is_limited = way in ("YAML file", "JSON file") and server.wanted
                wanted = server.wanted if is_limited and server.wanted else server.tools
                count, good, wrong = check(surface, server, wanted, listed)
                cells.append(f"{server.name} {count:>2} tools, {good} calls")
                problems += [f"{way}, {surface.name}, {server.name}: {line}" for line in wrong]
            progress = ""
            if isinstance(surface, Stdio | Web):
                steps = surface.progress()
                progress = f"progress {len(steps)}"
                # Steps that follow at once may be told as one, and the last one comes with the answer.
                if not steps or steps != sorted(steps) or steps[-1] < PROGRESS[1]["steps"] - 1:
                    problems.append(f"{way}, {surface.name}: the progress of a call was told as {steps}")
            print(f"{way:<15} {surface.name:<13} {'   '.join(cells)}   {progress}", flush=True)
        problems += [f"{way}, {rest.name}: {line}" for line in rest.connections(NAMES)]
        channel = TOKEN if way == "of VS Code" else "stable"
        if f'"CHANNEL": "{channel}"' not in surfaces[0].call("everything__get-env", {})["text"]:
            problems.append(f"{way}: the server doesn't get the variable of its entry")
        if way == next(iter(WAYS)):
            planted = surfaces[0].call("everything__get-sum", {"a": 2, "b": 41})
            if planted == servers[0].answers[1]:
                problems.append("a wrong answer that is planted isn't noticed")
    print(f"{'':<15} in {time.monotonic() - started:.0f} s", flush=True)
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--tools", type=Path, default=REPOSITORY / ".tools" / "servers")
    parser.add_argument("--short", action="store_true", help="connect by YAML and from VS Code alone")
    options = parser.parse_args()
    started, problems = time.monotonic(), []
    chosen = ["YAML file", "of VS Code"] if options.short else list(WAYS)
    with tempfile.TemporaryDirectory(prefix="gongfu-servers-") as name:
        folder = Path(name)
        node = REPOSITORY / ".tools" / "node" / "node_modules" / ".bin"
        variables = {"PATH": f"{node}:{os.environ['PATH']}", "LANG": "C.UTF-8"}
        servers = servers_of(folder, options.tools.absolute())
        for server in servers:
            server.ask({**variables, "HOME": str(folder)}, folder)
        image = next(block for block in servers[0].answers[2]["blocks"] if block["type"] == "image")
        if not base64.b64decode(image["data"]).startswith(b"\x89PNG"):
            problems.append("the image of server-everything is no image")
        for number, way in enumerate(chosen):
            problems += proved(way, World(folder / str(number), binary(options.gongfu), variables), servers)
    for problem in problems:
        print(f"fault: {problem}")
    print(f"prove-servers: {len(chosen)} ways, 3 servers, {len(problems)} faults, in {time.monotonic() - started:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
