"""Packs one compiled program for every channel, into dist/.

    python scripts/dist [--binary FILE] [--target TRIPLE] [--only CHANNEL…] [--local-base]
    python scripts/dist join           what is written once for all platforms in dist/
    python scripts/dist check [--fix]  the files of the repository that hold the version

Without --binary the program is compiled first, for the wheel, and the other packages take the same one.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

import archive
import bundle
import debian
import image
import npm
import plugins
import registry
import wheel
from release import DIST, PLATFORMS, Build, Failed, Platform

# A channel is a file with `pack`, for each platform, or `join`, once for all.
CHANNELS = {
    "wheel": wheel,
    "npm": npm,
    "archive": archive,
    "deb": debian,
    "mcpb": bundle,
    "image": image,
    "registry": registry,
}


def host() -> Platform:
    cpu = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine())
    for one in PLATFORMS:
        if (one.system, one.cpu) == (platform.system().lower(), cpu):
            return one
    raise Failed(f"no package is built for {platform.system()} {platform.machine()}")


def pack(options: argparse.Namespace, scratch: Path) -> None:
    named = [one for one in PLATFORMS if one.target == options.target]
    target = named[0] if named else host()
    DIST.mkdir(exist_ok=True)
    binary = options.binary or wheel.compile_program(target)
    build = Build(binary.resolve(), target, scratch)
    for name, channel in CHANNELS.items():
        # Who passes a program has no wheel: maturin compiles its own.
        if options.only and name not in options.only or name == "wheel" and options.binary:
            continue
        started = time.monotonic()
        if not hasattr(channel, "pack"):
            continue
        for file in channel.pack(build, options.local_base) if channel is image else channel.pack(build):
            size = file.stat().st_size / 1e6
            print(f"{name:9} {size:7.1f} MB  {time.monotonic() - started:5.1f} s  {file.relative_to(DIST.parent)}")


def join(only: list[str]) -> None:
    for name, channel in CHANNELS.items():
        if hasattr(channel, "join") and (not only or name in only):
            for file in channel.join():
                print(f"{name:9} {'':19}  {file.relative_to(DIST.parent)}")
    print(f"{'sums':9} {'':19}  {archive.write_sums().relative_to(DIST.parent)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", nargs="?", choices=["pack", "join", "check"], default="pack")
    parser.add_argument("--binary", type=Path, help="a compiled program, for all but the wheel")
    parser.add_argument("--target", choices=[one.target for one in PLATFORMS], help="the platform of the program; this machine's by default")
    parser.add_argument("--only", nargs="+", choices=CHANNELS, default=[])
    parser.add_argument("--fix", action="store_true", help="write the files that `check` finds stale")
    parser.add_argument("--local-base", action="store_true", help="make the base of the image of Debian's packages")
    parser.add_argument("--clean", action="store_true", help="empty dist/ first")
    options = parser.parse_args()
    try:
        if options.step == "check":
            return plugins.check(options.fix)
        if options.clean:
            shutil.rmtree(DIST, ignore_errors=True)
        if options.step == "pack":
            with tempfile.TemporaryDirectory() as scratch:
                pack(options, Path(scratch))
        join(options.only)
    except Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
