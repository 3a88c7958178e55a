#!/usr/bin/env python3
"""Proves with generated sequences that what a person didn't approve doesn't run, and that what they approved does.

    prove_approvals.py [--gongfu BIN] [--count SEQUENCES] [--seed NUMBER]

A sequence is about one tool of another server whose level is HIGH: calls by a client that asks its person and by one that
can't, the same call twice at once, answers at the client and at the command line (once, for a session, always; for any
arguments; with an end; a refusal), and revocations. What all sequences of a gongfu share happens between their steps:
both clients end or are killed and start again, hours pass, definitions change and are approved again. Beside it stands a
model of what may run (approval_model.py). After each step, the log of the server has to be what the model says, call by
call; so have what callers got, whether somebody was asked, and the list of `gongfu approve list`.

First, faults are planted: a call more in the log of the server, and models that forget a rule. Each has to be noticed.

Prints the number of each action. Exits 1 when something ran that the model doesn't allow or didn't run that it allows,
when a planted fault isn't noticed, and when a kind of action never happened.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from approval_model import Model, Record
from approval_world import Answer, World
from clients import binary

# The sequences that share a gongfu, and the steps of each: at most 200 calls may wait for a person.
TOGETHER, STEPS = 40, 12
FAULTS = ["log", "revoke", "expire", "once", "session", "change"]
# Answers of a person: how long they hold, and whether for any arguments.
ALLOWED = [("once", False)] * 6 + [("session", False)] * 3 + [("always", False)] * 2 + [("once", True)] * 2 + [("session", True)] * 2 + [("always", True)]
HOURS = [None, None, 2, 5, 48]


class Difference(Exception):
    """Gongfu and the model differ."""


class Batch:
    """Sequences that share a gongfu."""

    def __init__(self, world: World, seed: str, fault: str = "") -> None:
        self.world, self.fault = world, fault
        self.random = random.Random(seed)
        self.seed = seed
        self.models = {f"t{at}": Model(fault) for at in range(TOGETHER)}
        self.history: dict[str, list[str]] = {tool: [] for tool in self.models}
        self.counts: Counter[str] = Counter()
        self.expected: list[str] = []
        self.now = 0

    def run(self) -> None:
        self.world.refresh()
        listed: list[Answer] = []
        for _ in range(STEPS):
            if self.happens():
                listed = self.world.records()
            tools = list(self.models)
            self.random.shuffle(tools)
            for tool in tools:
                self.act(tool, [one for one in listed if one["tool"] == f"other__{tool}"])
            listed = self.check()

    def note(self, tool: str, action: str) -> None:
        self.history[tool].append(action)
        self.counts[action.split()[0]] += 1

    def happens(self) -> bool:
        """Something that is shared by all sequences; whether there was anything."""
        chance = self.random.random()
        if chance < 0.15:
            self.restart("restart")
        elif chance < 0.25:
            self.restart("kill")
        elif chance < 0.45:
            hours = self.random.choice([1, 3, 200])
            self.world.pass_time(hours)
            self.now += hours
            self.everywhere(f"time passes: {hours} h")
        elif chance < 0.57:
            self.change()
        return chance < 0.57

    def everywhere(self, action: str) -> None:
        for history in self.history.values():
            history.append(action)
        self.counts[action.split()[0]] += 1

    def restart(self, action: str) -> None:
        self.world.stop(is_killed=action == "kill")
        self.world.start()
        self.everywhere(action)

    def change(self) -> None:
        """Some definitions change, perhaps back again: such a tool is hidden until a person approved it."""
        changed = self.random.sample(list(self.models), TOGETHER // 4)
        self.world.stop()
        for tool in changed:
            model = self.models[tool]
            model.words = self.random.choice([word for word in "123" if word != model.words])
            (self.world.count / f"version.{tool}").write_text(model.words)
        self.world.start()
        self.world.until_hidden(changed)
        for tool in changed:
            self.note(tool, f"change to {self.models[tool].words}")
            client = self.random.choice(["asks", "blind"])
            got = self.world.call(client, tool, 1, {"action": "accept", "content": {"scope": "always"}})
            if got["ran"] or got["was_asked"]:
                raise self.differs(tool, f"a definition that nobody approved: {got}")
        self.world.stop()
        self.world.approve_definitions()
        self.world.start()

    def act(self, tool: str, listed: list[Answer]) -> None:
        chance, n = self.random.random(), self.random.choice([1, 2])
        if chance < 0.45:
            self.call(tool, n)
        elif chance < 0.65:
            self.calls(tool, n, 1)
        elif chance < 0.72:
            self.calls(tool, n, 2)
        elif chance < 0.97 and listed:
            at = self.random.randrange(len(listed))
            model = self.models[tool]
            model.expire(self.now)
            if len(model.records) != len(listed):
                raise self.differs(tool, f"{listed} instead of {model.records}")
            self.answer(tool, listed[at]["id"], model.records[at])

    def decide(self, tool: str, n: int, client: str) -> str:
        decision = self.models[tool].decide(n, self.world.session(client), self.now)
        if decision == "runs":
            self.expected.append(f"{tool} {n}")
            self.counts["(ran)"] += 1
        return decision

    def call(self, tool: str, n: int) -> None:
        """A call by the client whose person is asked, if somebody has to be."""
        model, session = self.models[tool], self.world.session("asks")
        scope, is_any = self.random.choice(ALLOWED)
        reply = self.random.choice(["accept"] * 6 + ["decline", "cancel"])
        content = {"scope": scope, "any_arguments": is_any}
        decision = self.decide(tool, n, "asks")
        was_asked = decision == "asks"
        self.note(tool, f"asked: {reply} {content if reply == 'accept' else ''}" if was_asked else "call")
        if was_asked and reply != "cancel":
            answer = scope if reply == "accept" else "denied"
            model.reply(model.question(n), answer, is_any, None if reply == "accept" else 1, session, self.now)
            decision = self.decide(tool, n, "asks")
        got = self.world.call("asks", tool, n, {"action": reply, **({"content": content} if reply == "accept" else {})})
        self.compare(tool, n, decision, was_asked, got)

    def calls(self, tool: str, n: int, count: int) -> None:
        """Calls by the client that can't ask anybody, at once."""
        decisions = [self.decide(tool, n, "blind") for _ in range(count)]
        self.note(tool, f"{'twice' if count == 2 else 'blind'} {n}: {decisions}")
        if count == 1:
            self.compare(tool, n, decisions[0], False, self.world.call("blind", tool, n))
            return
        got = self.world.twice("blind", tool, n)
        if sorted(one["ran"] for one in got) != sorted(decision == "runs" for decision in decisions):
            raise self.differs(tool, f"two calls with {n}: {got}, not {decisions}")

    def compare(self, tool: str, n: int, decision: str, was_asked: bool, got: Answer) -> None:
        code = {"runs": "", "denied": "COMMAND_BLOCKED", "asks": "APPROVAL_REQUIRED"}[decision]
        if (got["ran"], got["code"], got["was_asked"]) != (decision == "runs", code, was_asked):
            raise self.differs(tool, f"a call with {n}: {got}, not {decision}, {'' if was_asked else 'not '}asked")

    def answer(self, tool: str, number: str, record: Record) -> None:
        """A person's answer at the command line, or that they take one back."""
        model, hours = self.models[tool], self.random.choice(HOURS)
        words, kind = [], self.random.choice(["allow"] * 5 + ["deny", "revoke", "revoke", "revoke"])
        self.note(tool, f"{kind} {record}")
        if kind == "revoke":
            model.revoke(record)
        elif kind == "deny":
            model.reply(record, "denied", False, hours, "", self.now)
        else:
            scope, is_any = self.random.choice(ALLOWED)
            words = ["--for", scope, *(["--any-arguments"] if is_any else [])]
            model.reply(record, scope, is_any, hours, "", self.now)
            self.history[tool].append(f"  {words} {hours}")
        if hours and kind != "revoke":
            words += ["--expires", f"{hours}h"]
            self.counts["expiry"] += 1
        self.world.run("approve", kind, number, *words)

    def check(self) -> list[Answer]:
        """The log of the server, and the list of records, beside the model; the records."""
        executed = self.world.executed()
        if self.fault == "log":
            executed.append("t0 1")
        if executed != self.expected:
            both = zip([*executed, ""], [*self.expected, ""], strict=False)
            ran, allowed = next((one, other) for one, other in both if one != other)
            raise self.differs((ran or allowed).split()[0], f"executed {ran or 'nothing'}, and allowed {allowed or 'nothing'}")
        records = self.world.records()
        listed = [seen(one) for one in records]
        for tool, model in self.models.items():
            model.expire(self.now)
            known = [(f"other__{tool}", one.answer, one.is_any, f"n: {one.n}") for one in model.records]
            if (found := [one for one in listed if one[0] == f"other__{tool}"]) != known:
                raise self.differs(tool, f"the records are {found}, not {known}")
        return records

    def differs(self, tool: str, what: str) -> Difference:
        lines = "\n    ".join(self.history.get(tool, []))
        return Difference(f"seed {self.seed}, {tool}: {what}\n    {lines}")


def seen(record: Answer) -> tuple[str, str, bool, str]:
    ruling = record["ruling"]
    answer = ruling["allowed"] if isinstance(ruling, dict) else ruling
    return record["tool"], answer, record["any_arguments"], next(line for line in record["details"] if line.startswith("n: "))


def planted(world: World, seed: int) -> list[str]:
    """The faults that nobody noticed."""
    missed = []
    for fault in FAULTS:
        try:
            for turn in range(3):
                Batch(world, f"{seed} planted {turn}", fault).run()
            missed.append(fault)
        except Difference as difference:
            print(f"planted: {fault}: {str(difference).splitlines()[0]}", flush=True)
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--count", type=int, default=10_000, help="sequences (default: 10000)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    batches = max(1, options.count // TOGETHER)
    started, counts, failed = time.monotonic(), Counter[str](), 0
    with tempfile.TemporaryDirectory(prefix="gongfu-approvals-") as name:
        world = World(Path(name), binary(options.gongfu), [f"t{at}" for at in range(TOGETHER)])
        missed = planted(world, options.seed)
        print(f"planted: {len(FAULTS) - len(missed)} of {len(FAULTS)} faults are noticed{f', not {missed}' if missed else ''}", flush=True)
        for number in range(batches):
            batch = Batch(world, f"{options.seed} {number}")
            try:
                batch.run()
            except Difference as difference:
                print(f"difference: {difference}", flush=True)
                failed += 1
            counts += batch.counts
            if batches > 10 and number % (batches // 10) == 0:
                print(f"  {(number + 1) * TOGETHER} sequences, {failed} differ, {time.monotonic() - started:.0f} s", flush=True)
        world.stop()
    kinds = ["allow", "asked:", "blind", "call", "change", "deny", "expiry", "kill", "restart", "revoke", "time", "twice", "(ran)"]
    missing = [kind for kind in kinds if not counts[kind]]
    print(", ".join(f"{kind.strip(':')} {counts[kind]}" for kind in kinds))
    for kind in missing:
        print(f"never happened: {kind}")
    took = time.monotonic() - started
    print(f"prove-approvals: {batches * TOGETHER} sequences of {STEPS} steps, {failed} batches differ, in {took:.0f} s")
    return 1 if failed or missed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
