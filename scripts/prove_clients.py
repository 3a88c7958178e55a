#!/usr/bin/env python3
"""Proves that the command lines of real clients use gongfu: connected, shown everything, a script run.

    prove_clients.py [--gongfu BIN] [--only CLIENT] [--skills DIR] [--transcripts DIR] [--measure]

Claude Code, Codex, Gemini CLI and opencode come from npm into .tools/clients (`just prove-clients` sees to
that). Each gets an empty home, a network that has nothing but loopback, and there a model that follows a
script: it looks for a skill, loads it, runs its script, and says what came of it. The entry is the one that
`gongfu client install` writes. Proven for each client, from what its model was sent:

- connected: the audit has the client, by the name that crates/gongfu-mcp/src/client_limits.rs knows;
- instructions: those that gongfu has for this client are there from the first character to the last;
- tools: each tool that the client shows has its whole description, and all names are there;
- found, loaded, run: the skill is the first answer of a search among all, its instructions arrive, and so
  does what its script prints.

Two controls must fail: an entry whose program is missing, and a server whose texts are rulers, longer than
any limit (ruler_server.py). The latter also measures where a client cuts: `--measure` prints that alone.

Exits 1 on any failure; 77 where it can't run: not as root on Linux, or without the clients.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import ruler_server
from client_programs import PROGRAMS, Program
from client_session import Session, ask_gongfu, environment, run_client
from clients import NOT_INSTALLED, REPOSITORY, binary
from model_wires import Action, Turn

CORPUS = REPOSITORY.parent / "shared" / "corpus"
LIMITS = REPOSITORY / "crates" / "gongfu-mcp" / "src" / "client_limits.rs"
RULER = Path(ruler_server.__file__)
# How many skills are written where there are no real ones.
SKILLS = 544
# Set in the process that has its own network.
ISOLATED = "GONGFU_PROVE_CLIENTS_ISOLATED"

NAME = "quarter-figures"
SKILL = f"""---
name: {NAME}
description: Sums the figures of a quarter and prints the total. Use for quarterly figures.
---

# Figures of a quarter

Run `python scripts/total.py` with the figures as arguments, and say the total.
"""
SCRIPT = "import sys\nprint('total of the quarter:', sum(map(int, sys.argv[1:])))\n"
TOTAL = "total of the quarter: 42"
PROMPT = "Sum the figures of the quarter: 19, 12 and 11."
COMMAND = "python scripts/total.py 19 12 11"
STEPS = [
    Action(tool="skill_search", arguments={"query": "sum the figures of a quarter"}),
    Action(tool="skill_load", arguments={"skill_name": NAME}),
    Action(tool="skill_run", arguments={"skill_name": NAME, "command": COMMAND}),
]
DONE = "The quarter comes to 42."
# The first skill in an answer of `skill_search`, as text or as JSON, which a client may put into JSON once more.
FIRST_HIT = re.compile(r"(?:name\W{3,8}|- )([a-z0-9-]+)")
MISSING = "there is no such tool"
# The tools by which a client lets its model look for others, which it doesn't show before.
FINDERS = ("ToolSearch", "tool_search")


def follow(steps: list[Action], turn: Turn) -> Action:
    """What the model says next: the first step that it hasn't done, or that it is done."""
    for step in steps:
        if any(name.endswith(step.tool) for name in turn.calls):
            continue
        if name := next((name for name in turn.tools if name.endswith(step.tool)), ""):
            return Action(tool=name, arguments=step.arguments)
        finder = next((name for name in turn.tools if name in FINDERS), "")
        if finder and len(turn.calls) < 2 * len(steps) + 2:
            return Action(tool=finder, arguments={"query": f"select:mcp__gongfu__{step.tool}", "max_results": 5})
        return Action(text=MISSING)
    return Action(text=DONE)


@dataclass
class Row:
    """What was proven of a client, in words; an empty list of faults is a proof."""

    client: str
    facts: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def expect(self, name: str, fact: str, holds: bool) -> None:
        """A fact for the table, and a fault unless it holds."""
        self.facts[name] = fact if holds else f"NO: {fact}"
        if not holds:
            self.faults.append(f"{self.client}: {name}: {fact}")


@dataclass
class Place:
    """An empty home with one skill of the person's own, and a project that is an empty folder."""

    top: Path
    gongfu: Path
    skills: Path

    def __post_init__(self) -> None:
        self.home, self.project = self.top / "home", self.top / "project"
        self.project.mkdir(parents=True)
        own = self.home / ".local/share/gongfu/skills" / NAME
        (own / "scripts").mkdir(parents=True)
        (own / "SKILL.md").write_text(SKILL)
        (own / "scripts" / "total.py").write_text(SCRIPT)

    def install(self, program: Program) -> str:
        """Configures a client as a person does, and answers what was printed."""
        file = self.home / program.configuration
        if program.before:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(program.before)
        command = [str(self.gongfu), "client", "install", program.name, "--", *self.arguments()]
        done = subprocess.run(
            command, env=environment(self.home), cwd=self.project, capture_output=True, text=True, timeout=60
        )
        # As after any use of gongfu: a client that waits only briefly would get less while skills are first read.
        subprocess.run(
            [str(self.gongfu), "skill", "list", *self.arguments()],
            env=environment(self.home), cwd=self.project, capture_output=True, timeout=60,
        )  # fmt: skip
        if done.returncode or str(self.gongfu) not in file.read_text():
            raise SystemExit(f"error: {' '.join(command)} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def replace_server(self, program: Program, server: str) -> None:
        """Puts another program into the entry that is installed."""
        file = self.home / program.configuration
        file.write_text(file.read_text().replace(str(self.gongfu), server))

    def arguments(self) -> list[str]:
        """What the entry passes on to gongfu."""
        return ["--skills-dir", str(self.skills)]

    def client(self) -> tuple[str, str]:
        """The client that called gongfu last, by the audit: its name and version."""
        lines = [json.loads(line) for line in self.audit().read_text().splitlines()] if self.audit().is_file() else []
        called = [line["client"] for line in lines if line["tool"] == STEPS[0].tool]
        name, _, version = called[-1].rpartition(" ") if called else ("", "", "")
        return name, version

    def audit(self) -> Path:
        return self.home / ".local/share/gongfu/audit/audit.jsonl"


def prove(program: Program, place: Place, expected: Place, rows: list[Row]) -> tuple[str, Session]:
    """Lets a client do the task, and adds what is proven of it."""
    row = Row(f"{program.name} {program.version()}")
    rows.append(row)
    installed = place.install(program)
    session = run_client(program, place.home, place.project, PROMPT, lambda turn: follow(STEPS, turn))
    judge(row, place, expected, session)
    return installed, session


def judge(row: Row, place: Place, expected: Place, session: Session) -> None:
    """Compares what the model was sent with what gongfu has for this client."""
    name, version = place.client()
    row.expect("connected", f"{name} {version}" if name else "it never called gongfu", bool(name))
    # For a client that waits only briefly, a busy machine may have read no skill in time: it is asked again.
    for _ in range(5):
        instructions, tools = ask_gongfu(
            place.gongfu, expected.home, expected.project, place.arguments(), name or "nobody", version or "0"
        )
        if NAME in instructions:
            break
    turns = session.turns()
    whole = plain(instructions)
    shown = max((ruler_server.longest_prefix(whole, plain(turn.context)) for turn in turns), default=0)
    row.expect("instructions", f"{shown} of {len(whole)}", shown == len(whole) and NAME in whole)
    seen: dict[str, str] = {}
    for turn in turns:
        seen.update({tool: text for shown, text in turn.tools.items() if (tool := own_name(shown, tools))})
    contexts = "\n".join(turn.context for turn in turns)
    named = {tool for tool in tools if re.search(rf"gongfu[_/]+{tool}\b", contexts)} | set(seen)
    cut = [tool for tool, text in seen.items() if plain(tools[tool]) not in plain(text)]
    row.expect("tools", f"{len(named)} of {len(tools)}, {len(seen)} whole", len(named) == len(tools) and not cut)
    results = [result for turn in turns[-1:] for result in turn.results]
    found = FIRST_HIT.search(next((result for result in results if NAME in result), ""))
    row.expect("found", f"first is {found[1]}" if found else "nothing", bool(found) and found[1] == NAME)
    is_loaded = any(inside(SKILL, result) for result in results)
    row.expect("loaded", "whole" if is_loaded else "not whole", is_loaded)
    has_run = any(TOTAL in result for result in results)
    row.expect("run", TOTAL if has_run else "no output", has_run)
    row.expect("ended", f"{session.code} after {session.seconds:.1f} s", session.code == 0 and DONE in session.printed)


def plain(text: str) -> str:
    """A text without what clients may change of it: opencode indents instructions, Claude Code spells out `…`."""
    return "\n".join(line.strip() for line in text.replace("...", "…").splitlines())


def inside(text: str, result: str) -> bool:
    """Whether a text is in the result of a tool, which a client may have put into JSON once more."""
    return text.strip() in result or json.dumps(text.strip())[1:-1] in result


def own_name(shown: str, tools: dict[str, str]) -> str:
    """The name of a tool of gongfu as gongfu has it; empty for a tool of the client's own."""
    return next((tool for tool in tools if "gongfu" in shown and shown.endswith(tool)), "")


def control_missing(program: Program, place: Place, expected: Place) -> list[str]:
    """The faults that are found when the entry's program is missing."""
    row = Row(program.name)
    place.install(program)
    place.replace_server(program, "/nowhere/gongfu")
    judge(row, place, expected, run_client(
        program, place.home, place.project, PROMPT, lambda turn: follow(STEPS, turn)
    ))  # fmt: skip
    return row.faults


def measure(program: Program, place: Place, delay: float = 0.0) -> tuple[int, int]:
    """How many characters of a server's instructions and of a tool's description reach the model."""
    place.install(program)
    place.replace_server(program, str(RULER))
    (place.home / ruler_server.DELAY).write_text(str(delay))
    step = Action(tool=ruler_server.TOOL)
    session = run_client(program, place.home, place.project, PROMPT, lambda turn: follow([step], turn))
    descriptions = [text for turn in session.turns() for name, text in turn.tools.items() if step.tool in name]
    contexts = [turn.context for turn in session.turns()]
    return (
        max((ruler_server.reach("I", text) for text in contexts), default=0),
        max((ruler_server.reach("D", text) for text in descriptions), default=0),
    )


def known_limit(client: str) -> int:
    """The characters of instructions that the latest version of a client shows, as gongfu's table has it."""
    entries = re.findall(r'name: "([^"]*)",[^}]*?instructions: ([\d_]+)', LIMITS.read_text())
    limits = [int(limit) for name, limit in entries if name == client]
    return limits[-1] if limits else ruler_server.LENGTH


def write_transcript(folder: Path, program: Program, place: Place, installed: str, session: Session) -> None:
    """One client's session as a page: the commands, what the model was sent of gongfu, what it said."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {
        str(place.home): "/home/me",
        str(place.project): "/home/me/project",
        str(place.skills): "/home/me/skills",
        str(place.gongfu): "/usr/bin/gongfu",
    }
    (folder / f"{program.name}.md").write_text(session.transcript(program, installed, PROMPT, names))


def print_table(rows: list[Row]) -> None:
    """Prints what was proven of each client."""
    facts = list(dict.fromkeys(name for row in rows for name in row.facts))
    table = [["client", *facts], *([row.client, *(row.facts.get(name, "") for name in facts)] for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def synthetic(folder: Path) -> Path:
    """As many skills as the real collection has, for where that isn't."""
    for number in range(SKILLS):
        skill = folder / f"skill-{number:03}"
        skill.mkdir(parents=True)
        about = f"Does task {number} of a long list, with care. Use when task {number} comes up."
        (skill / "SKILL.md").write_text(f"---\nname: {skill.name}\ndescription: {about}\n---\n\n# Task {number}\n")
    return folder


def isolate() -> None:
    """Goes on in a network of its own, with loopback alone; says so where that can't be had."""
    if os.environ.get(ISOLATED):
        return
    if sys.platform != "linux" or os.geteuid() != 0:
        print("not run: a network of its own needs root on Linux")
        sys.exit(NOT_INSTALLED)
    os.environ[ISOLATED] = "1"
    shell = 'ip link set lo up && exec "$0" "$@"'
    os.execvp("unshare", ["unshare", "--net", "sh", "-c", shell, sys.executable, *sys.argv])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gongfu", type=Path, help="the gongfu to prove")
    parser.add_argument("--only", choices=[program.name for program in PROGRAMS], help="this client alone")
    parser.add_argument("--skills", type=Path, default=CORPUS, help="the skills to serve")
    parser.add_argument("--transcripts", type=Path, help="write one page for each client into this folder")
    parser.add_argument("--measure", action="store_true", help="print only what each client lets through")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer, when measuring")
    options = parser.parse_args()
    gongfu = binary(options.gongfu)
    programs = [program for program in PROGRAMS if options.only in (None, program.name)]
    absent = [program.name for program in programs if not program.command()]
    if absent:
        print(f"not run: not installed: {', '.join(absent)}; `just prove-clients` installs them")
        sys.exit(NOT_INSTALLED)
    isolate()
    # Codex calls a home below /tmp a doubtful one.
    with tempfile.TemporaryDirectory(prefix="gongfu-clients-", dir="/var/tmp") as folder:
        top = Path(folder)
        skills = options.skills.resolve() if options.skills.is_dir() else synthetic(top / "skills")
        if options.measure:
            for program in programs:
                shown = measure(program, Place(top / program.name, gongfu, skills), options.delay)
                print(f"{program.name} {program.version()}: instructions {shown[0]}, description {shown[1]}")
            return
        rows: list[Row] = []
        controls: list[str] = []
        for program in programs:
            place = Place(top / program.name, gongfu, skills)
            expected = Place(top / f"{program.name}-expected", gongfu, skills)
            installed, session = prove(program, place, expected, rows)
            if options.transcripts:
                write_transcript(options.transcripts, program, place, installed, session)
            faults = control_missing(program, Place(top / f"{program.name}-missing", gongfu, skills), expected)
            wanted = [f"{program.name}: {what}" for what in ("connected", "instructions", "tools", "run")]
            if not all(any(fault.startswith(one) for fault in faults) for one in wanted):
                controls.append(f"{program.name}: with its program missing, this was found: {faults}")
            shown = measure(program, Place(top / f"{program.name}-ruler", gongfu, skills))
            limits = (known_limit(place.client()[0]), program.description)
            if shown != limits:
                controls.append(f"{program.name}: lets through {shown}, not {limits}: correct {LIMITS.name}")
            rows[-1].facts["lets through"] = f"{shown[0]}, {shown[1]}"
        print_table(rows)
        print(f"each with a missing program, and with texts of {ruler_server.LENGTH} characters: "
              f"{len(controls)} of {2 * len(programs)} controls failed")  # fmt: skip
        problems = [fault for row in rows for fault in row.faults] + controls
        for problem in problems:
            print(f"error: {problem}", file=sys.stderr)
        sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
