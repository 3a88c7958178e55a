"""Prints which modules scripts import that belong neither to Python nor to the skill: JSON, one object a line.

Reads JSON from standard input: `scripts`, all paths below /skill, and `started`, those that are run; all, if there is
none. What a script imports of the skill is looked at as well. No script is run.
"""

import ast
import collections
import json
import os
import posixpath
import sys

OWN = "/skill"
# The most parts of a module that count: a package has no longer name.
PARTS = 4
# The longest error that is repeated.
LONGEST_ERROR = 200


def is_for_types(test):
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


def imported(tree):
    """Yields the modules that are imported anywhere, the outermost first, and whether the script ends without them.
    What comes of a module may be one as well."""
    always = set(tree.body)
    waiting = collections.deque([tree])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node in always
        elif isinstance(node, ast.ImportFrom):
            # What begins with a dot is of the skill.
            start = "." * node.level + (node.module or "")
            for alias in node.names:
                name = start if alias.name == "*" else f"{start}.{alias.name}" if node.module else start + alias.name
                yield name, node in always
        elif isinstance(node, ast.If) and is_for_types(node.test):
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def tell(**found):
    print(json.dumps(found))


class Skill:
    """The modules of the skill itself."""

    def __init__(self, scripts):
        self.files = set(scripts)
        self.folders = set()
        for path in scripts:
            while path := posixpath.dirname(path):
                self.folders.add(path)
        self.places = {}
        for path in scripts:
            parts = path.removesuffix(".py").split("/")
            for part in parts[-2:] if parts[-1] == "__init__" else parts:
                self.places.setdefault(part, []).append(path)
        self.names = {posixpath.basename(path).removesuffix(".py") for path in scripts}
        self.names |= {posixpath.basename(path) for path in self.folders}

    def scripts(self, name, script):
        """The scripts that an import may mean: wherever they lie, those that have one of its names."""
        parts = [part for part in name.split(".") if part]
        if name.startswith("."):
            folder = posixpath.dirname(script)
            return [path for path in self.files if posixpath.dirname(path) == folder or path.startswith(f"{folder}/")]
        return [path for part in parts[:1] for path in self.places.get(part, [])]

    def has(self, name, script):
        """True if a script that is started in its place finds the module, or is likely to make it found."""
        folder = posixpath.dirname(script)
        if posixpath.join(folder, name) in self.folders:
            return True
        while True:
            path = posixpath.join(folder, name)
            if f"{path}.py" in self.files or f"{path}/__init__.py" in self.files:
                return True
            if not folder:
                return False
            folder = posixpath.dirname(folder)


def main():
    wanted = json.load(sys.stdin)
    skill = Skill(wanted["scripts"])
    waiting = list(wanted["started"] or wanted["scripts"])
    seen = set(waiting)
    told = set()
    needed = set()
    while waiting:
        path = waiting.pop()
        try:
            with open(os.path.join(OWN, path), "rb") as file:
                tree = ast.parse(file.read(), path)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            tell(unread=f"{path}: {str(error)[:LONGEST_ERROR] or type(error).__name__}")
            continue
        for name, is_needed in imported(tree):
            parts = name.split(".")[:PARTS]
            top = parts[0]
            if top in sys.stdlib_module_names:
                continue
            if not top or top in skill.names:
                more = [script for script in skill.scripts(name, path) if script not in seen]
                waiting += more
                seen.update(more)
            if not top or skill.has(top, path):
                continue
            module = ".".join(parts)
            if (module, path) not in told:
                told.add((module, path))
                tell(**{"doubtful" if top in skill.names else "module": [module, path]})
            if is_needed and module not in needed:
                needed.add(module)
                tell(needed=module)


main()
