#!/usr/bin/env python3
"""An MCP server whose texts are rulers: what a client shows a model of them can be measured.

Its instructions and the description of its one tool are numbers in a row, each text with a mark of its
own: `I000000`, `I000001` and so on. How far a row goes in a model's request is what the client lets through.
It speaks JSON-RPC in lines, as much of it as a client needs to list tools. A file `ruler-delay` in the home
says how many seconds each answer takes: not every client passes variables on to its servers.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

# The length of a ruler, in characters: more than a client is likely to let through.
LENGTH = 120_000
TOOL = "measure_this"
DELAY = "ruler-delay"


def ruler(mark: str) -> str:
    """A text in which every place can be told."""
    step = len(mark) + 7
    # Without a space at its end, which clients trim.
    return "".join(f"{mark}{number:06} " for number in range(LENGTH // step + 1))[: LENGTH - 1] + "."


def longest_prefix(whole: str, text: str) -> int:
    """How many characters of a text are in another one, from its beginning."""
    low, high = 0, len(whole)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if whole[:middle] in text else (low, middle - 1)
    return low


def reach(mark: str, text: str) -> int:
    """How many characters of a ruler are in a text, from its beginning."""
    return longest_prefix(ruler(mark), text)


def answer(method: str, parameters: dict) -> dict | None:
    """The result of a request; None for a method that there is not."""
    match method:
        case "initialize":
            return {
                "protocolVersion": parameters.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "ruler", "version": "1"},
                "instructions": ruler("I"),
            }
        case "tools/list":
            schema = {"type": "object", "properties": {}}
            return {"tools": [{"name": TOOL, "description": ruler("D"), "inputSchema": schema}]}
        case "ping":
            return {}
    return None


def main() -> None:
    delay = Path.home() / DELAY
    seconds = float(delay.read_text()) if delay.is_file() else 0.0
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        time.sleep(seconds)
        result = answer(request.get("method", ""), request.get("params") or {})
        outcome = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}), flush=True)


if __name__ == "__main__":
    main()
