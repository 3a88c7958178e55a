"""A Docker daemon: the one that is there, else one of our own for as long as it is needed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

START_SECONDS = 30


@contextlib.contextmanager
def daemon() -> Iterator[dict[str, str] | None]:
    """The variables for `docker`, or none where there is no daemon and none can be started."""
    variables = {**os.environ, "DOCKER_BUILDKIT": "0"}
    if not shutil.which("docker"):
        yield None
    elif answers(variables):
        yield variables
    elif os.geteuid() or not shutil.which("dockerd"):
        yield None
    else:
        with tempfile.TemporaryDirectory() as folder:
            with own(Path(folder)) as address:
                yield {**variables, "DOCKER_HOST": address}


def answers(variables: dict[str, str]) -> bool:
    asked = subprocess.run(["docker", "version"], env=variables, capture_output=True)
    return asked.returncode == 0


@contextlib.contextmanager
def own(folder: Path) -> Iterator[str]:
    """A daemon whose files are all in a folder. What it mounts, this machine does not see."""
    address = f"unix://{folder}/sock"
    command = ["unshare", "--mount", "--propagation", "slave", "--", "dockerd", "--host", address]
    command += ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
    command += ["--iptables=false", "--bridge=none"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + START_SECONDS
            while not answers({**os.environ, "DOCKER_HOST": address}):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"dockerd does not start:\n{(folder / 'log').read_text()[-2000:]}")
                time.sleep(0.2)
            yield address
        finally:
            process.terminate()
            process.wait()
