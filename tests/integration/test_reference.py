"""Log events are rows of daemon/common/log_events.def: the lines of the source have the keys of their rows. The pages of
docs/reference that are written from tables are held to them by the tests test_*_reference."""

import re
from pathlib import Path

from conftest import model

ROOT = Path(__file__).resolve().parents[2]
STRING = r'"((?:[^"\\]|\\.)*)"'
SOURCES = [path.read_text() for path in (ROOT / "daemon").rglob("*.c")]


def events():
    """{event: keys}"""
    text = (ROOT / "daemon/common/log_events.def").read_text()
    rows = re.findall(rf"^EVENT\((\w+), [A-Z]+, [A-Z]+, ((?:{STRING}\s*)+),", text, re.M)
    return {name: set(re.findall(r"\w+", keys)) for name, keys, _ in rows}


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


def named(text):
    return re.findall(r"\bCOP_LOG_EVENT(?:_WORSE)?\((\w+)\)", text)


def test_lines_of_the_log_have_the_keys_of_their_event():
    rows, met = events(), set()
    for call in (call for text in SOURCES for call in calls(text)):
        keys = set(re.findall(r"\b(\w+)=", " ".join(re.findall(STRING, call))))
        for name in named(call):
            met.add(name)
            assert keys <= rows[name], (name, keys - rows[name])
    assert len(met) > 90  # of the others the format stands elsewhere


def test_every_event_of_the_table_is_logged():
    assert set(events()) == {name for text in SOURCES for name in named(text)}


def test_refusal_of_an_unknown_verb_lists_every_verb_of_the_table(daemon):
    verbs = re.findall(r"^VERB\((\w+),", (ROOT / "daemon/verbs.def").read_text(), re.M)
    assert len(verbs) > 20
    message = daemon(model()).client().error("dance")["message"]
    assert message == f"no verb 'dance'; expected {', '.join(verbs[:-1])} or {verbs[-1]}"
