"""FastMCP as the proxy of a server on standard input and output, for `just bench-connections` to measure beside gongfu.

    bench_proxy.py PORT COMMAND ARGUMENT…     over HTTP on this port; 0: on standard input and output
"""

import sys


def main(port: int, command: str, *arguments: str) -> None:
    from fastmcp.client.transports import StdioTransport
    from fastmcp.server import create_proxy

    # The server is started once, as with gongfu.
    proxy = create_proxy(StdioTransport(command, list(arguments), keep_alive=True))
    if port:
        proxy.run(transport="http", host="127.0.0.1", port=port, show_banner=False, log_level="error")
    else:
        proxy.run(transport="stdio", show_banner=False, log_level="error")


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
