"""Our Markdown as scdoc: headings, paragraphs, lists, code, tables, links.

Links become their text, with the address behind it where they lead out of the documents. A table that is too wide for
a terminal becomes a list: what its first column holds, and below it the others.
"""

import re

WIDEST = 72  # of a table's columns together
SPECIAL = re.compile(r"([\\*_`~<>#])")
PIECES = re.compile(r"``(.+?)``|`([^`]+)`|!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)|\*\*(.+?)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])")


def escaped(text):
    return SPECIAL.sub(r"\\\1", text)


def inline(text):
    """One line or paragraph of Markdown as scdoc."""
    out, at = [], 0
    for match in PIECES.finditer(text):
        out.append(escaped(text[at:match.start()]))
        code, label, address, bold, slanted = match[1] or match[2], match[3], match[4], match[5], match[6]
        if code:
            out.append(f"*{escaped(code)}*")
        elif address:
            away = re.match(r"https?:", address) and address != label
            out.append(inline(label) + (f" ({escaped(address)})" if away else ""))
        elif bold:
            out.append(f"*{escaped(bold.replace('`', ''))}*")
        else:
            out.append(f"_{escaped(slanted.replace('`', ''))}_")
        at = match.end()
    out.append(escaped(text[at:]))
    return "".join(out)


def block(lines, indent=""):
    """Lines of code. scdoc reads \\ in them."""
    return [indent + "```", *(indent + line.replace("\\", "\\\\").replace("```", "\\```").replace("\t", "    ") for line in lines), indent + "```"]


def cells(line):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def width(cell):
    return len(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell).replace("`", ""))


def table(lines):
    head, rows = cells(lines[0]), [cells(line) for line in lines[2:]]
    if sum(max(width(row[k]) for row in [head, *rows]) + 2 for k in range(len(head))) <= WIDEST:
        out = []
        for number, row in enumerate([head, *rows] if any(head) else rows):
            signs = ["[[" if number == 0 else "|["] + [":["] * (len(row) - 1)
            texts = [f"*{escaped(cell.replace('`', ''))}*" if number == 0 and any(head) else inline(cell) for cell in row]
            out += [f"{sign} {text}".rstrip() for sign, text in zip(signs, texts)]
        return [*out, ""]
    out = []
    for row in rows:
        others = [f"{inline(name)}: {inline(cell)}" if name and len(row) > 2 else inline(cell)
                  for name, cell in zip(head[1:], row[1:]) if cell]
        first = inline(row[0])
        out += [first if first.startswith("*") else f"*{first}*" if first else "", *(["\t" + "; ".join(others)] if others else []), ""]
    return out


def paragraph(text, indent=""):
    """A line that would begin something else begins with an escape."""
    text = inline(text)
    return indent + ("\\" + text if re.match(r"[-.|\[\]:;]", text) else text)


def taken(lines, at, belongs):
    """[lines from there on that belong], and the place behind."""
    end = at
    while end < len(lines) and belongs(lines[end]):
        end += 1
    return lines[at:end], end


def is_text(line):
    return line.strip() != "" and not re.match(r"\s*(?:[-*] |\d+\. |```|\|)|#|<", line)


def listed(lines, at):
    """A list, with those inside it, and what is indented below an item."""
    out = []
    while at < len(lines):
        match = re.match(r"( *)([-*]|\d+\.) +(.*)", lines[at])
        if match:
            below, end = taken(lines, at + 1, lambda line: line.startswith(match[1] + "  ") and is_text(line))
            tabs = "\t" * (len(match[1]) // 2)
            text = inline(" ".join([match[3], *(line.strip() for line in below)]))
            out.append(f"{tabs}{'.' if match[2][0].isdigit() else '-'} {text}")
            at = end
        elif lines[at].strip() == "" and at + 1 < len(lines) and re.match(r" *(?:[-*]|\d+\.) ", lines[at + 1]):
            at += 1
        else:
            return [*out, ""], at
    return [*out, ""], at


def convert(text, deeper=0):
    """All of a document. Headings ## and what is below become # and ##; `deeper` makes all of them ##."""
    lines, out, at = text.splitlines(), [], 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("#"):
            marks, title = re.match(r"(#+) (.*)", line).groups()
            level = "##" if deeper or len(marks) > 2 else "#"
            title = re.sub(r"[`*]", "", title)
            out += ["", f"{level} {title.upper() if level == '#' else title}", ""]
            at += 1
        elif re.match(r"\s*```", line):
            indent = re.match(r"\s*", line)[0]
            inner, end = taken(lines, at + 1, lambda one: one.strip() != "```")
            out += [*block([one.removeprefix(indent) for one in inner]), ""]
            at = end + 1
        elif line.startswith("    ") and (at == 0 or lines[at - 1].strip() == ""):
            inner, at = taken(lines, at, lambda one: one.startswith("    ") or one.strip() == "")
            while not inner[-1].strip():
                inner.pop()
            out += [*block([one[4:] for one in inner]), ""]
        elif line.startswith("|"):
            inner, at = taken(lines, at, lambda one: one.startswith("|"))
            out += table(inner)
        elif re.match(r"[-*] |\d+\. ", line):
            inner, at = listed(lines, at)
            out += inner
        elif line.startswith("<") or not line.strip():
            at += 1
        else:
            inner, at = taken(lines, at, is_text)
            if not inner:  # indented below a list
                inner, at = [line], at + 1
            out += [paragraph(" ".join(one.strip() for one in inner)), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n") + "\n"
