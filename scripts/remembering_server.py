#!/usr/bin/env python3
"""An MCP server over standard input and output that remembers what it was told in its session.

    remembering_server.py [FOLDER]

It speaks 2025-11-25. `remember` keeps its `note`, `recall` answers all notes and the number of the process, `die` ends it. The
file `words` of the folder, where there is one, is the description of `recall`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

WORDS = Path(sys.argv[1]) / "words" if len(sys.argv) > 1 else None
NOTES: list[str] = []


def tools() -> list[dict[str, Any]]:
    words = WORDS.read_text() if WORDS and WORDS.exists() else "Answers all notes."
    note = {"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]}
    empty = {"type": "object", "properties": {}}
    return [
        {"name": "remember", "description": "Keeps a note.", "inputSchema": note},
        {"name": "recall", "description": words, "inputSchema": empty, "annotations": {"readOnlyHint": True}},
        {"name": "die", "description": "Ends the server.", "inputSchema": empty, "annotations": {"destructiveHint": True}},
    ]


def call(params: dict[str, Any]) -> dict[str, Any]:
    if params["name"] == "die":
        sys.exit(3)
    if params["name"] == "remember":
        note = params["arguments"].get("note")
        if not isinstance(note, str):
            return {"content": [{"type": "text", "text": "the note must be a string"}], "isError": True}
        NOTES.append(note)
    return {"content": [{"type": "text", "text": f"{os.getpid()}: {', '.join(NOTES)}"}], "isError": False}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        info = {"name": "remembering", "version": "1"}
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
