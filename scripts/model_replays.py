"""Sessions that run again from their logs, for `prove_models.py`: with the network off, and with planted changes.

Each change of a skill, a description, a tool or an answer has to be named. The sessions are those of single chats; one of
several turns with a summary and an interrupted turn; forks that another model finishes; and one with many skills, more than
the instructions can list.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent_home import AgentHome, entries, offline
from faulty_model import Scenario, Turn
from scripted_wires import Json

SKILL = "---\nname: {name}\ndescription: Tells how to look at the {name}.\n---\n# The {name}\n\nLook out of the window.\n"
LOAD = {"tool": "skill_load", "params": {"skill_name": "weather"}}
# More than the instructions of a model list one by one.
MANY = 120
# A server with one tool, whose description is a file beside it.
SERVER = """
import json, pathlib, sys

TOOL = {"name": "look", "description": pathlib.Path(__file__).with_name("description").read_text(), "inputSchema": {"type": "object"}}
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    results = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "sky", "version": "1"}},
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": "It rains."}]},
    }
    answer = {"result": results[method]} if method in results else {"error": {"code": -32601, "message": "no such method"}}
    if number is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": number, **answer}), flush=True)
"""


def weather() -> dict[str, dict[str, str]]:
    return {"weather": {"SKILL.md": SKILL.format(name="weather")}}


def is_equal(replayed: Json, home: AgentHome) -> bool:
    return replayed["divergence"] is None and replayed["entries"] == len(entries(home.logs()[-1]))


def check_replays(outcomes: list[Any], pool: ThreadPoolExecutor) -> tuple[int, list[str]]:
    """Each session runs again from its log, with nothing that answers, and is equal; a change is named."""

    def replay(outcome: Any) -> list[str]:
        session = outcome.answer.get("session")
        if not session:
            return [f"there is no session: {outcome.stdout[:200]}"]
        equal = outcome.home.replay(session)
        return [] if is_equal(equal, outcome.home) and equal["entries"] > 2 else [f"the replay differs: {equal}"]

    known = [outcome for outcome in outcomes if outcome.code is not None]
    problems = [problem for found in pool.map(replay, known) for problem in found]
    loads = [outcome for outcome in known if any(call["status"] == "ok" and call["params"] == LOAD["params"] for call in outcome.answer.get("tool_calls", []))]
    if loads:
        problems += changes(loads[0].home, loads[0].answer["session"])
    return len(known), problems


def changes(home: AgentHome, session: str) -> list[str]:
    """Planted changes that aren't named: of a skill, its description, a tool, and answers in the log."""
    skill, [log] = home.folder / "home" / "skills" / "weather" / "SKILL.md", home.logs()
    no_digest = "sha256:" + "0" * 64

    def edit(kind: str, **changed: str) -> Callable[[str], str]:
        """Changes the first entry of a kind."""

        def apply(text: str) -> str:
            lines = text.splitlines()
            at = next(at for at, line in enumerate(lines) if json.loads(line)["kind"] == kind)
            lines[at] = json.dumps(json.loads(lines[at]) | changed, separators=(",", ":"), ensure_ascii=False)
            return "\n".join(lines) + "\n"

        return apply

    return [
        problem
        for file, change, what in [
            (skill, lambda text: text + "More.\n", "the skill `weather` was changed"),
            (skill, lambda text: text.replace("description: ", "description: Not "), "the instructions differ"),
            (log, lambda text: text.replace("The sun", "The moon"), "the model's answer in the log was changed"),
            (log, edit("asking", tools=no_digest), "the tools differ"),
            (log, edit("calling", definition=no_digest), "the tool `skill_load`"),
            (log, edit("finished", reply="Another."), "the reply in the log was changed"),
        ]
        for problem in planted(home, session, file, change, what)
    ]


def planted(home: AgentHome, session: str, file: Path, change: Callable[[str], str], what: str) -> list[str]:
    before = file.read_text()
    file.write_text(change(before))
    named = home.replay(session)["divergence"] or {}
    file.write_text(before)
    return [] if what in named.get("what", "") else [f"{what}: {named}"]


def check_sessions(proof: Any) -> tuple[int, list[str]]:
    """Sessions that take several commands: how many, and what is wrong with them."""
    problems = network_is_off(proof)
    checks = (several_turns, forks, changed_server, many_skills)
    for check in checks:
        home = AgentHome(proof.gongfu, Path(tempfile.mkdtemp(dir=proof.folder)), weather(), "[models]\nattempts = 1\n")
        try:
            found = check(proof, home)
        except (KeyError, IndexError, TypeError) as error:
            found = [repr(error)]
        print(f"session: {check.__name__.replace('_', ' '):<20} {'; '.join(found) or 'equal'}"[:300], flush=True)
        problems += [f"{check.__name__}: {problem}" for problem in found]
    return len(checks), problems


def network_is_off(proof: Any) -> list[str]:
    """A command without a network can't reach the model, which is reached otherwise."""
    address = urlsplit(proof.model.add(Scenario([])).url)
    with socket.create_connection((str(address.hostname), address.port), 5):
        pass
    connect = f"import socket; socket.create_connection(({address.hostname!r}, {address.port}), 5)"
    is_reached = subprocess.run([*offline(), sys.executable, "-c", connect], check=False, capture_output=True).returncode == 0
    return ["the network isn't off in a replay"] if offline() and is_reached else []


def several_turns(proof: Any, home: AgentHome) -> list[str]:
    """A call, a turn that a person stops, and one for which the conversation is too long."""
    home.asks(proof.model.add(Scenario([Turn(calls=[LOAD]), Turn("The sun shines.")])))
    session = home.chat("How is the weather?")["session"]
    home.asks(run := proof.model.add(Scenario([Turn()] * 2 + [Turn("Never.", faults=["stall"] * 9)])))
    process = home.start("chat", "--print", "And tomorrow?", "--session", session, "--model", "openai/scripted")
    started = time.monotonic()
    while not run.requests and time.monotonic() - started < 30:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    code, *_ = home.ends(process)
    # The model is asked with two answers, and again with a summary instead.
    home.asks(proof.model.add(Scenario([Turn("Clouds."), Turn(), Turn("Never.", faults=["400"] * 9)])))
    last = home.chat("And next week?", "--session", session)
    home.asks(proof.model.add(Scenario([Turn(), Turn("Bye.", expect={"prompt": ["Summary", "Look out of the window."]})])))
    bye = home.chat("Thanks!", "--session", session)
    kinds = [entry["kind"] for entry in entries(home.logs()[0])]
    problems = [] if (code, last.get("reply"), bye.get("reply")) == (130, "Clouds.", "Bye.") else [f"{code} {last} {bye}"]
    problems += [f"there is no entry {kind}: {kinds}" for kind in ("interrupted", "compacted", "failed") if kind not in kinds]
    replayed = home.replay(session)
    problems += [] if is_equal(replayed, home) else [f"the replay differs: {replayed}"]
    [log] = home.logs()
    return problems + planted(home, session, log, lambda text: text.replace('"summary":"Goal', '"summary":"No goal'), "the summary in the log was changed")


def forks(proof: Any, home: AgentHome) -> list[str]:
    """Another model continues the first entries of a session, on another wire."""
    home.asks(proof.model.add(Scenario([Turn(calls=[LOAD]), Turn("The sun shines.")])))
    session = home.chat("How is the weather?")["session"]
    at = 1 + next(entry["n"] for entry in entries(home.logs()[0]) if entry["kind"] == "called")
    fork = home.says("chat", "fork", session, "--at", str(at))["id"]
    home.asks(proof.model.add(Scenario([Turn(), Turn("It rains.", expect={"last": ["Look out of the window."]})])), "anthropic")
    answer = home.says("chat", "--print", "--resume", "--session", fork, "--model", "anthropic/other")
    problems = [] if (answer.get("reply"), answer.get("model")) == ("It rains.", "anthropic/other") else [f"the fork ends with {answer}"]
    replays = {id: home.replay(id) for id in (session, fork)}
    logs = {log.stem: len(entries(log)) for log in home.logs()}
    return problems + [f"the replay of {id} differs: {one}" for id, one in replays.items() if one["divergence"] or one["entries"] != logs[id]]


def changed_server(proof: Any, home: AgentHome) -> list[str]:
    """The definition of another server's tool changes, and a person approves that."""
    server, description = home.folder / "sky.py", home.folder / "description"
    server.write_text(SERVER)
    description.write_text("Looks at the sky.")
    home.ends(home.start("connection", "add", "sky", "--", sys.executable, str(server)))
    home.ends(home.start("connection", "approve", "sky", "--yes"))
    home.asks(run := proof.model.add(Scenario([Turn(calls=[{"tool": "sky__look", "params": {}}]), Turn("It rains.", expect={"last": ["It rains."]})])))
    answer = home.chat("How is the weather?")
    problems = run.problems + ([] if [call["status"] for call in answer.get("tool_calls", [])] == ["ok"] else [f"the call ends with {answer}"])
    replayed = home.replay(answer["session"])
    problems += [] if is_equal(replayed, home) else [f"the replay differs: {replayed}"]
    description.write_text("Looks at the sky, and at the sea.")
    home.ends(home.start("connection", "approve", "sky", "--yes"))
    named = home.replay(answer["session"])["divergence"] or {}
    return problems + ([] if "the tools differ" in named.get("what", "") else [f"a changed tool isn't named: {named}"])


def many_skills(proof: Any, home: AgentHome) -> list[str]:
    """The instructions can't list all skills; a skill that was used meanwhile changes nothing."""
    text = "---\nname: {name}\ndescription: {what}\n---\n# A thing\n\nThing {at}.\n"
    names = {at: f"thing-{at:03}" for at in range(MANY)}
    home.add({name: {"SKILL.md": text.format(name=name, at=at, what=f"Does the thing number {at} with great care. " * 3)} for at, name in names.items()})
    load = {"tool": "skill_load", "params": {"skill_name": names[MANY - 1]}}
    home.asks(proof.model.add(Scenario([Turn(calls=[load]), Turn("Done.", expect={"last": [f"Thing {MANY - 1}."]})])))
    answer = home.chat("Do the last thing.")
    replays = [home.replay(answer["session"]) for _ in range(2)]
    return [f"the replay differs: {replayed}" for replayed in replays if not is_equal(replayed, home)][:1]
