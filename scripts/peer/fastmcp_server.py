"""FastMCP as its documentation shows it, for `just bench-peers` to measure beside gongfu.

    fastmcp_server.py --version
    fastmcp_server.py FOLDER stdio
    fastmcp_server.py FOLDER stateless PORT    2026-07-28, JSON answers, no sessions
    fastmcp_server.py FOLDER session PORT      2025-11-25 with sessions, JSON answers

A word `library` in the end serves every skill of the folder by its own skills provider too, as resources;
`library skills` by its experimental methods of SEP-2640.
"""

import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    if arguments == ["--version"]:
        from importlib.metadata import version

        print(version("fastmcp"))
        return
    folder, mode, *rest = arguments
    root = Path(folder).resolve()

    from fastmcp import FastMCP

    server = FastMCP("skills")

    # Asynchronous, so that no thread is needed for a call; no output schema, so that the text is sent
    # once.
    @server.tool(output_schema=None)
    async def skill_load(skill_name: str) -> str:
        """Load the instructions of a skill."""
        path = (root / skill_name / "SKILL.md").resolve()
        if not path.is_relative_to(root):
            raise ValueError("no such skill")
        return path.read_text(encoding="utf-8")

    if "library" in rest:
        from fastmcp.server.providers.skills import SkillsDirectoryProvider

        provider = SkillsDirectoryProvider(roots=root, experimental_skills="skills" in rest)
        server.add_provider(provider)
        if "skills" in rest:
            from fastmcp.skills.extension import SkillsExtension

            server.add_extension(SkillsExtension(providers=[provider]))

    if mode == "stdio":
        server.run(transport="stdio", show_banner=False)
        return
    server.run(
        transport="http",
        host="127.0.0.1",
        port=int(rest[0]),
        stateless_http=mode == "stateless",
        json_response=True,
        show_banner=False,
        # With uvicorn[standard], the loop is uvloop and the parser httptools.
        uvicorn_config={"access_log": False, "log_level": "warning"},
    )


if __name__ == "__main__":
    main(sys.argv[1:])
