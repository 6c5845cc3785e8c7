"""Packages of npm for tests that run programs of Node: installed by a lock file into the build's folder, once.

Where npm is missing or cannot reach its registry, the whole run of pytest ends with status 77, which ctest reports as
skipped. The packages' own scripts are not run."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SKIPPED = 77
INSTALL = ["npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"]


def skip(reason):
    pytest.exit(f"SKIPPED: {reason}", returncode=SKIPPED)


def run(*command, cwd, **more):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600, **more)


def installed(folder, name, *files):
    """A copy of these files of a folder (package.json and package-lock.json are always among them) below the working
    directory, with node_modules beside them."""
    for wanted in ("node", "npm"):
        if shutil.which(wanted) is None:
            skip(f"there is no {wanted} (tools/install-deps test)")
    there = Path(os.getcwd(), "npm", name)
    there.mkdir(parents=True, exist_ok=True)
    for file in ("package.json", "package-lock.json", *files):
        (there / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / file, there / file)
    mark = there / "node_modules" / ".lock-of-this"
    lock = hashlib.sha256((there / "package-lock.json").read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == lock:
        return there
    result = run(*INSTALL, cwd=there)
    if result.returncode != 0:
        ping = run("npm", "ping", cwd=there)
        if ping.returncode != 0:
            skip(f"npm cannot reach its registry:\n{ping.stderr}")
        pytest.fail(f"npm ci: {result.stderr}")
    mark.write_text(lock)
    return there
