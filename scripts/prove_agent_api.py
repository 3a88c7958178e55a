#!/usr/bin/env python3
"""Proves that OpenAI's Python SDK can chat with the agent of `gongfu serve`, and that the agent's own routes tell the same.

    prove_agent_api.py [--gongfu BIN] [--chats N]

The model is `faulty_model.py`. Two scenarios in four ways – the SDK, whole and in pieces, and plain requests, whole and as
events: one loads a skill and runs its scripts in the sandbox, one makes test data, whose rows are counted. With the SDK: an
answer whole and in pieces, instructions of the client, a session that is continued, an answer that breaks off and comes again,
errors before and after the first byte, an answer that is cancelled in the middle, and N chats at once (20). With plain
requests: the events of `/api/v1/agent/chat` in order, pipelines, one tool, capabilities and sessions. Then a server with accounts: no
agent unless the operator says so, no answer without a token, and no session of another user.

Prints a line for each. Exits 1 when an expectation isn't met; 77 when the SDK is not installed here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from account_site import Home, User
from agent_home import COMMAND, rows
from clients import NOT_INSTALLED, Failure, binary, expect
from faulty_model import SCENARIOS, FaultyModel, Run, Scenario, Turn
from scripted_wires import INPUT_TOKENS, OUTPUT_TOKENS, Json
from server import Server

try:
    import openai
except ImportError:
    openai = None  # type: ignore[assignment]

DONE = "The sun shines: Grüße aus 北京 👩‍👩‍👧."
LONG = "A word after another word, and so on to the end of the line.\n" * 40
SKILL = "---\nname: weather\ndescription: Tells how to look at the weather.\n---\n# The weather\n\nLook out of the window.\n"
LOAD = {"tool": "skill_load", "params": {"skill_name": "weather"}}
BLOCKED = {"tool": "skill_run", "params": {"skill_name": "weather", "command": "sudo id"}}
ASKED = [{"role": "user", "content": "How is the weather?"}]
# The longest that a turn may take to notice that its client left, in seconds.
PATIENCE = 5.0
# The ways to ask the agent.
WAYS = ("rest", "events", "sdk", "chunks")


def scenarios() -> dict[str, Scenario]:
    """What the models say, by the name of their provider."""
    load, done = Turn("I load it.", calls=[LOAD]), Turn(DONE, expect={"last": ["Look out of the window."]})
    return {
        "plain": Scenario([Turn(DONE)]),
        "tool": Scenario([load, done]),
        "act": Scenario.load(SCENARIOS / "load-then-act.json"),
        **{f"data-{way}": Scenario.load(SCENARIOS / "test-data.json", command=COMMAND.format(file=f"{way}.sqlite")) for way in WAYS},
        "told": Scenario([Turn("One.", expect={"prompt": ["Be brief.", "How is"]}), Turn("Two.", expect={"last": ["And now?"]})]),
        "broken": Scenario([Turn(DONE, faults=["cut"])]),
        "refused": Scenario([Turn(calls=[BLOCKED]), Turn(DONE, expect={"last": ["sudo"]})]),
        "dead": Scenario([Turn(DONE, faults=["401"] * 9)]),
        "late": Scenario([load, Turn(DONE, faults=["401"] * 9)]),
        "long": Scenario([Turn(LONG, faults=["slow"] * 9)], repeats=True),
        "cut": Scenario([Turn(DONE, stop="length")]),
    }


class Site:
    """A running server, its models, and the clients of one caller."""

    def __init__(self, url: str, runs: dict[str, Run], token: str = "any") -> None:
        self.url, self.runs, self.token = url.removesuffix("/mcp"), runs, token
        self.sdk = openai.OpenAI(base_url=f"{self.url}/v1", api_key=token, max_retries=2, timeout=60)

    def chat(self, provider: str, **more: Any) -> Any:
        return self.sdk.chat.completions.create(**{"model": f"{provider}/scripted", "messages": ASKED, **more})

    def send(self, method: str, path: str, body: Json | None = None, **headers: str) -> tuple[int, str]:
        headers |= {"authorization": f"Bearer {self.token}"} if self.token else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json", **headers}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def json(self, method: str, path: str, body: Json | None = None) -> Any:
        status, text = self.send(method, path, body)
        expect(status == 200, f"{method} {path}: {status} {text[:300]}")
        return json.loads(text)


def text_of(chunks: list[Any]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def answers_whole(site: Site) -> str:
    answer = site.chat("plain")
    choice = answer.choices[0]
    expect((choice.message.content, choice.finish_reason) == (DONE, "stop"), answer)
    expect((answer.usage.prompt_tokens, answer.usage.completion_tokens) == (INPUT_TOKENS, OUTPUT_TOKENS), answer.usage)
    expect(choice.message.tool_calls is None and answer.object == "chat.completion" and answer.gongfu["session"] is None, answer)
    expect(site.chat("cut").choices[0].finish_reason == "length", "the end is missing, and nobody is told")
    return f"{len(DONE)} characters"


def answers_in_pieces(site: Site) -> str:
    chunks = list(site.chat("plain", stream=True, stream_options={"include_usage": True}))
    expect(text_of(chunks) == DONE and len(chunks) > 4, text_of(chunks))
    expect(chunks[-1].usage.total_tokens == INPUT_TOKENS + OUTPUT_TOKENS and not chunks[-1].choices, chunks[-1])
    expect(chunks[-2].choices[0].finish_reason == "stop" and len({chunk.id for chunk in chunks}) == 1, chunks[-2])
    return f"{len(chunks)} chunks"


def lists_models(site: Site) -> str:
    names = [model.id for model in site.sdk.models.list()]
    expect(names[:2] == ["gongfu", "plain/scripted"] and len(set(names)) == len(names), names)
    expect(site.sdk.chat.completions.create(model="gongfu", messages=ASKED).choices[0].message.content == DONE, "gongfu isn't the default")
    return ", ".join(names)


def ask(site: Site, way: str, provider: str) -> Json:
    """The prompt of a scenario in one of the ways: the reply, the calls and the usage."""
    prompt, model = site.runs[provider].scenario.prompt, f"{provider}/scripted"
    body, asked = {"prompt": prompt, "model": model}, [{"role": "user", "content": prompt}]
    if way == "rest":
        return site.json("POST", "/api/v1/agent/chat", body)
    if way == "events":
        events = events_of(site, body)
        calls, results = [data for name, data in events if name == "call"], [data for name, data in events if name == "result"]
        done = events[-1][1]
        expect(len(calls) == len(results) == len(done["tool_calls"]), events)
        expect("".join(data["piece"] for name, data in events if name == "text").endswith(done["reply"]), events)
        return done
    if way == "sdk":
        answer = site.chat(provider, messages=asked)
        return {**answer.gongfu, "reply": answer.choices[0].message.content}
    chunks = list(site.chat(provider, messages=asked, stream=True))
    told = [chunk.gongfu for chunk in chunks if getattr(chunk, "gongfu", None)]
    order = ["call" if "call" in report else "result" if "result" in report else "" for report in told]
    expect(order == ["call", "result"] * (len(told) // 2) + [""], told)
    expect(text_of(chunks).endswith(told[-1]["reply"]), text_of(chunks))
    return told[-1]


def events_of(site: Site, body: Json) -> list[tuple[str, Json]]:
    """The names and the data of server-sent events."""
    status, text = site.send("POST", "/api/v1/agent/chat", body, accept="text/event-stream")
    expect(status == 200, text)
    return [(block.split("\n")[0].removeprefix("event: "), json.loads(block.split("data: ", 1)[1])) for block in text.strip().split("\n\n")]


def follows_a_skill(site: Site) -> str:
    """The same calls, results and reply, whichever way it is asked."""
    answers = [ask(site, way, "act") for way in WAYS]
    for way, answer in zip(WAYS, answers):
        calls = [(call["tool"], call["status"]) for call in answer["tool_calls"]]
        expect(calls == [("skill_load", "ok"), ("skill_run", "ok"), ("skill_run", "ok")], f"{way}: {answer}")
        expect(answer["reply"] == site.runs["act"].scenario.reply, f"{way}: {answer}")
        results = [call["result"] for call in answer["tool_calls"]]
        expect("enriched NetworkClient" in results[2] and results == [call["result"] for call in answers[0]["tool_calls"]], f"{way}: {results}")
    return f"{len(calls)} calls in {len(answers)} ways"


def makes_test_data(site: Site, folder: Path) -> str:
    """50 users with their orders, each way in a file of its own."""
    for way in WAYS:
        answer = ask(site, way, f"data-{way}")
        calls = [(call["tool"], call["status"]) for call in answer["tool_calls"]]
        expect(calls == [("skill_load", "ok"), ("skill_run", "ok")], f"{way}: {answer}")
        expect(answer["reply"] == site.runs[f"data-{way}"].scenario.reply, f"{way}: {answer}")
        files = list(folder.rglob(f"{way}.sqlite"))
        expect(len(files) == 1, f"{way}: the files are {files}")
        problems = rows(files[0])
        expect(not problems, f"{way}: {problems}")
    # Planted: the rows of a user and of an order are changed in the last file.
    for change in ("DELETE FROM users WHERE id = (SELECT max(id) FROM users)", "UPDATE orders SET user_id = 999 WHERE id = (SELECT max(id) FROM orders)"):
        with sqlite3.connect(files[0]) as database:
            database.execute("PRAGMA foreign_keys = OFF")
            database.execute(change)
            expect(rows(files[0], database), f"{change} isn't noticed")
            database.rollback()
    return f"50 users with orders in {len(WAYS)} files"


def continues_a_session(site: Site) -> str:
    messages = [{"role": "system", "content": "Be brief."}, *ASKED]
    first = site.chat("told", messages=messages, metadata={"session": "new"})
    messages += [{"role": "assistant", "content": "One."}, {"role": "user", "content": "And now?"}]
    second = site.chat("told", messages=messages, extra_headers={"x-gongfu-session": first.gongfu["session"]})
    expect([answer.choices[0].message.content for answer in (first, second)] == ["One.", "Two."], second)
    expect(first.gongfu["session"] == second.gongfu["session"], second)
    # The same without a session, by the messages alone.
    expect(site.chat("told", messages=messages).choices[0].message.content == "Two.", "the history isn't told")
    log = site.json("GET", f"/api/v1/agent/sessions/{first.gongfu['session']}")
    expect([entry["text"] for entry in log["entries"] if entry["kind"] == "prompt"][1] == "And now?", log)
    return first.gongfu["session"]


def says_what_broke_off(site: Site) -> str:
    text = text_of(list(site.chat("broken", stream=True)))
    expect(text.endswith(DONE) and "[The answer broke off" in text, text)
    site.runs["broken"].seen.clear()
    expect(site.chat("broken").choices[0].message.content == DONE, "a whole answer has the void part")
    return text.replace("\n", " ")[:60]


def refuses(site: Site) -> str:
    before = {name: len(run.requests) for name, run in site.runs.items()}
    refusals: list[tuple[type, Json, str]] = [
        (openai.BadRequestError, {"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        (openai.BadRequestError, {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]}, "messages[0].content[0]"),
        (openai.NotFoundError, {"model": "nosuch/model"}, "MODEL_NOT_CONFIGURED"),
        (openai.NotFoundError, {"metadata": {"session": "nosuch"}}, "SESSION_NOT_FOUND"),
    ]
    for kind, more, about in refusals:
        for stream in (False, True):
            try:
                site.chat("plain", stream=stream, **more)
            except kind as error:
                expect(about in (error.param, error.code), error)
            else:
                raise Failure(f"{more} is answered")
    expect({name: len(run.requests) for name, run in site.runs.items()} == before, "a model was asked nevertheless")
    return f"{len(refusals)} forms"


def tells_errors(site: Site) -> str:
    for stream in (False, True):
        try:
            site.chat("dead", stream=stream)
        except openai.InternalServerError as error:
            expect((error.status_code, error.code) == (502, "MODEL_REFUSED"), error)
        else:
            raise Failure("a model that refuses answers")
    # gongfu asks once, and the SDK doesn't send the request again.
    expect(len(site.runs["dead"].requests) == 2, f"{len(site.runs['dead'].requests)} requests")
    chunks = []
    try:
        for chunk in site.chat("late", stream=True):
            chunks.append(chunk)
    except openai.APIError as error:
        expect(error.code == "MODEL_REFUSED" and chunks, error)
        return f"502, and after {len(chunks)} chunks an event"
    raise Failure("a stream ends well without an answer")


def refuses_commands(site: Site) -> str:
    answer = site.chat("refused")
    call = answer.gongfu["tool_calls"][0]
    expect(call["status"] == "refused" and answer.choices[0].message.content == DONE, answer)
    return call["result"][:60]


def stops_with_its_client(site: Site) -> str:
    run, took = site.runs["long"], 0.0
    for way in ("chunks", "events", "whole"):
        if way == "chunks":
            stream = site.chat("long", stream=True, metadata={"session": "new"})
            next(iter(stream))
            stream.close()
        elif way == "events":
            body = json.dumps({"prompt": "x", "model": "long/scripted"}).encode()
            headers = {"content-type": "application/json", "accept": "text/event-stream", "authorization": f"Bearer {site.token}"}
            answer = urllib.request.urlopen(urllib.request.Request(f"{site.url}/api/v1/agent/chat", body, headers), timeout=60)
            while not answer.readline().startswith(b"event: text"):
                pass
            answer.close()
        else:
            try:
                site.sdk.with_options(timeout=1, max_retries=0).chat.completions.create(model="long/scripted", messages=ASKED, metadata={"session": "new"})
            except openai.APITimeoutError:
                pass
            else:
                raise Failure("the long answer isn't long")
        left = time.monotonic()
        session = site.json("GET", "/api/v1/agent/sessions?limit=1")["items"][0]["id"]
        while (kinds := [entry["kind"] for entry in site.json("GET", f"/api/v1/agent/sessions/{session}")["entries"]])[-1] != "interrupted":
            expect(time.monotonic() - left < PATIENCE, f"{way}: the turn runs on: {kinds}")
            time.sleep(0.05)
        took = max(took, time.monotonic() - left)
    expect(not any(request.is_answered for request in run.requests) and len(run.requests) == 3, "the model answered to the end")
    return f"within {took:.2f} s, in three ways"


def chats_at_once(site: Site, number: int) -> str:
    async def one(sdk: Any, stream: bool) -> str:
        answer = await sdk.chat.completions.create(model="tool/scripted", messages=ASKED, stream=stream)
        if not stream:
            return str(answer.choices[0].message.content)
        return str([chunk async for chunk in answer][-1].gongfu["reply"])

    async def every() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{site.url}/v1", api_key=site.token, max_retries=0, timeout=60) as sdk:
            return await asyncio.gather(*(one(sdk, index % 2 == 0) for index in range(number)))

    started = time.monotonic()
    replies = asyncio.run(every())
    expect(replies == [DONE] * number, replies)
    return f"{number} chats of 2 answers and a call in {time.monotonic() - started:.1f} s"


def tells_events(site: Site) -> str:
    events = events_of(site, {"prompt": "How is the weather?", "model": "tool/scripted"})
    names = [name for name, _ in events]
    order = [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]
    expect(order == ["session", "text", "call", "result", "text", "done"], order)
    done = events[-1][1]
    whole = site.json("POST", "/api/v1/agent/chat", {"prompt": "How is the weather?", "model": "tool/scripted"})
    expect(done["reply"] == whole["reply"] == DONE and set(done) == set(whole), whole)
    expect(done["session"] == events[0][1]["session"] != whole["session"], done)
    return " ".join(names[:3]) + " …"


def runs_pipelines(site: Site) -> str:
    """A built-in pipeline by its name, a definition, and mistakes."""
    named = site.json("POST", "/api/v1/agent/task", {"name": "skill_check_all"})
    expect(named["success"] and named["trace"], named)
    steps = [
        {"name": "load", "tool": "skill_load", "params": {"skill_name": "weather"}},
        {"name": "said", "tool": "value", "dependsOn": ["load"], "params": {"text": "expr:'hello ' ~ input.who"}},
    ]
    pipeline = {"name": "greet", "inputs": {"who": {"required": True}}, "steps": steps}
    given = site.json("POST", "/api/v1/agent/task", {"pipeline": pipeline, "params": {"who": "Ann"}})
    expect(given["success"] and [step["status"] for step in given["trace"]] == ["ok", "ok"], given)
    expect(given["outputs"]["said"] == {"text": "hello Ann"} and "Look out of the window." in json.dumps(given["outputs"]["load"]), given)
    circle = {"name": "circle", "steps": [{"name": "a", "tool": "value", "dependsOn": ["b"]}, {"name": "b", "tool": "nowhere", "dependsOn": ["a"]}]}
    for wrong, about in (({"pipeline": circle}, "`a` waits for `b`"), ({"pipeline": pipeline}, "who"), ({"name": "skill_check_al"}, "skill_check_all")):
        status, text = site.send("POST", "/api/v1/agent/task", wrong)
        expect(400 <= status < 500 and about in text, f"{status}: {text}")
    return f"{len(named['trace'])} and {len(given['trace'])} steps, 3 mistakes"


def uses_the_other_routes(site: Site) -> str:
    tool = site.json("POST", "/api/v1/agent/tool", {"name": "skill_load", "params": {"skill_name": "weather"}})
    expect("Look out of the window." in tool["text"], tool)
    page = site.json("GET", "/api/v1/agent/capabilities?limit=250")
    expect({"skill.weather"} <= {item["id"] for item in page["items"]} and page["limits"]["steps"] == 6, page)
    sessions = site.json("GET", "/api/v1/agent/sessions")
    expect(sessions["total"] == len(sessions["items"]) > 0, sessions)
    kept = site.json("POST", "/api/v1/agent/chat", {"prompt": "x", "model": "plain/scripted", "keep": False})
    expect(site.json("GET", "/api/v1/agent/sessions")["total"] == sessions["total"] and kept["reply"] == DONE, "a session is kept nevertheless")
    return f"{len(page['items'])} capabilities, {sessions['total']} sessions"


def settings(runs: dict[str, Run]) -> str:
    urls = "".join(f'{name} = "{run.url}/v1"\n' for name, run in runs.items())
    names = "".join(f'"{name}/scripted" = "{name}/scripted"\n' for name in runs)
    return f'[models]\ndefault = "plain/scripted"\nattempts = 2\n[models.urls]\n{urls}[models.names]\n{names}'


def with_accounts(gongfu: Path, folder: Path, model: FaultyModel, check: Callable[[str, Callable[[], str]], None]) -> None:
    """The same for the users of a server."""
    runs = {"plain": model.add(Scenario([Turn(DONE)]))}
    for allowed in (False, True):
        place = folder / str(allowed)
        place.mkdir()
        home = Home(gongfu, place).make(settings(runs) + ("[agent]\naccounts = true\n" if allowed else ""))
        ann, bob = User("ann"), User("bob")
        for user in (ann, bob):
            home.add_user(user)
            user.token = home.token(user, "test")
        with Server(gongfu, "serve", "--accounts", variables=home.variables, folder=place) as server:
            sites = [Site(server.url, runs, user.token) for user in (ann, bob)]

            def refused() -> str:
                status, text = sites[0].send("POST", "/api/v1/agent/chat", {"prompt": "x"})
                expect((status, json.loads(text)["code"]) == (403, "AGENT_OFF"), text)
                try:
                    sites[0].chat("plain")
                except openai.PermissionDeniedError as error:
                    expect(error.code == "AGENT_OFF" and "agent.accounts" in error.message, error)
                    return error.code
                raise Failure("the operator's model answers")

            def own() -> str:
                try:
                    Site(server.url, runs, "ask_live_" + "0" * 64).chat("plain")
                except openai.AuthenticationError as error:
                    expect(error.code == "INVALID_TOKEN_FORMAT", error)
                else:
                    raise Failure("a wrong token is answered")
                session = sites[0].chat("plain", metadata={"session": "new"}).gongfu["session"]
                path = f"/api/v1/agent/sessions/{session}"
                expect((sites[0].send("GET", path)[0], sites[1].send("GET", path)[0]) == (200, 404), session)
                expect(sites[1].json("GET", "/api/v1/agent/sessions")["total"] == 0, "another's session is listed")
                status, text = sites[1].send("POST", "/api/v1/agent/chat", {"prompt": "x", "session": session})
                expect((status, json.loads(text)["code"]) == (404, "SESSION_NOT_FOUND"), text)
                return session

            if allowed:
                check("accounts: sessions are the user's own", own)
            else:
                check("accounts: no agent by default", refused)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gongfu", type=Path)
    parser.add_argument("--chats", type=int, default=20)
    options = parser.parse_args()
    if openai is None:
        print("prove-agent-api: the package openai is not installed; run `scripts/test --install`", file=sys.stderr)
        return NOT_INSTALLED
    gongfu, started, failed, count = binary(options.gongfu), time.monotonic(), 0, 0

    def check(name: str, act: Callable[[], str]) -> None:
        nonlocal failed, count
        begun, count = time.monotonic(), count + 1
        try:
            said = act()
        except (Failure, openai.OpenAIError, OSError, KeyError, AssertionError) as error:
            failed, said = failed + 1, f"fault: {type(error).__name__}: {error}"
        print(f"{name:<40} {time.monotonic() - begun:>5.1f} s  {said}", flush=True)

    with tempfile.TemporaryDirectory(prefix="gongfu-agent-api-", ignore_cleanup_errors=True) as name, FaultyModel() as model:
        folder = Path(name).resolve()
        runs = {name: model.add(scenario) for name, scenario in scenarios().items()}
        home = folder / "home"
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(settings(runs))
        for skill, files in {"weather": {"SKILL.md": SKILL}, **runs["act"].scenario.skills}.items():
            for path, text in files.items():
                file = home / "skills" / skill / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        variables = {"GONGFU_HOME": str(home), "HOME": str(folder), "GONGFU_STANDALONE": "1"}
        with Server(gongfu, "serve", variables=variables, folder=folder) as server:
            site = Site(server.url, runs)
            check("an answer, whole", lambda: answers_whole(site))
            check("an answer, in pieces", lambda: answers_in_pieces(site))
            check("models", lambda: lists_models(site))
            check("a skill and its scripts", lambda: follows_a_skill(site))
            check("50 test users", lambda: makes_test_data(site, folder))
            check("instructions and a session", lambda: continues_a_session(site))
            check("an answer that breaks off", lambda: says_what_broke_off(site))
            check("refused forms", lambda: refuses(site))
            check("errors before and in a stream", lambda: tells_errors(site))
            check("a refused command", lambda: refuses_commands(site))
            check("a client that leaves", lambda: stops_with_its_client(site))
            check("chats at once", lambda: chats_at_once(site, options.chats))
            check("events of the agent", lambda: tells_events(site))
            check("pipelines", lambda: runs_pipelines(site))
            check("the agent's other routes", lambda: uses_the_other_routes(site))
        with_accounts(gongfu, folder, model, check)
        problems = [f"{name}: {problem}" for name, run in runs.items() for problem in run.problems]
        print("".join(f"  fault: {problem}\n" for problem in problems), end="")
    print(f"prove-agent-api: {count} checks, {failed + len(problems)} failed, in {time.monotonic() - started:.0f} s")
    return 1 if failed or problems else 0


if __name__ == "__main__":
    sys.exit(main())
