#!/usr/bin/env python3
"""The map of the source: draws its pictures, and checks that what the map names exists.

    tests/map.py ROOT              prints FILE:LINE: what is wrong; exit status 1 if anything is
    tests/map.py ROOT --draw       writes docs/pictures/*.svg anew
    tests/map.py --self-test       shows on a made-up tree that every check catches its fault

rooms.svg and rooms-daemon.svg follow from the include lines alone: a box for each folder of a rank, an arrow for each
folder that another one includes, unless a longer way of arrows leads there. way-NAME.svg is drawn from a block
```way NAME of docs/architecture.md, a line for each step: FILE FUNCTION WORDS, indented below the step that leads to
it; the source must have that function in that file, and the body of the step above must name it. Checked are the
pictures, the steps, in the documents of the map every `path/of/a.file`, every folder and every cop_name, in all
documents the links and the length of lines (tables and code aside), in all files every path of a document below docs,
and that the index links to every document.
"""

import html
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import judge  # noqa: E402
import layers  # noqa: E402

INDEX = "docs/README.md"
MAP = ("CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md")
WAYS = "docs/architecture.md"
DOCUMENT = re.compile(r"(?<![\w/.-])docs/[\w/.-]+\.(?:md|scd)\b")
NAMERS = (".md", ".scd", ".c", ".h", ".py", ".conf", ".txt", "Makefile")
WIDTH, BOX, HIGH, GAP = 960, 116, 34, 76
STYLE = """<style>
  text { font: 14px sans-serif; fill: #222; text-anchor: middle; dominant-baseline: central }
  .rank { text-anchor: start; fill: #777; font-size: 12px }
  rect { fill: #eef3ea; stroke: #5a7d4a; rx: 4px }
  line { stroke: #8a8a8a; stroke-width: 1.2; marker-end: url(#tip) }
</style>"""


def includes(root, folder_of):
    """{(folder, folder it includes): number of include lines}."""
    found = {}
    for path in layers.files_of(root):
        mine = folder_of(path)
        if mine is None or not path.endswith((".c", ".h")):
            continue
        for line in Path(root, path).read_text(encoding="utf-8").split("\n"):
            match = layers.INCLUDE.match(line)
            header = match.group(2) if match else ""
            beside = f"{os.path.dirname(path)}/{header}"
            target = next((p for p in (beside, f"lib/{header}", header) if match and os.path.exists(os.path.join(root, p))), None)
            theirs = folder_of(target) if target else None
            if theirs is not None and theirs != mine:
                found[mine, theirs] = found.get((mine, theirs), 0) + 1
    return found


def shortened(edges):
    """The edges that no longer way of edges stands for."""
    def reach(start, without):
        seen, todo = set(), [start]
        while todo:
            at = todo.pop()
            for a, b in edges:
                if a == at and (a, b) != without and b not in seen:
                    seen.add(b)
                    todo.append(b)
        return seen
    return {edge for edge in edges if edge[1] not in reach(edge[0], edge)}


def svg(rows, edges):
    """rows: [(label, [box ...])], the first on top."""
    height = len(rows) * (HIGH + GAP) - GAP + 40
    at, out = {}, [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">', STYLE,
                   '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
                   '<path d="M0 0L8 4L0 8z" fill="#8a8a8a"/></marker></defs>']
    for row, (_, boxes) in enumerate(rows):
        for i, box in enumerate(boxes):
            at[box] = (60 + (WIDTH - 60) * (i + 0.5) / len(boxes), 20 + row * (HIGH + GAP))
    for a, b in sorted(edges):
        (x1, y1), (x2, y2) = at[a], at[b]
        down = y1 <= y2
        out.append(f'<line x1="{x1:.0f}" y1="{y1 + HIGH if down else y1:.0f}" x2="{x2:.0f}" y2="{y2 if down else y2 + HIGH:.0f}"/>')
    for row, (label, boxes) in enumerate(rows):
        y = 20 + row * (HIGH + GAP)
        out.append(f'<text class="rank" x="4" y="{y + HIGH / 2:.0f}">{label}</text>')
        for box in boxes:
            x = at[box][0]
            out.append(f'<rect x="{x - BOX / 2:.0f}" y="{y}" width="{BOX}" height="{HIGH}"/>')
            out.append(f'<text x="{x:.0f}" y="{y + HIGH / 2:.0f}">{box}</text>')
    return "\n".join([*out, "</svg>", ""])


def ways(root):
    """{name: [(line, depth, file, function, words)]} of the blocks of the map."""
    found, name = {}, None
    path = Path(root, WAYS)
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n") if path.exists() else [], 1):
        if line.startswith("```"):
            name = line[7:].strip() if line.startswith("```way ") else None
            if name:
                found[name] = []
        elif name:
            file, function, *words = line.split()
            found[name].append((number, (len(line) - len(line.lstrip())) // 2, file, function, " ".join(words)))
    return found


def body_of(root, file, function):
    """The text of a function, from its name to the brace in the first column; None: it is not there."""
    path = Path(root, file)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    match = re.search(r"^[A-Za-z][^\n;=]*\b" + re.escape(function) + r"\([^;{]*\)\n\{\n(.*?)^\}", text, re.S | re.M)
    return match.group(1) if match else None


def check_ways(root):
    for steps in ways(root).values():
        above = []
        for number, depth, file, function, _ in steps:
            body = body_of(root, file, function)
            if body is None:
                yield WAYS, number, f"{file} has no function {function}"
            elif depth > 0 and not re.search(r"\b" + function + r"\b", above[depth - 1]):
                yield WAYS, number, f"the step above does not name {function}"
            above[depth:] = [body or ""]


def way_svg(steps):
    """One row for each step, indented by its depth, with a line to the step that leads to it."""
    row, step = 30, 26
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {row * len(steps) + 10}">',
           STYLE.replace("middle;", "start;")]
    parents = []
    for i, (_, depth, file, function, words) in enumerate(steps):
        x, y = 8 + depth * step, 6 + i * row
        if depth > 0:
            px, py = parents[depth - 1]
            out.append(f'<path d="M{px + 10} {py + 24}V{y + 12}H{x}" fill="none" stroke="#8a8a8a"/>')
        parents[depth:] = [(x, y)]
        width = 16 + 8.2 * len(function)
        out.append(f'<rect x="{x}" y="{y}" width="{width:.0f}" height="24"><title>{file}</title></rect>')
        out.append(f'<text x="{x + 8}" y="{y + 12}">{function}</text>')
        out.append(f'<text class="rank" x="{x + width + 8:.0f}" y="{y + 12}">{html.escape(words)}</text>')
    return "\n".join([*out, "</svg>", ""])


def rooms_svg(root, ranks):
    """The folders of these ranks that are there."""
    rows = [(f"rank {rank}", [f for f, r in ranks.items() if r == rank and os.path.isdir(os.path.join(root, f))])
            for rank in sorted(set(ranks.values()), reverse=True)]
    return svg([row for row in rows if row[1]], shortened(set(includes(root, lambda path: layers.folder_of(path, ranks)))))


def pictures(root):
    """{path: text} of every picture."""
    return {"docs/pictures/rooms.svg": rooms_svg(root, layers.RANKS),
            "docs/pictures/rooms-daemon.svg": rooms_svg(root, layers.DAEMON_RANKS),
            **{f"docs/pictures/way-{name}.svg": way_svg(steps) for name, steps in ways(root).items()}}


def symbols(root):
    found = set()
    for path in layers.files_of(root):
        if path.endswith((".c", ".h")):
            found.update(re.findall(r"\bcop_\w+", Path(root, path).read_text(encoding="utf-8", errors="replace")))
    return found


def check_document(root, path, known):
    for number, line in enumerate(Path(root, path).read_text(encoding="utf-8").split("\n"), 1):
        for word in re.findall(r"`([^`]+)`", line):
            if re.fullmatch(r"(lib|daemon|tools|tests|docs|conf)(/[\w.*-]+)*/?", word) and not list(Path(root).glob(word)):
                yield path, number, f"{word} does not exist"
            for name in re.findall(r"\bcop_\w+", word):
                if name not in known and not (name.endswith("_") and any(k.startswith(name) for k in known)):
                    yield path, number, f"{name} does not exist"


def anchors(text):
    """What a link may name behind #: the headings, as they are made into names by those who show documents."""
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


def check_prose(root, path):
    """Lines and links of one document."""
    code = False
    for number, line in enumerate(Path(root, path).read_text(encoding="utf-8").split("\n"), 1):
        code = code != line.startswith("```")
        if code or line.startswith(("    ", "\t")):
            continue
        if len(line) > 120 and not line.startswith("|"):
            yield path, number, "is longer than 120 characters"
        for link in re.findall(r"\]\(([^)\s]+)\)", line):
            file, _, anchor = link.partition("#")
            target = Path(root, os.path.dirname(path), file) if file else Path(root, path)
            if re.match(r"\w+:", link):
                continue
            if not target.exists():
                yield path, number, f"links to {link}, which is not there"
            elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
                yield path, number, f"links to {link}, where no such heading is"


def check_paths(root, path):
    """Documents that a comment, a help text or a document names."""
    for number, line in enumerate(Path(root, path).read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        for name in DOCUMENT.findall(line):
            if not Path(root, name).exists():
                yield path, number, f"names {name}, which is not there"


def check_index(root):
    """Every document below docs is linked from the index."""
    path = Path(root, INDEX)
    listed = re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")) if path.exists() else []
    for document in sorted(Path(root, "docs").rglob("*.md")):
        name = document.relative_to(Path(root, "docs")).as_posix()
        if document != path and name not in listed:
            yield INDEX, 1, f"does not link to {name}"


def check(root):
    found, known = [*check_index(root)], symbols(root)
    for path in layers.files_of(root):
        if path.endswith(NAMERS):
            found += check_paths(root, path)
        if path.endswith(".md") and not path.startswith("tests/"):
            found += check_prose(root, path)
    for path in MAP:
        if os.path.exists(os.path.join(root, path)):
            found += check_document(root, path, known)
        else:
            found.append((path, 1, "does not exist"))
    found += check_ways(root)
    for path, text in pictures(root).items():
        there = Path(root, path)
        if not there.exists() or there.read_text(encoding="utf-8") != text:
            found.append((path, 1, "is not what the source gives: tests/map.py . --draw"))
    return found


def self_test():
    with tempfile.TemporaryDirectory() as root:
        files = {"lib/base/a.h": "void cop_a(void);\n", "lib/tree/b.c": '#include "base/a.h"\n', "daemon/serve/c.c": '#include "tree/d.h"\n',
                 "lib/tree/d.h": "", "daemon/coppiced.c": '#include "daemon/serve/e.h"\n#include "base/a.h"\n', "daemon/serve/e.h": "",
                 INDEX: "[a](architecture.md) [g](glossary.md)\n", **{path: "`cop_a` of `lib/base/a.h`\n" for path in MAP}}
        for path, text in files.items():
            Path(root, path).parent.mkdir(parents=True, exist_ok=True)
            Path(root, path).write_text(text, encoding="utf-8")
        assert includes(root, layers.folder_of) == {("lib/tree", "lib/base"): 1, ("daemon", "lib/tree"): 1, ("daemon", "lib/base"): 1}
        assert shortened(set(includes(root, layers.folder_of))) == {("lib/tree", "lib/base"), ("daemon", "lib/tree")}, "a longer way"
        assert [what[0] for what in check(root)] == ["docs/pictures/rooms.svg", "docs/pictures/rooms-daemon.svg"], "no picture yet"
        assert ">daemon/serve<" in rooms_svg(root, layers.DAEMON_RANKS)
        draw(root)
        assert check(root) == []
        Path(root, MAP[1]).write_text("# A b, c!\n`cop_b`, `lib/base/z.h` and `lib/ba*`\n" + "x" * 121 + "\n| " + "y" * 121
                                      + "\n[x](#a-b-c) [x](#a-b) [x](glossary.md) [x](nothing.md)\n", encoding="utf-8")
        assert sorted(what[2] for what in check(root)) == [
            "cop_b does not exist", "is longer than 120 characters", "lib/base/z.h does not exist",
            "links to #a-b, where no such heading is", "links to nothing.md, which is not there"]
        Path(root, MAP[1]).write_text("", encoding="utf-8")
        Path(root, "docs", "unlisted.md").write_text("x\n", encoding="utf-8")
        assert check(root) == [(INDEX, 1, "does not link to unlisted.md")]
        Path(root, "docs", "unlisted.md").unlink()
        Path(root, "lib/base/a.h").write_text(f"void cop_a(void); /* docs/glossary.md, {'docs'}/no/where.md */\n")
        assert [what[2] for what in check(root)] == [f"names {'docs'}/no/where.md, which is not there"]
        Path(root, "lib/base/a.h").write_text("void cop_a(void);\n")
        Path(root, "lib/base/f.c").write_text("static int f(int x)\n{\n\treturn g(x);\n}\n\nint g(int x)\n{\n\treturn x;\n}\n")
        Path(root, MAP[1]).write_text("```way w\nlib/base/f.c f begins\n  lib/base/f.c g ends\n```\n", encoding="utf-8")
        assert [what[0] for what in check(root)] == ["docs/pictures/way-w.svg"], "a way without a picture"
        draw(root)
        assert check(root) == []
        Path(root, MAP[1]).write_text("```way w\nlib/base/f.c g ends\n  lib/base/f.c f x\n  lib/base/f.c h x\n```\n")
        assert [what[2] for what in check(root)][:2] == ["the step above does not name f", "lib/base/f.c has no function h"]
        Path(root, MAP[1]).write_text("", encoding="utf-8")
        Path(root, "lib/tree/b.c").write_text("", encoding="utf-8")
        assert [what[0] for what in check(root)] == ["docs/pictures/rooms.svg"], "an arrow less"
    print("self-test: every fault was found")
    return 0


def draw(root):
    for path, text in pictures(root).items():
        Path(root, path).parent.mkdir(parents=True, exist_ok=True)
        Path(root, path).write_text(text, encoding="utf-8")


def main(arguments):
    if len(arguments) == 2 and arguments[1] == "--draw":
        draw(arguments[0])
        return 0
    return judge.run(__doc__, check, self_test, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
