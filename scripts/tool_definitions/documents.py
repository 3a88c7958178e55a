"""The operations of OpenAPI documents as tools, as a bridge from OpenAPI to MCP makes them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

METHODS = ("get", "put", "post", "delete", "patch")
# How deep the arguments of arguments go.
MAX_DEPTH = 3
MAX_NAME = 64


class Document:
    """A document of OpenAPI 3, or of its forerunner Swagger 2."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8-sig")
        # The names of YAML's own types are no dates here.
        self.root = json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader=yaml.CSafeLoader)

    def operations(self) -> list[tuple[dict[str, Any], str]]:
        """Each operation as a definition, with the longer description that isn't in it, or without."""
        found = []
        for path, item in self.root["paths"].items():
            for method in METHODS:
                if operation := self.whole(item).get(method):
                    shared = self.whole(item).get("parameters", [])
                    found.append(self.definition(method, path, operation, shared))
        return found

    def definition(self, method: str, path: str, operation: dict[str, Any], shared: list[Any]) -> tuple[dict[str, Any], str]:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", operation.get("operationId") or f"{method}_{path}").strip("_")[:MAX_NAME]
        summary, longer = operation.get("summary") or "", operation.get("description") or ""
        properties: dict[str, Any] = {}
        required: list[str] = []
        for parameter in map(self.whole, [*shared, *operation.get("parameters", [])]):
            if parameter.get("in") == "body":
                self.add_body(parameter.get("schema") or {}, properties, required)
            elif parameter.get("in") in ("path", "query", "formData"):
                schema = self.schema({**parameter, **self.whole(parameter.get("schema") or {})}, MAX_DEPTH)
                about = parameter.get("description")
                properties[parameter["name"]] = {**schema, **({"description": about} if about else {})}
                required += [parameter["name"]] * bool(parameter.get("required"))
        content = self.whole(operation.get("requestBody") or {}).get("content") or {}
        body = next((kind["schema"] for kind in content.values() if kind.get("schema")), None)
        if body:
            self.add_body(body, properties, required)
        schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
        definition = {"name": name, "description": summary or longer, "inputSchema": schema}
        return definition, longer if summary else ""

    def add_body(self, body: dict[str, Any], properties: dict[str, Any], required: list[str]) -> None:
        """Adds the fields of a body to the arguments."""
        schema = self.schema(body, MAX_DEPTH)
        if not schema.get("properties"):
            schema = {"properties": {"body": schema}}
        for name, field in schema["properties"].items():
            properties.setdefault(name, field)
        required += [name for name in schema.get("required", []) if name not in required and name in properties]

    def whole(self, value: Any) -> Any:
        """What a reference refers to."""
        for _ in range(MAX_DEPTH):
            if not isinstance(value, dict) or "$ref" not in value:
                break
            found: Any = self.root
            for part in value["$ref"].removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            value = found
        return value

    def schema(self, value: Any, depth: int) -> dict[str, Any]:
        """The part of a schema that tells what an argument is."""
        value = self.whole(value)
        if not isinstance(value, dict):
            return {}
        kept = {key: value[key] for key in ("type", "description", "enum", "required") if key in value}
        if not isinstance(kept.get("required", []), list):
            del kept["required"]
        properties = dict(value.get("properties") or {})
        for part in (part for key in ("allOf", "oneOf", "anyOf") for part in value.get(key, [])):
            kept.setdefault("type", self.whole(part).get("type", "object"))
            properties.update(self.whole(part).get("properties") or {})
        if depth and properties:
            kept["properties"] = {str(name): self.schema(field, depth - 1) for name, field in properties.items()}
        if depth and isinstance(value.get("items"), dict):
            kept["items"] = self.schema(value["items"], depth - 1)
        return kept
