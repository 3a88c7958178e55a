"""The wheel for PyPI: `uvx gongfu`, `uv tool install gongfu`, `pip install gongfu`.

maturin compiles the program for it, on Linux against an old glibc by zig. All other packages hold the same program.
"""

from __future__ import annotations

import os
from pathlib import Path

from release import DIST, REPOSITORY, Build, Failed, Platform, run, tool

# Debian 10, Ubuntu 20.04, RHEL 8 and all later ones have this glibc.
GLIBC = "manylinux_2_28"


def compile_program(platform: Platform) -> Path:
    """Compiles the program, and packs it as a wheel; answers the program."""
    for old in DIST.glob("*.whl"):
        old.unlink()
    command = [tool("maturin"), "build", "--target", platform.target, "--out", DIST]
    if platform.system == "linux":
        command += ["--zig", "--compatibility", GLIBC]
    # maturin finds zig as a module of the first Python on PATH.
    path = f"{Path(tool('maturin')).parent}{os.pathsep}{os.environ['PATH']}"
    run(*command, cwd=REPOSITORY, env={**os.environ, "PATH": path})
    return REPOSITORY / "target" / platform.target / "dist" / "gongfu"


def pack(build: Build) -> list[Path]:
    """Checks the wheel by the tools of its registry."""
    wheels = list(DIST.glob("*.whl"))
    if len(wheels) != 1:
        raise Failed(f"expected one wheel in {DIST}, found {len(wheels)}")
    run(tool("twine"), "check", "--strict", *wheels)
    if build.platform.system == "linux":
        run(tool("auditwheel"), "show", *wheels)
        if GLIBC not in wheels[0].name:
            raise Failed(f"{wheels[0].name} needs a newer glibc than {GLIBC}")
    return wheels
