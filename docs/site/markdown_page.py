"""Our Markdown as HTML: Debian's python3-markdown, for which lists and blocks of code inside them are written its way.

GitHub's Markdown takes what stands below an item's text as the item's; python3-markdown wants four columns a level, an
empty line before a list, and no fence inside it. Anchors of headings are named as GitHub names them.
"""

import html
import re

import markdown
from markdown.extensions.toc import TocExtension

ITEM = re.compile(r"( *)([-*]|\d+\.) +(.*)")
BAR = "\ue000"  # in cells of tables, which are divided by bars
FENCE = re.compile(r"( *)```(\w*)")


def anchor(text, separator="-"):
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


class _Lists:
    """Writes lines anew; `levels` are the columns of the text of the items that a line is inside of."""

    def __init__(self):
        self.out, self.levels = [], []

    def leave(self, column):
        while self.levels and column < self.levels[-1]:
            self.levels.pop()

    def item(self, match):
        if not self.levels and self.out and self.out[-1].strip():
            self.out.append("")
        self.leave(len(match[1]))
        self.out.append("    " * len(self.levels) + f"{match[2]} {match[3]}")
        self.levels.append(match.start(3))

    def code(self, indent, language, lines):
        lines = [line.removeprefix(indent) for line in lines]
        self.leave(len(indent))
        if self.levels:
            self.out += ["", *("    " * (len(self.levels) + 1) + line for line in lines), ""]
        else:
            self.out += ["", "```" + language, *lines, "```", ""]

    def text(self, line):
        column = len(line) - len(line.lstrip())
        if line.strip() and (not self.out or not self.out[-1].strip()):
            self.leave(column)
        if self.levels and line.strip():
            follows = self.out[-1].strip() != ""  # a line of the paragraph above
            line = line.strip() if follows else "    " * len(self.levels) + line[min(column, self.levels[-1]):]
        self.out.append(line)


def written(text):
    """The text as python3-markdown reads it."""
    lists, lines = _Lists(), iter(text.splitlines())
    for line in lines:
        fence, item = FENCE.match(line), ITEM.match(line)
        if fence:
            inner = []
            for below in lines:
                if below.strip() == "```":
                    break
                inner.append(below)
            lists.code(fence[1], fence[2], inner)
        elif item and (lists.levels or len(item[1]) < 4):
            lists.item(item)
        elif line.startswith("|"):
            lists.text(line.replace("\\|", BAR))
        else:
            lists.text(line)
    return "\n".join(lists.out) + "\n"


def flat(tokens):
    """[(level, anchor, text)] of the extension's headings."""
    return [one for token in tokens
            for one in [(token["level"], token["id"], html.unescape(token["name"])), *flat(token["children"])]]


def _table(match):
    """A table that scrolls; long names in it may be divided behind an underscore."""
    divided = re.sub(r"<code>[^<]*</code>", lambda code: code[0].replace("_", "_<wbr>"), match[1])
    return f'<div class="wide" tabindex="0"><table>{divided}</table></div>'


def to_html(text):
    """(HTML, [(level, anchor, text)] of its headings)"""
    maker = markdown.Markdown(extensions=["tables", "fenced_code", "sane_lists", TocExtension(slugify=anchor)])
    made = re.sub(r"<(img|br|hr)\b([^>]*?) ?/>", r"<\1\2>", maker.convert(written(text)).replace(BAR, "|"))
    made = re.sub(r"<table>(.*?)</table>", _table, made, flags=re.S)
    return made.replace("<pre>", '<pre tabindex="0">'), flat(maker.toc_tokens)


# ---- manual pages


def _inline(text):
    """scdoc's *bold* and _underlined_."""
    out = []
    for number, part in enumerate(re.split(r"(?<!\\)\*(.+?)(?<!\\)\*", text.replace("++", ""))):
        plain = html.escape(part, quote=False)
        slanted = re.sub(r"(?<![\w\\])_(.+?)(?<!\\)_(?!\w)", r"<i>\1</i>", plain)
        out.append(re.sub(r"\\(.)", r"\1", f"<code>{plain}</code>" if number % 2 else slanted))
    return "".join(out)


def _block(lines):
    """Lines without an empty one between: text at the left, and below it what a tab indents."""
    left = " ".join(line for line in lines if not line.startswith("\t"))
    inner = " ".join(line.strip() for line in lines if line.startswith("\t"))
    if not inner:
        return f"<p>{_inline(left)}</p>"
    return f"<dl>{f'<dt>{_inline(left)}</dt>' if left else ''}<dd>{_inline(inner)}</dd></dl>"


def manual_to_html(source):
    """The same of an scdoc source: its headings, paragraphs, entries and code."""
    first, *lines = source.splitlines()
    name = re.match(r"\S+?\(\d\)", first)[0]
    out, heads, waiting, lines = [f"<h1>{name}</h1>"], [(1, anchor(name), name)], [], iter([*lines, ""])
    for line in lines:
        if line.startswith("#") or line == "```" or not line.strip():
            out += [_block(waiting)] if waiting else []
            waiting = []
        if line.startswith("#"):
            level, words = len(line) - len(line.lstrip("#")) + 1, line.lstrip("# ")
            words = words.capitalize() if words.isupper() else words
            same = sum(text == words for _, _, text in heads)
            heads.append((level, anchor(words) + (f"-{same}" if same else ""), words))
            out.append(f'<h{level} id="{heads[-1][1]}">{html.escape(words)}</h{level}>')
        elif line == "```":
            code = "\n".join(iter(lambda: next(lines), "```")).replace("\\\\", "\\")
            out.append(f'<pre tabindex="0"><code>{html.escape(code, quote=False)}\n</code></pre>')
        elif line.strip():
            waiting.append(line)
    return "\n".join(out) + "\n", heads
