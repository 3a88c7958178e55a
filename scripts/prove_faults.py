#!/usr/bin/env python3
"""Proves that a server that misbehaves costs its own tools only, that its state says so, and that nothing is left of it.

    prove_faults.py [--gongfu BIN] [--short] [FAULT…]

For each fault of faulty_server.py, one gongfu on standard input and output has three good servers and one that gets the
fault once it was approved. Calls go to the good ones all the time, before the fault and during it, and each has to be
answered rightly. What a caller of the faulty server gets, the state of its connection, its reason and the tools that are
listed have to be the expected ones; the state is read in the log of that gongfu, and by `gongfu connection list`. Then
gongfu ends, and, with the fault again, is killed (-9): both times no process of any server may be left.

Processes are found by a variable that all inherit, and by the folder of the program. A process that is planted outside
must be found the same way, and a fault with the wrong expectation must fail.

Prints a line for each fault: the calls of the good servers before it and with it, their median and 99th percentile in
milliseconds, and the ratio of that median to the one of the run without a fault. `--short` waits for no timeout, and kills
once for each way that a server may stay. Exits 1 when an expectation isn't met.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from clients import binary
from faulty_world import GOOD, MARK, NOTICE, Traffic, World, highest, outcome
from server import resident
from stdio_client import GoneError, text

# The tools of faulty_server.py.
OWN = {"echo", "sleep", "fail", "die", "pid", "progress", "trace", "data"}
# How long the good servers are measured before a fault, and at least with it.
BEFORE, DURING = 2.0, 3.0
# The most that a fault may slow the good servers down, by their median; not judged in short, where few calls are measured.
MAX_RATIO = 4.0
# The longest that gongfu waits for a server that does not start, or for an answer.
START, ANSWER = 60.0, 300.0


def waits_for_start(world: World) -> str:
    """A call to a server that never starts; in short it isn't waited for."""
    if not world.is_short:
        return world.call(timeout=START + NOTICE)
    world.client.start("tools/call", {"name": "bad__echo", "arguments": {}})
    time.sleep(1)
    return "(waits)"


def hangs(world: World) -> str:
    """Calls that get no answer: one is cancelled, which the server has to hear of; one waits to the end."""
    number, _ = world.client.start("tools/call", {"name": "bad__echo", "arguments": {}})
    _, last = world.client.start("tools/call", {"name": "bad__echo", "arguments": {}})
    time.sleep(1)
    world.client.notify("notifications/cancelled", {"requestId": number})
    deadline = time.monotonic() + NOTICE
    while not world.notes("cancelled"):
        if time.monotonic() > deadline:
            return "the server isn't told that a call was cancelled"
        time.sleep(0.05)
    if world.is_short:
        return "(waits)" if not last.done() else outcome(last.result())
    return outcome(last.result(ANSWER + NOTICE))


def wait_until_hidden(world: World) -> str:
    """A call that is answered; later the tool is hidden, and the same call is refused."""
    first = world.call()
    deadline = time.monotonic() + NOTICE
    while "echo" in world.listed() and time.monotonic() < deadline:
        time.sleep(0.1)
    return f"{first}, {world.call()}"


def change_untold(world: World) -> str:
    """The server changes while it runs, which nobody can know before it is started again."""
    first = world.call()
    world.fault.write_text("changed")
    return f"{first}, {world.call('die')}, {world.call()}"


def die_often(world: World) -> str:
    """Two calls end the server; the one after each has to reach it again."""
    return ", ".join(world.call(tool) for tool in ("die", "echo", "die", "echo"))


def crash_loop(world: World) -> str:
    """Waits until it is given up, and counts how often it was started."""
    first, started = world.call(), time.monotonic()
    while time.monotonic() - started < (3 if world.is_short else 50):
        time.sleep(0.5)
    starts = world.notes("start")
    least, most = (2, 4) if world.is_short else (3, 7)
    return first if least <= starts <= most else f"{first}, it was started {starts} times"


def odd_names(world: World) -> str:
    """Every listed name is one that clients take, and reaches the tool of that name."""
    reached = []
    for name in sorted(world.listed()):
        if not re.fullmatch("[A-Za-z0-9_-]{1,64}", f"bad__{name}"):
            return f"{name!r} is no name for clients"
        if name not in OWN:
            reached.append(text(world.client.call(f"bad__{name}", {})).removeprefix("no tool "))
    wanted = ["a.b/c d", "x" * 200, "日本", "hidden", "no_schema_type"]
    # A short name that stands for a long one begins with that of the connection all the same.
    odd = [tool["name"] for tool in world.client.tools() if tool["name"].startswith("bad_") and not tool["name"].startswith("bad__")]
    reached += [text(world.client.call(name, {})).removeprefix("no tool ") for name in odd]
    return "reached" if sorted(reached) == sorted(wanted) else f"reached {reached}"


def big(world: World) -> str:
    said = re.search(r"of (\d+) bytes", text(world.client.call("bad__echo", {})))
    return f"{said.group(1) if said else 0} bytes, kept in a file"


def too_big(world: World) -> str:
    """An answer that is over the limit: the caller has to be told, and not to wait for ever."""
    try:
        return outcome(world.client.call("bad__echo", {}, NOTICE))
    except TimeoutError:
        return f"nothing in {NOTICE:g} s"


def echo(world: World) -> str:
    return world.call()


@dataclass
class Fault:
    """A fault, and what has to come of it."""

    name: str
    words: str
    got: str
    state: str
    reason: str = ""
    tools: set[str] = field(default_factory=lambda: set(OWN))
    act: Callable[[World], str] = echo
    # The state by `gongfu connection list`, which starts the server by itself, where it is another one.
    list_state: str = ""
    is_approved_anew: bool = False
    # The state and what a caller got in the short form, where that doesn't wait.
    short: tuple[str, str] = ("", "")
    # Its server stays in a way of its own, so gongfu is killed in the short form too.
    is_killed: bool = False
    # Left out in the short form: another one is much like it, or it takes long.
    is_long: bool = False
    # The most memory that gongfu may take, in MiB.
    memory: int = 150


WAITS = ("INIT", "(waits)")
GONE = "SERVER_UNAVAILABLE"
FAULTS = [
    Fault("works", "none", "hello", "READY", is_killed=True),
    Fault("exits at once", "exit", GONE, "DEAD", "it exited with code 1", set()),
    Fault("never answers initialize", "hang", GONE, "DEAD", "it didn't answer within 60 seconds", set(), waits_for_start, short=WAITS, is_killed=True),
    Fault("half a message", "half", GONE, "DEAD", "it didn't answer within 60 seconds", set(), waits_for_start, is_long=True),
    Fault("answers garbage", "garbage", GONE, "DEAD", "it didn't answer within 60 seconds", set(), waits_for_start, short=WAITS),
    Fault("hangs in a call", "hang-calls", GONE, "READY", act=hangs, short=("READY", "(waits)")),
    Fault("floods stderr", "flood", "hello", "READY", is_killed=True),
    Fault("a line of 100 MB", "line 100", GONE, "DEAD", "it sent a message of more than 32 MiB", set(), is_long=True),
    Fault("changes its tools, told", "change-told", "hello, TOOL_NOT_FOUND", "DEGRADED", "it changed `echo`", OWN - {"echo"}, wait_until_hidden, "READY"),
    Fault("changes its tools, untold", "none", f"hello, {GONE}, CONNECTION_NOT_APPROVED", "DEGRADED", "it changed `echo`", OWN - {"echo"}, change_untold),
    Fault("changed while it was off", "changed", "CONNECTION_NOT_APPROVED", "DEGRADED", "it changed `echo`", OWN - {"echo"}, is_long=True),
    Fault("answers 10 MB", "huge-answer", "10000000 bytes, kept in a file", "READY", act=big, memory=300),
    Fault("answers 80 MB", "huge-answer 80000000", GONE, "READY", act=too_big, memory=400),
    Fault("grows to 500 MB", "grow", "hello", "READY"),
    Fault("ignores SIGTERM", "ignore-term", "hello", "READY"),
    Fault("leaves grandchildren", "children", "hello", "READY", is_killed=True),
    Fault("dies in a call", "none", f"{GONE}, hello, {GONE}, hello", "READY", act=die_often),
    Fault("crashes again and again", "exit-later", GONE, "DEAD", "it exited with code 4", set(), crash_loop, "(any)"),
    Fault("offers 1,000 tools", "huge-list 1000", "hello", "READY", tools=OWN | {f"tool_{n}" for n in range(1_000)}, is_approved_anew=True),
    Fault("offers 10,000 tools", "huge-list", "hello", "READY", tools=OWN | {f"tool_{n}" for n in range(10_000)}, is_approved_anew=True, memory=400, is_long=True),
    Fault("offers none", "empty", "CONNECTION_NOT_APPROVED", "DEGRADED", "it doesn't offer `data`, `die`, `echo` and 5 more", set()),
    Fault("two tools of one name", "twice", "CONNECTION_NOT_APPROVED", "DEGRADED", "it doesn't offer `echo`", OWN - {"echo"}),
    Fault("odd names of tools", "odd", "reached", "READY", tools=OWN | {"hidden", "no_schema_type", "(odd)"}, act=odd_names, is_approved_anew=True),
    Fault("a list without an end", "endless", GONE, "DEAD", "more than 2000 pages", set(), is_long=True),
]


def run(world: World, fault: Fault) -> tuple[str, list[str]]:
    """One fault, measured; the line of the table, and what is not as it has to be."""
    problems: list[str] = []
    state, wanted = fault.state, fault.got
    if world.is_short and fault.short[0]:
        state, wanted = fault.short
    is_waiting = (state, wanted) == WAITS
    world.start(fault.words, fault.is_approved_anew)
    with world.client as client:
        with Traffic(client) as traffic:
            before = time.monotonic()
            time.sleep(BEFORE / (4 if world.is_short else 1))
            at_first, begun = resident(client.process.pid), time.monotonic()
            listing: Future[str] = Future()
            lister = threading.Thread(target=list_state, args=(world, listing))
            if fault.act is waits_for_start and not is_waiting:
                lister.start()  # It waits as long.
            try:
                got = fault.act(world)
            except (TimeoutError, GoneError) as error:
                got = repr(error)
            if fault.act is not waits_for_start:
                lister.start()
            reached, said = noticed(world, state, begun)
            time.sleep(max(0.0, DURING / (4 if world.is_short else 1) - (time.monotonic() - begun)))
            tools = world.listed()
            listed = "" if is_waiting else listing.result(START + NOTICE)
            over = time.monotonic()
            peak = highest(client.process.pid)
        calm, busy = traffic.figures(before, begun), traffic.figures(begun, over)
        code = client.end()
    ended, left = world.until_nothing_is_left()
    killed, left_by_kill = kill(world, fault) if fault.is_killed or not world.is_short else (-1.0, {})
    problems += traffic.wrong
    tools = {"(odd)" if re.search("_[0-9a-f]{8}$", tool) else tool for tool in tools}
    if got != wanted:
        problems.append(f"a caller got {got!r}, not {wanted!r}")
    if said[0] != state or (not is_waiting and fault.reason not in said[1]):
        problems.append(f"its state is {said}, not {state}: {fault.reason}")
    if not is_waiting and tools != fault.tools:
        problems.append(f"listed {sorted(tools - fault.tools)[:5]} too much, {sorted(fault.tools - tools)[:5]} too little")
    if listed and fault.list_state != "(any)" and listed != (fault.list_state or fault.state):
        problems.append(f"`gongfu connection list` says {listed}")
    if code != 0 or any("panicked" in line for _, line in client.log):
        problems.append(f"gongfu ended with {code}: {client.log[-1:]}")
    for kind, processes in (("an end", left), ("a kill", left_by_kill)):
        if processes:
            problems.append(f"after {kind} there are left: {processes}")
    if peak > fault.memory:
        problems.append(f"gongfu took {peak} MiB, more than {fault.memory}")
    ratio = busy[1] / world.usual
    if ratio > MAX_RATIO and not world.is_short:
        problems.append(f"the good servers are {ratio:.1f} times slower than without a fault")
    line = (
        f"{fault.name:<25} {said[0]:<8} {reached:>6.2f} s  {listed or '–':<8} {got[:44]:<44} {len(tools):>6} "
        f"{calm[1]:>5.1f} {calm[2]:>6.1f}  {busy[0]:>6} {busy[1]:>5.1f} {busy[2]:>7.1f} {ratio:>6.2f} "
        f"{at_first:>4}→{peak:<4} {len(left)} ({ended:.1f} s)  {f'{len(left_by_kill)} ({killed:.1f} s)' if killed >= 0 else '–'}"
    )
    return line, problems


def usual(world: World) -> float:
    """The median of calls with a server that works, in milliseconds."""
    world.start("none", False)
    with world.client as client:
        with Traffic(client) as traffic:
            world.call()
            since = time.monotonic()
            time.sleep(DURING / (4 if world.is_short else 1))
        client.end()
    world.until_nothing_is_left()
    return traffic.figures(since, time.monotonic())[1]


HEAD = (
    f"{'fault':<25} {'state':<8} {'after':>8}  {'by list':<8} {'a caller gets':<44} {'tools':>6} {'p50':>5} {'p99':>6}  "
    f"{'calls':>6} {'p50':>5} {'p99':>7} {'ratio':>6} {'MiB':>9} left     killed"
)


def list_state(world: World, listing: Future[str]) -> None:
    """The state by the command, while the other gongfu runs."""
    try:
        statuses = json.loads(world.command("connection", "list", "--json"))
        listing.set_result(next(one["state"] for one in statuses if one["name"] == "bad"))
    except (AssertionError, ValueError, subprocess.TimeoutExpired) as error:
        listing.set_result(str(error))


def noticed(world: World, state: str, since: float) -> tuple[float, tuple[str, str]]:
    """Waits for a state of the running gongfu; how long it took from the first call, and the state with its reason."""
    deadline = time.monotonic() + NOTICE
    while True:
        states = world.states()
        if states and states[-1][1] == state:
            first = next(at for at, one, _ in reversed(states) if one == state)
            return first - since, states[-1][1:]
        if time.monotonic() > deadline:
            return float("nan"), states[-1][1:] if states else ("?", "")
        time.sleep(0.05)


def kill(world: World, fault: Fault) -> tuple[float, dict[int, str]]:
    """The same fault again, and gongfu is killed: how long processes are left, and those that stay."""
    world.start(fault.words, fault.is_approved_anew)
    with world.client as client:
        for name in [*GOOD, "bad"]:
            client.start("tools/call", {"name": f"{name}__echo", "arguments": {"text": "hello"}})
        deadline = time.monotonic() + NOTICE
        while not world.notes("start") and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        client.process.send_signal(signal.SIGKILL)
        client.process.wait()
    return world.until_nothing_is_left()


def planted(world: World) -> list[str]:
    """What the checks must find: a process that is left, by its variable and by its program, and a wrong state."""
    problems = []
    variables = {"PATH": os.environ["PATH"], MARK: world.mark}
    with subprocess.Popen(["sleep", "60"], env=variables, start_new_session=True) as plant:
        time.sleep(0.2)
        if plant.pid not in world.left():
            problems.append("a process with the variable that was planted isn't found")
        plant.kill()
    with subprocess.Popen([world.gongfu, "mcp"], env={"HOME": str(world.folder)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as plant:
        time.sleep(0.2)
        if plant.pid not in world.left():
            problems.append("a process of the program that was planted isn't found")
        plant.kill()
    _, found = run(world, Fault("planted", "exit", "hello", "DEAD", "it exited with code 2"))
    if len(found) != 3:
        problems.append(f"of three wrong expectations {len(found)} are noticed: {found}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--short", action="store_true", help="do not wait for timeouts")
    parser.add_argument("only", nargs="*", metavar="FAULT", help="part of the name of a fault (default: all)")
    options = parser.parse_args()
    chosen = [fault for fault in FAULTS if not options.only or any(part in fault.name for part in options.only)]
    chosen = [fault for fault in chosen if not (options.short and fault.is_long)]
    started, failed = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="gongfu-faults-") as name:
        world = World(Path(name), binary(options.gongfu), f"{os.getpid()}-{time.time_ns()}", options.short)
        problems = planted(world)
        print(f"planted: {'; '.join(problems) or 'two processes that are left and three wrong expectations are noticed'}")
        failed += bool(problems)
        print(HEAD)
        for number, fault in enumerate(chosen):
            # The machine may have other work now than before.
            if number == 0 or not options.short:
                world.usual = usual(world)
            line, problems = run(world, fault)
            print(line, flush=True)
            for problem in problems:
                print(f"  fault: {problem}", flush=True)
            failed += bool(problems)
    print(f"prove-faults: {len(chosen)} faults, {failed} failed, in {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
