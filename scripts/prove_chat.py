#!/usr/bin/env python3
"""Proves what a person sees of `gongfu chat`, on the screen of a pseudo-terminal.

    prove_chat.py [--gongfu BIN] [--show] [CASE…]

Each case types into a chat on a home of its own, with a model of faulty_model.py, and says what has to be on the screen:
tool calls in two lines, rendered Markdown, an approval that isn't answered by what was typed ahead, a question of another server, a turn that Ctrl-C
stops, amid a tool call too, a session that is finished after a crash, errors after which the chat continues, each command, and text of a model
that would command the terminal. At each end the modes of the terminal have to be what they were.

What judges is proven first: a screen without the text, and a terminal without echo, must be noticed. `--show` prints the
last screen of each case. Exits 1 when an expectation isn't met; 77 where pyte isn't installed.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clients import NOT_INSTALLED, binary
from faulty_model import FaultyModel, Run, Scenario, Turn

try:
    import pyte
except ImportError:
    pyte = None

# Another server, whose tool asks the person before it answers.
SERVER = """
import json, sys

SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "title": "City"}, "days": {"type": "integer", "default": 3}, "unit": {"type": "string", "enum": ["C", "F"]}}, "required": ["city"]}
TOOL = {"name": "weather", "description": "Tells the weather.", "inputSchema": {"type": "object"}}


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        send(id=number, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "sky", "version": "1"}})
    elif method == "tools/list":
        send(id=number, result={"tools": [TOOL]})
    elif method == "tools/call":
        send(id="ask", method="elicitation/create", params={"message": "Where \\u001b[2Jis it?", "requestedSchema": SCHEMA})
        answer = json.loads(sys.stdin.readline())["result"]
        send(id=number, result={"content": [{"type": "text", "text": json.dumps(answer)}]})
    elif number is not None:
        send(id=number, error={"code": -32601, "message": "no such method"})
"""
COLUMNS, LINES = 90, 70
# The longest wait for something on the screen, in seconds.
LIMIT = 60.0
SKILL = "---\nname: note-taker\ndescription: Notes that it ran. Use it to take a note.\n---\n# Notes\n\nRun `python3 scripts/note.py`.\n"
SCRIPT = "print('noted', file=open('/workspace/notes.txt', 'a'))\nprint('first line')\nprint('second line')\n"
RUN = {"tool": "skill_run", "params": {"skill_name": "note-taker", "command": "python3 scripts/note.py"}}
LOAD = {"tool": "skill_load", "params": {"skill_name": "note-taker"}}
ASKING = '[approvals]\nthreshold = "medium"\n'
MARKDOWN = "# Title\n\nA **bold** word and `code`:\n\n- one\n- two\n\n```sh\nls  -l\n```\n\nThe end."
HOSTILE = "\x1b]0;stolen\x07\x1b[2J\x1b[31mred\x9b2J and `\x1b]52;c;eA==\x07` \u202eback"


class Problem(AssertionError):
    """An expectation that wasn't met."""


class Chat:
    """`gongfu chat` in a pseudo-terminal, and its screen."""

    def __init__(self, gongfu: Path, folder: Path, run: Run | None, *arguments: str, **variables: str) -> None:
        self.screen = pyte.Screen(COLUMNS, LINES)
        self.stream, self.raw = pyte.ByteStream(self.screen), b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.slave, self.modes = slave, termios.tcgetattr(slave)
        environment = {
            "HOME": str(folder), "GONGFU_HOME": str(folder / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
            "TERM": "xterm-256color", **variables,
        }  # fmt: skip
        if run:
            environment |= {"OPENAI_BASE_URL": f"{run.url}/v1", "OPENAI_API_KEY": "sk-x"}
        model = ["--model", "openai/scripted"] if run else []
        self.process = subprocess.Popen(
            [str(gongfu), "chat", *model, "--skills-dir", str(folder / "skills"), *arguments],
            stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=folder / "project", start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip

    def read(self, seconds: float) -> None:
        if select.select([self.master], [], [], seconds)[0]:
            data = os.read(self.master, 65536)
            self.raw += data
            self.stream.feed(data)

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def sees(self, wanted: str, limit: float = LIMIT) -> None:
        """Waits until a pattern is on the screen."""
        deadline = time.monotonic() + limit
        while not re.search(wanted, self.text(), re.MULTILINE):
            if time.monotonic() > deadline:
                raise Problem(f"{wanted!r} isn't on the screen:\n{self.text()}")
            self.read(0.2)

    def sees_not(self, unwanted: str) -> None:
        if re.search(unwanted, self.text(), re.MULTILINE):
            raise Problem(f"{unwanted!r} is on the screen:\n{self.text()}")

    def style(self, word: str) -> pyte.screens.Char:
        """The first letter of a word on the screen, with its style."""
        for row, line in enumerate(self.screen.display):
            if (at := line.find(word)) >= 0:
                return self.screen.buffer[row][at]
        raise Problem(f"{word!r} isn't on the screen:\n{self.text()}")

    def types(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def says(self, line: str, wanted: str) -> None:
        """Types a line at the prompt, and waits for what comes of it."""
        self.sees(r"^> ?\Z")
        self.types(f"{line}\r")
        self.sees(wanted)

    def ends(self, code: int) -> None:
        """Waits for the end, and looks at the modes of the terminal."""
        deadline = time.monotonic() + LIMIT
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise Problem(f"it doesn't end:\n{self.text()}")
            self.read(0.1)
        while select.select([self.master], [], [], 0)[0]:
            self.read(0)
        if self.process.returncode != code:
            raise Problem(f"it ends with {self.process.returncode}, not {code}:\n{self.text()}")
        self.is_sane()

    def is_sane(self) -> None:
        if termios.tcgetattr(self.slave) != self.modes:
            raise Problem("the modes of the terminal aren't what they were")
        pastes = re.findall(rb"\x1b\[\?2004([hl])", self.raw)
        if pastes and pastes[-1] == b"h":
            raise Problem("pasted text is still marked")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@dataclass
class World:
    """A home, a folder of skills, a project and a model."""

    gongfu: Path
    folder: Path
    model: FaultyModel
    chats: list[Chat] = field(default_factory=list)
    run: Run | None = None

    def answers(self, *turns: Turn, is_fenced: bool = False) -> None:
        self.run = self.model.add(Scenario(list(turns)), is_fenced)

    def chat(self, *arguments: str, **variables: str) -> Chat:
        self.chats.append(Chat(self.gongfu, self.folder, self.run, *arguments, **variables))
        return self.chats[-1]

    def settings(self, text: str) -> None:
        (self.folder / "home" / "config.toml").write_text(text)

    def notes(self) -> int:
        notes = self.folder / "project" / "notes.txt"
        return len(notes.read_text().splitlines()) if notes.exists() else 0

    def gongfu_says(self, *arguments: str) -> str:
        environment = {"HOME": str(self.folder), "GONGFU_HOME": str(self.folder / "home"), "PATH": os.environ["PATH"]}
        return subprocess.run([str(self.gongfu), *arguments], env=environment, capture_output=True, text=True, timeout=LIMIT).stdout


def wants(is_met: object, what: str) -> None:
    if not is_met:
        raise Problem(what)


def calls(world: World, is_fenced: bool = False) -> None:
    world.answers(Turn("I take a *note*.", calls=[RUN]), Turn(MARKDOWN), is_fenced=is_fenced)
    chat = world.chat()
    chat.sees(r"^gongfu \S+ · openai/scripted · new session · \d+ skills · /help$")
    chat.says("take a note", r"^The end\.$")
    chat.sees(r"^I take a note\.$\n\n● skill_run note-taker python3 scripts/note\.py$\n  ok, [\d.]+ m?s: first line$\n\nTitle$")
    chat.sees(r"^A bold word and code:$\n\n• one$\n• two$\n\n  sh$\n  ls  -l$")
    wants(chat.style("Title").bold and chat.style("bold").bold and not chat.style("word").bold, "bold words aren't bold")
    wants(chat.style("code").fg == "cyan" and chat.style("● skill").fg == "green", "code and calls have no colour")
    chat.sees_not(r"action|second line|\*\*")
    chat.says("/expand", r"^second line$")
    chat.says("/usage", r"^session +\d+ tokens in, \d+ out$")
    chat.sees(r"^> ?\Z")
    chat.types("\x04")
    chat.ends(0)
    wants(world.notes() == 1, "the script didn't run once")
    wants(not world.run or not world.run.problems, f"{world.run and world.run.problems}")
    history = world.folder / "home" / "chat-history"
    wants(history.stat().st_mode & 0o777 == 0o600, "others can read the history")
    wants("take a note" in history.read_text(), "the history lacks a line")


def action_blocks(world: World) -> None:
    calls(world, is_fenced=True)


def approval(world: World) -> None:
    world.settings(ASKING)
    world.answers(Turn("Slowly, slowly, I take a note.", calls=[RUN], faults=["slow"]), Turn(calls=[RUN]), Turn("Noted twice."), Turn(calls=[RUN]), Turn("Refused."))
    chat = world.chat()
    chat.sees(r"^> ?\Z")
    # What is typed ahead is no answer.
    chat.types("take a note\r")
    chat.sees(r"Ctrl-C stops|writing|thinking")
    chat.types("o\ra\r")
    chat.sees(r"^\? your answer is needed$")
    chat.sees(r"^  │ python3 scripts/note\.py$")
    chat.sees(r"^  never  refuse it permanently$\n^allow it\? ?\Z")
    time.sleep(0.5)
    chat.read(0.1)
    chat.sees(r"^allow it\? ?\Z")
    wants(world.notes() == 0, "it ran before the answer")
    chat.types("yes\r")
    chat.sees(r"^answer with one of o, s, a, n, never$")
    chat.types("s\r")
    chat.sees(r"^Noted twice\.$")
    wants(world.notes() == 2, "it didn't run twice")
    wants(chat.text().count("? your answer") == 1, f"it is asked again in the session:\n{chat.text()}")
    wants("allowed for its session" in world.gongfu_says("approve", "list"), "the answer isn't recorded")
    chat.says("/new", "^new session$")
    chat.says("/quit", r"^> /quit")
    chat.ends(0)
    # Another session asks again; a person refuses there.
    world.answers(Turn(calls=[RUN]), Turn("Refused."))
    chat = world.chat()
    chat.says("take a note", r"^allow it\? ?\Z")
    chat.types("n\r")
    chat.sees(r"^● skill_run .*$\n  refused, ")
    chat.sees(r"^Refused\.$")
    wants(world.notes() == 2, "it ran although it was refused")
    # Ctrl-C at a question stops the turn.
    world.answers(Turn(calls=[{**RUN, "params": {**RUN["params"], "command": "python3 scripts/note.py again"}}]))
    other = world.chat()
    other.says("take another one", r"^allow it\? ?\Z")
    other.types("\x03")
    other.sees(r"^stopped$")
    other.sees(r"^> ?\Z")
    wants(world.notes() == 2, "it ran although it was stopped")


def elicitation(world: World) -> None:
    server = world.folder / "sky.py"
    server.write_text(SERVER)
    world.gongfu_says("connection", "add", "sky", "--", sys.executable, str(server))
    wants("1 tool" in world.gongfu_says("connection", "approve", "sky", "--yes"), "the server can't be approved")
    weather = Turn(calls=[{"tool": "sky__weather", "params": {}}])
    world.answers(weather, Turn("It rains."), weather, Turn("I don't know."))
    chat = world.chat()
    chat.says("how is the weather?", r"^\? another server asks$\n^  │ sky asks: Where .\[2Jis it\?$")
    chat.sees(r"^City: ?\Z")
    chat.types("\r")
    chat.sees(r"^this field is required$")
    chat.types("Zürich\r")
    chat.sees(r"^days \(a whole number\) \[3\]: ?\Z")
    chat.types("\r")
    chat.sees(r"^unit \(1 C, 2 F\) \[nothing\]: ?\Z")
    chat.types("1\r")
    chat.sees(r"^It rains\.$")
    chat.says("/expand", r'"content": \{"city": "Z\\u00fcrich", "days": 3, "unit": "C"\}|"city": "Z')
    chat.says("and now?", r"^City: ?\Z")
    chat.types("/decline\r")
    chat.sees(r"^I don't know\.$")
    chat.sees(r'"action": "decline"')


def interrupt(world: World) -> None:
    world.answers(Turn("Here again.", faults=["stall"]))
    chat = world.chat()
    chat.says("wait for ever", r"^. thinking · \d+ s · Ctrl-C stops$")
    chat.types("\x03")
    chat.sees(r"^stopped$")
    chat.says("and now", r"^Here again\.$")
    chat.sees(r"^> ?\Z")
    # A typed line is cleared first.
    chat.types("half a line\x03")
    chat.sees(r"^> ?\Z")
    chat.types("\x03")
    chat.sees(r"^Ctrl-C again")
    chat.types("\x03")
    chat.ends(0)


def interrupted_call(world: World) -> None:
    """A script that runs is stopped, and nothing of it is left."""
    marker = f"nap-{os.getpid()}"
    script = world.folder / "skills/note-taker/scripts/nap.py"
    script.write_text("import time\ntime.sleep(100)\n")
    nap = {"tool": "skill_run", "params": {"skill_name": "note-taker", "command": f"python3 scripts/nap.py {marker}"}}
    world.answers(Turn("I take a nap.", calls=[nap]), Turn("Here again.", expect={"last": ["and now"]}))
    chat = world.chat()
    chat.says("take a nap", r"^. skill_run .* · Ctrl-C stops$")
    waits(chat, lambda: processes(marker), "the script doesn't start")
    chat.types("\x03")
    chat.sees(r"^stopped$\n>")
    chat.sees_not("Ctrl-C stops")
    waits(chat, lambda: not processes(marker), "the script still runs")
    chat.says("and now", r"^Here again\.$")
    chat.sees(r"^> ?\Z")
    chat.types("\x04")
    chat.ends(0)
    [log] = (world.folder / "home" / "records" / "session-log").glob("*/*.jsonl")
    kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
    wants(kinds[3:7] == ["answered", "calling", "interrupted", "prompt"] and kinds[-1] == "finished", f"the log is {kinds}")
    wants(len(world.run.requests) == 2, f"there are {len(world.run.requests)} requests")
    wants(not world.run.problems, f"{world.run.problems}")


def processes(marker: str) -> list[str]:
    """The processes whose command has a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [command for command in [path.read_bytes().decode(errors="replace")] if marker in command]
        except OSError:
            pass
    return found


def waits(chat: Chat, is_met: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + LIMIT
    while not is_met():
        if time.monotonic() > deadline:
            raise Problem(f"{what}:\n{chat.text()}")
        chat.read(0.1)


def crash(world: World) -> None:
    world.answers(Turn(calls=[RUN]), Turn("It is noted.", faults=["stall"]))
    chat = world.chat()
    chat.says("take a note", r"^  ok, .*first line$")
    chat.sees(r"thinking · \d+ s")
    chat.process.kill()
    chat.process.wait()
    chat = world.chat()
    chat.sees(r'^unfinished: "take a note"; to finish it: /resume \S+$')
    chat.says("/resume", r"^1 +\S+ +1 turn, unfinished: take a note$")
    chat.says("/resume 1", r"^It is noted\.$")
    chat.sees(r"^> ?\Z")
    chat.types("\x04")
    chat.ends(0)
    wants(world.notes() == 1, "the finished call ran again")
    chat = world.chat("--resume")
    chat.sees(r"^> take a note$\n^It is noted\.$")


def errors(world: World) -> None:
    world.answers(Turn("Here.", faults=["401", "401", "none"]), Turn("And here."))
    chat = world.chat()
    chat.says("one", r"^/model NAME and /retry ask another model")
    chat.sees(r"^error\[")
    # Another prompt ends the open turn.
    chat.says("two", r"(?s)^> two$.*^/model NAME and /retry ask another model")
    chat.says("/retry", r"^Here\.$")
    chat.says("/retry", r"^the last turn is finished$")
    chat.says("/skill x", r"^error: there is no command `/skill`$\n^  hint: did you mean /skills\?$")
    chat.says("/skills", r"^note-taker +Notes that it ran")
    chat.says("/skills take note", r"(?s)take note$.*^note-taker +Notes")
    chat.says("/tools", r"^skill_run ")
    chat.says("/model nowhere/x", r"^error\[MODEL_NOT_CONFIGURED\]")
    chat.says("/model", r"^openai/scripted$")
    chat.says("/compact", r"^the conversation is already short$")
    chat.says("/expand 9", r"^there is no such result$")
    chat.says("/help", r"^/quit ")
    # Two lines are one prompt, by a backslash and by Alt-Enter; so is what is pasted.
    chat.sees(r"^> ?\Z")
    chat.types("first\\\rsecond\x1b\rthird\x1b[200~ \nfourth\x1b[201~")
    chat.sees(r"^> first\\$\n^second$\n^third$\n^fourth\Z")
    chat.types("\r")
    chat.sees(r"^And here\.$")
    prompt = world.run.requests[-1].body["messages"][-1]["content"]
    wants("first\nsecond\nthird \nfourth" in str(prompt), f"the prompt is {prompt!r}")
    chat.sees(r"^> ?\Z")
    os.kill(chat.process.pid, signal.SIGTERM)
    chat.ends(143)


def quit_by_key(world: World) -> None:
    # Lines that arrive at once are prompts, one after the other.
    world.answers(Turn("First ⚠\ufe0f می\u200cخواهم."), Turn("Second.", calls=[RUN]), Turn("Third.", faults=["stall"]))
    world.settings(ASKING)
    chat = world.chat()
    chat.sees(r"^> ?\Z")
    chat.types("one\rtwo\r")
    chat.sees(r"^allow it\? ?\Z")
    wants("First ⚠\ufe0f می\u200cخواهم.".encode() in chat.raw, "an emoji isn't what it was")
    # One answer is for one question: what came with it is no answer to the next one.
    chat.types("what\ro\r")
    chat.sees(r"^answer with one of o, s, a, n, never$\n^allow it\? ?\Z")
    wants(world.notes() == 0, "it ran before the answer")
    chat.types("o\r")
    chat.sees(r"^. thinking · \d+ s · Ctrl-C stops$")
    chat.types("\x1c")
    chat.ends(131)


def terminated(world: World) -> None:
    world.answers(Turn("Never.", faults=["stall"] * 9))
    chat = world.chat()
    chat.says("wait for ever", r"thinking · \d+ s")
    os.kill(chat.process.pid, signal.SIGTERM)
    chat.ends(143)
    chat.sees(r"^stopped$")


def without_model(world: World) -> None:
    world.run = None
    chat = world.chat()
    chat.ends(1)
    chat.sees(r"^error\[MODEL_NOT_CONFIGURED\]")
    chat.sees_not(r"^> ")


def hostile(world: World) -> None:
    call = {"tool": "skill_load", "params": {"skill_name": HOSTILE}}
    world.answers(Turn(f"{HOSTILE}\n\n```{HOSTILE}\n{HOSTILE}\n```", calls=[call]), Turn(f"{HOSTILE}\n\nThe end."))
    chat = world.chat()
    chat.says("say it", r"^The end\.$")
    for code in (b"\x1b]", b"\x07", b"\x1b[2J", b"\x1b[31mred", "\x9b".encode(), "\u202e".encode()):
        wants(code not in chat.raw, f"{code!r} reaches the terminal")
    wants(chat.screen.title == "", "the title is another one")


def plain(world: World) -> None:
    world.answers(Turn("I look.", calls=[LOAD]), Turn(MARKDOWN))
    chat = world.chat(NO_COLOR="1")
    chat.says("say it", r"^The end\.$")
    chat.sees(r"^# Title$\n\n^A \*\*bold\*\* word and `code`:$")
    answer = chat.raw[chat.raw.index(b"# Title") :]
    wants(b"\x1b[1m" not in answer and b"\x1b[3" not in answer, "it is painted")


CASES: list[Callable[[World], None]] = [calls, action_blocks, approval, elicitation, interrupt, interrupted_call, crash, errors, quit_by_key, terminated, without_model, hostile, plain]


def planted(world: World) -> None:
    """What judges notices a text that isn't there, and a terminal that isn't as it was."""
    world.answers(Turn("Here."))
    chat = world.chat()
    chat.says("one", r"^Here\.$")
    noticed = 0
    try:
        chat.sees("nowhere", 0.5)
    except Problem:
        noticed += 1
    try:
        chat.sees_not("Here")
    except Problem:
        noticed += 1
    chat.sees(r"^> ?\Z")
    try:
        # The editor has the terminal.
        chat.is_sane()
    except Problem:
        noticed += 1
    wants(noticed == 3, f"{noticed} of 3 faults are noticed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("only", nargs="*", metavar="CASE")
    options = parser.parse_args()
    if pyte is None:
        print("pyte isn't installed: scripts/test --install")
        return NOT_INSTALLED
    chosen = [case for case in CASES if not options.only or case.__name__ in options.only]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="gongfu-chat-", ignore_cleanup_errors=True) as name, FaultyModel() as model:
        for case in [planted, *chosen]:
            folder, started = Path(name).resolve() / case.__name__, time.monotonic()
            for path in ("home", "project", "skills/note-taker/scripts"):
                (folder / path).mkdir(parents=True)
            (folder / "skills/note-taker/SKILL.md").write_text(SKILL)
            (folder / "skills/note-taker/scripts/note.py").write_text(SCRIPT)
            world = World(binary(options.gongfu), folder, model)
            try:
                case(world)
                said = "as it has to be"
            except (Problem, OSError) as problem:
                failed += 1
                said = f"FAILED: {problem}"
            if options.show and world.chats:
                print(f"--- {case.__name__}\n{world.chats[-1].text()}\n---")
            for chat in world.chats:
                chat.close()
            print(f"{case.__name__:<14} {time.monotonic() - started:5.1f} s  {said}", flush=True)
    if not chosen:
        print("no such case")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
