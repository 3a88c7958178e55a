"""Requests that hooks make to the server themselves."""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any

URL = os.environ["GONGFU_URL"]
ADMIN = os.environ["GONGFU_ADMIN"]


def send(method: str, path: str, body: Any, bearer: str = "") -> Any:
    """The JSON that answers a request; a file where the body is bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    media_type = "application/octet-stream" if isinstance(body, bytes) else "application/json"
    headers = {"content-type": media_type} | ({"authorization": f"Bearer {bearer}"} if bearer else {})
    request = urllib.request.Request(URL + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def operation(case: Any) -> str:
    return str(case.operation.definition.raw["operationId"])
