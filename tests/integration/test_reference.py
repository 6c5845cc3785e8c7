"""What docs/reference lists is what the source has: log events with level and keys, verbs of requests."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
STRING = r'"((?:[^"\\]|\\.)*)"'


def rows(name):
    """[cells] of the tables of a page, of rows whose first cell is a name."""
    return [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in (REFERENCE / name).read_text().splitlines()
            if line.startswith("| `")]


def named(cell):
    return re.findall(r"`(\w+)`", cell)


def calls(text):
    """Arguments of each call that logs, with the brackets balanced."""
    for start in re.finditer(r"\bcop_log_(?:line|limited)\(", text):
        depth, end = 1, start.end()
        for token in re.finditer(rf"{STRING}|[()]", text[start.end():]):
            depth += {"(": 1, ")": -1}.get(token[0], 0)
            if depth == 0:
                end += token.start()
                break
        yield text[start.end():end]


def test_events_of_the_log_have_their_levels_and_keys():
    documented = {name: (set(re.findall(r"\w+", cells[1])) - {"or"}, set(named(cells[2])))
                  for cells in rows("events.md") for name in named(cells[0])}
    sources = [path.read_text() for path in (ROOT / "daemon").rglob("*.c")]
    logged = {}
    for call in (call for text in sources for call in calls(text)):
        texts = re.findall(STRING, call)
        names = [text for text in texts if re.fullmatch(r"[a-z_]+", text) and text in documented]
        keys = set(re.findall(r"\b(\w+)=", " ".join(text for text in texts if text not in names)))
        levels = {level.lower() for level in re.findall(r"COP_LOG_([A-Z]+)", call)}
        if texts and not names and re.fullmatch(r"[a-z_]+", texts[0]):
            names = texts[:1]  # and has no row
        for name in names:
            logged.setdefault(name, (set(), set()))[0].update(levels)
            logged[name][1].update(keys)
    assert len(logged) > 60
    # Names that are chosen at run time stand somewhere else in the source.
    elsewhere = {name for name in set(documented) - set(logged) if any(f'"{name}"' in text or f"event={name} " in text
                                                                         for text in sources)}
    assert set(logged) | elsewhere == set(documented)
    assert {name: documented[name][0] for name in logged} == {name: levels for name, (levels, keys) in logged.items()}
    # A line may have more of them, from a format that stands elsewhere.
    assert {name: keys - documented[name][1] for name, (levels, keys) in logged.items() if keys - documented[name][1]} == {}


def test_verbs_of_requests_are_listed():
    source = (ROOT / "daemon/request.c").read_text()
    verbs = re.findall(r'\{ "(\w+)",', re.search(r"static const verb verbs\[\] = \{(.*?)\n\};", source, re.S)[1])
    text = (REFERENCE / "protocol.md").read_text()
    assert len(verbs) > 20
    assert sorted(named(re.search(r"The verbs of this version are (.*?)\.", text, re.S)[1])) == sorted(verbs)
    refusal = "".join(re.findall(STRING, re.search(r'"no verb.*?clean\)', source, re.S)[0]))
    assert sorted(re.findall(r"\w+", refusal.split("expected ")[1].replace(" or ", " "))) == sorted(verbs)
