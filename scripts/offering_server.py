"""An MCP server on standard input and output that offers the tools of a file, and does nothing in any of them.

    offering_server.py FILE     a list of definitions, as JSON
"""

import json
import sys
from pathlib import Path


def main() -> None:
    tools = json.loads(Path(sys.argv[1]).read_text())
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        method, params = message["method"], message.get("params") or {}
        if method == "initialize":
            about = {"name": "offering", "version": "1"}
            answer = {"result": {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}}
        elif method == "tools/list":
            answer = {"result": {"tools": tools}}
        elif method == "ping":
            answer = {"result": {}}
        else:
            answer = {"error": {"code": -32601, "message": "no such method"}}
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
