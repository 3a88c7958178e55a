"""An MCP server on standard input and output that does as little as it can, so that a measurement is of what stands before it.

    quick_server.py [MILLISECONDS]     how long it waits in each call, one after another

Its tool `echo` answers `Echo: ` and its `message`, as that of the server-everything does.
"""

import json
import sys
import time

WAIT = float(sys.argv[1]) / 1000 if len(sys.argv) > 1 else 0.0
SCHEMA = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
ECHO = {"name": "echo", "description": "Answers its message.", "inputSchema": SCHEMA}


def result(method: str, params: dict) -> dict | None:
    if method == "tools/call":
        if WAIT:
            time.sleep(WAIT)
        return {"content": [{"type": "text", "text": f"Echo: {params['arguments']['message']}"}]}
    if method == "initialize":
        about = {"name": "quick", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    return {"tools/list": {"tools": [ECHO]}, "ping": {}}.get(method)


def main() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        found = result(message["method"], message.get("params") or {})
        kind = {"error": {"code": -32601, "message": "no such method"}} if found is None else {"result": found}
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **kind}).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
