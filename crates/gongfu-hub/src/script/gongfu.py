"""Runs the script of a `tool_script` call. The first line of the input is the script, the others are answers.

Requests go to what was the standard output, a line each: a number and JSON. What the script and its children print goes
to the standard error instead, so that none of it is taken for a request.
"""

import itertools
import json
import linecache
import os
import queue
import sys
import threading
import traceback
import types

SCRIPT = "script.py"
CALLS_AT_ONCE = 8


class ToolError(Exception):
    """A call failed; `code` says why."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class Gate:
    """Sends calls, and waits for their answers; from any thread."""

    def __init__(self, requests, answers):
        self._requests, self._answers = requests, answers
        self._process = os.getpid()
        self._numbers = itertools.count(1)
        self._waiting = {}
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(CALLS_AT_ONCE)
        threading.Thread(target=self._read, daemon=True).start()

    def call(self, name, arguments):
        if os.getpid() != self._process:
            raise RuntimeError("tools are called in the script's own process; use threads")
        request = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, allow_nan=False).encode()
        answer = queue.SimpleQueue()
        with self._slots:
            with self._lock:
                number = next(self._numbers)
                self._waiting[number] = answer
                self._requests.write(b"%d %s\n" % (number, request))
                self._requests.flush()
            found = answer.get()
        if "code" in found:
            raise ToolError(found["code"], found["message"])
        return found["result"]

    def _read(self):
        for line in self._answers:
            found = json.loads(line)
            waiting = self._waiting.pop(found["id"], None)
            if waiting:
                waiting.put(found)


class Tool:
    """A tool, or a server with tools."""

    def __init__(self, gate, name):
        self._gate, self._name = gate, name

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Tool(self._gate, f"{self._name}__{name}")

    def __call__(self, arguments=None, /, **more):
        return self._gate.call(self._name, {**(arguments or {}), **more})


class Tools:
    """All tools."""

    def __init__(self, gate):
        self._gate = gate

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Tool(self._gate, name)

    def call(self, name, arguments=None, /, **more):
        return Tool(self._gate, name)(arguments, **more)


def main():
    answers, requests = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    requests.write(b"hello\n")
    requests.flush()
    code = json.loads(answers.readline())["code"]
    own = types.ModuleType("gongfu")
    own.tools, own.ToolError = Tools(Gate(requests, answers)), ToolError
    script = types.ModuleType("__main__")
    sys.modules.update({"gongfu": own, "__main__": script})
    sys.argv = [SCRIPT]
    # For the lines in tracebacks.
    linecache.cache[SCRIPT] = (len(code), None, code.splitlines(True), SCRIPT)
    try:
        exec(compile(code, SCRIPT, "exec", dont_inherit=True), script.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        report = traceback.TracebackException.from_exception(error)
        frames = [frame for frame in report.stack if frame.filename != "<string>"]
        report.stack = traceback.StackSummary.from_list(frames)
        print(*report.format(), sep="", end="", file=sys.stderr)
        sys.exit(1)


main()
