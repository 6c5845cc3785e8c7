#!/usr/bin/env python3
"""Checks what the compiler does not: who includes whom, where each library lives, what lib may not call.

    tests/layers.py ROOT          prints FILE:LINE: what is wrong; exit status 1 if anything is
    tests/layers.py --self-test   shows on made-up trees that every rule catches its violation

A folder includes itself and folders of lower rank, never a sibling of the same rank.
"""

import os
import re
import sys

import judge

RANKS = {
    "lib/base": 0,
    "lib/linalg": 1, "lib/store": 1, "lib/mpi": 1,
    "lib/table": 2, "lib/events": 2, "lib/graph": 2, "lib/optim": 2, "lib/bandit": 2, "lib/evaluate": 2,
    "lib/tree": 3, "lib/wire": 3,
    "lib/view": 4, "lib/train": 4, "lib/learn": 4, "lib/history": 4,
    "lib/online": 5, "lib/refit": 5,
    "lib/door": 6, "clients/c": 6,
    "daemon": 7, "tools": 7,
}
# The daemon's folders; the loop beside them includes all of them.
DAEMON_RANKS = {
    "daemon/common": 0, "daemon/config": 1, "daemon/lease": 1, "daemon/api": 2, "daemon/models": 2, "daemon/durable": 3, "daemon/streams": 2, "daemon/refit": 4, "daemon/serve": 4,
    "daemon/replica": 5, "daemon/merge": 5, "daemon/report": 6, "daemon": 7,
}
CODE_FOLDERS = ("lib", "daemon", "tools", "tests", "clients")
SKIPPED = {".git", "__pycache__", ".pytest_cache", "node_modules"}
SHARED_NAMES = {"CMakeLists.txt", "Makefile", "README.md", ".gitignore", "__init__.py", "conftest.py"}

# Header, and the path prefixes that may include it.
HOMES = [
    (r"z(lib|std|conf|std_errors)\.h", ["lib/base/stream"]),
    (r"jansson\.h", ["lib/base/json"]),
    (r"(cblas|lapacke|openblas_config|f77blas)\.h", ["lib/linalg/"]),
    (r"msgpack(\.h|/.*)", ["tests/unit/wire/", "tests/bench/costs/wire_bare", "tests/unit/costs/"]),
    # Batch learners: of libraries lib/refit's fit alone, of the daemon's folder coppice-refit alone.
    (r"train/.*", ["lib/train/", "lib/refit/", "daemon/refit/worker.", "tools/"]),
    (r"graph/.*", ["lib/graph/", "lib/train/", "lib/refit/", "tools/"]),
    (r"refit/refit_(file|parts|run|window)\.h", ["lib/refit/", "daemon/refit/worker.", "tools/"]),
    (r"hiredis/.*", ["daemon/streams/broker_redis"]),
    (r"nats/.*", ["daemon/streams/broker_nats"]),
    (r"librdkafka/.*", ["daemon/streams/broker_kafka"]),
    (r"zmq(_utils)?\.h", ["daemon/", "clients/c/"]),
    (r"microhttpd\.h", ["daemon/common/http", "daemon/api/"]),
    (r"gnutls/.*", ["daemon/config/certificate", "daemon/api/api_tls", "daemon/api/api_session"]),
    (r"(sys/)?syslog\.h", ["daemon/common/log"]),
    (r"confuse\.h", ["daemon/config/", "daemon/streams/bridge_config"]),
    (r"systemd/.*", ["daemon/common/notify"]),
    (r"curl/.*", ["daemon/lease/"]),
    (r"mpi\.h", ["lib/mpi/"]),
    (r"(pthread|threads|semaphore)\.h", ["lib/base/pool", "lib/base/thread", "daemon/", "tools/", "clients/c/"]),
    (r"omp\.h", []),
]

# lib never exits, prints, logs, reads the clock or the environment.
FORBIDDEN_IN_LIB = re.compile(
    r"(?<![\w.>])(printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|putc|perror|exit|_exit|_Exit|abort|quick_exit|"
    r"time|clock|gettimeofday|clock_gettime|timespec_get|getenv|secure_getenv|setenv|syslog|malloc|calloc|realloc|"
    r"strdup|strndup|rand|srand|random|drand48)\s*\(")
MAY_PRINT = {"lib/base/assert.c"}
MAY_ALLOCATE = {"lib/base/mem.c"}
ALLOCATION = {"malloc", "calloc", "realloc", "strdup", "strndup"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def without_comments_and_strings(text):
    """The same text with comments, strings and character constants blanked, lines kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, blank, text, flags=re.S)


def folder_of(path, ranks=None):
    """The ranked folder that a path of the tree lies in, or None."""
    parts = path.split("/")
    for length in (2, 1):
        name = "/".join(parts[:length])
        if name in (ranks or RANKS) and len(parts) > length:
            return name
    return None


def included_folder(header):
    """The ranked folder that an include's path names: "tree/x.h" is lib/tree, "daemon/x.h" is daemon."""
    first = header.split("/")[0]
    if "/" not in header:
        return None
    return "lib/" + first if "lib/" + first in RANKS else folder_of(header)


def check_rank(path, line, header):
    for ranks, mine, theirs in ((RANKS, folder_of(path), included_folder(header)),
                                (DAEMON_RANKS, folder_of(path, DAEMON_RANKS), folder_of(header, DAEMON_RANKS))):
        if mine is None or theirs is None or mine == theirs:
            continue
        if ranks[theirs] > ranks[mine]:
            yield line, f"{mine} (rank {ranks[mine]}) includes {header} of higher rank {ranks[theirs]}"
        elif ranks[theirs] == ranks[mine]:
            yield line, f"{mine} includes {header} of a sibling folder"


def check_home(path, line, header):
    if path.startswith("tests/"):
        return
    for pattern, homes in HOMES:
        if re.fullmatch(pattern, header) and not any(path.startswith(home) for home in homes):
            yield line, f"{header} may be included only in {', '.join(home + '*' for home in homes) or 'no file'}"


def check_quotes(root, path, line, quote, header):
    """Our own headers are found from lib/ or the root, in quotes, by their folder's name; outside lib a neighbour may
    be named alone (it may be generated)."""
    if path.startswith("tests/") or (quote == '"' and "/" not in header and not path.startswith("lib/")):
        return
    if ".." in header.split("/"):
        yield line, f'"{header}" leaves its folder; write "folder/name.h"'
        return
    ours = os.path.exists(os.path.join(root, "lib", header)) or os.path.exists(os.path.join(root, header))
    if quote == '"' and not ours:
        yield line, f'"{header}" is not in the tree; write our own as "folder/name.h", others as <name.h>'
    if quote == "<" and included_folder(header) is not None and ours:
        yield line, f'<{header}> is ours; write it in double quotes'


def check_calls(path, text):
    if not path.startswith("lib/") or path in MAY_PRINT:
        return
    for number, content in enumerate(without_comments_and_strings(text).split("\n"), 1):
        for match in FORBIDDEN_IN_LIB.finditer(content):
            name = match.group(1)
            if not (name in ALLOCATION and path in MAY_ALLOCATE):
                yield number, f"lib must not call {name}()"


def files_of(root):
    for folder, folders, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not (relative == "." and f.startswith("build")))
        for name in sorted(names):
            yield name if relative == "." else f"{relative}/{name}"


def check_names(paths):
    seen = {}
    for path in paths:
        name = os.path.basename(path)
        data = "/corpus/" in path or path.startswith(("tests/data/", "debian/", "clients/", "examples/"))
        if name in SHARED_NAMES or data:
            continue
        if name in seen:
            yield path, 1, f"the name stands already for {seen[name]}"
        seen.setdefault(name, path)


def check_file(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    for number, content in enumerate(text.split("\n"), 1):
        match = INCLUDE.match(content)
        if match:
            quote, header = match.groups()
            yield from check_rank(path, number, header)
            yield from check_home(path, number, header)
            yield from check_quotes(root, path, number, quote, header)
    yield from check_calls(path, text)


def check(root):
    """All findings, as (path, line, message)."""
    paths = list(files_of(root))
    found = list(check_names(paths))
    for path in paths:
        if path.endswith((".c", ".h")) and path.split("/")[0] in CODE_FOLDERS:
            found += [(path, line, message) for line, message in check_file(root, path)]
    return found


# A tree of files, and what must be found: nothing, or (path, line, part of the message).
CASES = [
    ({"lib/base/a.h": "", "lib/tree/b.c": '#include "base/a.h"\n#include <stdio.h>\n'}, None),
    ({"lib/base/a.c": '\n#include "tree/b.h"\n', "lib/tree/b.h": ""}, ("lib/base/a.c", 2, "higher rank")),
    ({"lib/tree/a.c": '#include "wire/b.h"\n', "lib/wire/b.h": ""}, ("lib/tree/a.c", 1, "sibling")),
    ({"tools/a.c": '#include "daemon/b.h"\n', "daemon/b.h": ""}, ("tools/a.c", 1, "sibling")),
    ({"lib/online/a.c": '#include "daemon/b.h"\n', "daemon/b.h": ""}, ("lib/online/a.c", 1, "higher rank")),
    ({"daemon/models/a.c": '#include "daemon/serve/b.h"\n', "daemon/serve/b.h": ""}, ("daemon/models/a.c", 1, "higher rank 4")),
    ({"daemon/serve/a.c": '#include "daemon/refit/b.h"\n', "daemon/refit/b.h": ""}, ("daemon/serve/a.c", 1, "sibling")),
    ({"daemon/report/a.c": '#include "daemon/c.h"\n', "daemon/c.h": ""}, ("daemon/report/a.c", 1, "higher rank 7")),
    ({"daemon/a.c": '#include "daemon/report/b.h"\n', "daemon/report/b.h": '#include "base/c.h"\n', "lib/base/c.h": ""}, None),
    ({"lib/table/a.c": "#include <zlib.h>\n"}, ("lib/table/a.c", 1, "zlib.h")),
    ({"lib/base/stream_x.c": "#include <zstd.h>\n"}, None),
    ({"lib/wire/a.c": "#include <jansson.h>\n"}, ("lib/wire/a.c", 1, "jansson.h")),
    ({"lib/train/a.c": "#include <cblas.h>\n"}, ("lib/train/a.c", 1, "cblas.h")),
    ({"lib/online/a.c": '#include "train/b.h"\n', "lib/train/b.h": ""}, ("lib/online/a.c", 1, "train/b.h")),
    ({"daemon/refit/worker.c": '#include "graph/b.h"\n', "lib/graph/b.h": ""}, ("daemon/refit/worker.c", 1, "graph/b.h")),
    ({"daemon/a.c": '#include "refit/refit_run.h"\n', "lib/refit/refit_run.h": ""}, ("daemon/a.c", 1, "refit_run.h")),
    ({"daemon/refit/worker.c": '#include "refit/refit_run.h"\n', "lib/refit/refit_run.h": ""}, None),
    ({"daemon/a.c": '#include "refit/refit_rule.h"\n', "lib/refit/refit_rule.h": ""}, None),
    ({"daemon/a.c": "#include <msgpack.h>\n"}, ("daemon/a.c", 1, "msgpack.h")),
    ({"daemon/a.c": "#include <zmq.h>\n", "clients/c/client_x.c": "#include <zmq.h>\n"}, None),
    ({"tools/bench_x.c": "#include <zmq.h>\n"}, ("tools/bench_x.c", 1, "zmq.h")),
    ({"daemon/loop.c": "#include <syslog.h>\n"}, ("daemon/loop.c", 1, "syslog.h")),
    ({"daemon/loop.c": "#include <confuse.h>\n"}, ("daemon/loop.c", 1, "confuse.h")),
    ({"daemon/loop.c": "#include <microhttpd.h>\n"}, ("daemon/loop.c", 1, "microhttpd.h")),
    ({"daemon/loop.c": "#include <systemd/sd-daemon.h>\n"}, ("daemon/loop.c", 1, "systemd/sd-daemon.h")),
    ({"lib/online/a.c": "#include <pthread.h>\n"}, ("lib/online/a.c", 1, "pthread.h")),
    ({"lib/linalg/a.c": "#include <omp.h>\n"}, ("lib/linalg/a.c", 1, "no file")),
    ({"lib/base/a.c": '#include "b.h"\n', "lib/base/b.h": ""}, ("lib/base/a.c", 1, "not in the tree")),
    ({"tools/a.c": '#include "../daemon/b.h"\n', "daemon/b.h": ""}, ("tools/a.c", 1, "leaves its folder")),
    ({"tools/a.c": '#include "b.h"\n', "tools/b.h": ""}, None),
    ({"lib/tree/a.c": "#include <base/b.h>\n", "lib/base/b.h": ""}, ("lib/tree/a.c", 1, "double quotes")),
    ({"lib/tree/a.c": "\n\n\tprintf(x);\n"}, ("lib/tree/a.c", 3, "printf()")),
    ({"lib/tree/a.c": "int x = time (NULL);\n"}, ("lib/tree/a.c", 1, "time()")),
    ({"lib/tree/a.c": "p = malloc(3);\n"}, ("lib/tree/a.c", 1, "malloc()")),
    ({"lib/tree/a.c": "/* printf(x) */ f(\"exit(1)\"); runtime(x); o->time(x); snprintf(x);\n"}, None),
    ({"lib/base/assert.c": "abort();\n", "lib/base/mem.c": "malloc(1);\n", "daemon/a.c": "exit(1);\n"}, None),
    ({"lib/tree/a.c": "", "tools/a.c": ""}, ("tools/a.c", 1, "stands already")),
    ({"lib/CMakeLists.txt": "", "tools/CMakeLists.txt": ""}, None),
]


if __name__ == "__main__":
    sys.exit(judge.run(__doc__, check, lambda: judge.self_test(check, CASES), sys.argv[1:]))
