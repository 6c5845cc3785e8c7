#!/usr/bin/env python3
"""Manual pages: the hand-written ones, one for each subcommand, one of the protocol.

    make_pages.py COPPICE SCDOC FOLDER      writes FOLDER/man1/coppice-train.1 and so on; FOLDER is emptied first

coppiced(8), coppice-lease(8), coppiced-streams(8), coppice-mpi(1) and coppice.conf(5) are docs/reference/*.scd as they stand. The page of a subcommand has its summary, usage
and options from the program's tables, the words about each from its section of coppice.1.scd (an option without an
entry there gets what --help has of it), and the examples from its section of coppice.md. coppice(1) is what is left of
coppice.1.scd, and lists the others. coppice-protocol(7) is docs/reference/protocol.md.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import markdown_scdoc
import option_tables

REFERENCE = Path(__file__).resolve().parents[1] / "reference"
KEPT = ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS", "SEE ALSO")  # in coppice(1)


def sections_of(text):
    """{title: text} of an scdoc source, in order."""
    return dict(re.findall(r"^# ([^\n]+)\n+(.*?)\n*(?=^# |\Z)", text, re.M | re.S))


def usage(line):
    """A line of usage: what is typed is bold, what stands for something underlined."""
    def word(match):
        text = markdown_scdoc.escaped(match[0])
        return f"_{text}_" if re.fullmatch(r"[A-Z][A-Z.a-z=]*", match[0]) else f"*{text}*"
    text = re.sub(r"[A-Za-z-][\w-]*(?:\.[a-z]\w*)?", word, line)
    return text.replace("* *", " ") if "--" not in text else re.sub(r"^\*(\w+)\* \*([\w-]+)\*", r"*\1 \2*", text)


def entry(option):
    """An option as the table and --help have it."""
    value = f" _{markdown_scdoc.escaped(option.value)}_" if option.value else ""
    text = markdown_scdoc.inline(option.text[:1].upper() + option.text[1:])
    return f"*{markdown_scdoc.escaped(option.name)}*{value}\n\t{text or 'No text.'}"


def divided(text):
    """(what is before the first entry, entries of verbs, the rest) of a subcommand's section."""
    first = re.search(r"^(?:\*.*\n\t|## )", text, re.M)
    option = re.search(r"^(?:\*-.*\n\t|## )", text, re.M)
    before = text[:first.start()] if first else text
    verbs = text[first.start():option.start()] if first and option and first.start() < option.start() else ""
    return before.strip(), verbs.strip(), text[option.start():].strip() if option else ""


def examples(command):
    """What coppice.md has of the subcommand below its usage."""
    manual = (REFERENCE / "coppice.md").read_text()
    text = re.search(rf"^## {command.name}\n(.*?)(?=^## |\Z)", manual, re.M | re.S)[1]
    return markdown_scdoc.convert(re.sub(r"^```text\n.*?^```\n", "", text, count=1, flags=re.M | re.S), deeper=1).strip()


def page_of(command, commands, source):
    before, verbs, options = divided(source[command.name.upper()])
    has = set(re.findall(r"^\*.*", options, re.M))
    missing = [one for one in command.options if not any(re.search(rf"\*{re.escape(one.name)}\*", line) for line in has)]
    options = "\n\n".join([*([options] if options else []), *map(entry, missing)])
    shown = examples(command)
    others = [one.name for one in commands if one is not command and re.search(rf"coppice {one.name}\b|\*{one.name}\*\(", shown + options + before)]
    also = ["*coppice*(1)", *(f"*coppice-{name}*(1)" for name in sorted(others)), "*coppiced*(8)"]
    parts = [("NAME", f"coppice-{command.name} - {command.summary}"), ("SYNOPSIS", "\n\n".join(map(usage, command.usage))),
             ("DESCRIPTION", before), ("VERBS", verbs), ("OPTIONS", options), ("NOTES", shown),
             ("EXIT STATUS", source["EXIT STATUS"]), ("SEE ALSO", ", ".join(also))]
    return f"coppice-{command.name}(1)\n\n" + "\n\n".join(f"# {title}\n\n{text}" for title, text in parts if text) + "\n"


def page_of_program(commands, source):
    summaries = [f"*coppice-{one.name}*(1)\n\t{markdown_scdoc.inline(one.summary)}" for one in commands]
    parts = [(title, source[title]) for title in KEPT]
    parts.insert(3, ("SUBCOMMANDS", "\n\n".join(summaries)))
    names = ", ".join([*(f"*coppice-{one.name}*(1)" for one in commands), "*coppice-protocol*(7)", source["SEE ALSO"]])
    parts[-1] = ("SEE ALSO", names)
    return "coppice(1)\n\n" + "\n\n".join(f"# {title}\n\n{text}" for title, text in parts) + "\n"


def page_of_protocol():
    title, text = (REFERENCE / "protocol.md").read_text().split("\n", 1)
    first, rest = re.match(r"(.*?)\n(## .*)", text, re.S).groups()
    first = re.sub(r"^- \[.*?(?=\n\n)", "", first, flags=re.M | re.S)  # its table of contents
    also = "*coppice*(1), *coppice-ctl*(1), *coppice.conf*(5), *coppiced*(8)"
    return (f"coppice-protocol(7)\n\n# NAME\n\ncoppice-protocol - {title.strip('# ').lower()}: messages to and from coppiced\n\n"
            f"# DESCRIPTION\n\n{markdown_scdoc.convert(first)}\n{markdown_scdoc.convert(rest)}\n# SEE ALSO\n\n{also}\n")


def pages(coppice):
    """{name with section: scdoc source} of all pages."""
    source = sections_of((REFERENCE / "coppice.1.scd").read_text())
    commands = option_tables.of_program(coppice, "coppice")
    found = {f"{name}": (REFERENCE / f"{name}.scd").read_text() for name in ("coppiced.8", "coppice-lease.8", "coppiced-streams.8", "coppice-mpi.1", "coppice.conf.5")}
    found["coppice.1"] = page_of_program(commands, source)
    found["coppice-protocol.7"] = page_of_protocol()
    for command in commands:
        found[f"coppice-{command.name}.1"] = page_of(command, commands, source)
    return found


def main(coppice, scdoc, folder):
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in pages(coppice).items():
        done = subprocess.run([scdoc], input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr}{text}")
        file = Path(folder, f"man{name[-1]}", name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(done.stdout)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
