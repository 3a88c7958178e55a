#!/usr/bin/env python3
"""An MCP server over standard input and output that counts what it executed.

    counting_server.py FOLDER [TOOL…]

It speaks 2025-11-25. Its tools, `write` and `drop` unless others are named, add a line to the file `calls` of the folder:
their name and their argument `n`. The file `version` of the folder, or `version.TOOL`, is part of their descriptions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
TOOLS = sys.argv[2:] or ["write", "drop"]


def version(tool: str) -> str:
    files = [FOLDER / f"version.{tool}", FOLDER / "version"]
    return next((file.read_text() for file in files if file.exists()), "1")


def tools() -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return [{"name": name, "description": f"Counts, version {version(name)}.", "inputSchema": schema} for name in TOOLS]


def call(params: dict[str, Any]) -> dict[str, Any]:
    with (FOLDER / "calls").open("a") as calls:
        calls.write(f"{params['name']} {(params.get('arguments') or {}).get('n')}\n")
    return {"content": [{"type": "text", "text": "done"}], "isError": False}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        info = {"name": "counting", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        return call(params)
    return {} if method == "ping" else None


def main() -> int:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        error = {"code": -32601, "message": "no such method"}
        outcome = {"error": error} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
