#!/usr/bin/env python3
"""An MCP server over standard input and output with prompts and resources.

It speaks 2025-11-25. It lists the prompt `greet`, the resource `memo://list`, the templates `memo://{id}` and a file of a
skill, which nobody may read as a resource. Its tool `add` adds a prompt of the name `text` and tells that the list
changed; it has a user interface (MCP Apps), for which alone the tool `page` is. Its tool `ask` asks the person a
question, and answers the answer. With the argument `broken` it answers its lists with something else, and with `odd`
each of its lists has an entry more that is none.
"""

from __future__ import annotations

import json
import sys
from typing import Any

IS_BROKEN = "broken" in sys.argv
PROMPTS = [
    {
        "name": "greet",
        "title": "Greet",
        "description": "Greets\u200b somebody.",
        "arguments": [{"name": "who", "description": "the one", "required": True}],
    }
]


def send(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(uri: str, what: str) -> dict[str, Any]:
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": what}]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "prompts": {"listChanged": True}, "resources": {}, "completions": {}},
                "serverInfo": {"name": "content", "version": "1"},
            }
        case "ping":
            return {}
        case "tools/list":
            schema = {"type": "object", "properties": {"text": {"type": "string"}}}
            app = {"resourceUri": "ui://notes/list.html"}
            only = {"resourceUri": app["resourceUri"], "visibility": ["app"]}
            return {
                "tools": [
                    {"name": "add", "description": "Adds a prompt.", "inputSchema": schema, "_meta": {"ui": app, "x": 1}},
                    {"name": "ask", "description": "Asks the person.", "inputSchema": schema},
                    {"name": "page", "description": "Turns the page.", "inputSchema": schema, "_meta": {"ui": only}},
                ]
            }
        case "tools/call" if params["name"] == "ask":
            fields = {"type": "object", "properties": {"city": {"type": "string"}}}
            question = {"mode": "form", "message": "where?", "requestedSchema": fields}
            send({"id": "q", "method": "elicitation/create", "params": question})
            reply = next(reply for reply in map(json.loads, sys.stdin) if reply.get("id") == "q")
            return {"content": [{"type": "text", "text": json.dumps(reply.get("result"), sort_keys=True)}]}
        case "tools/call":
            PROMPTS.append({"name": str(params["arguments"]["text"])})
            send({"method": "notifications/prompts/list_changed"})
            return {"content": [{"type": "text", "text": "added"}], "_meta": {"page": 3}}
        case "prompts/list" | "resources/list" | "resources/templates/list" if IS_BROKEN:
            return {"prompts": 3, "resources": [7], "resourceTemplates": "x"}
        case "prompts/list":
            return {"prompts": PROMPTS}
        case "prompts/get":
            who = params.get("arguments", {}).get("who", "?")
            content = {"type": "text", "text": f"Say hello to {who}."}
            return {"description": "A greeting", "messages": [{"role": "user", "content": content}]}
        case "resources/list":
            return {
                "resources": [
                    {"uri": "memo://list", "name": "list", "mimeType": "text/plain"},
                    {"uri": "skill://team/trick/SKILL.md", "name": "trick"},
                ]
            }
        case "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": "memo://{id}", "name": "memo"}]}
        case "resources/read" if params["uri"] == "memo://none":
            raise KeyError("there is no such memo")
        case "resources/read":
            return text(params["uri"], f"{params['uri']} as it is")
        case "completion/complete":
            value = params["argument"]["value"]
            return {"completion": {"values": [f"{params['ref'].get('name') or params['ref']['uri']} {value}"]}}
    raise KeyError("no such method")


def with_odd_entry(result: dict[str, Any]) -> dict[str, Any]:
    return {name: [{"name": 7}, *value] if isinstance(value, list) else value for name, value in result.items()}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or "method" not in request:
        continue
    try:
        result = answer(request["method"], request.get("params") or {})
        if "odd" in sys.argv and request["method"].endswith("/list"):
            result = with_odd_entry(result)
        send({"id": request["id"], "result": result})
    except KeyError as error:
        send({"id": request["id"], "error": {"code": -32602, "message": str(error.args[0])}})
