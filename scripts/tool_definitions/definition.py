"""The texts of a tool's definition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

# How deep the arguments of arguments are read.
MAX_DEPTH = 4


def texts(definition: dict[str, Any]) -> Iterable[str]:
    """The texts of a definition, but for its name: title, description, and what its arguments are named and described."""
    yield from (definition[key] for key in ("title", "description") if definition.get(key))
    title = (definition.get("annotations") or {}).get("title")
    if title and not definition.get("title"):
        yield title
    yield from of_arguments(definition.get("inputSchema") or {}, MAX_DEPTH)


def of_arguments(schema: dict[str, Any], depth: int) -> Iterable[str]:
    for name, argument in (schema.get("properties") or {}).items():
        yield name
        if not isinstance(argument, dict):
            continue
        yield from (argument[key] for key in ("title", "description") if isinstance(argument.get(key), str))
        yield from (choice for choice in argument.get("enum") or [] if isinstance(choice, str))
        if depth:
            yield from of_arguments(argument, depth - 1)
            if isinstance(argument.get("items"), dict):
                yield from of_arguments(argument["items"], depth - 1)
