"""FastMCP with its skills provider on standard input and output, for `just bench` to measure beside gongfu.

    bench_fastmcp.py FOLDER…     serve the skills that lie directly in these folders
    bench_fastmcp.py --version   print the version of FastMCP
"""

import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        from importlib.metadata import version

        import fastmcp  # noqa: F401  # must be importable, not only installed

        print(version("fastmcp"))
        return 0
    if not arguments:
        print("error: no folder of skills\n  hint: name one or more", file=sys.stderr)
        return 2

    from fastmcp import FastMCP
    from fastmcp.server.providers.skills import SkillsDirectoryProvider

    server = FastMCP("skills")
    server.add_provider(SkillsDirectoryProvider(roots=[Path(folder) for folder in arguments]))
    server.run(transport="stdio", show_banner=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
