"""Gives each request that ends an account or a sign-in one of its own, so that it can succeed."""

from __future__ import annotations

import secrets
from typing import Any

import common  # noqa: F401  # its hooks count here, too
import schemathesis
from requester import ADMIN, operation, send

PASSWORD = "four unrelated words of one user"
# Operations that an admin does to somebody.
BY_ADMIN = {"account_delete", "account_disable"}


def new_user() -> dict[str, Any]:
    """A user who was just created and signed in."""
    name = f"made-{secrets.token_hex(6)}"
    body = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
    user = send("POST", "/api/v1/admin/users", body, ADMIN)
    return dict(user | send("POST", "/api/v1/auth/login", {"email": user["email"], "password": PASSWORD}))


def members(name: str, user: dict[str, Any]) -> dict[str, Any]:
    """The members of the body that have to be true of the user."""
    return {
        "auth_login": {"email": user["email"], "password": PASSWORD},
        "auth_refresh": {"refresh_token": user["refresh_token"]},
        "auth_logout": {"refresh_token": user["refresh_token"]},
        "user_delete": {"password": PASSWORD},
        "password_change": {"current_password": PASSWORD},
    }.get(name, {})


@schemathesis.auth(refresh_interval=None)
class OneEach:
    """A credential for one request."""

    users: dict[str, dict[str, Any]] = {}

    def get(self, case: Any, _: Any) -> str:
        if operation(case) in BY_ADMIN:
            return ADMIN
        user = new_user()
        self.users[user["access_token"]] = user
        return str(user["access_token"])

    def set(self, case: Any, data: str, _: Any) -> None:
        case.headers = case.headers or {}
        case.headers["Authorization"] = f"Bearer {data}"


@schemathesis.hook
def before_call(_: Any, case: Any, __: dict[str, Any]) -> None:
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    name = operation(case)
    if name in BY_ADMIN:
        case.path_parameters["id"] = new_user()["id"]
    elif isinstance(case.body, dict):
        sent = str((case.headers or {}).get("Authorization", "")).removeprefix("Bearer ")
        case.body.update(members(name, OneEach.users.get(sent) or new_user()))
