#!/usr/bin/env python3
"""Measures the agent's loop beside bare requests to the same model, and many chats at once.

    bench_agent.py --gongfu BINARY [--chats N] [--at-once N]

A scripted model on loopback answers at once. The time from the end of one answer to the arrival of the next request is
what its client does in between: the loop calls a tool, writes the log and builds the next request; the bare client sends
the next of the same requests. Both are told as medians of the same run, and their difference is the loop's own time.
Then as many chats run at once as are asked for, over `gongfu serve`, each of which must end well. The memory of the server
is measured before them, while all of them are open amid a slow answer after a call, and after their end.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from clients import binary
from faulty_model import FaultyModel, Run, Scenario, Turn

KEY, STEPS = "sk-bench", 6
LOAD = {"tool": "skill_load", "params": {"skill_name": "weather"}}
SKILL = "---\nname: weather\ndescription: Tell the weather.\n---\n\nLook out of the window.\n"
DONE = "The sun shines."
# As a slow answer it takes about 20 seconds.
LONG = "One word after another, and so on to the end.\n" * 50


class Server:
    """`gongfu serve` on a home of its own, for the length of a `with` block."""

    def __init__(self, gongfu: Path, folder: Path, model_url: str, slow_url: str) -> None:
        self.home = folder / "home"
        skill = self.home / "skills" / "weather" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(SKILL)
        (self.home / "config.toml").write_text(f'[models.urls]\nslow = "{slow_url}"\n')
        variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "GONGFU_HOME": str(self.home), "GONGFU_STANDALONE": "1"}
        variables |= {"OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": KEY}
        self.command, self.variables = [gongfu, "serve", "--listen", "127.0.0.1:0", "--json"], variables

    def __enter__(self) -> Server:
        self.process = subprocess.Popen(self.command, env=self.variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=self.home)
        assert self.process.stdout
        told = b""
        while b"}" not in told:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"gongfu serve ended: {told!r}")
            told += line
        self.address = urlsplit(json.loads(told)["url"])
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)

    def chat(self, prompt: str, model: str = "openai/scripted") -> dict:
        connection = http.client.HTTPConnection(self.address.hostname or "", self.address.port, timeout=120)
        body = json.dumps({"prompt": prompt, "model": model})
        connection.request("POST", "/api/v1/agent/chat", body, {"content-type": "application/json"})
        answer = connection.getresponse()
        data = json.loads(answer.read())
        connection.close()
        return data if answer.status == 200 else {"error": data}

    def memory(self) -> float:
        """The resident memory, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def gaps(run: Run) -> list[float]:
    """Milliseconds from the end of each answer to the next request of the same chat."""
    requests = run.requests
    pairs = [(one, other) for one, other in zip(requests, requests[1:]) if other.sent.answers == one.sent.answers + 1]
    return [1000 * (other.at - one.ended) for one, other in pairs]


def bare(run: Run, bodies: list[dict]) -> list[float]:
    """The same requests by a client that does nothing else."""
    url, before = urlsplit(run.url), len(run.requests)
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    for data in [json.dumps(body) for body in bodies]:
        connection.request("POST", f"{url.path}/v1/chat/completions", data, {"content-type": "application/json", "authorization": f"Bearer {KEY}"})
        connection.getresponse().read()
    connection.close()
    sent = run.requests[before:]
    return [1000 * (other.at - one.ended) for one, other in zip(sent, sent[1:]) if other.sent.answers == one.sent.answers + 1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--chats", type=int, default=60)
    parser.add_argument("--at-once", type=int, default=200)
    options = parser.parse_args()
    scenario = Scenario([Turn(calls=[LOAD])] * STEPS + [Turn(DONE)])
    with tempfile.TemporaryDirectory(prefix="gongfu-agent-", ignore_cleanup_errors=True) as name, FaultyModel() as model:
        run = model.add(scenario)
        slow = model.add(Scenario([Turn(calls=[LOAD]), Turn(LONG, faults=["slow"] * options.at_once)]))
        with Server(binary(options.gongfu), Path(name).resolve(), f"{run.url}/v1", f"{slow.url}/v1") as server:
            server.chat("warm up")
            run.requests.clear()
            for number in range(options.chats):
                answer = server.chat(f"chat {number}")
                if answer.get("reply") != DONE or len(answer["tool_calls"]) != STEPS:
                    print(f"chat {number} ends with {answer}")
                    return 1
            loop, bodies = gaps(run), [request.body for request in run.requests]
            alone = bare(run, bodies)
            one, other = statistics.median(loop), statistics.median(alone)
            print(f"between an answer and the next request, median of {len(loop)} and {len(alone)}:")
            print(f"  the loop {one:.2f} ms, a bare client {other:.2f} ms: the loop's own time is {one - other:.2f} ms a step (p95 {sorted(loop)[len(loop) * 95 // 100]:.2f} ms)")
            before, started, count = server.memory(), time.monotonic(), options.at_once
            with ThreadPoolExecutor(count) as pool:
                answers = list(pool.map(server.chat, [f"at once {number}" for number in range(count)]))
                good = sum(answer.get("reply") == DONE and len(answer["tool_calls"]) == STEPS for answer in answers)
                print(f"{count} chats of {STEPS + 1} requests at once: {good} end well, in {time.monotonic() - started:.1f} s")
                ended, chats = server.memory(), [pool.submit(server.chat, f"slow {number}", "slow/scripted") for number in range(count)]
                while len(slow.requests) < 2 * count and not any(chat.done() for chat in chats):
                    time.sleep(0.05)
                # Every chat has had its call, and the first pieces of its last answer.
                time.sleep(1)
                amid, is_amid = server.memory(), not any(chat.done() for chat in chats) and len(slow.requests) == 2 * count
                whole = sum(str(chat.result().get("reply")).strip() == LONG.strip() for chat in chats)
            after = server.memory()
            print(f"  memory {before:.0f} MiB before, {ended:.0f} MiB after them; {amid:.0f} MiB amid the answers of {count} open chats, {after:.0f} MiB after those")
            print(f"  {1024 * (amid - ended) / count:.0f} KiB an open chat, of which {whole} end well{'' if is_amid else '; FAILED: not all were open at once'}")
    return 0 if good == whole == count and is_amid else 1


if __name__ == "__main__":
    sys.exit(main())
