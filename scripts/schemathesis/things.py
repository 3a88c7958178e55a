"""Leads half of the requests that fit the schema to things that are there: to a team, its skill, a skill of one's own."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import urllib.error
from functools import cache
from typing import Any

import common  # noqa: F401  # its hooks count here, too
import schemathesis
from requester import ADMIN, operation, send

WHO = os.environ.get("GONGFU_WHO", "")
# A user who is nobody's member yet.
OTHER = os.environ.get("GONGFU_OTHER", "")
TURNS = itertools.count()
# The joins so far, and the most: a user is in a limited number of teams.
JOINS = itertools.count()
MAX_JOINS = 5


def new_name() -> str:
    return f"made-{secrets.token_hex(6)}"


def new_team() -> str:
    return str(send("POST", "/api/v1/teams", {"name": new_name()}, WHO)["id"])


def new_skill(path: str = "/api/v1") -> str:
    """A skill with a file besides its SKILL.md."""
    made = send("POST", f"{path}/skills", {"name": new_name(), "description": "Counts things. Use it to count."}, WHO)
    send("PUT", f"{path}/skills/{made['id']}/files/notes.md", b"notes", WHO)
    return str(made["id"])


def invitation(team: str) -> Any:
    return send("POST", f"/api/v1/teams/{team}/invitations", {}, WHO)


@cache
def team() -> str:
    return new_team()


@cache
def skill(path: str) -> str:
    return new_skill(path)


def lead(case: Any, name: str) -> None:
    """Sets the parameters of a path to things that are there; what is deleted is made for that."""
    path, given = str(case.operation.path), case.path_parameters
    if "{team}" in path:
        given["team"] = new_team() if name in ("team_delete", "server_team_delete") else team()
    prefix = f"/api/v1/teams/{given['team']}" if "{team}" in path else "/api/v1"
    if "/skills/{id}" in path:
        deletes = name.removeprefix("team_") in ("skill_delete", "file_delete")
        given["id"] = new_skill(prefix) if deletes else skill(prefix)
    if "/grants/{id}" in path:
        given["id"] = send("POST", f"{prefix}/grants", {"skill": skill(prefix), "host": "example.com"}, WHO)["id"]
    if name.endswith("grant_create"):
        case.body["skill"], case.body["host"] = skill(prefix), "example.com"
    if "{path}" in path and case.method != "PUT":
        given["path"] = "notes.md"
    if "/invitations/{id}" in path:
        given["id"] = invitation(team())["id"]
    if "/connections/{name}" in path:
        given["name"] = "memory"
    if "{user}" in path:
        given["user"] = OTHER
        send("PUT", f"/api/v1/admin/teams/{given['team']}/members/{OTHER}", {"role": "member"}, ADMIN)
    if name == "team_join" and next(JOINS) < MAX_JOINS:
        # To a team that the one who joins isn't in.
        joined = send("POST", "/api/v1/teams", {"name": new_name()}, ADMIN)["id"]
        made = send("POST", f"/api/v1/teams/{joined}/invitations", {}, ADMIN)
        case.body["invitation"] = made["invitation"]
    if name == "team_skill_share":
        case.body["skill"] = skill("/api/v1")


@schemathesis.hook
def before_call(_: Any, case: Any, __: dict[str, Any]) -> None:
    if case.meta is None or not case.meta.generation.mode.is_positive or not WHO or next(TURNS) % 2:
        return
    # A chain goes on with what its requests made, and is judged by that.
    if case.meta.phase.name == "stateful":
        return
    name = operation(case)
    paths = ("{team}", "/skills/{id}", "/grants/{id}", "/connections/{name}")
    is_about = any(part in case.operation.path for part in paths) or name in ("team_join", "grant_create")
    if is_about and (case.body is None or isinstance(case.body, dict) or "{team}" in case.operation.path):
        case.path_parameters = case.path_parameters or {}
        # The tool's own requests may have used up a limit: then this one stays as it is.
        with contextlib.suppress(urllib.error.HTTPError):
            lead(case, name)
