"""The surfaces on which gongfu's tools are called, each with answers in the same form, for `prove_servers.py`."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Callable
from typing import Any

from stdio_client import ANSWER, VERSION, StdioClient

Result = dict[str, Any]
# A tool that tells its progress.
PROGRESS = ("everything__trigger-long-running-operation", {"duration": 0.6, "steps": 3})


def plain(result: Result) -> Result:
    """An answer without what may be said in several ways."""
    kinds: dict[bool, list[Any]] = {True: [], False: []}
    for block in result["content"]:
        is_text = block["type"] == "text" and block.keys() == {"type", "text"}
        kinds[is_text].append(block["text"] if is_text else block)
    return {"text": "\n".join(kinds[True]), "blocks": kinds[False], "data": result.get("structuredContent"), "failed": bool(result.get("isError"))}


class Surface:
    """A way to call gongfu's tools."""

    name = ""
    has_person = False

    def tools(self) -> list[str]:
        raise NotImplementedError

    def call(self, tool: str, arguments: dict[str, Any]) -> Result:
        """The plain answer, or a table with the code of a refusal."""
        raise NotImplementedError


def of_mcp(answer: Result) -> Result:
    if "error" in answer:
        return {"code": answer["error"].get("data", {}).get("code", answer["error"])}
    structured = answer["result"].get("structuredContent") or {}
    return {"code": structured["code"]} if answer["result"].get("isError") and "code" in structured else plain(answer["result"])


class Stdio(Surface):
    name = "MCP, stdio"

    def __init__(self, client: StdioClient) -> None:
        self.client = client

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.client.tools()]

    def call(self, tool: str, arguments: dict[str, Any]) -> Result:
        return of_mcp(self.client.call(tool, arguments))

    def progress(self) -> list[float]:
        """The progress that a call tells before its answer."""
        before = len(self.client.notifications)
        params = {"name": PROGRESS[0], "arguments": PROGRESS[1], "_meta": {"progressToken": "stdio"}}
        self.client.request("tools/call", params)
        return told(self.client.notifications[before:], "stdio")


def told(notifications: list[Result], token: str) -> list[float]:
    progress = [one["params"] for one in notifications if one["method"] == "notifications/progress"]
    return [one["progress"] for one in progress if one["progressToken"] == token]


class Web(Surface):
    """MCP over HTTP."""

    name = "MCP, HTTP"

    def __init__(self, url: str) -> None:
        self.address = url.removeprefix("http://").removesuffix("/mcp")
        self.session = ""
        self.number = 0
        about = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
        self.request("initialize", about)

    def request(self, method: str, params: dict[str, Any]) -> list[Result]:
        """The messages of an answer, the answer itself last."""
        self.number += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream", "mcp-protocol-version": VERSION}
        headers |= {"mcp-session-id": self.session} if self.session else {}
        connection = http.client.HTTPConnection(self.address, timeout=ANSWER)
        connection.request("POST", "/mcp", body.encode(), headers)
        answer = connection.getresponse()
        self.session = self.session or answer.getheader("mcp-session-id", "")
        text = answer.read().decode()
        connection.close()
        if "event-stream" not in answer.getheader("content-type", ""):
            return [json.loads(text)]
        lines = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
        return [json.loads(line) for line in lines if line]

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.request("tools/list", {})[-1]["result"]["tools"]]

    def call(self, tool: str, arguments: dict[str, Any]) -> Result:
        return of_mcp(self.request("tools/call", {"name": tool, "arguments": arguments})[-1])

    def progress(self) -> list[float]:
        params = {"name": PROGRESS[0], "arguments": PROGRESS[1], "_meta": {"progressToken": "web"}}
        return told(self.request("tools/call", params)[:-1], "web")


class Rest(Surface):
    """REST of a server with accounts, as an agent of a user."""

    name = "REST"

    def __init__(self, url: str, token: str) -> None:
        self.address = url.removeprefix("http://").removesuffix("/mcp")
        self.headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}

    def send(self, method: str, path: str, body: Any = None) -> Result:
        connection = http.client.HTTPConnection(self.address, timeout=ANSWER)
        connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), self.headers)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.send("GET", "/tools")["items"]]

    def call(self, tool: str, arguments: dict[str, Any]) -> Result:
        answer = self.send("POST", f"/tools/{tool}", arguments)
        if "code" in answer:
            return {"code": answer["code"]}
        return {"text": answer["text"], "blocks": answer.get("blocks", []), "data": answer.get("data"), "failed": answer.get("is_error", False)}


    def connections(self, names: list[str]) -> list[str]:
        """Everything that is wrong with how these connections are shown after calls of their tools."""
        listed = self.send("GET", "/connections")["items"]
        wrong = [f"{one['name']} is {one['state']}: {one['reason']}" for one in listed if one["state"] != "READY"]
        if sorted(one["name"] for one in listed) != sorted(names):
            wrong.append(f"lists the connections {listed}")
        for one in listed:
            tools = self.send("GET", f"/connections/{one['name']}")["tools"]
            known = [tool for tool in self.tools() if tool.startswith(f"{one['name']}__")]
            if [tool["name"] for tool in tools] != known or len(tools) != one["tool_count"]:
                wrong.append(f"{one['name']}: shows {tools}, not {known}")
        return wrong


class Commands(Surface):
    name = "command line"
    has_person = True

    def __init__(self, run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        self.run = run

    def tools(self) -> list[str]:
        return [tool["name"] for tool in json.loads(self.run("tool", "list", "--json").stdout)]

    def call(self, tool: str, arguments: dict[str, Any]) -> Result:
        run = self.run("tool", "call", tool, json.dumps(arguments), "--json")
        answer = json.loads(run.stdout)
        return {"code": answer["error"]["code"]} if "error" in answer else plain(answer)
