#!/usr/bin/env python3
"""Check a folder that is to be a skill. Prints `file:line: message` for each finding, and ends with 1 if there are some."""

import ast
import re
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

KEYS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
PRAISE = re.compile(r"\b(powerful|comprehensive|robust|seamless(ly)?|cutting-edge|state-of-the-art|best-in-class|ultimate)\b", re.I)
BLOCK = re.compile(r"(?m)^# /// script\s*$\n((?:^#(?:| .*)$\n)*?)^# ///\s*$")
MAX_LINES = 500
# Modules whose package has another name.
PACKAGES = {"yaml": "pyyaml", "pil": "pillow", "cv2": "opencv-python", "bs4": "beautifulsoup4", "sklearn": "scikit-learn", "dateutil": "python-dateutil",
            "dotenv": "python-dotenv", "docx": "python-docx", "pptx": "python-pptx", "fitz": "pymupdf", "magic": "python-magic", "serial": "pyserial"}  # fmt: skip


class Check:
    def __init__(self, folder: Path) -> None:
        self.folder, self.findings = folder, []

    def found(self, file: Path, line: int, message: str) -> None:
        self.findings.append((str(file), line, message))

    def run(self) -> None:
        self.file = self.folder / "SKILL.md"
        text = self.text(self.file) if self.file.is_file() else None
        if text is None:
            self.found(self.file, 1, "there is no such file, or it isn't UTF-8 text")
            return
        lines = text.splitlines()
        end = next((at for at, line in enumerate(lines) if at and line.rstrip() == "---"), 0)
        if not lines or lines[0].rstrip() != "---" or not end:
            self.found(self.file, 1, "begin with frontmatter: `---`, name and description, `---`")
            return
        self.frontmatter(lines[1:end])
        self.body(lines, end + 1)
        for script in sorted(self.folder.rglob("*.py")):
            if not any(part.startswith(".") or part == "node_modules" for part in script.relative_to(self.folder).parts):
                self.script(script)

    def text(self, file: Path) -> str | None:
        try:
            return file.read_text(encoding="utf-8-sig")
        except (UnicodeError, OSError):
            return None

    def frontmatter(self, lines: list[str]) -> None:
        fields: dict[str, tuple[int, str]] = {}
        key = ""
        for number, line in enumerate(lines, 2):
            if found := re.match(r"[\"']?([\w-]+)[\"']?:(?:\s+(.*))?$", line):
                key, value = found[1], (found[2] or "").strip()
                if key in fields:
                    self.found(self.file, number, f"`{key}` is there twice")
                if key not in KEYS:
                    self.found(self.file, number, f"`{key}` is not a key of the format; put it under `metadata`")
                if value[:1] not in "\"'|>[{" and (": " in value or " #" in value):
                    self.found(self.file, number, f"the value of `{key}` needs quotes, because of `: ` or ` #` in it")
                fields[key] = number, "" if re.fullmatch(r"[|>][+-]?", value) else value.strip("\"'")
            elif line.lstrip().startswith("#"):
                continue
            elif key and (line[:1].isspace() or line.startswith("-") or not line.strip()):
                fields[key] = fields[key][0], f"{fields[key][1]} {line.strip()}".strip()
            else:
                self.found(self.file, number, "this line is not `key: value`")
        self.name(*fields.get("name", (1, "")))
        self.description(*fields.get("description", (1, "")))

    def name(self, line: int, name: str) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or len(name) > 64:
            self.found(self.file, line, "`name` takes up to 64 lower-case letters, digits and single hyphens")
        elif name != self.folder.resolve().name:
            self.found(self.file, line, f"the name is `{name}`, but the folder is called `{self.folder.resolve().name}`")

    def description(self, line: int, text: str) -> None:
        if not 40 <= len(text) <= 1024:
            self.found(self.file, line, f"the description has {len(text)} characters; good ones have 40 to 1024")
        if not re.search(r"\buse (it|this|when|for|before|after|whenever)\b|\bwhen\b", text, re.I):
            self.found(self.file, line, "the description doesn't say when to use the skill: add `Use it when …`")
        if found := PRAISE.search(text):
            self.found(self.file, line, f"`{found[0]}` is praise: say what the skill does instead")
        if re.search(r"\bI('ll| can| will|'m)\b", text):
            self.found(self.file, line, "the description speaks as a person: begin with a verb (`Fill in PDF forms`)")

    def body(self, lines: list[str], start: int) -> None:
        body = lines[start:]
        if not any(line.strip() for line in body):
            self.found(self.file, start, "there are no instructions after the frontmatter")
        if len(body) > MAX_LINES:
            self.found(self.file, start + MAX_LINES, f"the instructions have {len(body)} lines: move details into references/")
        seen: set[str] = set()
        for number, line in enumerate(body, start + 1):
            if re.search(r"\b(TODO|FIXME|TBD):|\[TODO", line):
                self.found(self.file, number, "unfinished: a TODO is left here")
            for path in mentioned(line):
                if path not in seen and not (self.folder / path).exists():
                    self.found(self.file, number, f"there is no {path}")
                seen.add(path)
        texts = "\n".join(self.text(file) or "" for file in self.folder.rglob("*") if file.is_file() and file.suffix in (".md", ".py", ".sh", ".js"))
        for file in sorted((self.folder / "scripts").glob("*")) + sorted((self.folder / "references").glob("*")):
            if file.is_file() and file.name not in texts and not re.search(rf"import {re.escape(file.stem)}\b|from {re.escape(file.stem)} import", texts):
                self.found(file, 1, "nothing mentions this file")

    def script(self, file: Path) -> None:
        text = self.text(file)
        try:
            tree = ast.parse(text if text is not None else "\0")
        except (SyntaxError, ValueError, RecursionError) as error:
            self.found(file, getattr(error, "lineno", None) or 1, f"this isn't Python: {getattr(error, 'msg', error)}")
            return
        try:
            declared = self.declared(text)
        except (tomllib.TOMLDecodeError, AttributeError, TypeError) as error:
            self.found(file, 1, f"the `# /// script` header isn't TOML with a list of dependencies: {error}")
            return
        own = {path.stem for path in self.folder.rglob("*.py")} | {path.name for path in self.folder.rglob("*") if path.is_dir()}
        optional = {id(one) for node in ast.walk(tree) if isinstance(node, ast.Try) for one in ast.walk(node)}
        told = set()
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            for module in {name.split(".")[0] for name in names if id(node) not in optional} - sys.stdlib_module_names - own - told - {""}:
                told.add(module)
                wanted = normal(module)
                if not {wanted, PACKAGES.get(wanted, wanted)} & declared and not any(one.startswith(f"{wanted}-") for one in declared):
                    self.found(file, node.lineno, f"`{module}` is imported, but not declared: add it to the dependencies of a `# /// script` header")

    def declared(self, script: str) -> set[str]:
        found = BLOCK.search(script)
        lines = [line[2:] for line in found[1].splitlines()] if found else []
        wanted = list(tomllib.loads("\n".join(lines)).get("dependencies", []))
        for place in (self.folder, self.folder / "scripts"):
            wanted += (self.text(place / "requirements.txt") or "").splitlines()
            project = tomllib.loads(self.text(place / "pyproject.toml") or "").get("project", {})
            wanted += project.get("dependencies", [])
        return {normal(name[0]) for one in wanted if (name := re.match(r"\s*[\w.-]+", one))}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def mentioned(line: str) -> list[str]:
    """The files of the skill that a line links to or names."""
    links = [unquote(link.split("#")[0]) for link in re.findall(r"\]\(([^)\s]+)\)", line)]
    paths = [link for link in links if link and ":" not in link and not link.startswith("/") and not re.search(r"[<>{}*$]", link)]
    return paths + re.findall(r"(?<![\w/.{<-])(?:\./)?((?:scripts|references|assets)/[\w./-]*\w\.\w+)(?![\w<{*])", line)


def main() -> int:
    if len(sys.argv) < 2:
        print("usage: check.py FOLDER...", file=sys.stderr)
        return 2
    count = 0
    for folder in map(Path, sys.argv[1:]):
        if not folder.is_dir():
            print(f"error: {folder} is no folder; files of the user are below /workspace", file=sys.stderr)
            return 2
        check = Check(folder)
        check.run()
        count += len(check.findings)
        for file, line, message in sorted(check.findings):
            print(f"{file}:{line}: {message}")
    print(f"{count} {'finding' if count == 1 else 'findings'}" if count else "nothing found", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
