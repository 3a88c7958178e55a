#!/usr/bin/env python3
"""Replays every example of the source documents, by a real MCP client.

    replay.py [--gongfu BIN] [--timeout SECONDS]

The client is the Python package `mcp`, over standard input and output, one server for each dialect. An
example is a call that a document shows or describes; its answer must be the documented text, or differ
in the way that the row says. Texts are compared whole, and so is whether the answer is flagged as an
error.

Then each example is judged once more against its own answer with one letter changed, and with the flag
turned round: an expectation that lets one of them pass expects nothing, and is a failure.

Prints one row for each example. Exits 1 on any failure, 77 when the client is not installed here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clients import NOT_INSTALLED, Client, Failure, Row, binary, described, expect, print_table, shown

try:
    from mcp import StdioServerParameters, stdio_client
except ImportError:
    pass

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def skill(name: str, description: str, body: str, more: str = "") -> str:
    """A SKILL.md."""
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}"


COLDSTART_BODY = """# Cold start

## 概述
Overview.

## 具体操作步骤
1. Scan.

```markdown
## 质量标准 in a fence is no heading
```

## 质量标准
- Nine dimensions.

### 细则
- Deep.

## 注意事项
- Take care.
"""
COLDSTART = skill(
    "autosnippet-coldstart",
    "冷启动全流程指南。第二句。",
    COLDSTART_BODY,
    "metadata:\n  use-case: 冷启动 / 初始化知识库\n  related: autosnippet-structure autosnippet-reference-swift\n",
)
GCD = skill("gcd-calculator", "Computes the greatest common divisor.", "# GCD\n\nRun scripts/gcd.py.\n")
GCD_PY = "import math, sys\nprint(math.gcd(int(sys.argv[1]), int(sys.argv[2])))\n"
# Writes beside its input, as the workflow of the document has it.
EXTRACT_PY = (
    "import sys\npath = sys.argv[1]\ntext = open(path).read()\n"
    "open(path.replace('.pdf', '_processed.txt'), 'w').write(text.lower())\nprint('extracted', len(text))\n"
)
SETUP_SH = "mkdir -p output\necho ready > output/state\necho set up\n"
FACTORY_BODY = "# Test data\n\nGenerate realistic rows.\n"
FACTORY = f"---\ndescription: Generate semantically realistic test data\n---\n\n{FACTORY_BODY}"
ANALYSIS_BODY = "# Data analysis\n\nLook at the data.\n"

# What each dialect's world holds, below its folder.
WORLDS: dict[str, dict[str, str]] = {
    "agentskills": {
        "skills/pdf/SKILL.md": skill("pdf", "|\n  Fill forms: all of them\n  and merge.", "# PDF\n\nSee reference.md.\n"),
        "skills/pdf/reference.md": "# Reference\n",
        "skills/pdf/forms.md": "# Forms\n",
        "skills/docx/SKILL.md": skill("docx", '"a --- b"', "# DOCX\n"),
        "skills/docx/ooxml/ooxml.md": "# OOXML\n",
        "skills/pdf/scripts/fill.py": "open('filled.txt', 'w').write('filled\\n')\nprint('done')\n",
        "skills/pdf/_versions/1.0.0/SKILL.md": skill("pdf", "An archived version.", "old\n"),
        "skills/.hidden/old/SKILL.md": skill("old", "In a dot-folder.", "old\n"),
        "skills/node_modules/x/SKILL.md": skill("x", "In node_modules.", "old\n"),
        "outside.md": "the canary outside\n",
    },
    "skills": {
        "skills/gcd-calculator/SKILL.md": GCD,
        "skills/gcd-calculator/scripts/gcd.py": GCD_PY,
        "skills/pdf-tools/SKILL.md": skill("pdf-tools", "Processes PDF files.", "# PDF\n"),
        "skills/pdf-tools/scripts/extract.py": EXTRACT_PY,
        "work/src/main.py": "print('main')\n",
        "work/data.bin": "\0",
        "Users/me/doc.pdf": "%PDF",
        "locked/file.txt": "locked\n",
        "outside.md": "the canary outside\n",
    },
    "read_skill": {
        "skills/data_analysis/SKILL.md": skill("data_analysis", "Analyze data.", ANALYSIS_BODY),
        "skills/test_data_factory/SKILL.md": FACTORY,
        "outside.md": "the canary outside\n",
    },
    "autosnippet": {
        "skills/autosnippet-coldstart/SKILL.md": COLDSTART,
        "skills/autosnippet-intent/SKILL.md": skill(
            "autosnippet-intent", "意图路由", "# Intent\n", "metadata:\n  use-case: 不确定该用哪个能力时\n"
        ),
        "skills/unparsed/SKILL.md": "---\nname: unparsed\n---\n",
    },
}
# Without any skill.
WORLDS["read_skill, empty"] = {"skills/.keep": ""}
# Where the library can't be read: the file of the switches is damaged.
WORLDS["autosnippet, broken"] = {"skills/.keep": "", "home/switches.json": "{"}

Judge = Callable[[str], None]


@dataclass
class Example:
    """A call of a document, and what it must answer."""

    seed: str
    world: str
    tool: str
    arguments: dict[str, Any]
    # The whole text, the whole object of JSON, or a judge.
    wanted: str | dict[str, Any] | Judge
    error: bool = False
    # What differs from the document, and why.
    difference: str = ""
    answer: str = field(default="", init=False)

    @property
    def name(self) -> str:
        call = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        return f"{self.seed} {self.tool}({call if len(call) < 70 else call[:69] + '…'})"

    def judge(self, text: str, error: bool) -> None:
        """Fails unless the answer is what it must be."""
        expect(error == self.error, f"flagged {error}, not {self.error}: {text[:300]!r}")
        if callable(self.wanted):
            self.wanted(text)
        elif isinstance(self.wanted, str):
            expect(text == self.wanted, f"it answers {text!r}, not {self.wanted!r}")
        else:
            try:
                given = json.loads(text)
            except json.JSONDecodeError:
                raise Failure(f"no JSON: {text!r}") from None
            if "timestamp" in given:
                expect(bool(TIMESTAMP.fullmatch(given.pop("timestamp"))), f"the timestamp of {text!r}")
            expect(given == self.wanted, f"it answers {given!r}, not {self.wanted!r}")
            expect(list(given) == list(self.wanted), f"the order of {text!r}")


def payload(code: str, detail: Any) -> dict[str, Any]:
    """A failure of seed 000."""
    return {"detail": detail, "code": code}


def failed(code: str, message: str, **more: Any) -> dict[str, Any]:
    """A failure of seed 001."""
    return {"success": False, "error": {"code": code, "message": message, **more}}


def lists(names: list[str] | None) -> Judge:
    """The choices in the schema of read_skill; `tools/list` is judged as JSON."""

    def judge(text: str) -> None:
        tool = next(tool for tool in json.loads(text) if tool["name"] == "read_skill")
        parameter = tool["inputSchema"]["properties"]["skill_name"]
        expect(parameter.get("enum") == names, f"the choices are {parameter.get('enum')}")
        expect(parameter["type"] == "string" and tool["inputSchema"]["required"] == ["skill_name"], parameter)

    return judge


def holds(*parts: str) -> Judge:
    """The answer is exactly these parts, in this order, where a document leaves the words open."""

    def judge(text: str) -> None:
        expect("\n".join(parts) == text, f"it answers {text!r}")

    return judge


def pattern(text: str) -> Judge:
    """The whole answer is of this form, where times and sizes are the machine's."""

    def judge(answer: str) -> None:
        expect(bool(re.fullmatch(text, answer)), f"it answers {answer!r}")

    return judge


HEAD = 'Available skills (each line is "- <skill_name>: <skill_description>"):'
HINT_PATH = "use a path relative to the skill's folder, e.g. references/guide.md"
HINT_PLACE = (
    "use a path in the workspace, e.g. src/main.py, or an absolute path in a mounted folder (--mount)"
)
TOOLS = "tools/list"


def agentskills() -> list[Example]:
    def example(tool: str, arguments: dict[str, Any], wanted: Any, error: bool = False, why: str = "") -> Example:
        return Example("000", "agentskills", tool, arguments, wanted, error, why)

    unknown = "there is no skill `pfd`"
    return [
        example(
            "load_skill_metadata",
            {},
            f"{HEAD}\n- docx: a --- b\n- pdf: Fill forms: all of them and merge.",
            why="block descriptions and `---` are read as YAML; no archived version, dot-folder, node_modules",
        ),
        example("load_skill", {"skill_name": "pdf"}, WORLDS["agentskills"]["skills/pdf/SKILL.md"]),
        example("load_skill", {"skill_name": "docx"}, WORLDS["agentskills"]["skills/docx/SKILL.md"]),
        example("read_reference_file", {"skill_name": "pdf", "file_name": "reference.md"}, "# Reference\n"),
        example("read_reference_file", {"skill_name": "pdf", "file_name": "forms.md"}, "# Forms\n"),
        example("read_reference_file", {"skill_name": "docx", "file_name": "ooxml/ooxml.md"}, "# OOXML\n"),
        example(
            "load_skill",
            {"skill_name": "pfd"},
            payload(
                "SKILL_NOT_FOUND",
                {"skill_name": "pfd", "message": unknown, "available": ["pdf", "docx"], "total": 2},
            ),
            True,
            "flagged as an error",
        ),
        example(
            "read_reference_file",
            {"skill_name": "pdf", "file_name": "none.md"},
            payload(
                "FILE_NOT_FOUND",
                {
                    "skill_name": "pdf",
                    "file_name": "none.md",
                    "message": "there is no file `none.md` in the skill `pdf`",
                },
            ),
            True,
            "flagged as an error",
        ),
        example(
            "read_reference_file",
            {"skill_name": "pdf", "file_name": "../../outside.md"},
            payload(
                "INVALID_FILE_PATH",
                f"`../../outside.md` is not a path inside the skill: the path contains `..`; {HINT_PATH}",
            ),
            True,
        ),
        example(
            "load_skill",
            {"skill_name": "../pdf"},
            payload(
                "INVALID_SKILL_NAME",
                "`../pdf` is not a valid skill name: the name contains a path separator or a control character; "
                "pass a name, not a path",
            ),
            True,
        ),
        example(
            "load_skill",
            {},
            payload("MISSING_ARGUMENT", "the argument `skill_name` is missing; pass `skill_name`: Name of the skill."),
            True,
        ),
        example("run_shell_command", {"skill_name": "pdf", "command": "python scripts/fill.py"}, "done\n\n"),
        example("read_reference_file", {"skill_name": "pdf", "file_name": "filled.txt"}, "filled\n"),
        example(
            "run_shell_command",
            {"skill_name": "pdf", "command": "cd scripts && ls"},
            "fill.py\n\n",
            why="`cd DIR && …` is what the description tells a model to write",
        ),
        example(
            "run_shell_command",
            {"skill_name": "pdf", "command": "echo out; echo error >&2; exit 3"},
            "out\n\nerror\n[exit code: 3]",
            why="a non-zero exit code is visible",
        ),
        example("load_skill", {"skill_name": "pdf"}, WORLDS["agentskills"]["skills/pdf/SKILL.md"]),
    ]


CREATED = (
    '---\nname: my-tool\ndescription: Counts the words of a text; use it for word counts\n---\n\n# My Tool\n\n## Usage\n运行 '
    '`skills_run(name="my-tool", command="python scripts/main.py")`\n'
)
INSTRUCTIONS = '# My Tool\n\n## Usage\n运行 `skills_run(name="my-tool", command="python scripts/main.py")`'


def skills() -> list[Example]:
    def example(tool: str, arguments: dict[str, Any], wanted: Any, error: bool = False, why: str = "") -> Example:
        return Example("002", "skills", f"skills_{tool}", arguments, wanted, error, why)

    def created(name: str) -> dict[str, Any]:
        return {"status": "success", "name": name, "path": f"skills/{name}"}

    def refused(name: str) -> str:
        return (
            f"Error: the argument `name` can't be used: `{name}` is not a skill name\n"
            "hint: use lower-case letters, numbers and hyphens only, beginning with a letter"
        )

    new = {"description": "Counts the words of a text; use it for word counts", "instructions": INSTRUCTIONS}
    root = "Contents of '{}' (2 items):\n  data.bin  (1 bytes)\n  src/"
    wrong = [example("create", {"name": name, **new}, refused(name), True) for name in ("Code-Reviewer", "dataAnalyzer", "my_tool")]
    right = [example("create", {"name": name, **new}, created(name)) for name in ("code-reviewer", "data-analyzer", "pdf2image")]
    return [
        example("ls", {}, root.format("workspace")),
        example("ls", {"path": "workspace"}, root.format("workspace")),
        example(
            "ls",
            {"path": "skills"},
            "Skills (2):\n  gcd-calculator/  - Computes the greatest common divisor.\n"
            "  pdf-tools/  - Processes PDF files.",
        ),
        example(
            "ls",
            {"path": "skills/gcd-calculator"},
            f"Contents of 'skills/gcd-calculator' (2 items):\n  SKILL.md  ({len(GCD)} bytes)\n  scripts/",
        ),
        example("ls", {"path": "src"}, "Contents of 'src' (1 items):\n  main.py  (14 bytes)"),
        example("ls", {"path": "./src"}, "Contents of './src' (1 items):\n  main.py  (14 bytes)"),
        example("ls", {"path": "/Users/me"}, "Contents of '/Users/me' (1 items):\n  doc.pdf  (4 bytes)"),
        example("read", {"path": "skills/gcd-calculator/SKILL.md"}, GCD),
        example("read", {"path": "skills/gcd-calculator"}, GCD),
        example("read", {"path": "skills/gcd-calculator/scripts/gcd.py"}, GCD_PY),
        example("read", {"path": "src/main.py"}, "print('main')\n"),
        example("read", {"path": "skills/pdf-tools/SKILL.md"}, WORLDS["skills"]["skills/pdf-tools/SKILL.md"]),
        example(
            "write",
            {"path": "output/result.txt", "content": "Hello World"},
            "Successfully wrote 11 bytes to 'output/result.txt'",
        ),
        example("read", {"path": "output/result.txt"}, "Hello World"),
        example("read", {"path": "/workspace/output/result.txt"}, "Hello World"),
        example(
            "write",
            {"path": "skills/my-skill/scripts/run.py", "content": "print('hi')"},
            "Error: skill 'my-skill' not found",
            True,
            "writing into a skill needs one that is there",
        ),
        example("create", {"name": "my-skill", **new}, created("my-skill")),
        example(
            "write",
            {"path": "skills/my-skill/scripts/run.py", "content": "print('hi')"},
            "Successfully wrote 11 bytes to 'skills/my-skill/scripts/run.py'",
        ),
        example("read", {"path": "skills/my-skill/scripts/run.py"}, "print('hi')"),
        example(
            "write",
            {"path": "/Users/me/output.txt", "content": "直接写入宿主机"},
            "Successfully wrote 21 bytes to '/Users/me/output.txt'",
        ),
        example("read", {"path": "/Users/me/output.txt"}, "直接写入宿主机"),
        example("create", {"name": "my-tool", **new}, created("my-tool")),
        example("read", {"path": "skills/my-tool/SKILL.md"}, CREATED),
        example("create", {"name": "my-tool", **new}, "Error: skill 'my-tool' already exists", True),
        *right,
        *wrong,
        example("ls", {"path": "skills/none"}, "Error: skill 'none' not found", True),
        example("ls", {"path": "none"}, "Error: path 'none' not found", True),
        example("ls", {"path": "src/main.py"}, "Error: 'src/main.py' is not a directory", True),
        example("read", {"path": "src"}, "Error: 'src' is a directory; see what is in it with skills_ls", True),
        example("read", {"path": "none.txt"}, "Error: path 'none.txt' not found", True),
        example("read", {"path": "data.bin"}, "Error: 'data.bin' is not a text file (binary file)", True),
        example(
            "read",
            {"path": "../outside.md"},
            f"Error: `../outside.md` can't be reached: the path contains `..`\nhint: {HINT_PLACE}",
            True,
        ),
        example(
            "read",
            {"path": "/etc/hostname"},
            "Error: `/etc/hostname` can't be reached: it isn't in a mounted folder (there are /Users/me, /locked)"
            f"\nhint: {HINT_PLACE}",
            True,
        ),
        example("read", {"path": "/locked/file.txt"}, "locked\n"),
        example(
            "write",
            {"path": "/locked/file.txt", "content": "x"},
            "Error: `/locked` is read-only\nhint: a person can add a writable folder: --skills-dir for "
            "skills, --mount without `:ro` for files",
            True,
        ),
        example("run", {"name": "gcd-calculator", "command": "python scripts/gcd.py 12 18"}, "6\n"),
        example(
            "write",
            {"path": "skills/my-tool/scripts/setup.sh", "content": SETUP_SH},
            f"Successfully wrote {len(SETUP_SH)} bytes to 'skills/my-tool/scripts/setup.sh'",
        ),
        example("run", {"name": "my-tool", "command": "bash scripts/setup.sh", "timeout": 120}, "set up\n"),
        example("read", {"path": "skills/my-tool/output/state"}, "ready\n"),
        example("write", {"path": "doc.pdf", "content": "ABC"}, "Successfully wrote 3 bytes to 'doc.pdf'"),
        example("run", {"name": "pdf-tools", "command": "python scripts/extract.py /workspace/doc.pdf"}, "extracted 3\n"),
        example("read", {"path": "doc_processed.txt"}, "abc"),
        example("run", {"name": "pdf-tools", "command": "python scripts/extract.py /Users/me/doc.pdf"}, "extracted 4\n"),
        example("read", {"path": "/Users/me/doc_processed.txt"}, "%pdf"),
        example(
            "bash",
            {"command": "ls -la"},
            pattern(
                r"total \d+\n(?:[-drwx]{10} +\d+ user +user +\d+ \w{3} +\d+ +[\d:]+ "
                r"(?:\.|\.\.|data\.bin|doc\.pdf|doc_processed\.txt|output|src)\n){7}"
            ),
        ),
        example("bash", {"command": "grep -r 'main' .", "timeout": 30}, "./src/main.py:print('main')\n"),
        example("bash", {"command": "mkdir -p output/data"}, "(no output)"),
        example("ls", {"path": "output"}, "Contents of 'output' (2 items):\n  data/\n  result.txt  (11 bytes)"),
        example("bash", {"command": "python main.py", "cwd": "src"}, "main\n"),
        example("bash", {"command": "echo out; echo error >&2; exit 3"}, "Exit code: 3\nout\n[stderr]\nerror\n"),
        example("bash", {"command": "sleep 9", "timeout": 1}, "Command timed out after 1 seconds\n"),
        example(
            "read",
            {},
            "Error: the argument `path` is missing\nhint: pass `path`: The path of the file.",
            True,
        ),
    ]


def read_skill() -> list[Example]:
    def example(name: str, wanted: str, error: bool = False, why: str = "") -> Example:
        return Example("003", "read_skill", "read_skill", {"skill_name": name}, wanted, error, why)

    names = ["data_analysis", "test_data_factory"]
    return [
        Example("003", "read_skill", TOOLS, {}, lists(names), difference="live, not frozen at the start"),
        Example(
            "003", "read_skill, empty", TOOLS, {}, lists(None), difference="a plain string without any skill, no made-up name"
        ),
        example("data_analysis", ANALYSIS_BODY),
        example("test_data_factory", FACTORY_BODY),
        example("test-data-factory", FACTORY_BODY, why="`_` and `-` are equal"),
        example("nonexistent", "Error: Skill 'nonexistent' not found.", True, "flagged as an error"),
        example("../outside", "Error: Skill '../outside' not found.", True),
        example("/etc/passwd", "Error: Skill '/etc/passwd' not found.", True),
    ]


def autosnippet() -> list[Example]:
    def example(tool: str, arguments: dict[str, Any], wanted: Any, error: bool = False, why: str = "") -> Example:
        return Example("001", "autosnippet", f"autosnippet_{tool}", arguments, wanted, error, why)

    def data(content: str) -> dict[str, Any]:
        return {
            "success": True,
            "data": {
                "skillName": "autosnippet-coldstart",
                "content": content,
                "charCount": len(content),
                "useCase": "冷启动 / 初始化知识库",
                "relatedSkills": ["autosnippet-structure", "autosnippet-reference-swift"],
            },
        }

    listed = [
        ("autosnippet-coldstart", "冷启动全流程指南。", "冷启动 / 初始化知识库"),
        ("autosnippet-intent", "意图路由", "不确定该用哪个能力时"),
        ("unparsed", "unparsed", None),
    ]
    section = COLDSTART_BODY[COLDSTART_BODY.rindex("## 质量标准\n") : COLDSTART_BODY.index("## 注意事项")]
    names = ["autosnippet-coldstart", "autosnippet-intent", "unparsed"]
    name = {"skillName": "autosnippet-coldstart"}
    return [
        example(
            "list_skills",
            {},
            {
                "success": True,
                "data": {
                    "skills": [{"name": name, "summary": summary, "useCase": use} for name, summary, use in listed],
                    "total": 3,
                    "hint": "load a skill with autosnippet_load_skill: pass its name as skillName",
                },
            },
        ),
        example("load_skill", name, data(COLDSTART)),
        example(
            "load_skill",
            {**name, "section": "质量标准"},
            data(section),
            why="up to the next heading of its level, fences respected",
        ),
        example(
            "load_skill",
            {**name, "section": "none"},
            failed(
                "SECTION_NOT_FOUND",
                "there is no section `none`",
                availableSections=["Cold start", "具体操作步骤", "概述", "注意事项", "细则", "质量标准"],
            ),
            True,
            "it says so and lists the headings",
        ),
        example(
            "load_skill",
            {"skillName": "autosnippet-coldstarts"},
            failed(
                "SKILL_NOT_FOUND", "there is no skill `autosnippet-coldstarts`", availableSkills=names, total=3
            ),
            True,
            "nearest first",
        ),
        example(
            "load_skill",
            {},
            failed(
                "MISSING_PARAM",
                "the argument `skillName` is missing",
                hint="pass `skillName`: The name of the skill, as `autosnippet_list_skills` shows it.",
            ),
            True,
        ),
        Example("001", "autosnippet, broken", "autosnippet_list_skills", {}, broken, True),
        Example("001", "autosnippet, broken", "file_list", {}, "the folder is empty\n", False, "other tools run on"),
    ]


def broken(text: str) -> None:
    """The library can't be read: SKILLS_READ_ERROR, whatever the reason's words are."""
    try:
        error = json.loads(text)
    except json.JSONDecodeError:
        raise Failure(f"no JSON: {text!r}") from None
    expect(error["success"] is False and error["error"]["code"] == "SKILLS_READ_ERROR", text)
    end = "repair or remove it"
    expect(error["error"]["message"].endswith(end), text)
    expect(error["error"]["hint"] == "see `gongfu doctor`; nothing was changed", text)


def changed(text: str) -> str:
    """The text with its last letter or digit changed."""
    at = max((at for at, letter in enumerate(text) if letter.isalnum()), default=None)
    if at is None:
        return text + "x"
    return text[:at] + ("x" if text[at] != "x" else "y") + text[at + 1 :]


async def session(world: str, examples: list[Example], table: list[Row], gongfu: Path, timeout: float) -> None:
    """Starts the server in a world of its own and makes the calls."""
    with tempfile.TemporaryDirectory(prefix="gongfu-replay-") as name:
        folder = Path(name).resolve()
        for path, text in WORLDS[world].items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        for more in ("work", "person"):
            (folder / more).mkdir(exist_ok=True)
        profile = world.partition(",")[0]
        profiles = f"{profile},standard" if world.endswith("broken") else profile
        arguments = ["mcp", "--profile", profiles, "--no-default-dirs", "--skills-dir", str(folder / "skills")]
        arguments += ["--workspace", str(folder / "work")]
        if world == "skills":
            arguments += ["--mount", f"{folder}/Users/me:/Users/me", "--mount", f"{folder}/locked:/locked:ro"]
        variables = {"GONGFU_HOME": str(folder / "home"), "HOME": str(folder / "person")}
        parameters = StdioServerParameters(command=str(gongfu), args=arguments, env=variables)
        with open(folder / "log", "a") as log:
            server = Client(stdio_client(parameters, errlog=log), mode="legacy", read_timeout_seconds=timeout)
            async with server as client:
                for example in examples:
                    started, problem = time.monotonic(), ""
                    try:
                        await replay(client, example)
                    except Exception as error:
                        problem = described(error)
                    took = round((time.monotonic() - started) * 1000)
                    table.append(Row(example.name, example.difference or "as documented", problem, took))


async def replay(client: Any, example: Example) -> None:
    """Makes one call and judges its answer; then sees to it that the judge would notice a fault."""
    if example.tool == TOOLS:
        tools = (await client.list_tools()).tools
        text = json.dumps([tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools])
        error = False
    else:
        result = await client.call_tool(example.tool, example.arguments)
        text, error = shown(result), bool(result.is_error)
        if example.tool == "file_list":
            # The folder is made for this run.
            text = re.sub(r"\(/workspace is .* on this machine\)\n", "", text)
        expect("the canary outside" not in text, "something from outside is in the answer")
        if example.tool not in ("file_list", "run_shell_command"):
            expect(result.structured_content is None, "the text is sent twice")
    example.judge(text, error)
    for what, falsified, flag in [("letter", changed(text), error), ("flag", text, not error)]:
        # The end of the list of tools says nothing about what is judged there.
        if example.tool == TOOLS and what == "letter":
            falsified = text.replace('"skill_name"', '"skill_names"')
        try:
            example.judge(falsified, flag)
        except (Failure, KeyError):
            continue
        raise Failure(f"an answer with another {what} would pass as well")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path, help="the binary (default: what cargo built)")
    parser.add_argument("--timeout", type=float, default=30, help="seconds for one answer (default: 30)")
    options = parser.parse_args()
    if Client is None:
        print("error: the Python package mcp is not installed", file=sys.stderr)
        print("  hint: run `scripts/test --install`, and this with .tools/venv/bin/python", file=sys.stderr)
        return NOT_INSTALLED
    gongfu = binary(options.gongfu)
    examples = [*agentskills(), *skills(), *read_skill(), *autosnippet()]
    table: list[Row] = []
    for world in WORLDS:
        chosen = [example for example in examples if example.world == world]
        bounded = asyncio.wait_for(session(world, chosen, table, gongfu, options.timeout), options.timeout * 3)
        try:
            asyncio.run(bounded)
        except Exception as error:
            table.append(Row(f"the session of {world}", "", described(error), 0))
    print_table(table)
    failures = sum(bool(row.problem) for row in table)
    if len(table) < len(examples):
        print(f"error: only {len(table)} of {len(examples)} examples were replayed", file=sys.stderr)
        failures += 1
    print(f"{gongfu.parent.name} build: {len(table) - failures} examples as they should be, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
