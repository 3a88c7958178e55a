#!/usr/bin/env python3
"""Shows that each fault of `faulty_model.py` is on the wire, by a client that hides nothing.

    check_faulty_model.py [--sdks]

On both wires, as a stream and as a whole: the status, how the response ends, how much of the answer comes, and that the
next request is answered. A wrong expectation is planted and has to be noticed. `--sdks` also lets the packages `openai`
and `anthropic` of this Python read each answer. Exits 1 on any difference.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from faulty_model import ERRORS, FaultyModel, Run, Scenario, Turn
from scripted_wires import WIRES, Json, is_object

@dataclass
class Got:
    """What a client got: the status, how the response ended, and the answer as far as it came."""

    status: int = 0
    how: str = "whole"
    headers: dict[str, str] = field(default_factory=dict)
    data: bytes = b""
    text: str = ""
    calls: list[list[str]] = field(default_factory=list)
    stop: str = ""
    is_over: bool = False
    usage: int = 0


def fetch(run: Run, wire: Any, is_stream: bool, messages: list[Json] | None = None, timeout: float = 1.0) -> Got:
    """Asks, and reads as much as there is."""
    tool = {"name": "note", "description": "Notes.", "input_schema": {"type": "object"}}
    function = {"type": "function", "function": {"name": "note", "parameters": {"type": "object"}}}
    body: Json = {"model": "scripted", "messages": messages or HELLO, "max_tokens": 100, "stream": is_stream}
    body |= {"tools": [function], "stream_options": {"include_usage": True}} if wire.name == "openai" else {"tools": [tool]}
    address = urlsplit(run.url)
    connection, got = http.client.HTTPConnection(str(address.hostname), address.port, timeout=timeout), Got()
    try:
        headers = {"authorization": "Bearer sk-self-test", "x-api-key": "sk-self-test", "content-type": "application/json"}
        connection.request("POST", address.path + wire.path, json.dumps(body), headers)
        response = connection.getresponse()
        got.status, got.headers = response.status, {name.lower(): value for name, value in response.getheaders()}
        deadline = time.monotonic() + 4 * timeout
        while data := response.read1(1 << 16):
            got.data += data
            if time.monotonic() > deadline:
                raise TimeoutError
    except TimeoutError:
        got.how = "timeout"
    except (http.client.RemoteDisconnected, http.client.IncompleteRead):
        got.how = "closed"
    except ConnectionError:
        got.how = "reset"
    finally:
        connection.close()
    if is_stream and got.headers.get("content-type", "").startswith("text/event-stream"):
        for block in got.data.decode(errors="replace").split("\n\n"):
            lines = [line[6:] for line in block.split("\n") if line.startswith("data: ")]
            if lines and (lines[0] == "[DONE]" or is_object(lines[0])):
                collect(got, lines[0])
    elif is_object(got.data.decode(errors="replace")):
        whole = json.loads(got.data)
        choices, parts = whole.get("choices") or [{}], whole.get("content") or []
        message = choices[0].get("message") or {}
        got.text = message.get("content") or "".join(part.get("text", "") for part in parts)
        got.calls = [[call["function"]["name"], call["function"]["arguments"]] for call in message.get("tool_calls") or []]
        got.calls += [[part["name"], json.dumps(part["input"])] for part in parts if part["type"] == "tool_use"]
        got.stop = choices[0].get("finish_reason") or whole.get("stop_reason") or ""
        got.is_over, got.usage = bool(got.stop), sum(v for n, v in (whole.get("usage") or {}).items() if n != "total_tokens")
    return got


def collect(got: Got, data: str) -> None:
    """Adds an event to an answer."""
    message = json.loads(data) if data != "[DONE]" else {"type": "message_stop"}
    for choice in message.get("choices") or []:
        delta = choice["delta"]
        got.text, got.stop = got.text + (delta.get("content") or ""), choice["finish_reason"] or got.stop
        for call in delta.get("tool_calls") or []:
            if "id" in call:
                got.calls.append([call["function"]["name"], ""])
            got.calls[call["index"]][1] += call["function"]["arguments"]
    block, delta = message.get("content_block") or {}, message.get("delta") or {}
    if block.get("type") == "tool_use":
        got.calls.append([block["name"], ""])
    got.text, got.stop = got.text + delta.get("text", ""), delta.get("stop_reason") or got.stop
    if "partial_json" in delta:
        got.calls[message["index"] - bool(got.text)][1] += delta["partial_json"]
    usage = message.get("usage") or {}
    got.usage += usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0) + usage.get("output_tokens", 0)
    got.usage += ((message.get("message") or {}).get("usage") or {}).get("input_tokens", 0)
    got.is_over = got.is_over or message.get("type") == "message_stop"


HELLO: list[Json] = [{"role": "user", "content": "Hello!"}]
TEXT = "Grüße aus 北京 👩‍👩‍👧, one after another, until all is said. " * 2
CALLS = [{"tool": "note", "params": {"text": "ä first"}}, {"tool": "note", "params": {"text": "second"}}]
# Of each fault: the status, how the response ends, how much of the text comes, and the events that say that it is over.
SIGNS: dict[str, tuple[int, str, str, bool]] = {
    "none": (200, "whole", "all", True),
    **{status: (int(status), "whole", "none", False) for status in ERRORS},
    "reset": (0, "reset", "none", False),
    "close": (0, "closed", "none", False),
    "stall": (0, "timeout", "none", False),
    "reset-middle": (200, "reset", "part", False),
    "stall-start": (200, "timeout", "none", False),
    "stall-middle": (200, "timeout", "part", False),
    "pings": (200, "timeout", "none", False),
    "truncated": (200, "closed", "part", False),
    "slow": (200, "whole", "all", True),
    "cut": (200, "whole", "part", False),
    "no-end": (200, "whole", "all", False),
    "no-ends": (200, "whole", "all", False),
    "bytes": (200, "whole", "all", True),
    "error-event": (200, "whole", "part", False),
    "garbage": (200, "whole", "all", True),
    "html": (200, "whole", "none", False),
    "empty": (200, "whole", "none", True),
}


def sign(got: Got) -> tuple[int, str, str, bool]:
    """What a client sees of an answer."""
    calls = [json.loads(arguments) for _, arguments in got.calls if is_object(arguments)]
    is_all = got.text == TEXT and calls == [call["params"] for call in CALLS]
    return got.status, got.how, "all" if is_all else "part" if got.text else "none", got.is_over


def check_fault(model: FaultyModel, wire: Any, is_stream: bool, fault: str, wanted: tuple[int, str, str, bool]) -> str:
    """What is wrong with a fault on a wire; nothing if it is as it has to be, and the next request is answered."""
    run = model.add(Scenario([Turn(TEXT, calls=CALLS, faults=[fault])]))
    seen = sign(got := fetch(run, wire, is_stream))
    # An answer that is no stream can be read only where it is whole.
    if not is_stream and (fault == "garbage" or not wanted[3]):
        wanted = (*wanted[:2], "none", False)
    if seen != wanted:
        return f"{seen} instead of {wanted}"
    if fault in ("401", "429", "500", "503", "529") and b"sk-self-test" not in got.data:
        return "the body doesn't repeat the key"
    if fault == "429" and got.headers.get("retry-after") != "1":
        return f"the headers are {got.headers}"
    again = fetch(run, wire, is_stream)
    if sign(again) != SIGNS["none"] or again.usage != 110 or not run.requests[1].is_answered:
        return f"the next request gets {again}"
    return ""


def check_turns(model: FaultyModel, wire: Any) -> list[str]:
    """What is wrong with what a model says otherwise, and with what the server notices."""
    problems = []

    def expect(is_met: bool, what: str) -> None:
        if not is_met:
            problems.append(f"{wire.name}: {what}")

    first = Turn(calls=CALLS, is_interleaved=True)
    got = fetch(run := model.add(Scenario([first])), wire, True)
    expect([json.loads(text) for _, text in got.calls] == [call["params"] for call in CALLS], f"interleaved calls: {got.calls}")
    names = [piece for piece in got.data.decode().split("\n\n") if "arguments" in piece or "partial_json" in piece]
    indexes = ["1" if '"index": 1' in name else "0" for name in names]
    expect("0101" in "".join(indexes), f"the calls aren't interleaved: {indexes}")
    fetch(run, wire, True, [*HELLO, {"role": "assistant", "content": "Done."}])
    expect("asked again" in "".join(run.problems), f"a request after the last turn: {run.problems}")
    got = fetch(model.add(Scenario([Turn(calls=[{"tool": "note", "arguments": '{"text": "a'}], stop="length")])), wire, True)
    expect(got.calls == [["note", '{"text": "a']] and got.stop in ("length", "max_tokens"), f"a call that is cut: {got.calls} {got.stop}")
    got = fetch(model.add(Scenario([first]), is_fenced=True), wire, True)
    blocks = [json.loads(block.split("\n```")[0]) for block in got.text.split("```action\n")[1:]]
    expect(blocks == CALLS and not got.calls, f"calls in blocks: {got.text}")
    got = fetch(model.add(Scenario([Turn("x", times=1 << 20)])), wire, True)
    expect(len(got.text) == 1 << 20 and got.is_over, f"a long answer: {len(got.text)}")
    run = model.add(Scenario([Turn("x", expect={"prompt": ["Bye"], "not_last": ["Hello"], "tools": ["note"]})]))
    fetch(run, wire, True)
    expect(len(run.problems) == 2, f"two wrong expectations: {run.problems}")
    call = {"id": "a", "type": "function", "function": {"name": "note", "arguments": "{}"}}
    call = {"tool_calls": [call], "content": None} if wire.name == "openai" else {"content": [{"type": "tool_use", "id": "a", "name": "note", "input": {}}]}
    run = model.add(Scenario([Turn("x")]))
    got = fetch(run, wire, True, [*HELLO, {"role": "assistant", **call}])
    expect(got.status == 400 and len(run.problems) == 1, f"a call without its result: {got.status} {run.problems}")
    return problems


def check_sdks(model: FaultyModel) -> list[str]:
    """What is wrong with what the SDKs of the providers read."""
    import anthropic
    import openai

    def by_openai(run: Run) -> tuple[str, list[Json], int]:
        client = openai.OpenAI(base_url=f"{run.url}/v1", api_key="sk-self-test", max_retries=0, timeout=1)
        text, calls, usage = "", {}, 0
        for chunk in client.chat.completions.create(model="scripted", messages=HELLO, stream=True, stream_options={"include_usage": True}):
            usage += chunk.usage.total_tokens if chunk.usage else 0
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for call in choice.delta.tool_calls or []:
                    calls[call.index] = calls.get(call.index, "") + call.function.arguments
        return text, [json.loads(arguments) for arguments in calls.values()], usage

    def by_anthropic(run: Run) -> tuple[str, list[Json], int]:
        client = anthropic.Anthropic(base_url=run.url, api_key="sk-self-test", max_retries=0, timeout=1)
        with client.messages.stream(model="scripted", max_tokens=100, messages=HELLO) as stream:
            message = stream.get_final_message()
        text = "".join(part.text for part in message.content if part.type == "text")
        calls = [part.input for part in message.content if part.type == "tool_use"]
        return text, calls, message.usage.input_tokens + message.usage.output_tokens

    problems, whole = [], (TEXT, [call["params"] for call in CALLS], 110)
    for name, read in (("openai", by_openai), ("anthropic", by_anthropic)):
        for fault, (_, how, amount, _) in SIGNS.items():
            if fault == "pings":  # The SDKs wait for ever.
                continue
            run = model.add(Scenario([Turn(TEXT, calls=CALLS, faults=[fault], is_interleaved=True)]))
            try:
                got: Any = read(run)
            except Exception as error:  # Whatever an SDK raises is what its user sees.
                got = type(error).__name__
            print(f"{name:<10} {fault:<13} {'reads it whole' if got == whole else str(got)[:90]}", flush=True)
            if fault in ("none", "bytes", "slow", "no-end") and got != whole:
                problems.append(f"{name} reads {got} of {fault}")
            if got == whole and (amount != "all" or how != "whole"):
                problems.append(f"{name} reads {fault} as if nothing were missing")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sdks", action="store_true")
    options = parser.parse_args()
    forms = [(wire, is_stream) for wire in WIRES for is_stream in (True, False)]
    with FaultyModel() as model, ThreadPoolExecutor(12) as pool:
        wrong = check_fault(model, WIRES[0], True, "cut", SIGNS["none"])
        print(f"planted: a wrong expectation is {f'noticed: {wrong}' if wrong else 'not noticed'}")
        failed = int(not wrong)
        checks = {fault: [pool.submit(check_fault, model, *form, fault, wanted) for form in forms] for fault, wanted in SIGNS.items()}
        for fault, results in checks.items():
            said = [f"{wire.name} {'stream' if is_stream else 'whole'} {one.result() or 'ok'}" for (wire, is_stream), one in zip(forms, results)]
            print(f"{fault:<13} {', '.join(said)}", flush=True)
            failed += sum(bool(one.result()) for one in results)
        problems = [problem for wire in WIRES for problem in check_turns(model, wire)]
        problems += check_sdks(model) if options.sdks else []
    for problem in problems:
        print(f"  fault: {problem}")
    print(f"check_faulty_model: {len(SIGNS)} faults on {len(forms)} forms, {failed + len(problems)} failed")
    return 1 if failed or problems else 0


if __name__ == "__main__":
    sys.exit(main())
