#!/usr/bin/env python3
"""Proves that a server gives back the memory that a hostile load took.

    memory.py [--gongfu BIN] [--seconds N] [--wait N]

Sessions by the thousand, with long names and answers that nobody reads, large bodies, heads that never end and
streams of events, all at once. Then every connection closes, sessions expire, and most of what was taken has to
be given back. Prints the memory of the server in MiB: before, at the peak, and after.

Exits 1 when less than three quarters are given back, or when the load took too little to tell.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from clients import binary

MEBI = 1024 * 1024
# What a load has to take before it proves anything, in MiB, and which share has to come back.
LEAST = 100
SHARE = 0.75
VERSION = "2025-06-18"


class Server:
    """A server over a few long skills."""

    def __init__(self, base: Path, gongfu: Path) -> None:
        for number in range(40):
            folder = base / "skills" / f"s{number}"
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(f"---\nname: s{number}\ndescription: Says {number}.\n---\n" + "word " * 12_000)
        command = [str(gongfu), "serve", "--listen", "127.0.0.1:0", "--no-default-dirs", "--skills-dir", str(base / "skills")]
        variables = {**os.environ, "GONGFU_HOME": str(base / "home"), "HOME": str(base)}
        self.process = subprocess.Popen(command, env=variables, cwd=base, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        line = next(line for line in self.process.stdout if "http://127.0.0.1:" in line)
        self.port = int(line.split("http://127.0.0.1:")[1].split("/")[0])

    def memory(self, field: str = "VmRSS:") -> float:
        """What the process has of memory, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(field)[1].split()[0]) / 1024


class Client:
    """A connection that speaks as little HTTP as it needs."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        self.reader, self.writer, self.port = reader, writer, port

    @classmethod
    async def connect(cls, port: int) -> Client:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=16 * MEBI)
        return cls(reader, writer, port)

    def head(self, method: str, length: int, session: str | None) -> bytes:
        lines = [f"{method} /mcp HTTP/1.1", f"host: 127.0.0.1:{self.port}", "content-type: application/json", "accept: application/json, text/event-stream"]
        lines += [f"content-length: {length}", *([f"mcp-session-id: {session}"] if session else [])]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def send(self, message: dict[str, object] | None, session: str | None = None, method: str = "POST") -> None:
        body = b"" if message is None else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.writer.write(self.head(method, len(body), session) + body)
        await self.writer.drain()

    async def answer(self) -> tuple[int, str | None]:
        """The status of an answer, and its session; the body is dropped."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        if fields.get("transfer-encoding") == "chunked":
            while size := int(await self.reader.readline(), 16):
                await self.reader.readexactly(size + 2)
            await self.reader.readexactly(2)
        else:
            await self.reader.readexactly(int(fields.get("content-length", "0")))
        return int(head.split()[1]), fields.get("mcp-session-id")

    async def session(self, name: str = "x") -> str | None:
        about = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
        await self.send({"id": 1, "method": "initialize", "params": about})
        _, session = await self.answer()
        if session:
            await self.send({"method": "notifications/initialized"}, session)
            await self.answer()
        return session


def call(tool: str, arguments: dict[str, object], number: int = 2) -> dict[str, object]:
    """A call of a tool."""
    return {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


async def names(client: Client, done: Counter[str]) -> None:
    while True:
        await client.session("n" * 4096)
        done["sessions"] += 1


async def bodies(client: Client, done: Counter[str]) -> None:
    while True:
        await client.send(call("skill_search", {"query": "x" * 4 * MEBI}))
        await client.answer()
        done["large bodies"] += 1


async def unread(client: Client, done: Counter[str]) -> None:
    session = await client.session()
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]
    for number in range(40):
        await client.send(call("skill_load", {"name": "s1"}, number + 5), session)
        done["unread answers"] += 1
        await asyncio.sleep(0.05)
    await asyncio.sleep(3600)


async def events(client: Client, done: Counter[str]) -> None:
    await client.send(None, await client.session(), "GET")
    done["streams of events"] += 1
    await asyncio.sleep(3600)


async def heads(client: Client, done: Counter[str]) -> None:
    client.writer.write(b"POST /mcp HTTP/1.1\r\nx: " + b"y" * 30_000)
    done["endless heads"] += 1
    await asyncio.sleep(3600)


async def halves(client: Client, done: Counter[str]) -> None:
    client.writer.write(client.head("POST", 8 * MEBI, None) + b'{"x":"' + b"y" * 7 * MEBI)
    done["half bodies"] += 1
    await asyncio.sleep(3600)


KINDS = [(names, 8), (bodies, 4), (unread, 60), (events, 100), (heads, 200), (halves, 16)]


async def load(server: Server, seconds: float) -> Counter[str]:
    """Attacks in every way at once."""
    done: Counter[str] = Counter()

    async def one(kind: object) -> None:
        while True:
            try:
                client = await Client.connect(server.port)
                try:
                    await kind(client, done)  # type: ignore[operator]
                finally:
                    client.writer.transport.abort()
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
                # It was refused, as it should be; not in a loop that only costs this program.
                await asyncio.sleep(0.1)

    tasks = [asyncio.create_task(one(kind)) for kind, count in KINDS for _ in range(count)]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return done


async def work(server: Server) -> None:
    """A few calls, as any server has."""
    client = await Client.connect(server.port)
    session = await client.session()
    for number in range(20):
        await client.send(call("skill_load", {"name": f"s{number}"}, number + 5), session)
        await client.answer()
    client.writer.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path, help="the binary (default: what cargo built)")
    parser.add_argument("--seconds", type=float, default=20, help="how long the load goes on (default: 20)")
    parser.add_argument("--wait", type=float, default=80, help="how long it may take to give memory back (default: 80)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gongfu-memory-") as folder:
        server = Server(Path(folder), binary(options.gongfu))
        try:
            asyncio.run(work(server))
            before = server.memory()
            done = asyncio.run(load(server, options.seconds))
            peak = server.memory("VmHWM:")
            deadline = time.monotonic() + options.wait
            while time.monotonic() < deadline:
                time.sleep(5)
                asyncio.run(work(server))
            after = server.memory()
        finally:
            server.process.terminate()
            server.process.wait()
    print(", ".join(f"{count} {kind}" for kind, count in sorted(done.items())))
    taken, back = peak - before, peak - after
    print(f"before {before:.0f} MiB, at the peak {peak:.0f}, after {after:.0f}: {back / max(taken, 1):.0%} of {taken:.0f} given back")
    if taken < LEAST:
        print(f"error: the load took less than {LEAST} MiB, which proves nothing", file=sys.stderr)
        return 1
    return 0 if back >= SHARE * taken else 1


if __name__ == "__main__":
    sys.exit(main())
