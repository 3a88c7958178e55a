#!/usr/bin/env python3
"""Proves that work that was killed continues: after each entry of its log, as if nothing had happened.

    prove_resume.py [--gongfu BIN] [--short] [SCENARIO…]

Three scenarios of `gongfu chat` – loading a skill before acting, making test data, reaching the limit of steps – run with
native calls and with action blocks, and a pipeline of `gongfu task run`. Each runs once unbroken. Then it is killed with
SIGKILL as soon as its log has one entry, two, and so on, each time on a home of its own, and resumed. The trace, the reply
and the usage have to equal those of the unbroken run; no file of a script that had finished may be written again; and the
replay of the resumed session has to be equal. Before the prompt and after the last entry nothing is to be resumed, which
has to be said. Kills that come late are repeated until each entry was the last one once.

What judges is proven first: another trace, a script that runs twice and a changed log must be noticed. `--short` takes one
scenario in one form, and the pipeline, for 20 seconds each; half of the entries may be missed then. Exits 1 when an
expectation isn't met, or an entry was never the last one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from agent_home import COMMAND, AgentHome, difference, entries
from clients import binary
from faulty_model import SCENARIOS, FaultyModel, Run, Scenario, Turn
from scripted_wires import Json

STEPS = 6
# The kills that may come late in the self-test, and the longest that a run may take, in seconds.
MAX_TRIES, LIMIT = 200, 50.0
# The longest that the kills of one scenario may take in the short form and in the whole one, in seconds.
SHORT, LONG = 20.0, 600.0
# Entries follow each other fast: when so few are missing, the process runs for a moment at a time, in seconds.
NEAR, MOMENT = 3, 0.00001
NOTE = """import sys
with open(f'/workspace/{sys.argv[1]}.txt', 'a') as file:
    print('noted', file=file)
print('noted', sys.argv[1])
"""
NOTES = {"note-taker": {"SKILL.md": "---\nname: note-taker\ndescription: Takes a note.\n---\n# Notes\n\nRun it.\n", "scripts/note.py": NOTE}}
PIPELINE = """name: notes
steps:
- {name: a, tool: skill_run, params: {skill_name: note-taker, command: python3 scripts/note.py a}}
- {name: b, tool: skill_run, params: {skill_name: note-taker, command: python3 scripts/note.py b}}
- {name: bad, tool: skill_load, params: {skill_name: nowhere}, errorStrategy: continue}
- {name: off, tool: value, when: 'false'}
- {name: c, tool: skill_run, dependsOn: [a, b, bad, off], params: {skill_name: note-taker, command: python3 scripts/note.py c}}
- {name: d, tool: value, params: {code: 'c:exit_code'}}
"""


def note(name: str) -> str:
    return f"python3 scripts/note.py {name}"


@dataclass
class Work:
    """What is killed: a chat, or the pipeline where there is no scenario."""

    name: str
    scenario: Scenario | None = None
    is_fenced: bool = False
    skills: dict[str, dict[str, str]] = field(default_factory=lambda: NOTES)
    # The file that a script writes below the project, by its command or its step.
    files: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return "session-log" if self.scenario else "pipelines"

    def start(self) -> list[str]:
        if self.scenario:
            return ["chat", "--print", self.scenario.prompt, "--model", "openai/scripted", "--json"]
        return ["task", "run", "notes.yaml", "--json"]

    def resume(self, log: Path) -> list[str]:
        if not self.scenario:
            return ["task", "run", "--resume", log.stem]
        return ["chat", "--resume", "--print", "--session", log.stem, "--model", "openai/scripted"]

    def is_open(self, past: list[Json]) -> bool:
        """True where something is to be resumed."""
        if not self.scenario:
            return past[-1]["event"] != "ended"
        return len(past) > 1 and past[-1]["kind"] != "finished"

    def finished(self, past: list[Json]) -> list[str]:
        """The files of the scripts that had finished, by the log."""
        if not self.scenario:
            return [self.files[entry["step"]] for entry in past if entry["event"] == "step_finished" and entry["step"] in self.files]
        commands = {entry["id"]: entry["params"].get("command") for entry in past if entry["kind"] == "calling"}
        called = [commands[entry["id"]] for entry in past if entry["kind"] == "called"]
        return [self.files[command] for command in called if command in self.files]

    def trace(self, home: AgentHome, answer: Json) -> str:
        if self.scenario:
            return home.trace(answer)
        steps = sorted((step["step"], step["status"], step["attempt"]) for step in answer.get("trace", []))
        outputs = {name: output.get("stdout", output) for name, output in answer.get("outputs", {}).items()}
        return json.dumps([answer.get("success"), steps, outputs], sort_keys=True)


def works() -> list[Work]:
    """Each scenario in both forms, and the pipeline."""
    act = Scenario.load(SCENARIOS / "load-then-act.json")
    skills = {name: dict(files) for name, files in act.skills.items()}
    files = {"python3 scripts/scan.py": "scan.txt", "python3 scripts/enrich.py NetworkClient": "enrich.txt"}
    for name in ("scan", "enrich"):
        skills["project-coldstart"][f"scripts/{name}.py"] += f"print('done', file=open('/workspace/{name}.txt', 'a'))\n"
    command = COMMAND.format(file="shop.sqlite")
    data = Scenario.load(SCENARIOS / "test-data.json", command=command)
    runs = [Turn(calls=[{"tool": "skill_run", "params": {"skill_name": "note-taker", "command": note(str(at))}}]) for at in range(STEPS)]
    limit = Scenario([*runs, Turn("That is as far as I get.", expect={"last": ["answer"]})], prompt="Take notes for ever.")
    notes = {note(str(at)): f"{at}.txt" for at in range(STEPS)}
    chats = [("load-then-act", act, skills, files), ("test-data", data, {}, {command: "shop.sqlite"}), ("limit of steps", limit, NOTES, notes)]
    found = [Work(f"{name}, {form}", scenario, form == "block", *more) for name, scenario, *more in chats for form in ("native", "block")]
    return [*found, Work("pipeline", files={step: f"{step}.txt" for step in "abc"})]


@dataclass
class Killed:
    """A run that was killed."""

    home: AgentHome
    run: Run | None
    log: Path
    past: list[Json]
    problems: list[str] = field(default_factory=list)


def step(process: int) -> None:
    """Lets a process run for a moment, and stops it again."""
    os.kill(process, signal.SIGCONT)
    time.sleep(MOMENT)
    os.kill(process, signal.SIGSTOP)
    os.waitid(os.P_PID, process, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


class Proof:
    """Kills and resumes one work."""

    def __init__(self, gongfu: Path, folder: Path, model: FaultyModel, work: Work) -> None:
        self.gongfu, self.folder, self.model, self.work = gongfu, folder, model, work
        home, run = self.home()
        code, stdout, stderr = home.ends(home.start(*work.start()), LIMIT)
        answer = json.loads(stdout) if stdout else {}
        self.whole, self.problems = work.trace(home, answer), list(run.problems if run else [])
        self.entries = len(entries(home.logs(work.kind)[0]))
        # The entries that were never the last one.
        self.missing: list[int] = []
        missing = [file for file in work.files.values() if not (home.project / file).is_file()]
        if missing or (work.scenario and (code != 0 or answer["reply"] != work.scenario.turns[-1].text)):
            self.problems.append(f"the unbroken run ends with {code}, without {missing}: {stdout[-300:]} {stderr[-300:]}")

    def home(self) -> tuple[AgentHome, Run | None]:
        work, place = self.work, Path(tempfile.mkdtemp(dir=self.folder))
        run = self.model.add(work.scenario, work.is_fenced) if work.scenario else None
        home = AgentHome(self.gongfu, place, work.skills, run=run)
        (home.project / "notes.yaml").write_text(PIPELINE)
        return home, run

    def kill(self, number: int) -> Killed | None:
        """Runs until its log has so many entries, or more if that comes late, and kills it; nothing if it ends before."""
        home, run = self.home()
        process, log, count, started = home.start(*self.work.start()), None, 0, time.monotonic()
        while process.poll() is None and count < number:
            if number - count <= NEAR:
                step(process.pid)
            else:
                time.sleep(0.0005)
            log = log or next(iter(home.logs(self.work.kind)), None)
            count = log.read_bytes().count(b"\n") if log else 0
            if time.monotonic() - started > LIMIT:
                self.problems.append(f"it hangs before entry {number}: {log and log.read_text()[-300:]}")
                break
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        past = entries(log) if log else []
        return Killed(home, run, log, past) if log and past and process.returncode == -signal.SIGKILL else None

    def resume(self, killed: Killed) -> str:
        """Resumes, and adds what is wrong; returns the trace."""
        home, work, problems = killed.home, self.work, killed.problems
        before = {file: (home.project / file).stat() for file in work.finished(killed.past)}
        answer = home.says(*work.resume(killed.log))
        if work.is_open(killed.past):
            trace = work.trace(home, answer)
        else:
            if not re.search("finished|succeeded", str(answer.get("error"))):
                problems.append(f"it isn't said that there is nothing to resume: {answer}")
            # A session without a prompt takes one; after its end it stays as it is.
            trace = self.whole if len(killed.past) > 1 else work.trace(home, home.says(*work.start()[:-1], "--session", killed.log.stem))
        if trace != self.whole:
            problems.append(f"the traces differ: {difference(self.whole, trace)} {answer.get('error', '')}")
        problems += self.again(killed, before)
        if killed.run:
            replayed, number = home.replay(killed.log.stem), len(entries(killed.log))
            if replayed["divergence"] is not None or replayed["entries"] != number:
                problems.append(f"the replay of {number} entries differs: {replayed}")
            problems += killed.run.problems
        return trace

    @staticmethod
    def again(killed: Killed, before: dict[str, os.stat_result]) -> list[str]:
        """The finished scripts that wrote their files again."""
        now = {file: (killed.home.project / file).stat() for file in before}
        changed = [file for file in before if (now[file].st_mtime_ns, now[file].st_ino) != (before[file].st_mtime_ns, before[file].st_ino)]
        return [f"the script that wrote {file} ran again" for file in changed]

    def every(self, pool: ThreadPoolExecutor, seconds: float) -> int:
        """Kills and resumes after each entry, those first that were tried the least; returns the number of kills."""
        begun, lock = time.monotonic(), threading.Lock()
        ends, tries = begun + seconds, dict.fromkeys(range(1, self.entries + 1), 0)
        missing = set(tries)

        def one(_: int) -> None:
            # On a busy machine it takes longer until half of them were reached.
            while missing and (time.monotonic() < ends or len(missing) > self.entries // 2) and time.monotonic() < begun + LONG:
                with lock:
                    number = min(missing, key=lambda at: (tries[at], at), default=1)
                    tries[number] += 1
                killed = self.kill(number)
                with lock:
                    # One that comes late has another last entry.
                    is_needed = killed is not None and len(killed.past) in missing
                    missing.difference_update({len(killed.past)} if killed else ())
                if killed and is_needed:
                    self.resume(killed)
                    self.problems += [f"killed after entry {len(killed.past)} of {self.entries}: {problem}" for problem in killed.problems]

        workers = os.cpu_count() or 1
        for done in [pool.submit(one, at) for at in range(workers)]:
            done.result()
        self.missing = sorted(missing)
        return sum(tries.values())


def planted(proof: Proof) -> list[str]:
    """What the judge doesn't notice: another trace, a script that ran twice, and a changed log."""
    # After the last result; every script has finished by then.
    found = (proof.kill(proof.entries - 2) for _ in range(MAX_TRIES))
    killed = next((killed for killed in found if killed and proof.work.is_open(killed.past)), None)
    if not killed:
        return ["no kill succeeds"]
    before = {file: (killed.home.project / file).stat() for file in proof.work.finished(killed.past)}
    problems = [] if before else ["no script had finished"]
    whole, proof.whole = proof.whole, proof.whole.replace("ok", "failed")
    trace = proof.resume(killed)
    if [problem[:17] for problem in killed.problems] != ["the traces differ"]:
        problems.append(f"another trace isn't noticed: {killed.problems}")
    proof.whole = whole
    if trace != whole:
        problems.append(f"the resumed trace differs: {difference(whole, trace)}")
    (killed.home.project / next(iter(before))).write_text("noted\nnoted\n")
    if len(Proof.again(killed, before)) != 1:
        problems.append("a script that runs twice isn't noticed")
    killed.log.write_text(killed.log.read_text().replace("set up", "not set up"))
    if killed.home.replay(killed.log.stem)["divergence"] is None:
        problems.append("a changed log isn't noticed")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("only", nargs="*", metavar="SCENARIO", help="part of the name of a scenario (default: all)")
    options = parser.parse_args()
    every = works()
    chosen = [work for work in every if not options.only or any(part in work.name for part in options.only)]
    chosen = [every[0], every[-1]] if options.short else chosen
    started, kills, failed = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory(prefix="gongfu-resume-", ignore_cleanup_errors=True) as name, FaultyModel() as model:
        gongfu, folder = binary(options.gongfu), Path(name).resolve()
        problems = planted(Proof(gongfu, folder, model, every[0]))
        print(f"planted: {'; '.join(problems) or 'another trace, a script that runs twice and a changed log are noticed'}", flush=True)
        failed += bool(problems)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for work in chosen:
                begun, proof = time.monotonic(), Proof(gongfu, folder, model, work)
                tries, problems = proof.every(pool, SHORT if options.short else LONG), proof.problems
                if len(proof.missing) > (proof.entries // 2 if options.short else 0):
                    problems.append(f"never killed after the entries {proof.missing}")
                kills, failed = kills + tries, failed + len(problems)
                reached = f"{proof.entries - len(proof.missing)} of {proof.entries} entries"
                print(f"{work.name:<24} {reached:>16}, {tries:>4} kills, {time.monotonic() - begun:>5.1f} s", flush=True)
                print("".join(f"  fault: {problem}\n" for problem in problems), end="", flush=True)
    print(f"prove-resume: {len(chosen)} runs, {kills} kills, {failed} failed, in {time.monotonic() - started:.0f} s")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
