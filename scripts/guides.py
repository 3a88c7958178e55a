#!/usr/bin/env python3
"""Runs the commands of the guides, and compares what they print with what the guides show.

A `console` block of a document holds commands, each after `$ `, and what they print. `…` stands for any text, a line
with `…` alone for any lines. `[exit 2]` after the output is the exit code, 0 where it isn't shown. All blocks of a
document run in one shell, in a folder `project` of an empty home. In a comment of HTML:

    <!-- run: COMMANDS -->         commands that readers needn't see, such as the files of an example
    <!-- not run: REASON -->       the next block isn't run
    <!-- file: NAME -->            the next block, of any language, is the content of this file

  guides.py --gongfu BIN [DOCUMENT…]

A document without a command that ran counts as failed, so does a run without documents.
"""

import argparse
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PART = re.compile(r"<!-- (run|not run|file): (.*?) ?-->|^```([a-z]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXIT = re.compile(r"\[exit (\d+)\]")
# The longest that a command may take, in seconds.
TIMEOUT = 180
# The folders in which the programs of a guide are found.
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


class Shell:
    """A shell that runs one command after another."""

    def __init__(self, home: Path, gongfu: Path, extra: str) -> None:
        programs = home / "bin"
        programs.mkdir(parents=True)
        (programs / "gongfu").symlink_to(gongfu)
        project = home / "project"
        project.mkdir()
        subprocess.run(["git", "init", "--quiet", str(project)], check=True)
        path = ":".join(filter(None, [str(programs), extra, SYSTEM_PATH]))
        environment = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", "COLUMNS": "80"}
        self.shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=project,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.mark = f"end-{os.getpid()}-{time.monotonic_ns()}"

    def run(self, command: str) -> tuple[str, int]:
        """Runs a command; returns what it prints and its exit code."""
        line = f"{{ {command}\n}} < /dev/null; printf '\\n{self.mark} %d\\n' $?\n"
        self.shell.stdin.write(line.encode())
        self.shell.stdin.flush()
        text = b""
        end = re.compile(rf"\n{self.mark} (\d+)\n".encode())
        deadline = time.monotonic() + TIMEOUT
        while not (found := end.search(text)):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.shell.stdout], [], [], left)[0]:
                raise TimeoutError(f"no end within {TIMEOUT} s: {command}")
            chunk = os.read(self.shell.stdout.fileno(), 65536)
            if not chunk:
                raise EOFError(f"the shell ended: {command}")
            text += chunk
        return text[: found.start()].decode(errors="replace"), int(found[1])

    def end(self) -> None:
        self.shell.stdin.close()
        self.shell.wait(timeout=30)


def commands(block: str) -> list[tuple[str, list[str], int]]:
    """The commands of a block, each with the lines that it prints and its exit code."""
    found: list[tuple[str, list[str], int]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], [], 0))
        elif found and line.startswith("> ") and not found[-1][1]:
            command, shown, code = found[-1]
            found[-1] = (f"{command}\n{line[2:]}", shown, code)
        elif found and (exited := EXIT.fullmatch(line)):
            command, shown, _ = found[-1]
            found[-1] = (command, shown, int(exited[1]))
        elif found:
            found[-1][1].append(line)
    return found


def fits(shown: list[str], printed: str) -> bool:
    """Whether a command printed what a guide shows."""
    pattern = ""
    for line in shown:
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split("…")) + r"[ \t]*\n"
    text = printed.rstrip("\n")
    return re.fullmatch(pattern, f"{text}\n" if text else "") is not None


def run(document: Path, gongfu: Path, extra: str) -> tuple[int, list[str]]:
    """Runs the commands of a document; returns how many ran, and what went wrong."""
    faults: list[str] = []
    count = 0
    is_skipped = False
    file = None
    home = Path(tempfile.mkdtemp(prefix="gongfu-guide-"))
    shell = Shell(home / "me", gongfu, extra)
    try:
        for part in PART.finditer(document.read_text()):
            kind, text, language, block = part.groups()
            if kind == "run":
                printed, code = shell.run(text)
                if code:
                    faults.append(f"the hidden command exits with {code}: {text}\n{printed}")
            elif kind == "not run":
                is_skipped = True
            elif kind == "file":
                file = home / "me" / "project" / text
            elif file:
                file.write_text(block)
                file = None
            elif language != "console":
                continue
            elif is_skipped:
                is_skipped = False
            else:
                for command, shown, wanted in commands(block):
                    printed, code = shell.run(command)
                    count += 1
                    if code != wanted:
                        faults.append(f"$ {command}\nexits with {code}, not {wanted}:\n{printed}")
                    elif not fits(shown, printed):
                        lines = "\n".join(shown)
                        faults.append(f"$ {command}\nprints:\n{printed.rstrip()}\nand the guide shows:\n{lines}")
        shell.end()
    except (TimeoutError, EOFError) as error:
        faults.append(str(error))
        shell.shell.kill()
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return count, faults


def self_test() -> None:
    """Shows that a wrong guide is found."""
    block = "$ echo a\n> echo b\na\n…\n$ false\n[exit 1]\n"
    assert commands(block) == [("echo a\necho b", ["a", "…"], 0), ("false", [], 1)]
    assert fits(["a …", "…", "c"], "a b\nx\ny\nc\n") and fits([], "\n") and fits(["…"], "")
    assert not fits(["a"], "b\n") and not fits([], "a\n") and not fits(["a", "b"], "a\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gongfu", type=Path, required=True, help="the program to run")
    parser.add_argument("--path", default="", help="folders of programs that guides may need, such as uv's")
    parser.add_argument("documents", nargs="*", type=Path, help="the documents, all with a `console` block by default")
    arguments = parser.parse_args()
    self_test()
    documents = arguments.documents or sorted(
        path
        for path in [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
        if "```console" in path.read_text()
    )
    failed = 0
    for document in documents:
        count, faults = run(document, arguments.gongfu.resolve(), arguments.path)
        if not count:
            faults.append("no command ran")
        print(f"{document.name:28} {count:3} commands  {'FAILED' if faults else 'ok'}")
        for fault in faults:
            print("  " + fault.replace("\n", "\n  "))
        failed += bool(faults)
    print(f"{len(documents) - failed} passed, {failed} failed")
    return 1 if failed or not documents else 0


if __name__ == "__main__":
    sys.exit(main())
