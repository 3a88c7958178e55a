"""The command lines of four clients, as npm installs them, and how each is started without a person.

What each needs, found with the versions that scripts/client_programs/package.json pins:

- Claude Code runs without onboarding and without a question of trust under `-p`; tools of a server need
  `--allowedTools mcp__NAME`. As root it refuses `--dangerously-skip-permissions`.
- Codex needs `--skip-git-repo-check` outside a repository, and asks nobody under `exec`: a tool that isn't
  read-only is refused unless its server has `default_tools_approval_mode = "approve"`.
- Gemini CLI starts no server in a folder that isn't trusted; `--skip-trust` trusts it for the session. It
  wants a kind of login in its settings; a model that is named keeps it from asking another one which to take.
- opencode takes its provider from `OPENCODE_CONFIG_CONTENT`, and runs tools of a server unasked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ruler_server import LENGTH

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = REPOSITORY / ".tools" / "clients" / "node_modules"
NODE = REPOSITORY / ".tools" / "node" / "node_modules" / ".bin" / "node"


@dataclass
class Program:
    """A client: its name in `gongfu client`, its package, and how it is started."""

    name: str
    package: str
    # The program below the packages: a pattern, because a platform is in its path.
    path: str
    # The configuration that `gongfu client install` writes, below the home.
    configuration: str
    # From the address of the model and the prompt to the arguments and variables.
    start: Callable[[str, str], tuple[list[str], dict[str, str]]]
    # The same in short, for a transcript.
    said: str
    # The characters of a tool's description that reach the model; the length of a ruler where nothing is cut.
    description: int = LENGTH
    # What a person's configuration holds before gongfu comes.
    before: str = ""

    def version(self) -> str:
        """The version that is installed; empty where none is."""
        manifest = PACKAGES / self.package / "package.json"
        return json.loads(manifest.read_text())["version"] if manifest.is_file() else ""

    def command(self) -> list[str]:
        """How the program is started; empty where it isn't installed."""
        found = sorted(PACKAGES.glob(self.path))
        if not found:
            return []
        return [str(NODE), str(found[0])] if found[0].suffix == ".js" else [str(found[0])]


def claude(url: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    variables = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    return ["-p", prompt, "--allowedTools", "mcp__gongfu"], variables


def codex(url: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    settings = [
        'model="scripted"',
        'model_provider="scripted"',
        f'model_providers.scripted={{name="scripted",base_url="{url}/v1",wire_api="responses",env_key="SCRIPTED_KEY"}}',
        'mcp_servers.gongfu.default_tools_approval_mode="approve"',
    ]
    words = [word for setting in settings for word in ("-c", setting)]
    return ["exec", "--skip-git-repo-check", *words, prompt], {"SCRIPTED_KEY": "scripted"}


def gemini(url: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    variables = {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "scripted"}
    return ["-p", prompt, "--yolo", "--skip-trust", "--model", "gemini-2.5-pro"], variables


def opencode(url: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "scripted"},
        "models": {"scripted": {"tool_call": True, "limit": {"context": 400_000, "output": 10_000}}},
    }
    content = {"provider": {"scripted": provider}, "share": "disabled", "autoupdate": False}
    variables = {"OPENCODE_CONFIG_CONTENT": json.dumps(content), "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    return ["run", "-m", "scripted/scripted", prompt], variables


PROGRAMS = [
    Program(
        "claude-code",
        "@anthropic-ai/claude-code",
        "@anthropic-ai/claude-code-*/claude",
        ".claude.json",
        claude,
        'claude -p PROMPT --allowedTools mcp__gongfu',
        16_384,
    ),
    Program(
        "codex",
        "@openai/codex",
        "@openai/codex-*/vendor/*/bin/codex",
        ".codex/config.toml",
        codex,
        'codex exec --skip-git-repo-check PROMPT',
    ),
    Program(
        "gemini-cli",
        "@google/gemini-cli",
        "@google/gemini-cli/bundle/gemini.js",
        ".gemini/settings.json",
        gemini,
        'gemini -p PROMPT --yolo --skip-trust',
        before='{ "security": { "auth": { "selectedType": "gemini-api-key" } } }\n',
    ),
    Program(
        "opencode",
        "opencode-ai",
        "opencode-*-*[!e]/bin/opencode",
        ".config/opencode/opencode.json",
        opencode,
        'opencode run PROMPT',
    ),
]
