"""debian/: what can be judged without building the packages, which tests/ports/ship does."""

import re
from pathlib import Path

import pytest

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


def test_copyright_has_the_licence_of_data_that_is_others():
    stanzas = re.split(r"\n\n", (DEBIAN / "copyright").read_text().strip())
    texts = {name: text for name, text in (re.fullmatch(r"License: (\S+)\n(.*)", one, re.S).groups()
                                           for one in stanzas if one.startswith("License:"))}
    files = {one.split("\n")[0].removeprefix("Files: "): re.search(r"^License: (\S+)$", one, re.M)[1]
             for one in stanzas if one.startswith("Files:")}
    assert files == {"*": "Apache-2.0", "tests/data/vw/*": "BSD-3-Clause", "tests/data/satimage.*": "CC-BY-4.0",
                     "tests/data/abalone.*": "CC-BY-4.0"}
    assert set(files.values()) == set(texts) and all(list(ROOT.glob(pattern)) for pattern in files)
    page = (ROOT / "docs/reference/licences.md").read_text()
    assert all(f"| `{pattern}` |" in page for pattern in files if pattern != "*")
    # The text of the data's own folder, word for word.
    conditions = " ".join((ROOT / "tests/data/vw/LICENSE").read_text().split()).split("All rights reserved. ")[1]
    assert " ".join(line.strip() for line in texts["BSD-3-Clause"].splitlines() if line != " .") == conditions.replace("  ", " ")
    assert "Section 8 -- Interpretation." in texts["CC-BY-4.0"]


PROGRAMS = ("coppiced", "coppice-lease", "coppiced-streams")
STAMPS = ("Nov  7 21:02:03", "2026-11-07T21:02:03.123456+00:00")
# Never above notice, and still for somebody to read: what was done by hand, and what ended a trouble.
REPORTED = {"administration", "model_change", "model_ended", "arms_added", "features_added", "apprentice_on", "apprentice_off",
            "refits_off", "journal_healed", "clock_believed", "replica_held"}


def rules(program):
    """Python's form of a program's rules for logcheck."""
    lines = (DEBIAN / f"{program}.logcheck.ignore.server").read_text().splitlines()
    classes = {"[:digit:]": "0-9", "[:alnum:]": "0-9A-Za-z"}
    return [re.compile(re.sub(r"\[:\w+:\]", lambda found: classes[found[0]], line)) for line in lines if not line.startswith("#")]


def ignored(event, program="coppiced"):
    return [any(rule.match(f"{stamp} host-1 {program}[17]: event={event}") for rule in rules(program)) for stamp in STAMPS]


def test_logcheck_passes_over_routine_and_reports_the_rest():
    for event in ("serving models=1 checkpoint=0", "stopping signal=15", "stopped status=0", "reload result=ok changes=0",
                  "checkpoint sequence=7 bytes=88 seconds=0.1", 'refit_ended model=m outcome=made number=1 reason=""',
                  "leads epoch=2 next=17", "again status=0"):
        assert ignored(event) == [True, True], event
    for event in ("stopped status=1", "reload result=refused changes=0", 'failed reason="x"', "journal_torn file=x",
                  'refit_ended model=m outcome=crashed number=1 reason="outcome=made "', "checkpoint_failed reason=x",
                  'leads_no_longer epoch=2 reason="leads "'):
        assert ignored(event) == [False, False], event
    assert ignored("stopped status=0", "coppiced-streams") == [True, True]
    assert ignored("stopped status=1", "coppiced-streams") == [False, False]


def events_of(program):
    """{event: level} of the program's table in events.md."""
    text = (ROOT / "docs/reference/events.md").read_text()
    parts = dict(zip(PROGRAMS, re.split(r"^\| event \| level", text, flags=re.M)[1:], strict=True))
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([\w, ]+) \|", parts[program], re.M)
    return {name: level for names, level in rows for name in re.findall(r"\w+", names)}


@pytest.mark.parametrize("program", PROGRAMS)
def test_logcheck_passes_over_every_event_that_is_never_above_notice_but_those_to_be_read(program):
    levels = events_of(program)
    quiet = {name for name, level in levels.items() if level in ("notice", "info")}
    expected = quiet - REPORTED - ({"stopped"} if program == "coppiced" else set())  # whose status tells
    assert {name for name in expected if not all(ignored(f"{name} key=1", program))} == set()
    loud = set(levels) - expected
    assert {name for name in loud if any(ignored(f"{name} key=1", program))} == set()
