"""Requests about what a user has, made from `/openapi.json` and `tools/list`: a new route or tool is probed by itself."""

from __future__ import annotations

import json
import secrets
import urllib.parse
from typing import Any

from account_site import ASKER, REMEMBERING, Answer, Probe, Site, User

PROFILES = ["standard", "agentskills", "autosnippet", "skills", "read_skill"]
META = "io.modelcontextprotocol"
# Requests that end the session or the account of the one who makes them, and the one whose body is the permission.
LEFT_OUT = {"auth_logout", "user_delete", "password_change", "team_join"}


def mcp(method: str, params: dict[str, Any], profile: str, name: str) -> Probe:
    """A request over MCP, without a session."""
    params = params | {
        "_meta": {
            f"{META}/protocolVersion": "2026-07-28",
            f"{META}/clientInfo": {"name": "isolation", "version": "1"},
            f"{META}/clientCapabilities": {},
        }
    }
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
    }
    target = params.get("name") or params.get("uri")
    if target:
        headers["mcp-name"] = str(target)
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return Probe(f"mcp {profile} {name.split(' ')[0]}", f"mcp {profile} {name}", "POST", f"/mcp?profile={profile}", body, headers=headers)


def values(owner: User) -> dict[str, list[Any]]:
    """Values of parameters and arguments by their names: what leads to the owner's data, and nothing that holds it."""
    skill, word, team = owner.skill, owner.word, owner.team
    return {
        "skill_name": [skill, f"own/{skill}", f"team-{team.name}/{team.skill}"],
        "skillName": [skill],
        "skill": [skill],
        "skill_id": [owner.ids["skill"]],
        "query": [owner.secret, word, team.secret],
        "q": [owner.secret],
        "path": [f"skills/{skill}/plan.md", "plan.md", f"{word}.txt", f"skills/{skill}", ""],
        "file_name": ["plan.md"],
        "command": [f"cat /workspace/{word}.txt; cat plan.md; ls -R /workspace"],
        "uri": [f"skill://own/{skill}/SKILL.md", f"skill://own/{skill}"],
        "team": [owner.ids["team"]],
        "user": [owner.ids["member"]],
        "role": ["member"],
        "content": ["other text"],
        "description": ["Does other things. Use it for other things."],
        "instructions": ["Read it."],
        "section": ["Plan"],
        "name": [f"other-{secrets.token_hex(6)}"],
        "cwd": ["", f"skills/{skill}"],
        "action": ["drop"],
    }


def combinations(surface: str, tool: str, schema: dict[str, Any], owner: User) -> list[dict[str, Any]]:
    """Arguments for a schema: every value of each property that leads somewhere, the others with their first."""
    properties = schema.get("properties", {})
    known = values(owner)
    if tool.startswith("change_"):
        known["id"] = [owner.ids[f"change over {surface}"]]
    if tool == "skills_run":
        known["name"] = [owner.skill]
    used = [name for name in properties if name in schema.get("required", []) or name in ("path", "content", "id")]
    lists = {name: known.get(name) or [sample(properties[name])] for name in used}
    first = {name: choices[0] for name, choices in lists.items()}
    found = [first]
    for name, choices in lists.items():
        found.extend(first | {name: choice} for choice in choices[1:])
    return found


def sample(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    return {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}.get(kind, "x")


def tool_probes(site: Site, owner: User) -> list[Probe]:
    probes = []
    for profile in PROFILES:
        listed = site.send(mcp("tools/list", {}, profile, "tools/list"), owner)
        tools = json.loads(listed.body)["result"]["tools"]
        assert tools, f"no tools in {profile}"
        probes.append(mcp("tools/list", {}, profile, "tools/list"))
        for tool in tools:
            changes = not tool.get("annotations", {}).get("readOnlyHint", False)
            for surface in ("mcp", "rest"):
                for arguments in combinations(surface, tool["name"], tool["inputSchema"], owner):
                    name = f"{tool['name']} {json.dumps(arguments)[:120]}"
                    if surface == "mcp":
                        call = {"name": tool["name"], "arguments": arguments}
                        probe = mcp("tools/call", call, profile, name)
                    else:
                        path = f"/api/v1/tools/{tool['name']}?profile={profile}"
                        subject = f"rest {profile} {tool['name']}"
                        probe = Probe(subject, f"rest {profile} {name}", "POST", path, arguments)
                    probe.is_change = changes
                    probes.append(probe)
    uri = f"skill://own/{owner.skill}"
    for method, params in [
        ("server/discover", {}),
        ("skills/list", {}),
        ("skills/get", {"uri": f"{uri}/SKILL.md"}),
        ("resources/list", {}),
        ("resources/read", {"uri": f"{uri}/SKILL.md"}),
        ("resources/read", {"uri": f"{uri}/plan.md"}),
        ("resources/directory/read", {"uri": uri}),
        ("prompts/list", {}),
        ("prompts/get", {"name": owner.skill}),
    ]:
        probes.append(mcp(method, params, "standard", f"{method} {json.dumps(params)}"))
    return probes


def route_probes(document: dict[str, Any], owner: User) -> list[Probe]:
    """The probes of every operation of the API, but tools, which are probed one by one."""
    probes = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            name = operation["operationId"]
            if name in LEFT_OUT or name == "tool_call" or path.startswith("/api/v1/auth/"):
                continue
            security = operation.get("security", [])
            is_person = not any("token" in way for way in security)
            for target, body, headers in requests(path, method, operation, document, owner):
                probes.append(
                    Probe(
                        f"{method.upper()} {path}",
                        f"{method.upper()} {target}",
                        method.upper(),
                        target,
                        body,
                        is_person,
                        method != "get",
                        headers,
                    )
                )
    return probes


def requests(
    path: str, method: str, operation: dict[str, Any], document: dict[str, Any], owner: User
) -> list[tuple[str, Any, dict[str, str]]]:
    known = values(owner)
    ids = {"skills": "skill", "tokens": "token", "approvals": "approval", "users": "user", "grants": "grant", "invitations": "invitation", "agent": "session"}
    target = path
    family = path.split("/")[3] if path.count("/") > 2 else ""
    family = path.split("/")[4] if family == "admin" and path.count("/") > 3 else family
    if family == "teams" and path.count("/") > 4:
        family = path.split("/")[5]
        ids |= {"skills": "team skill", "grants": "team grant"}
    if path.startswith("/api/v1/admin/teams"):
        known["team"], known["user"] = [owner.ids["spare team"]], [owner.ids["user"]]
    query = {}
    for parameter in operation.get("parameters", []):
        name = parameter["name"]
        known["path"] = ["plan.md"]
        if family == "connections":
            known["name"] = [REMEMBERING]
        if path.startswith("/v1/models/"):
            value = "gongfu"
        elif name == "id":
            value = owner.ids[ids[family]]
        else:
            value = (known.get(name) or ["x"])[0]
        if parameter["in"] == "path":
            target = target.replace("{" + name + "}", urllib.parse.quote(str(value)))
        elif parameter["in"] == "query" and (parameter.get("required") or name == "q"):
            query[name] = value
    if query:
        target += "?" + urllib.parse.urlencode(query)
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        schema = content["application/json"]["schema"]
        while "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
        body = {
            name: (known.get(name) or [sample(schema["properties"][name])])[0]
            for name in schema.get("required", [])
        }
        body |= special(operation["operationId"], owner)
        return [(target, body, {})]
    if "multipart/form-data" in content:
        boundary = secrets.token_hex(8)
        parts = [
            f'--{boundary}\r\ncontent-disposition: form-data; name="skill_id"\r\n\r\n{owner.ids[ids["skills"]]}\r\n',
            f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="up.md"\r\n\r\nup\r\n--{boundary}--\r\n',
        ]
        return [(target, "".join(parts).encode(), {"content-type": f"multipart/form-data; boundary={boundary}"})]
    if content:
        return [(target, f"put {owner.word}".encode(), {"content-type": next(iter(content))})]
    return [(target, None, {})]


def special(name: str, owner: User) -> dict[str, Any]:
    """Members of bodies whose values must fit together."""
    made = secrets.token_hex(4)
    session = owner.ids.get("session", "x")
    return {
        "agent_chat": {"prompt": "x", "session": session},
        "agent_task": {"resume": owner.ids.get("run", "x")},
        "agent_tool": {"name": "skill_load", "params": {"skill_name": owner.skill}},
        "chat_completion": {
            "model": "gongfu",
            "messages": [{"role": "user", "content": "x"}],
            "metadata": {"session": session},
        },
        "account_create": {
            "username": f"made-{made}",
            "email": f"made-{made}@example.com",
            "password": "four unrelated words",
        },
        "user_change": {"username": f"{ASKER}-{made}"},
        "team_create": {"name": f"made-{ASKER}-{made}"},
        "team_rename": {"name": f"made-{made}"},
        "grant_create": {"skill": owner.ids["skill"], "host": "new.example.com"},
        "team_grant_create": {"skill": owner.ids["team skill"], "host": "new.example.com"},
        "team_skill_share": {"skill": owner.ids["skill"], "replace": True},
        "approval_reply": {"reply": "deny"},
    }.get(name, {})


def is_refused_inside(answer: Answer) -> bool:
    """A refusal of MCP or of a tool, which comes with status 200."""
    return '"isError":true' in answer.text or '"error":{' in answer.text


def in_order(probes: list[Probe]) -> list[Probe]:
    """Reads come first, since what others change has the owner's names; files are deleted before skills."""
    order = {"GET": 0, "POST": 1, "PUT": 2, "DELETE": 3}

    def place(probe: Probe) -> tuple[bool, int, int]:
        deepest = -probe.path.count("/") if probe.method == "DELETE" else 0
        return probe.is_change, order[probe.method], deepest

    return sorted(probes, key=place)


def without_echo(told: str, probe: Probe, word: str) -> str:
    """An answer without the texts of the request that it may repeat."""
    texts: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for one in value.values():
                walk(one)
        elif isinstance(value, str) and word in value:
            texts.add(value)
            # A path or a name in it.
            texts.update(part for part in value.replace(";", " ").replace("/", " ").split() if word in part)
            texts.update(part for part in value.replace(";", " ").split() if word in part)

    walk(probe.body)
    walk(urllib.parse.unquote(probe.path))
    for text in sorted(texts, key=len, reverse=True):
        quoted = json.dumps(text)[1:-1]
        told = told.replace(quoted, "").replace(text, "")
    return told
