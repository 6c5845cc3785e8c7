#!/usr/bin/env python3
"""Checks comments of C sources against the tree, and the names of public functions.

    tests/comments.py ROOT          prints FILE:LINE: what is wrong; exit status 1 if anything is
    tests/comments.py --self-test   shows on made-up trees that every rule catches its violation

- A file that a comment names (x/y.h, y.c, notes/z.md, tests/z) is in the tree; so is a symbol cop_x or COP_X (a name
  that ends in _ or in _* stands for all that begin so), a command `coppice x`, and an option --x.
- A source of lib, daemon and tools opens with its invariant, algorithm or rule; a header opens with what it is.
- A function that a header declares is named cop_<stem of the header>_..., unless the header ends in _private.h;
  static functions may also have names without cop_.
- No line of a source is longer than 120 columns, with tabs of eight.

tests/comments.allowed holds what broke a rule when the rule came, one line each. An entry that breaks nothing any
more is a finding too, so entries are only ever taken away.
"""

import os
import re
import sys

import judge

CODE_FOLDERS = ("lib", "daemon", "tools", "tests", "include")
OPENED_FOLDERS = ("lib", "daemon", "tools")
SKIPPED = {".git", "__pycache__", ".pytest_cache", "node_modules"}
ALLOWED = "tests/comments.allowed"
WIDTH = 120
MIN_WORDS = 8  # of an opening; a file's name alone has fewer

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
FILE_NAME = re.compile(r"(?<![\w./<*-])((?:[\w-]+/)*[\w-]+(?:\.(?:c|h|py|md)|\.allowed))(?![\w*]|\.\w)")
FOLDER_PATH = re.compile(r"(?<![\w./<-])((?:lib|daemon|tests|docs|conf|systemd|examples|clients)/[\w./-]*\w)")
SYMBOL = re.compile(r"(?<![\w-])((?:cop|COP)_\w*)(\*?)")
COMMAND = re.compile(r"[`\"']coppice ([a-z]\w*)")
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)(?![\w*<])")
SUBCOMMAND = re.compile(r'"(\w+)"')
IDENTIFIER = re.compile(r"(?:cop|COP)_\w+")
DECLARED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
NO_FUNCTION = {"__attribute__", "_Static_assert", "static_assert", "_Alignas", "alignas", "sizeof", "defined"}


def files_of(root):
    for folder, folders, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not (relative == "." and f.startswith("build")))
        for name in sorted(names):
            yield name if relative == "." else f"{relative}/{name}"


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as stream:
        return stream.read()


def is_comment(token):
    return token.startswith(("/*", "//"))


def comments_of(text):
    """(first line, text) of every comment."""
    for match in TOKEN.finditer(text):
        if is_comment(match.group(0)):
            yield text.count("\n", 0, match.start()) + 1, match.group(0)


def without_comments(text):
    def blank(match):
        token = match.group(0)
        return re.sub(r"[^\n]", " ", token) if is_comment(token) else token
    return TOKEN.sub(blank, text)


def without_strings(text):
    return TOKEN.sub(lambda match: '""' if match.group(0)[0] in "\"'" else match.group(0), text)


class Tree:
    """What comments may name: the files, and the words of the code."""

    def __init__(self, root):
        self.root = root
        self.paths = list(files_of(root))
        self.sources = [p for p in self.paths if p.endswith((".c", ".h")) and p.split("/")[0] in CODE_FOLDERS]
        self.texts = {path: read(root, path) for path in self.sources}
        self.endings = set()
        for path in self.paths:
            parts = path.split("/")
            for first in range(len(parts)):
                for last in range(first + 1, len(parts) + 1):
                    self.endings.add("/".join(parts[first:last]))
                    if last == len(parts):
                        self.endings.add("/".join(parts[first:last]).rsplit(".", 1)[0])
        self.included = set()
        self.symbols = set()
        options = []
        for path in self.paths:
            if path in self.texts:
                code = without_comments(self.texts[path])
                self.symbols.update(IDENTIFIER.findall(code))
                self.included.update(re.findall(r'#\s*include\s*[<"]([^>"]+)', code))
                options.append(code)
            elif path.endswith((".py", ".cmake", ".in", ".sh")) or os.path.basename(path) in ("CMakeLists.txt", "Makefile"):
                text = read(root, path)
                self.symbols.update(IDENTIFIER.findall(text))
                options.append(text)
        self.code = "\n".join(options)
        self.subcommands = set()
        for path, text in self.texts.items():
            if path.startswith("tools/") and path.endswith("coppice.c"):
                self.subcommands.update(SUBCOMMAND.findall(without_comments(text)))

    def has_symbol(self, name, star):
        if star or name.endswith("_"):
            return any(symbol.startswith(name) for symbol in self.symbols)
        return name in self.symbols

    def has_option(self, name):
        return any(form in self.code for form in (f'"{name}"', f"--{name}", f"'{name}'"))


def check_names(tree, path):
    """Names in comments of one file that are not in the tree: (line, message)."""
    for first, comment in comments_of(tree.texts[path]):
        for offset, line in enumerate(comment.split("\n")):
            number = first + offset
            for match in FILE_NAME.finditer(line):
                name = match.group(1)
                if name not in tree.endings and name not in tree.included:
                    yield number, f"names {name}, which is not in the tree"
            for match in FOLDER_PATH.finditer(line):
                name = match.group(1)
                if name not in tree.endings and not FILE_NAME.fullmatch(name):
                    yield number, f"names {name}, which is not in the tree"
            for name, star in SYMBOL.findall(line):
                if not tree.has_symbol(name, star):
                    yield number, f"names {name}, which no code does"
            for name in COMMAND.findall(line):
                if name not in tree.subcommands:
                    yield number, f"names the command coppice {name}, which there is not"
            for name in OPTION.findall(line):
                if not tree.has_option(name):
                    yield number, f"names the option --{name}, which no code does"


def check_opening(tree, path):
    if path.split("/")[0] not in OPENED_FOLDERS:
        return
    text = tree.texts[path].lstrip()
    match = TOKEN.match(text)
    wanted = "its invariant, algorithm or rule" if path.endswith(".c") else "what it is"
    if not match or not is_comment(match.group(0)):
        yield 1, f"does not open with {wanted}"
        return
    words = [w for w in re.findall(r"[\w'/.-]+", match.group(0)) if re.search("[A-Za-z]", w) and not FILE_NAME.match(w)]
    if len(words) < MIN_WORDS and path.endswith(".c"):
        yield 1, f"opens with {len(words)} words, which is too few for {wanted}"
    elif not words:
        yield 1, f"does not open with {wanted}"


def outer(code):
    """The code with everything inside braces left out, each pair kept as {}; preprocessor lines are dropped."""
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", "", code, flags=re.M)
    kept, depth = [], 0
    for char in code.replace('extern "C" {', ""):
        if char == "{":
            kept.append("{" if depth == 0 else "")
            depth += 1
        elif char == "}":
            depth = max(depth - 1, 0)
            kept.append("}" if depth == 0 else "")
        elif depth == 0 or char == "\n":
            kept.append(char)
    return "".join(kept)


def functions_of(header):
    """(line, name) of every function that a header declares or defines."""
    code = outer(without_strings(without_comments(header)))
    for match in re.finditer(r"[^;}]+[;}]", code):
        statement = match.group(0)
        if re.match(r"\s*(typedef|enum)\b", statement) or "=" in statement.split("(")[0]:
            continue
        for name in DECLARED.finditer(statement):
            before = statement[:name.start()].strip()
            if name.group(1) in NO_FUNCTION or name.group(1).isupper():
                continue
            unmarked = "static" in before.split() and not name.group(1).startswith("cop_")
            if before and not before.endswith("(") and not unmarked:
                yield header_line(header, name.group(1)), name.group(1)
            break


def header_line(header, name):
    match = re.search(rf"\b{name}\s*\(", without_comments(header))
    return header.count("\n", 0, match.start()) + 1 if match else 1


def check_width(tree, path):
    """Lines of a source, with tabs of eight columns."""
    for number, line in enumerate(tree.texts[path].split("\n"), 1):
        if len(line.expandtabs(8)) > WIDTH:
            yield number, f"is longer than {WIDTH} columns"


def check_prefix(tree, path):
    if path.split("/")[0] not in OPENED_FOLDERS or not path.endswith(".h") or path.endswith("_private.h"):
        return
    stem = os.path.basename(path)[:-2]
    for line, name in functions_of(tree.texts[path]):
        if name != f"cop_{stem}" and not name.startswith(f"cop_{stem}_"):
            yield line, name, f"declares {name}, which does not begin with cop_{stem}_"


def read_allowed(root):
    """{(rule, path, name): line}; a line is `opening PATH`, `prefix PATH FUNCTION` or `names PATH NAME`."""
    allowed = {}
    if os.path.exists(os.path.join(root, ALLOWED)):
        for number, line in enumerate(read(root, ALLOWED).split("\n"), 1):
            words = line.split()
            if words and not line.startswith("#"):
                allowed[tuple(words)] = number
    return allowed


def check(root):
    """All findings, as (path, line, message)."""
    tree = Tree(root)
    allowed = read_allowed(root)
    used, found = set(), []

    def judge(entry, finding):
        if entry in allowed:
            used.add(entry)
        else:
            found.append(finding)

    for path in tree.sources:
        for line, message in check_names(tree, path):
            judge(("names", path, message.split()[1].rstrip(",")), (path, line, message))
        for line, message in check_opening(tree, path):
            judge(("opening", path), (path, line, message))
        for line, message in check_width(tree, path):
            judge(("width", path), (path, line, message))
        for line, name, message in check_prefix(tree, path):
            judge(("prefix", path, name), (path, line, message))
    for entry, line in allowed.items():
        if entry not in used:
            found.append((ALLOWED, line, f"{' '.join(entry)}: breaks no rule; take the line away"))
    return found


OPENING = "/* Rows stay sorted by their key, so that a look-up halves the range. */\n"
HEADER = "/* A table. */\n"
# A tree of files, and what must be found: nothing, or (path, line, part of the message).
CASES = [
    ({"lib/base/a.c": OPENING, "lib/base/a.h": HEADER + "int cop_a_get(void);\n"}, None),
    ({"lib/base/a.h": "/* See base/b.h. */\n"}, ("lib/base/a.h", 1, "base/b.h")),
    ({"lib/base/a.h": "/* As\n * b.c has it. */\n"}, ("lib/base/a.h", 2, "b.c")),
    ({"lib/base/a.h": "/* See a.h and lib/base/a.h and lib/base/a and lib/base. */\n"}, None),
    ({"lib/base/a.h": "/* Wraps zmq.h. */\n#include <zmq.h>\n"}, None),
    ({"lib/base/a.h": "/* See notes/z.md. */\n"}, ("lib/base/a.h", 1, "notes/z.md")),
    ({"lib/base/a.h": "/* See tests/no/such. */\n"}, ("lib/base/a.h", 1, "tests/no/such")),
    ({"lib/base/a.h": "/* Calls cop_b_get. */\n"}, ("lib/base/a.h", 1, "cop_b_get")),
    ({"lib/base/a.h": "/* Calls cop_a_get. */\nint cop_a_get(void);\n"}, None),
    ({"lib/base/a.h": "/* Fails with COP_EX. */\n"}, ("lib/base/a.h", 1, "COP_EX")),
    ({"lib/base/a.h": "/* All of cop_a_*, and COP_B_. */\nint cop_a_get(void);\n#define COP_B_C 1\n"}, None),
    ({"lib/base/a.h": "/* All of cop_b_*. */\nint cop_a_get(void);\n"}, ("lib/base/a.h", 1, "cop_b_")),
    ({"lib/base/a.h": "/* Calls cop_b_get. */\n", ALLOWED: "names lib/base/a.h cop_b_get\n"}, None),
    ({"tests/unit/test_a.c": "int a; // see cop_b\n"}, ("tests/unit/test_a.c", 1, "cop_b")),
    ({"tests/unit/test_a.c": 'char *a = "cop_b and b.c";\n'}, None),
    ({"tools/coppice.c": OPENING + '/* As `coppice run` and `coppice walk` do. */ char *a = "run";\n'},
     ("tools/coppice.c", 2, "coppice walk")),
    ({"lib/base/a.h": "/* For --fast. */\n"}, ("lib/base/a.h", 1, "--fast")),
    ({"lib/base/a.h": "/* For --fast. */\n", "tools/a.py": "x = '--fast'\n"}, None),
    ({"lib/base/a.c": "int a;\n"}, ("lib/base/a.c", 1, "does not open")),
    ({"lib/base/a.c": "/* lib/base/a.c */\n"}, ("lib/base/a.c", 1, "too few")),
    ({"lib/base/a.c": "int a;\n", ALLOWED: "# why\nopening lib/base/a.c\n"}, None),
    ({"lib/base/a.c": OPENING, ALLOWED: "opening lib/base/a.c\n"}, (ALLOWED, 1, "take the line away")),
    ({"lib/base/a.h": "int cop_a_get(void);\n"}, ("lib/base/a.h", 1, "does not open")),
    ({"lib/base/a.h": HEADER + "int cop_b_get(void);\n"}, ("lib/base/a.h", 2, "cop_b_get")),
    ({"lib/base/a.h": HEADER + "static inline int twice(int x)\n{\n\treturn f(x);\n}\n"}, None),
    ({"lib/base/a.h": HEADER + "static inline int cop_two(void)\n{\n\treturn 2;\n}\n"}, ("lib/base/a.h", 2, "cop_two")),
    ({"lib/base/a.h": HEADER + "int twice(int x);\n"}, ("lib/base/a.h", 2, "twice")),
    ({"lib/base/a.h": HEADER + "typedef int (*cop_b)(int x);\nstruct c {\n\tint (*get)(void);\n};\n"}, None),
    ({"lib/base/a.h": HEADER + "/*" + " x" * 57 + " */\n\t/*" + " x" * 54 + " */\n"}, ("lib/base/a.h", 3, "longer")),
    ({"lib/base/a_private.h": HEADER + "int cop_b_get(void);\n"}, None),
    ({"lib/base/a.h": HEADER + "int cop_b_get(void);\n", ALLOWED: "prefix lib/base/a.h cop_b_get\n"}, None),
    ({"lib/base/a.h": HEADER, ALLOWED: "prefix lib/base/a.h cop_b_get\n"}, (ALLOWED, 1, "take the line away")),
]


if __name__ == "__main__":
    sys.exit(judge.run(__doc__, check, lambda: judge.self_test(check, CASES), sys.argv[1:]))
