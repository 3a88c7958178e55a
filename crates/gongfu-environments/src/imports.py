"""Prints which modules scripts import that belong neither to Python nor to the skill.

Reads a JSON list of paths below /skill from standard input. No script is run.
"""

import ast
import json
import os
import sys

OWN = "/skill"
# An import that is caught by one of these may be missing.
OPTIONAL = ("ImportError", "ModuleNotFoundError", "Exception")


def is_optional(handler):
    kinds = handler.type
    if kinds is None:
        return True
    kinds = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    return any(isinstance(kind, ast.Name) and kind.id in OPTIONAL for kind in kinds)


def is_for_types(test):
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


def imported(tree):
    """Yields the modules that are imported anywhere, except those that may be missing."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0 and node.module:
                yield node.module
        elif isinstance(node, ast.Try) and any(map(is_optional, node.handlers)):
            # The body may fail; the rest may not.
            for part in (*node.handlers, *node.orelse, *node.finalbody):
                waiting.append(part)
        elif isinstance(node, ast.If) and is_for_types(node.test):
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def main():
    scripts = json.load(sys.stdin)
    own = set()
    for path in scripts:
        parts = path.split("/")
        own.add(parts[-1].removesuffix(".py"))
        own.update(parts[:-1])
    modules, unread = {}, []
    for path in scripts:
        try:
            with open(os.path.join(OWN, path), "rb") as file:
                tree = ast.parse(file.read(), path)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            unread.append(f"{path}: {error}")
            continue
        for name in imported(tree):
            top = name.split(".")[0]
            if top in own or top in sys.stdlib_module_names or not top:
                continue
            files = modules.setdefault(top, [])
            if path not in files:
                files.append(path)
    json.dump({"modules": modules, "unread": unread}, sys.stdout)


main()
