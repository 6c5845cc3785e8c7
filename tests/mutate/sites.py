"""The places where a small change to a C source could go unnoticed, and the changes.

A source is read as text whose comments, strings and preprocessor lines (but for numbers in #define) are blanked, one
line at a time, since the formatter puts one statement on a line. Each rule is a pattern and a replacement; a site is one
match of one rule. The order of sites is the order of the text, so that a seed draws the same ones from the same source.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Site:
    path: str      # below the root
    line: int      # from 1
    column: int    # from 0
    rule: str
    before: str    # the text that is replaced
    after: str

    @property
    def name(self):
        return f"{self.path}:{self.line}:{self.column}:{self.rule}"


NUMBER = r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|\d+\.\d*(?:[eE][-+]?\d+)?|\d+(?:[eE][-+]?\d+)?)[uUlLfF]*(?![\w.])"
CALL = r"(?:[a-z]\w*|[a-z]\w*(?:->|\.)\w+)\("
WHOLE_CALL = re.compile(r"^(\t+)((?:\(void\)!?)?" + CALL + r".*\);)$")
KEYWORDS = ("return", "if", "for", "while", "switch", "sizeof", "else", "do", "case", "goto")
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
         "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+="}
OPERATOR = re.compile(r"(?<= )(<=|>=|==|!=|&&|\|\||\+=|-=|<|>|\+|-|\*|/)(?= )")
COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
LOGIC = {"&&", "||"}


def blanked(text):
    """The text with comments, strings and character constants as spaces; lines and columns stay."""
    def blank(match):
        return re.sub(r"[^\n\t]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def other_number(text):
    """Another value of the same type: twice a fraction, one more than a whole number."""
    digits = re.match(r"0[xX][0-9a-fA-F]+|[\d.]+(?:[eE][-+]?\d+)?", text).group(0)
    suffix = text[len(digits):]
    if digits.lower().startswith("0x"):
        return hex(int(digits, 16) + 1) + suffix
    if "." in digits or "e" in digits.lower():
        value = float(digits)
        return repr(2 * value if value != 0 else 1.0) + suffix
    return str(int(digits) + 1) + suffix


def operators(line):
    for match in OPERATOR.finditer(line):
        operator = match.group(1)
        rule = "comparison" if operator in COMPARISONS else "logic" if operator in LOGIC else "arithmetic"
        yield match.start(1), rule, operator, SWAPS[operator]


TEXT_ROOM = re.compile(r"\bchar \w+(\[\w+\])*\[[^]]*$")  # of one byte more no test can tell


def numbers(line):
    if re.match(r"\s*(case\b|default\b)", line):
        return
    for match in re.finditer(NUMBER, line):
        if TEXT_ROOM.search(line[:match.start()]):
            continue
        yield match.start(), "constant", match.group(0), other_number(match.group(0))


def negations(line):
    for match in re.finditer(r"(?<=[( ])!(?=[\w(])", line):
        yield match.start(), "negation", "!", ""


def errors(line):
    for match in re.finditer(r"\breturn (err|COP_E[A-Z]+);", line):
        yield match.start(1), "error", match.group(1), "COP_OK"
    match = re.match(r"\s*(err = )(?=\w+\(.*\);$)", line)
    if match:
        yield match.start(1), "error", "err = ", "(void)!"


def calls(line):
    match = WHOLE_CALL.match(line)
    if match and not re.match(r"(" + "|".join(KEYWORDS) + r")\b", match.group(2)):
        yield match.start(2), "call", match.group(2), ";"


RULES = (operators, numbers, negations, errors, calls)


def sites_of(path, text):
    """All sites of one source, in the order of its text."""
    found = []
    original = text.split("\n")
    for index, line in enumerate(blanked(text).split("\n")):
        directive = line.lstrip().startswith("#")
        if directive and not line.lstrip().startswith("#define"):
            continue
        for rule in (numbers,) if directive else RULES:
            for column, name, before, after in rule(line):
                if name == "call":
                    before = original[index][column:]
                found.append(Site(path, index + 1, column, name, before, after))
    return found


def changed(text, site):
    """The text with the site's change."""
    lines = text.split("\n")
    line = lines[site.line - 1]
    if not line.startswith(site.before, site.column):
        raise ValueError(f"{site.name}: the source has changed; expected {site.before!r}")
    lines[site.line - 1] = line[:site.column] + site.after + line[site.column + len(site.before):]
    return "\n".join(lines)


def draw(generator, sources, count):
    """count sites, each rule equally likely: a list without repeats. sources: {path: text}."""
    by_rule = {}
    for path in sorted(sources):
        for site in sites_of(path, sources[path]):
            by_rule.setdefault(site.rule, []).append(site)
    drawn = []
    seen = set()
    while len(drawn) < count and len(seen) < sum(map(len, by_rule.values())):
        site = generator.choice(by_rule[generator.choice(sorted(by_rule))])
        if site not in seen:
            seen.add(site)
            drawn.append(site)
    return drawn
