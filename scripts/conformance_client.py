#!/usr/bin/env python3
"""gongfu as the client that the official conformance suite tests: `conformance_client.py URL`.

Does what a person does with a server they heard of: adds a connection, approves it, signs in where the server asks for
that, and has a client call each tool, read each resource and get each prompt through `gongfu mcp`, or read each skill.
The suite starts it once for each scenario. GONGFU names the program.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from typing import Any

# The document that describes the client, as the suite expects it.
DOCUMENT = "https://conformance-test.local/client-metadata.json"
GONGFU = os.environ.get("GONGFU", "gongfu")
NAME = "tested"
# How often a person signs in again because the server asks for more.
SIGN_INS = 3
TIMEOUT = 25.0
# The scenarios about skills; in this one nobody loads any.
SKILLS = "sep-2640-client-"
NO_LOAD = "sep-2640-client-no-prefetch"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def gongfu(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([GONGFU, *words], input=stdin or "", capture_output=True, text=True, timeout=TIMEOUT)
    print(f"$ gongfu {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}", file=sys.stderr)
    return done


def browser(url: str) -> None:
    """Opens a page, and follows where it leads: the server allows everything at once."""
    opener = urllib.request.build_opener(NoRedirect, urllib.request.ProxyHandler({}))
    for _ in range(5):
        try:
            with opener.open(url, timeout=TIMEOUT) as page:
                print(f"browser: {page.status} {url}", file=sys.stderr)
                return
        except urllib.error.HTTPError as answer:
            print(f"browser: {answer.code} {url}", file=sys.stderr)
            if answer.code not in (301, 302, 303, 307, 308):
                return
            url = answer.headers["location"]


def sign_in() -> bool:
    login = subprocess.Popen(
        [GONGFU, "connection", "login", NAME, "--no-browser"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    assert login.stderr
    try:
        for line in login.stderr:
            print(f"login: {line.rstrip()}", file=sys.stderr)
            if page := re.search(r"https?://\S+response_type=\S+", line):
                try:
                    browser(page.group())
                except OSError as error:
                    print(f"browser: {error}", file=sys.stderr)
        return login.wait(TIMEOUT) == 0
    finally:
        login.kill()
        login.wait()


class Client:
    """A client of `gongfu mcp` that answers every question with what is asked by default."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([GONGFU, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0
        capabilities = {"elicitation": {}}
        about = {"name": "conformance", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities=capabilities, clientInfo=about)
        self.send(method="notifications/initialized")

    def send(self, **message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("method") == "elicitation/create":
                self.send(id=message["id"], result={"action": "accept", "content": {}})
            elif message.get("id") == self.number and "method" not in message:
                print(f"{method} {json.dumps(params)[:300]}: {json.dumps(message)[:600]}", file=sys.stderr)
                return message.get("result", message)
        raise SystemExit("gongfu mcp ended")

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(TIMEOUT)


def example(schema: dict[str, Any]) -> Any:
    """A value of a schema."""
    if "const" in schema or "default" in schema:
        return schema.get("const", schema.get("default"))
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        fields = schema.get("properties", {})
        return {name: example(field) for name, field in fields.items()}
    return {"integer": 2, "number": 3, "boolean": True, "array": [], "null": None}.get(kind, "text")


def calls() -> list[dict[str, Any]]:
    """The calls of a scenario: those that the suite names, else each tool once."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if context.get("toolCalls"):
        return [{"name": call["name"], "arguments": call.get("arguments", {})} for call in context["toolCalls"]]
    client = Client()
    tools = client.ask("tools/list").get("tools", [])
    client.close()
    schemas = {
        tool["name"].removeprefix(f"{NAME}__"): tool["inputSchema"]
        for tool in tools
        if tool["name"].startswith(f"{NAME}__")
    }
    wanted = [{"name": name, "arguments": example(schema)} for name, schema in schemas.items()]
    for call in wanted:
        if call["name"] == "json_schema_echo":
            call["arguments"] = {"schema": schemas["json_schema_2020_12_tool"]}
    return wanted


def read_content(mcp: Client) -> None:
    """Reads each resource of the server and gets each of its prompts."""
    for resource in mcp.ask("resources/list").get("resources", []):
        if not resource["uri"].startswith("skill:"):
            mcp.ask("resources/read", uri=resource["uri"])
    for prompt in mcp.ask("prompts/list").get("prompts", []):
        if prompt["name"].startswith(f"{NAME}__"):
            arguments = {argument["name"]: "text" for argument in prompt.get("arguments", [])}
            mcp.ask("prompts/get", name=prompt["name"], arguments=arguments)


def read_skills(loads: bool) -> list[str]:
    """Looks at the skills of the server as a client does: lists and finds them, and then loads each, and reads its files,
    whatever came of that."""
    listed = json.loads(gongfu("skill", "list", "--json").stdout)
    skills = [skill["full_name"] for skill in listed if skill["full_name"].startswith(f"{NAME}/")]
    mcp = Client()
    mcp.ask("tools/call", name="skill_search", arguments={"query": "documents"})
    mcp.ask("resources/list")
    for skill in skills if loads else []:
        mcp.ask("tools/call", name="skill_load", arguments={"skill_name": skill})
        files = mcp.ask("tools/call", name="skill_read", arguments={"skill_name": skill})
        for file in files["structuredContent"]["files"]:
            mcp.ask("tools/call", name="skill_read", arguments={"skill_name": skill, "path": file["path"]})
    mcp.close()
    return skills


def main() -> int:
    url = sys.argv[-1]
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory() as home:
        os.environ["GONGFU_HOME"] = home
        client = context.get("client_id") or DOCUMENT
        words = ["connection", "add", NAME, "--url", url, "--client-id", client, "--safety", "low"]
        secret = context.get("client_secret")
        if secret:
            gongfu(*words, "--client-secret-stdin", stdin=secret)
        else:
            gongfu(*words)
        signed_in = 0
        while True:
            approved = gongfu("connection", "approve", NAME, "--yes")
            if "SIGN_IN_REQUIRED" not in approved.stderr or signed_in == SIGN_INS:
                break
            signed_in += 1
            if not sign_in():
                return 1
        if approved.returncode != 0:
            return 1
        if scenario.startswith(SKILLS):
            skills = read_skills(scenario != NO_LOAD)
            print(f"{scenario}: {skills}", file=sys.stderr)
            return 0 if skills else 1
        wanted = calls()
        mcp = Client()
        for call in wanted:
            while True:
                answer = mcp.ask("tools/call", name=f"{NAME}__{call['name']}", arguments=call["arguments"])
                if "SIGN_IN_REQUIRED" not in json.dumps(answer) or signed_in == SIGN_INS:
                    break
                signed_in += 1
                if not sign_in():
                    break
        read_content(mcp)
        mcp.close()
    print(f"{scenario}: {len(wanted)} calls, {signed_in} sign-ins", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
