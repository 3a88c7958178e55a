#!/usr/bin/env python3
"""Tells one story to gongfu by each MCP client, over standard input and output and over HTTP.

    story.py [--gongfu BIN] [--corpus DIR] [--timeout SECONDS]

The clients are the Python package `mcp`, FastMCP, the TypeScript SDK in its first and second version,
each in every era that it speaks: list the skills, load one, read its files, search; the same skills as
resources, as prompts and by the skills methods. Then the Inspector judges the tools strictly and
verifies every skill of the corpus, or of a library that is made where there is none.

Prints one table. Exits 1 on any failure and when nothing ran; 77 when a client is not installed here.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from clients import (
    CALLS,
    DOT,
    GUIDE,
    NODE,
    NOT_INSTALLED,
    REPOSITORY,
    SKILL,
    Failure,
    Row,
    Table,
    World,
    binary,
    described,
    expect,
    inspected,
    print_table,
    timed,
)
from library import DYNAMIC, make_library
from server import Server, ServerError

try:
    import fastmcp
    import fastmcp.client.transports
    import fastmcp.skills
    import mcp
except ImportError:
    fastmcp = None

CORPUS = REPOSITORY.parent / "shared" / "corpus"
# The longest description that a host accepts, in characters.
MAX_DESCRIPTION = 1024
OLDER, NEWEST = "2025-11-25", "2026-07-28"
# More than any library here: the Inspector stops at 256 skills by itself.
BUDGET = ["--skill-catalog-max-skills", "100000", "--skill-catalog-max-bytes", "1000000000"]

Wire = dict[str, Any]


class Client(Protocol):
    """A connected client. Each step answers what came over the wire."""

    async def do(self, step: str, **given: Any) -> Wire: ...


@dataclass
class Way:
    """How a server is reached: by a command that starts it, or at an address."""

    name: str
    command: list[str] | None
    url: str | None
    world: World


# The story: each step of it by one client.


def texts(result: Wire) -> str:
    """The texts of an answer, together."""
    return "".join(part["text"] for part in result["content"] if part["type"] == "text")


async def called(client: Client, tool: str, **arguments: Any) -> Wire:
    result = await client.do("call", name=tool, arguments=arguments)
    expect(not result.get("isError"), f"{tool}: {result}")
    return result


async def lists(client: Client) -> None:
    names = [tool["name"] for tool in (await client.do("tools"))["tools"]]
    expect(names == sorted(CALLS), f"the tools are {names}")
    result = await called(client, "skill_list")
    expect("pdf-tools" in texts(result), result)


async def loads(client: Client) -> None:
    result = await called(client, "skill_load", skill_name="pdf-tools")
    expect(SKILL in texts(result), result)


async def reads(client: Client) -> None:
    result = await called(client, "skill_read", skill_name="pdf-tools", path="references/guide.md")
    expect(GUIDE in texts(result), result)
    result = await called(client, "skill_read", skill_name="pdf-tools", path="dot.png")
    expect(base64.b64decode(result["content"][0]["resource"]["blob"]) == DOT, result)


async def searches(client: Client) -> None:
    result = await called(client, "skill_search", query="merging a form")
    expect("- pdf-tools: Fills forms and merges PDF files." in texts(result), result)


async def errs(client: Client) -> None:
    result = await client.do("call", name="skill_load", arguments={"skill_name": "pdf_tool"})
    expect(result.get("isError") is True, result)
    expect(result["structuredContent"]["code"] == "SKILL_NOT_FOUND", result)


def manifest(found: list[Wire]) -> Wire:
    """Of resources or skills the one that is the skill."""
    fitting = [one for one in found if one["uri"].endswith("/pdf-tools/SKILL.md")]
    expect(len(fitting) == 1, f"it is {len(fitting)} times in {[one['uri'] for one in found][:20]}")
    return fitting[0]


async def resources(client: Client) -> None:
    resource = manifest((await client.do("resources"))["resources"])
    expect(resource["uri"].startswith("skill://"), resource)
    expect((resource["name"], resource.get("mimeType")) == ("pdf-tools", "text/markdown"), resource)
    (contents,) = (await client.do("read", uri=resource["uri"]))["contents"]
    expect(contents["text"] == SKILL, contents)
    folder = resource["uri"].removesuffix("SKILL.md")
    (contents,) = (await client.do("read", uri=f"{folder}dot.png"))["contents"]
    expect(base64.b64decode(contents["blob"]) == DOT, contents)
    templates = (await client.do("templates"))["resourceTemplates"]
    expect(any(one["uriTemplate"].startswith("skill://") for one in templates), f"the templates are {templates}")


async def prompts(client: Client) -> None:
    names = [prompt["name"] for prompt in (await client.do("prompts"))["prompts"]]
    expect("pdf-tools" in names, f"the prompts are {names}")
    messages = (await client.do("prompt", name="pdf-tools"))["messages"]
    text = "".join(message["content"].get("text", "") for message in messages)
    expect("# PDF tools" in text, messages)


async def skills(client: Client) -> None:
    skill = manifest((await client.do("skills"))["skills"])
    expect(skill["frontmatter"]["description"] == "Fills forms and merges PDF files.", skill)
    own = manifest(skill["resources"])
    digest = hashlib.sha256(SKILL.encode()).hexdigest()
    expect((own["digest"], own["size"]) == (f"sha256:{digest}", len(SKILL)), own)
    got = (await client.do("skill", uri=skill["uri"]))["skill"]
    expect(got == skill, f"{got} is not {skill}")


Step = tuple[str, Callable[[Client], Awaitable[None]]]
STEPS: list[Step] = [
    ("list", lists),
    ("load", loads),
    ("read", reads),
    ("search", searches),
    ("make a mistake", errs),
    ("resources", resources),
    ("prompts", prompts),
    ("skills", skills),
]


async def story(
    client: Client, name: str, revision: str, steps: list[Step], table: Table, timeout: float
) -> None:
    """Takes every step, each bounded."""

    async def connects(client: Client) -> None:
        about = await client.do("connect")
        expect(about["revision"] == revision, f"it speaks {about['revision']}, not {revision}")
        expect(about["server"] == "gongfu", about)

    async def leaves(client: Client) -> None:
        await client.do("close")

    for what, step in [("connect", connects), *steps, ("disconnect", leaves)]:
        started, problem = time.monotonic(), ""
        try:
            # In this very task, because a client is left where it was entered.
            async with asyncio.timeout(timeout):
                await step(client)
        except Exception as error:
            problem = described(error)
        table.append(Row(what, name, problem, round((time.monotonic() - started) * 1000)))
        if problem and what == "connect":
            return


# The clients.


def wire(result: Any) -> Wire:
    """A result of the Python SDK as it came over the wire."""
    return result.model_dump(by_alias=True, exclude_none=True, mode="json")


class PythonClient:
    """The Python package `mcp`."""

    def __init__(self, way: Way, mode: str, timeout: float) -> None:
        if way.command:
            program, *arguments = way.command
            parameters = mcp.StdioServerParameters(command=program, args=arguments, env=way.world.variables)
            self.log = open(way.world.folder / "log", "a")
            server: Any = mcp.stdio_client(parameters, errlog=self.log)
        else:
            self.log, server = None, way.url
        self.client = mcp.Client(server, mode=mode, read_timeout_seconds=timeout)

    async def do(self, step: str, **given: Any) -> Wire:
        client = self.client
        match step:
            case "connect":
                await client.__aenter__()
                return {"revision": client.protocol_version, "server": client.server_info.name}
            case "close":
                await client.__aexit__(None, None, None)
                if self.log:
                    self.log.close()
                return {}
            case "tools":
                return wire(await client.list_tools())
            case "call":
                return wire(await client.call_tool(given["name"], given["arguments"]))
            case "resources":
                return wire(await client.list_resources())
            case "templates":
                return wire(await client.list_resource_templates())
            case "read":
                return wire(await client.read_resource(given["uri"]))
            case "prompts":
                return wire(await client.list_prompts())
            case "prompt":
                return wire(await client.get_prompt(given["name"]))
            case "skills":
                return wire(await client.session.send_request(Asking(method="skills/list", params={}), Answer))
            case "skill":
                return wire(await client.session.send_request(Asking(method="skills/get", params=given), Answer))
        raise Failure(f"no step {step}")


if fastmcp:
    # This SDK has no methods for skills: what it doesn't know is sent and read as it stands.
    class Asking(mcp.types.Request[dict[str, Any], str]):
        """Any request."""

    class Answer(mcp.types.Result, extra="allow"):
        """Any result."""


class FastClient:
    """The client of FastMCP."""

    def __init__(self, way: Way, mode: str, timeout: float) -> None:
        if way.command:
            program, *arguments = way.command
            transport: Any = fastmcp.client.transports.StdioTransport(
                program,
                arguments,
                env=way.world.variables,
                keep_alive=False,
                log_file=way.world.folder / "log",
            )
        else:
            transport = way.url
        skills = [fastmcp.skills.SkillsClientExtension()]
        self.client = fastmcp.Client(transport, mode=mode, timeout=timeout, extensions=skills)

    async def do(self, step: str, **given: Any) -> Wire:
        client = self.client
        match step:
            case "connect":
                await client.__aenter__()
                return {"revision": client.protocol_version, "server": client.server_info.name}
            case "close":
                await client.__aexit__(None, None, None)
                return {}
            case "tools":
                return wire(await client.list_tools_mcp())
            case "call":
                return wire(await client.call_tool_mcp(given["name"], given["arguments"]))
            case "resources":
                return wire(await client.list_resources_mcp())
            case "templates":
                return wire(await client.list_resource_templates_mcp())
            case "read":
                return wire(await client.read_resource_mcp(given["uri"]))
            case "prompts":
                return wire(await client.list_prompts_mcp())
            case "prompt":
                return wire(await client.get_prompt_mcp(given["name"]))
            case "skills":
                return wire(await client.list_skills_mcp())
            case "skill":
                return wire(await client.get_skill_mcp(given["uri"]))
        raise Failure(f"no step {step}")


class NodeClient:
    """A TypeScript SDK, behind scripts/node/bridge.mjs."""

    def __init__(self, package: str, way: Way, mode: str) -> None:
        self.package, self.way, self.mode = package, way, mode
        self.process: asyncio.subprocess.Process | None = None

    async def do(self, step: str, **given: Any) -> Wire:
        if step == "connect":
            bridge = REPOSITORY / "scripts" / "node" / "bridge.mjs"
            folder = NODE.parent.parent
            with open(self.way.world.folder / "log", "a") as log:
                self.process = await asyncio.create_subprocess_exec(
                    str(NODE / "node"),
                    str(bridge),
                    str(folder),
                    self.package,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env={**self.way.world.variables, "PATH": str(NODE)},
                    limit=1 << 24,
                )
            given = {"mode": self.mode, "command": self.way.command, "url": self.way.url}
        process = self.process
        if process is None or process.stdin is None or process.stdout is None:
            raise Failure("it is not connected")
        process.stdin.write(json.dumps({"do": step, **given}).encode() + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
        expect(bool(line), "the client ended")
        answer = json.loads(line)
        expect("result" in answer, answer.get("error"))
        if step == "close":
            process.stdin.close()
            code = await process.wait()
            expect(code == 0, f"the client ends with {code}")
        return answer["result"]

    def end(self) -> None:
        """Ends a client that hangs."""
        if self.process and self.process.returncode is None:
            self.process.kill()


# FastMCP refuses by itself to ask a server of an older revision for skills.
OLD_STEPS = [step for step in STEPS if step[0] != "skills"]
# The client, its mode, the revision that comes of it, and what it can do.
CLIENTS: list[tuple[str, str, str, list[Step]]] = [
    ("python mcp", "legacy", OLDER, STEPS),
    ("python mcp", "auto", NEWEST, STEPS),
    ("fastmcp", "legacy", OLDER, OLD_STEPS),
    ("fastmcp", "auto", NEWEST, STEPS),
    ("typescript v1", "legacy", OLDER, STEPS),
    ("typescript v2", "legacy", OLDER, STEPS),
    ("typescript v2", "auto", NEWEST, STEPS),
]


def made(client: str, mode: str, way: Way, timeout: float) -> Client:
    """A client of this name."""
    match client:
        case "python mcp":
            return PythonClient(way, mode, timeout)
        case "fastmcp":
            return FastClient(way, mode, timeout)
        case _:
            return NodeClient(client.removeprefix("typescript "), way, mode)


async def one(
    client: str, mode: str, revision: str, steps: list[Step], way: Way, table: Table, timeout: float
) -> None:
    """The story by one client."""
    connected = made(client, mode, way, timeout)
    try:
        await story(connected, f"{client}, {mode}, {way.name}", revision, steps, table, timeout)
    finally:
        if isinstance(connected, NodeClient):
            connected.end()


def tell(way: Way, table: Table, timeout: float) -> None:
    """The story by each client, each bounded as a whole."""
    for client, mode, revision, steps in CLIENTS:
        before = len(table)
        whole = one(client, mode, revision, steps, way, table, timeout)
        problem = ""
        try:
            asyncio.run(asyncio.wait_for(whole, timeout * 4))
        except Exception as error:
            problem = described(error)
        told = table[before:]
        if not problem and len(told) < len(steps) + 2 and not any(row.problem for row in told):
            problem = "it ended early"
        if problem:
            table.append(Row("the story", f"{client}, {mode}, {way.name}", problem, 0))


# The Inspector.


def inspector(way: Way, number: int, dynamic: int, table: Table) -> None:
    """Strict tools, and every skill verified, in every era."""
    target = ["--", *way.command] if way.command else ["--transport", "http", "--server-url", str(way.url)]

    def strict(era: str) -> None:
        (printed,) = inspected(way.world, target, era, "--method", "tools/list", "--strict")
        names = [tool["name"] for tool in printed["result"]["tools"]]
        expect(names == sorted(CALLS), f"the tools are {names}")

    def verified(era: str) -> None:
        reports = inspected(way.world, target, era, "--method", "skills/list", "--verify", *BUDGET)
        outcomes = Counter(report["outcome"] for report in reports)
        expect(outcomes.total() == number, f"it verified {outcomes.total()} of {number} skills")
        expect(outcomes["unverifiable"] == dynamic, f"{outcomes['unverifiable']} skills have no digests, not {dynamic}")
        expect(outcomes["verified"] == number - dynamic, outcomes)

    for era in ("legacy", "auto", "modern"):
        name = f"inspector, {era}, {way.name}"
        timed(table, "tools/list --strict", name, lambda era=era: strict(era))
        timed(table, f"skills/list --verify, {number} skills", name, lambda era=era: verified(era))


def listable(world: World) -> int:
    """How many skills the skills methods list: all but those whose description is too long for a host."""
    places = [argument for argument in world.arguments if argument != "mcp"]
    command = [str(world.gongfu), "skill", "list", "--json", *places]
    listed = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, **world.variables}, check=False
    )
    expect(listed.returncode == 0, f"`skill list` ends with {listed.returncode}: {listed.stderr[-300:]!r}")
    skills = json.loads(listed.stdout)
    files = sum(1 for folder in world.skills for _ in folder.rglob("SKILL.md"))
    expect(len(skills) == files, f"{len(skills)} skills are listed and {files} are there")
    return sum(len(skill["description"]) <= MAX_DESCRIPTION for skill in skills)


# The run.


def ways(world: World, table: Table, tell_it: Callable[[Way], None]) -> None:
    """Both ways to reach a server: over HTTP it runs for all clients together."""
    command = [str(world.gongfu), *world.arguments]
    tell_it(Way("stdio", command, None, world))
    places = [argument for argument in world.arguments if argument != "mcp"]
    try:
        with Server(world.gongfu, "serve", *places, variables=world.variables, folder=world.folder) as server:
            tell_it(Way("http", None, server.url, world))
    except (ServerError, OSError) as error:
        table.append(Row("serve", "gongfu", described(error), 0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path, help="the binary (default: what cargo built)")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="real skills, where there are any")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one step (default: 60)")
    options = parser.parse_args()
    missing = [name for name, there in [("FastMCP", fastmcp), *node_packages()] if not there]
    if missing:
        print(f"error: {', '.join(missing)}: not installed", file=sys.stderr)
        print("  hint: run `scripts/test --install`, and this with .tools/venv/bin/python", file=sys.stderr)
        return NOT_INSTALLED
    gongfu = binary(options.gongfu)
    table: Table = []
    with tempfile.TemporaryDirectory(prefix="gongfu-story-") as folder:
        world = World(Path(folder).resolve(), gongfu, options.timeout)
        world.make()
        ways(world, table, lambda way: tell(way, table, options.timeout))
    with tempfile.TemporaryDirectory(prefix="gongfu-story-") as folder:
        world = World(Path(folder).resolve(), gongfu, options.timeout)
        world.make()
        if options.corpus.is_dir():
            world.skills = sorted(path for path in options.corpus.resolve().iterdir() if path.is_dir())
            dynamic = 0
        else:
            make_library(world.folder / "library")
            world.skills, dynamic = [world.folder / "library"], len(DYNAMIC)
        number = 0
        try:
            number = listable(world)
        except Failure as error:
            table.append(Row("count the skills", "gongfu", described(error), 0))
        ways(world, table, lambda way: inspector(way, number, dynamic, table))
    print_table(table)
    failed = sum(bool(row.problem) for row in table)
    print(f"{gongfu.parent.name} build: {len(table) - failed} ok, {failed} failed")
    return 1 if failed or not table else 0


def node_packages() -> list[tuple[str, bool]]:
    """What of Node is there."""
    packages = NODE.parent / "@modelcontextprotocol"
    return [
        ("Node", (NODE / "node").exists()),
        ("the Inspector", (NODE / "mcp-inspector").exists()),
        ("the TypeScript SDK", (packages / "sdk").is_dir()),
        ("the TypeScript client", (packages / "client").is_dir()),
    ]


if __name__ == "__main__":
    sys.exit(main())
