"""The options of coppice, coppiced and the programs beside them, from the programs themselves.

Names, arguments and words are those of the tables that the programs read options by (`--options`, a list for programs);
what stands for an argument, and the short text, are those of --help. An option that --help does not have is an error.
"""

import os
import re
import subprocess
from dataclasses import dataclass, field

FILES = re.compile(r"(FILE|OUT|BASE)(\.\w+)?|X|POLICY")
FOLDERS = re.compile(r"DIR|FOLDER|STATE")
NAME = r"-{1,2}[a-z][a-z0-9-]*"
WORDS = r"[a-z0-9][\w.-]*"


@dataclass
class Option:
    name: str  # with its dashes
    arguments: str  # none, one or maybe
    words: list = field(default_factory=list)
    value: str = ""  # what stands for the argument
    text: str = ""

    @property
    def kind(self):
        """What completes its argument: words, file, folder, or nothing."""
        if self.words:
            return "words"
        return "file" if FILES.fullmatch(self.value) else "folder" if FOLDERS.fullmatch(self.value) else ""

    @property
    def repeated(self):
        return "repeated" in self.text


@dataclass
class Command:
    """A subcommand, or a program without any."""
    name: str
    summary: str = ""
    usage: list = field(default_factory=list)
    options: list = field(default_factory=list)
    verbs: dict = field(default_factory=dict)  # text by name
    words: dict = field(default_factory=dict)  # of a verb: what may follow it

    def option(self, name):
        return next(one for one in self.options if one.name == name)


def entries(help_text):
    """[(head, text)]: what begins two columns from the left, with its text in one line."""
    found, lines, column = [], help_text.splitlines(), 0
    for number, line in enumerate(lines):
        if not re.match(r"  \S", line):
            continue
        more = []
        for below in lines[number + 1:]:
            if not re.match(r" {6,}\S", below):
                break
            more.append(below)
        column = len(more[0]) - len(more[0].lstrip()) if more else column
        divided = re.match(r"  (\S.*?) {2,}(\S.*)$", line)
        alone = re.fullmatch(rf"  {NAME}( \S+)?( {NAME}( \S+)?)*\s*", line)  # its text begins below
        if alone:
            head, text = line, ""
        elif len(line) > column and line[column - 1] == " " and (more or not divided):
            head, text = line[:column], line[column:]
        else:
            head, text = divided.groups() if divided else (line, "")
        found.append((head.strip(), " ".join([text.strip(), *(one.strip() for one in more)]).strip()))
    return found


def words_of(value, text):
    """Words that an argument may be, as --help has them."""
    if "|" in value:
        return [word for word in value.split("|") if re.fullmatch(WORDS, word)]
    plain = re.sub(r" \([^)]*\)", "", text)
    listed = re.search(rf"(?:^|: )({WORDS}(?:, {WORDS})*,? or {WORDS}|{WORDS}(?:, {WORDS}){{3,}})(?=$|[;:,.])", plain)
    return re.split(r",? or |, ", listed[1]) if listed and value.isupper() and value.isalpha() else []


def describe(option, help_text, found):
    """Fills in what --help has of the option."""
    pattern = rf"(?<![\w-]){option.name}(?![\w-])(?:\[=([^\s\]]+)\]| (?!-)(\S+))?"
    heads = [(match[0] or match[1], text) for head, text in found if head.startswith("-") for match in re.findall(pattern, head)]
    named = [match[0] or match[1].rstrip("]") for match in re.findall(pattern, help_text)]
    if not heads and not named:
        raise SystemExit(f"{option.name}: an option that --help does not have")
    option.value, option.text = heads[0] if heads else (named[0], "")
    option.value = option.value.partition("[,")[0]  # of a list
    if option.arguments == "none":
        option.value = ""
    elif not option.value:
        raise SystemExit(f"{option.name}: --help does not have its argument")
    elif not option.words:
        bars = [value for value in named if "|" in value]
        option.words = words_of(bars[0] if bars else option.value, option.text)


def read_help(command, help_text):
    usage = re.search(r"^usage: (.*(?:\n {4,}.*)*)", help_text)
    command.usage = [" ".join(line.split()) for line in re.split(r"\n {7}(?=\w)", usage[1])]
    found = entries(help_text)
    for option in command.options:
        describe(option, help_text, found)
    for line in command.usage[1:] and command.usage:  # each begins with another verb
        verb = re.match(rf"coppice {command.name} ({WORDS}) ", line)
        if verb:
            command.verbs[verb[1]] = ""
    for head, text in found:
        verb = re.match(rf"({WORDS})((?: {WORDS})*)(?: |$)", head)
        if verb:
            command.verbs.setdefault(verb[1], text)
            if verb[2]:
                command.words.setdefault(verb[1], []).append(verb[2].strip())


def printed(*command):
    """What a program prints; COP_EMULATOR: what runs it, where it is for another processor."""
    words = [*os.environ.get("COP_EMULATOR", "").split(), *map(str, command)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def of_program(path, name):
    """The Command of each subcommand; of a program without any, the one of itself."""
    listed, found, words = printed(path, "--options"), [], {}
    if not listed.startswith("command"):
        found.append(Command(name))
    for line in listed.splitlines():
        what, one, *rest = line.split(" ")
        if what == "command":
            found.append(Command(one, " ".join(rest)))
            words = {}
        elif what == "words":
            words[one] = rest
        elif one not in ("--help", "--options"):
            found[-1].options.append(Option(one, rest[0], words.get(one, [])))
    for command in found:
        read_help(command, printed(path, *([] if command.name == name else [command.name]), "--help"))
    return found
