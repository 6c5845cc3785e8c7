"""debian/: what can be judged without building the packages, which tests/ports/ship does."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "debian"


def test_version_is_that_of_the_front_door():
    version = re.search(r'#define COPPICE_VERSION +"(.*)"', (ROOT / "include/coppice.h").read_text())[1]
    assert re.match(rf"coppice \({re.escape(version)}[~)-]", (DEBIAN / "changelog").read_text())


def test_library_package_is_named_after_the_soname():
    soname = re.search(r"SOVERSION (\d+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert f"Package: libcoppice{soname}\n" in (DEBIAN / "control").read_text()


def test_symbols_are_the_functions_that_the_maps_export():
    text = (DEBIAN / "libcoppice1.symbols").read_text()
    listed = set(re.findall(r"^ (coppice_\w+)@", text, re.M))
    for name in ("coppice", "coppice_client"):
        header = (ROOT / f"include/{name}.h").read_text()
        header = re.sub(r"/\*.*?\*/|^static inline [^{]*\{.*?^\}", "", header, flags=re.S | re.M)
        declared = set(re.findall(r"^[\w ]+[ *](coppice_\w+)\(", header, re.M))
        assert declared and declared <= listed
        listed -= declared
    assert not listed


def rules():
    """Python's form of logcheck's rules."""
    lines = (DEBIAN / "coppiced.logcheck.ignore.server").read_text().splitlines()
    classes = {"[:digit:]": "0-9", "[:alnum:]": "0-9A-Za-z"}
    for line in lines:
        if not line.startswith("#"):
            yield re.compile(re.sub(r"\[:\w+:\]", lambda found: classes[found[0]], line))


def ignored(event):
    return [any(rule.match(stamp + " host-1 coppiced[17]: event=" + event) for rule in rules())
            for stamp in ("Nov  7 21:02:03", "2026-11-07T21:02:03.123456+00:00")]  # fmt: skip


def test_logcheck_passes_over_routine_and_reports_the_rest():
    for event in ("serving models=1 checkpoint=0", "stopping signal=15", "stopped status=0", "reload result=ok changes=0",
                  "checkpoint sequence=7 bytes=88 seconds=0.1", 'refit_ended model=m outcome=made number=1 reason=""'):
        assert ignored(event) == [True, True], event
    for event in ("stopped status=1", "reload result=refused changes=0", 'failed reason="x"', "journal_torn file=x",
                  'refit_ended model=m outcome=crashed number=1 reason="outcome=made "', "checkpoint_failed reason=x"):
        assert ignored(event) == [False, False], event


def test_logcheck_names_events_that_are_never_above_notice():
    events = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([\w, ]+) \|", (ROOT / "docs/reference/events.md").read_text(), re.M)
    levels = {name: level for names, level in events for name in re.findall(r"\w+", names)}
    for rule in rules():
        named = re.search(r"event=\(?([\w|]+)\)?", rule.pattern)[1].split("|")
        for name in named:
            decided = re.search(r"outcome=|result=", rule.pattern)  # whose value tells the level
            assert levels[name] in ("info", "notice") or decided, name
