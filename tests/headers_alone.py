#!/usr/bin/env python3
"""Compiles every header by itself: tests/headers_alone.py ROOT COMPILER [FLAG ...]; exit status 1 if one does not."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TEMPLATES = {"kernel_simd_private.h", "bench_peak_simd.h"}  # compiled several times, with macros set by the includer

OPTIONAL = ("hiredis/", "librdkafka/", "nats/", "curl/", "mpi.h")  # of libraries that a build may do without


def compiles(compiler, header):
    command = [*compiler, "-fsyntax-only", "-x", "c", "-std=c17", "-D_GNU_SOURCE", "-include", str(header), "/dev/null"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    missing = re.search(r"fatal error: (\S+): No such file", run.stderr)
    if missing and missing.group(1).startswith(OPTIONAL):
        print(f"{header}: NOT compiled: {missing.group(1)} is missing")
        return True
    if run.returncode != 0:
        print(f"{header}: does not compile alone\n{run.stderr}")
    return run.returncode == 0


def main():
    root, compiler = Path(sys.argv[1]), sys.argv[2:]
    compiler += ["-I", str(root), "-I", str(root / "lib"), "-I", str(root / "include")]
    headers = sorted(h for folder in ("include", "lib", "daemon", "tools", "tests/bench/costs") for h in (root / folder).rglob("*.h")
                     if h.name not in TEMPLATES)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda header: compiles(compiler, header), headers))
    return 0 if headers and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
