"""The Python SDK as its documentation shows it, for `just bench-peers` to measure beside gongfu.

    mcp_server.py --version
    mcp_server.py FOLDER stdio
    mcp_server.py FOLDER stateless PORT    2026-07-28, JSON answers, no sessions
    mcp_server.py FOLDER session PORT      2025-11-25 with sessions, JSON answers

A word `library` in the end serves every SKILL.md of the folder as a resource too: the SDK has no skills methods.
"""

import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    if arguments == ["--version"]:
        from importlib.metadata import version

        print(version("mcp"))
        return
    folder, mode, *rest = arguments
    root = Path(folder).resolve()

    from mcp.server import MCPServer

    server = MCPServer("skills", log_level="WARNING")

    # Asynchronous, so that no thread is needed for a call; unstructured, so that the text is sent once.
    @server.tool(structured_output=False)
    async def skill_load(skill_name: str) -> str:
        """Load the instructions of a skill."""
        path = (root / skill_name / "SKILL.md").resolve()
        if not path.is_relative_to(root):
            raise ValueError("no such skill")
        return path.read_text(encoding="utf-8")

    if "library" in rest:
        from mcp.server.mcpserver.resources import FileResource

        for path in sorted(root.glob("*/SKILL.md")):
            uri = f"skill://{path.parent.name}/SKILL.md"
            server.add_resource(
                FileResource(uri=uri, name=path.parent.name, path=path, mime_type="text/markdown")
            )

    if mode == "stdio":
        server.run("stdio")
        return

    import uvicorn

    app = server.streamable_http_app(stateless_http=mode == "stateless", json_response=True)
    # With uvicorn[standard], the loop is uvloop and the parser httptools.
    uvicorn.run(app, host="127.0.0.1", port=int(rest[0]), access_log=False, log_level="warning")


if __name__ == "__main__":
    main(sys.argv[1:])
