"""A home and a project with skills of every kind that `gongfu adopt` knows, made as the programs make them.

Each kind is a function that makes its files; the table at the end lists them. A skill's text is its name and a version, so
that copies are equal or differ as they are meant to.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

COMMIT = "c" * 40


def put(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def put_json(path: Path, value: Any) -> None:
    put(path, json.dumps(value, indent=2) + "\n")


def skill(folder: Path, text: str = "1", metadata: str = "") -> None:
    put(folder / "SKILL.md", f"---\nname: {folder.name}\ndescription: Text {text}\n{metadata}---\n\n# {folder.name}\n\nVersion {text}.\n")
    put(folder / "scripts" / "run.sh", "#!/bin/sh\necho run\n", 0o755)


def computed_hash(folder: Path) -> str:
    """The digest of `npx skills`, for files with names of letters: JavaScript sorts them without their case."""
    digest = hashlib.sha256()
    for path in sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: str(path).lower()):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def git_tree(folder: Path) -> str:
    environment = {**os.environ, "GIT_DIR": str(folder.parent / ".tree.git"), "GIT_WORK_TREE": str(folder)}

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], env=environment, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", "-A")
    tree = git("write-tree")
    subprocess.run(["rm", "-r", environment["GIT_DIR"]], check=True)
    return tree


class World:
    """A home, and a project beside the folders of its clients."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / "work" / "project"
        self.project.mkdir(parents=True)

    def npx_user(self) -> None:
        folder = self.home / ".agents/skills"
        entries = {}
        for name in ["npx-user", "npx-changed"]:
            skill(folder / name)
            entries[name] = {
                "source": "owner/repo",
                "sourceType": "github",
                "sourceUrl": "https://github.com/owner/repo.git",
                "skillPath": f"skills/{name}/SKILL.md",
                "skillFolderHash": git_tree(folder / name),
                "installedAt": "2026-10-01T00:00:00.000Z",
                "updatedAt": "2026-10-02T00:00:00.000Z",
            }
        skill(folder / "npx-changed", "mine")
        link = self.home / ".claude/skills/npx-user"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("../../.agents/skills/npx-user")
        put_json(self.home / ".agents/.skill-lock.json", {"version": 3, "skills": entries, "dismissed": {}})

    def npx_project(self) -> None:
        folder = self.project / ".agents/skills"
        entries = {}
        for name in ["npx-project", "npx-edited"]:
            skill(folder / name)
            entries[name] = {"source": "owner/repo", "ref": "v1", "sourceType": "github", "skillPath": f"{name}/SKILL.md", "computedHash": computed_hash(folder / name)}
        put(folder / "npx-edited" / "notes.md", "mine\n")
        link = self.project / ".claude/skills/npx-project"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("../../.agents/skills/npx-project")
        put_json(self.project / "skills-lock.json", {"version": 1, "skills": entries})

    def gh_skill(self) -> None:
        metadata = "metadata:\n  github-repo: https://github.com/owner/gh\n  github-ref: refs/tags/v2\n  github-tree-sha: " + "a" * 40 + "\n  github-path: skills/by-gh\n"
        skill(self.home / ".copilot/skills/by-gh", "1", metadata)

    def plugin_folder(self, name: str, version: str) -> Path:
        return self.home / ".claude/plugins/cache/market" / name / version

    def install_plugins(self, names: Iterable[str], version: str) -> None:
        """Writes that Claude Code installed plugins from a marketplace; their skills are made before or after."""
        base = self.home / ".claude/plugins"
        market = {"name": "market", "owner": {"name": "o"}, "plugins": [{"name": name, "source": f"./{name}"} for name in names]}
        put_json(base / "marketplaces/market/.claude-plugin/marketplace.json", market)
        put_json(base / "known_marketplaces.json", {"market": {"source": {"source": "github", "repo": "owner/market"}, "installLocation": str(base / "marketplaces/market"), "lastUpdated": "2026-10-01T00:00:00.000Z"}})
        entries = {}
        for name in names:
            folder = self.plugin_folder(name, version)
            put_json(folder / ".claude-plugin/plugin.json", {"name": name, "version": version})
            entries[f"{name}@market"] = [{"scope": "user", "installPath": str(folder), "version": version, "installedAt": "2026-10-01T00:00:00.000Z", "lastUpdated": "2026-10-02T00:00:00.000Z", "gitCommitSha": COMMIT}]
        put_json(base / "installed_plugins.json", {"version": 2, "plugins": entries})
        put_json(self.home / ".claude/settings.json", {"enabledPlugins": dict.fromkeys(entries, True)})

    def claude_plugin(self) -> None:
        for version in ["1.9.0", "1.10.0"]:
            self.install_plugins(["tools"], version)
            skill(self.plugin_folder("tools", version) / "skills/by-plugin", version)

    def codex_plugin(self) -> None:
        put(self.home / ".codex/config.toml", '[plugins."helper@mine"]\nenabled = true\n\n[mcp_servers.docs]\ncommand = "docs-server"\n')
        folder = self.home / ".agents/plugins/helper"
        put_json(folder / ".codex-plugin/plugin.json", {"name": "helper", "skills": "./skills/"})
        skill(folder / "skills/by-codex-plugin")
        put_json(self.home / ".agents/plugins/marketplace.json", {"name": "mine", "plugins": [{"name": "helper", "source": {"source": "local", "path": "./.agents/plugins/helper"}}]})

    def codex(self) -> None:
        skill(self.home / ".codex/skills/for-codex")

    def cursor(self) -> None:
        skill(self.home / ".cursor/skills/for-cursor")
        put_json(self.home / ".cursor/mcp.json", {"mcpServers": {"docs": {"command": "docs-server"}, "remote": {"url": "https://example.com/mcp"}}})

    def gemini(self) -> None:
        skill(self.home / ".gemini/skills/for-gemini")

    def copilot_plugin(self) -> None:
        folder = self.home / ".copilot/installed-plugins/market/helper"
        put_json(folder / "plugin.json", {"name": "helper", "skills": ["skills/"]})
        skill(folder / "skills/by-copilot-plugin")

    def opencode(self) -> None:
        skill(self.home / ".config/opencode/skill/for-opencode")

    def goose(self) -> None:
        skill(self.home / ".config/goose/skills/for-goose")

    def github(self) -> None:
        skill(self.project / ".github/skills/for-github")

    def toolhive(self) -> None:
        skill(self.project / ".agents/skills/by-toolhive")
        put(self.project / "toolhive.lock.yaml", "version: 1\nskills:\n  - name: by-toolhive\n    resolvedReference: ghcr.io/owner/by-toolhive:1.0.0\n    digest: sha256:" + "d" * 64 + "\n    unsigned: true\n")

    def clawhub(self) -> None:
        skill(self.home / ".openclaw/skills/by-clawhub")
        put_json(self.home / ".openclaw/.clawhub/lock.json", {"version": 1, "skills": {"by-clawhub": {"version": "1.2.3", "installedAt": 1760000000000}}})

    def package(self) -> None:
        package = self.project / "node_modules/tool-skills"
        put_json(package / "package.json", {"name": "tool-skills", "version": "3.1.0"})
        skill(package / "skills/by-package")
        put_json(self.project / "package.json", {"name": "x", "skills": ["npm:tool-skills"]})
        link = self.project / ".agents/skills/by-package"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("../../node_modules/tool-skills/skills/by-package")

    def clone(self) -> None:
        folder = self.home / ".claude/skills/by-clone"
        skill(folder)
        put(folder / ".git/HEAD", "ref: refs/heads/main\n")
        put(folder / ".git/packed-refs", f"# pack-refs with: peeled fully-peeled sorted\n{COMMIT} refs/heads/main\n")
        put(folder / ".git/config", '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://me:secret@example.com/owner/clone.git\n')

    def linked(self) -> None:
        skill(self.home / "src/my-skill")
        link = self.home / ".claude/skills/my-skill"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(self.home / "src/my-skill")

    def plain(self) -> None:
        skill(self.home / ".claude/skills/plain")

    def duplicate(self) -> None:
        skill(self.home / ".gemini/skills/plain")
        skill(self.home / ".cursor/skills/npx-user", "another")

    def broken(self) -> None:
        """Files that can't be understood, which spoil nothing else."""
        put(self.home / ".roo/.clawhub/lock.json", '{\n  "skills": {\n')
        put(self.project / ".claude-plugin/marketplace.json", "[1,\n2,\n")


KINDS = [
    World.npx_user, World.npx_project, World.gh_skill, World.claude_plugin, World.codex_plugin, World.codex, World.cursor,
    World.gemini, World.copilot_plugin, World.opencode, World.goose, World.github, World.toolhive, World.clawhub,
    World.package, World.clone, World.linked, World.plain, World.duplicate, World.broken,
]  # fmt: skip

# Each copy by its folder: source, rank, agreement with its lock. `~` is the home, `.` the project.
EXPECTED: dict[str, tuple[str | None, str, str]] = {
    "~/.agents/skills/npx-user": ("https://github.com/owner/repo.git", "only", "same"),
    "~/.agents/skills/npx-changed": ("https://github.com/owner/repo.git", "only", "differs"),
    "./.agents/skills/npx-project": ("https://github.com/owner/repo.git", "only", "same"),
    "./.agents/skills/npx-edited": ("https://github.com/owner/repo.git", "only", "differs"),
    "~/.copilot/skills/by-gh": ("https://github.com/owner/gh.git", "only", "unknown"),
    "~/.claude/plugins/cache/market/tools/1.10.0/skills/by-plugin": ("https://github.com/owner/market.git", "newest", "unknown"),
    "~/.claude/plugins/cache/market/tools/1.9.0/skills/by-plugin": ("https://github.com/owner/market.git", "older", "unknown"),
    "~/.agents/plugins/helper/skills/by-codex-plugin": (None, "only", "unknown"),
    "~/.codex/skills/for-codex": (None, "only", "unknown"),
    "~/.cursor/skills/for-cursor": (None, "only", "unknown"),
    "~/.cursor/skills/npx-user": (None, "other_content", "unknown"),
    "~/.gemini/skills/for-gemini": (None, "only", "unknown"),
    "~/.copilot/installed-plugins/market/helper/skills/by-copilot-plugin": (None, "only", "unknown"),
    "~/.config/opencode/skill/for-opencode": (None, "only", "unknown"),
    "~/.config/goose/skills/for-goose": (None, "only", "unknown"),
    "./.github/skills/for-github": (None, "only", "unknown"),
    "./.agents/skills/by-toolhive": ("ghcr.io/owner/by-toolhive:1.0.0", "only", "unknown"),
    "~/.openclaw/skills/by-clawhub": ("clawhub/by-clawhub", "only", "unknown"),
    "./.agents/skills/by-package": ("npm:tool-skills", "only", "unknown"),
    "~/.claude/skills/by-clone": ("https://example.com/owner/clone.git", "only", "unknown"),
    "~/.claude/skills/my-skill": ("./src/my-skill", "only", "unknown"),
    "~/.claude/skills/plain": (None, "only", "unknown"),
    "~/.gemini/skills/plain": (None, "duplicate", "unknown"),
}
