"""coppice journal: journals are written here, byte by byte, by journal_bytes."""

import json
import os
import re
import struct
import subprocess
from pathlib import Path

import journal_bytes as j
import msgpack
import pytest
from conftest import DEADLINE, program

ROOT = Path(__file__).resolve().parents[2]
NOON = 1767268800.0  # 2026-01-01T12:00:00Z


def run(*args, **more):
    command = [program("COPPICE"), "journal", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, **more)


def journal(*args, status=0):
    """(standard output, standard error)"""
    done = run(*args)
    assert done.returncode == status, (args, done.stdout, done.stderr)
    for line in done.stderr.splitlines():
        assert line.startswith("coppice journal: ")
    return done.stdout, done.stderr


def answer(*args, status=0):
    out, _ = journal(*args, "--json", status=status)
    assert out.count("\n") == 1 and out.endswith("\n")
    return json.loads(out)


def dump(*args, status=0):
    return [json.loads(line) for line in journal("dump", *args, "--json", status=status)[0].splitlines()]


def sequences(*args):
    return [line["sequence"] for line in dump(*args)]


UNHEARD = [j.decision("lost", [1.0, 2.0, 3.0], NOON, a=1, p=0.5), j.unheard("lost", NOON + 1)]


EVENTS = [
    j.config('state_dir = "state"\n', NOON),
    j.decision("a-1", [0.5, -1.25, 3.0], NOON + 0.000001, a=2, p=0.9, greedy=True, rev=7, e=[0.25, 0.1]),
    j.decision(17, {3: 0.5, 70000: 2.0}, NOON + 1, a=0, p=0.05, greedy=False, mask=[1, 0, 1], defer=True),
    j.activation(17, NOON + 2.5),
    j.feedback("a-1", 0.25, NOON + 3),
    j.value_decision(b"\x00\xff", [1.0], NOON + 4, y=0.375, u=-1),
    j.feedback(b"\x00\xff", [0.1, 0.2], NOON + 5, model="v"),
    j.feedback("far", 1, NOON + 6, x=[1.0, 2.0, 0.1], a=1, p=0.75),
    j.expiry(3, NOON + 700),
    j.promotion(NOON + 701),
]


def write_three(folder):
    """Records 1 to 4 compressed, 5 to 7, and 8 to 10. The offsets of each segment's records."""
    return [
        j.segment(folder, 1, EVENTS[:4], compressed=True)[1],
        j.segment(folder, 5, EVENTS[4:7])[1],
        j.segment(folder, 8, EVENTS[7:])[1],
    ]


@pytest.fixture
def three(tmp_path):
    write_three(tmp_path / "journal")
    return tmp_path / "journal"


# ---- the writer of these tests


def test_writer_agrees_with_the_manual():
    assert j.crc32c(b"123456789") == 0xE3069283
    manual = (ROOT / "docs" / "reference" / "journal.md").read_text()
    lines = manual.split("```hex\n")[1].split("```")[0].splitlines()
    example = bytes.fromhex("".join(line.split("#")[0] for line in lines))
    written = j.header(1, b"demo") + j.record(1, 1, b"hello") + j.mark(1) + j.record(2, 3)
    assert written == example


# ---- usage


@pytest.mark.parametrize(
    "args, told",
    [
        ((), "expected a verb"),
        (("prune", "x"), "no verb 'prune'"),
        (("ls",), "expected one FOLDER"),
        (("ls", "a", "b"), "expected one FOLDER"),
        (("salvage", "a"), "expected FOLDER and OUT"),
        (("ls", "a", "--model", "m"), "go with dump"),
        (("verify", "a", "--to", "3"), "go with dump"),
        (("dump", "a", "--type", "reward"),
         "one of decision, feedback, expiry, activation, config, promotion, unheard, forgotten"),
        (("dump", "a", "--from", "-1"), "expected a whole number"),
        (("dump", "a", "--from", "1x"), "expected a whole number"),
        (("dump", "a", "--quiet"), "quiet"),
    ],
)
def test_wrong_usage_is_status_2(args, told):
    done = run(*args)
    assert done.returncode == 2 and done.stdout == "" and told in done.stderr


def test_help_is_on_standard_output():
    out, err = journal("--help")
    assert out.startswith("usage: coppice journal") and err == ""
    listed = subprocess.run([program("COPPICE"), "--help"], capture_output=True, text=True, timeout=DEADLINE)
    assert re.search(r"^  journal  ", listed.stdout, re.M)


@pytest.mark.parametrize("verb", ["ls", "stat", "verify", "dump", "salvage"])
def test_folder_that_is_none_is_told(verb, tmp_path):
    out = [tmp_path / "out"] if verb == "salvage" else []
    _, err = journal(verb, tmp_path / "missing", *out, status=1)
    assert str(tmp_path / "missing") in err and "No such file" in err
    (tmp_path / "file").write_bytes(b"")
    assert "Not a directory" in journal(verb, tmp_path / "file", *out, status=1)[1]
    (tmp_path / "empty").mkdir()
    assert "no segments" in journal(verb, tmp_path / "empty", *out, status=1)[1]
    (tmp_path / "state" / "journal").mkdir(parents=True)
    _, err = journal(verb, tmp_path / "state", *out, status=1)
    assert "no segments" in err and "state/journal" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("verb", ["ls", "stat", "verify", "dump"])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_state_folder_stands_for_its_journal(verb, form, three):
    assert journal(verb, three.parent, *form) == journal(verb, three, *form)


@pytest.mark.parametrize("verb", ["ls", "stat", "verify", "dump"])
def test_full_device_is_status_1(verb, three):
    with open("/dev/full", "w") as full:
        command = [program("COPPICE"), "journal", verb, str(three)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=DEADLINE)
    assert done.returncode == 1 and "standard output: No space left" in done.stderr


@pytest.mark.parametrize("verb", ["ls", "stat", "verify", "dump"])
def test_reading_changes_nothing(verb, three):
    def state():
        return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in three.iterdir()}

    before = state()
    journal(verb, three)
    assert state() == before


# ---- ls


def test_ls_shows_each_segment(three):
    paths = sorted(three.iterdir())
    for path in paths:
        os.utime(path, (NOON, NOON))
    listed = answer("ls", three)
    assert listed["folder"] == str(three)
    assert [s.pop("bytes") for s in listed["segments"]] == [p.stat().st_size for p in paths]
    assert listed["segments"] == [
        {"file": j.name(1, True), "base": 1, "epoch": 0, "last": 4, "records": 4, "compressed": True, "end": "clean", "time": NOON},
        {"file": j.name(5), "base": 5, "epoch": 0, "last": 7, "records": 3, "compressed": False, "end": "clean", "time": NOON},
        {"file": j.name(8), "base": 8, "epoch": 0, "last": 10, "records": 3, "compressed": False, "end": "clean", "time": NOON},
    ]
    rows = [line.split() for line in journal("ls", three)[0].splitlines()]
    assert rows[0] == ["base", "last", "records", "bytes", "compressed", "end", "time", "models"]
    assert rows[1] == ["1", "4", "4", str(paths[0].stat().st_size), "yes", "clean", "2026-01-01T12:00:00Z", "-"]
    assert rows[2][:3] == ["5", "7", "3"] and len(rows) == 4


def test_ls_and_stat_show_the_models_of_the_header(tmp_path):
    told = [j.model(), j.model("v", learner="value", arms=None, value_range=[1.0, 9.0], delta=0.5, losses=2),
            j.model("r", learner="rank", arms=None, max_candidates=20, candidate_features=4)]
    events = [*EVENTS, j.decision("r1", [1.0, 2.0, 3.0], NOON, model="r")]
    j.segment(tmp_path, 1, events, model_set=j.model_set(told, left_out=3))
    (segment,) = answer("ls", tmp_path)["segments"]
    assert segment["models"] == ["m", "v", "r"] and segment["models_left_out"] == 3
    assert journal("ls", tmp_path)[0].splitlines()[1].endswith(" m,v,r,+3")
    models = {m["name"]: m for m in answer("stat", tmp_path)["models"]}
    for model in told:
        assert {key: models[model["name"]].get(key) for key in model if key != "name"} | {"name": model["name"]} == model
    out, _ = journal("stat", tmp_path)
    assert "m: dgt, 3 features, 3 arms, loss 0 to 1, earliest reward within 600 s\n" in out
    assert "v: value, 3 features, values 1 to 9, 2 losses, loss 0 to 1," in out
    assert "r: rank, 3 features, up to 20 candidates of 4 features, loss 0 to 1," in out
    assert "value_range" not in models["r"] and "delta" not in models["r"]


@pytest.mark.parametrize("foreign", [b"demo", b"\xc1", b"\x81\xa6models\x07"])
def test_model_set_that_is_none_is_passed_over(foreign, tmp_path):
    j.segment(tmp_path, 1, EVENTS, model_set=foreign)
    (segment,) = answer("ls", tmp_path)["segments"]
    assert segment["end"] == "clean" and "models" not in segment
    assert "learner" not in answer("stat", tmp_path)["models"][0]


def test_dump_shows_the_models_of_a_configuration(tmp_path):
    kind, body = j.config("log { }\n", NOON)
    told = {"models": [j.model()]}
    body = j.body(t=NOON, text="log { }\n", models=j.model_set(told["models"]))
    j.segment(tmp_path, 1, [(kind, body)])
    (line,) = dump(tmp_path)
    assert line["models"] == {"models": [{k: v for k, v in told["models"][0].items() if v is not None}]}
    assert journal("dump", tmp_path)[0].rstrip().endswith("8 bytes models=m")


def test_ls_of_a_segment_without_records_has_no_last(tmp_path):
    j.segment(tmp_path, 9, [])
    (segment,) = answer("ls", tmp_path)["segments"]
    assert segment["records"] == 0 and "last" not in segment and segment["end"] == "clean"
    assert journal("ls", tmp_path)[0].splitlines()[1].split()[:3] == ["9", "-", "0"]


def test_ls_tells_reserved_room_from_a_torn_tail(tmp_path):
    j.segment(tmp_path, 1, EVENTS, tail=bytes(4096))
    assert answer("ls", tmp_path)["segments"][0]["end"] == "clean"
    j.segment(tmp_path, 1, EVENTS, tail=j.record(11, *EVENTS[1])[:-1])
    (segment,) = answer("ls", tmp_path)["segments"]
    assert segment["end"] == "torn" and segment["records"] == 10
    assert segment["offset"] + segment["torn_bytes"] == segment["bytes"]


def test_ls_shows_damage_and_reads_on(three):
    path = three / j.name(5)
    data = bytearray(path.read_bytes())
    data[-1 - j.HEAD] ^= 1  # in the last record's body
    path.write_bytes(data)
    listed = answer("ls", three)["segments"]
    assert [s["end"] for s in listed] == ["clean", "damaged", "clean"]
    assert listed[1]["records"] == 2 and "damaged at offset" in listed[1]["message"]
    out, err = journal("ls", three)
    assert [line.split()[5] for line in out.splitlines()] == ["end", "clean", "damaged", "clean"]
    assert j.name(5) in err


def test_ls_shows_a_gap(three):
    (three / j.name(5)).unlink()
    assert [s["end"] for s in answer("ls", three)["segments"]] == ["gap", "clean"]


# ---- stat


def test_stat_counts_types_and_models(three):
    stat = answer("stat", three)
    models = {m.pop("name"): m for m in stat["models"]}
    none = dict.fromkeys(j.TYPES.values(), 0)
    assert stat["types"] == {**none, "decision": 3, "feedback": 3, "expiry": 1, "activation": 1, "config": 1,
                             "promotion": 1}
    assert models == {
        "m": {**none, "decision": 2, "feedback": 2, "expiry": 1, "activation": 1, "promotion": 1},
        "v": {**none, "decision": 1, "feedback": 1},
    }
    assert (stat["segments"], stat["records"], stat["first"], stat["last"]) == (3, 10, 1, 10)
    assert (stat["first_time"], stat["last_time"]) == (NOON + 0.000001, NOON + 701)
    assert stat["bytes"] == sum(p.stat().st_size for p in three.iterdir())
    assert stat["bytes_per_record"] == sum(j.HEAD + len(body) for _, body in EVENTS) / 10
    assert stat["missing"] == stat["malformed"] == 0 and "torn" not in stat and "damage" not in stat
    out, err = journal("stat", three)
    assert err == ""
    assert re.search(r"^sequence +1 to 10$", out, re.M) and re.search(r"^torn tail +none$", out, re.M)
    assert re.search(r"^event time +2026-01-01T12:00:00.000001Z to 2026-01-01T12:11:41.000000Z$", out, re.M)
    assert re.search(r"^m +2 +2 +1 +1 +1 +0 +0 +0$", out, re.M) and re.search(r"^v +1 +1 +0 +0 +0 +0 +0 +0$", out, re.M)


def test_stat_tells_a_torn_tail(tmp_path):
    path, _ = j.segment(tmp_path, 1, EVENTS)
    whole = path.stat().st_size
    j.segment(tmp_path, 1, EVENTS, tail=b"torn")
    assert answer("stat", tmp_path)["torn"] == {"file": j.name(1), "offset": whole, "bytes": 4}
    assert f"4 bytes, {j.name(1)} from offset {whole} on" in journal("stat", tmp_path)[0]


def test_stat_of_no_records_has_no_ends(tmp_path):
    j.segment(tmp_path, 1, [])
    stat = answer("stat", tmp_path)
    assert stat["records"] == 0 and stat["models"] == []
    assert not {"first", "last", "first_time", "last_time", "bytes_per_record"} & stat.keys()
    journal("stat", tmp_path)


def test_stat_goes_on_over_a_gap_and_tells_it(three):
    (three / j.name(5)).unlink()
    out, err = journal("stat", three, "--json")
    assert json.loads(out)["missing"] == 3 and json.loads(out)["records"] == 7
    assert "records 5 to 7 are missing" in err


def test_stat_of_damage_is_status_1_with_what_lies_before(three):
    (three / j.name(5)).write_bytes(b"no segment at all, but long enough for a header")
    stat = answer("stat", three, status=1)
    assert stat["records"] == 4
    assert (stat["damage"]["file"], stat["damage"]["offset"]) == (j.name(5), 0)
    _, err = journal("stat", three, status=1)
    assert j.name(5) in err and "salvage" in err


def test_stat_counts_types_and_bodies_it_does_not_know(tmp_path):
    j.segment(tmp_path, 1, [(200, j.body(m="m", t=NOON)), (j.FEEDBACK, b"\xc1"), EVENTS[1]])
    stat = answer("stat", tmp_path)
    assert stat["types"]["other"] == 1 and stat["malformed"] == 1 and stat["models"][0]["other"] == 1
    out, _ = journal("stat", tmp_path)
    assert re.search(r"^  other +1$", out, re.M) and re.search(r"^malformed +1$", out, re.M)


# ---- verify


def test_verify_of_a_whole_journal_is_status_0(three):
    assert journal("verify", three) == (f"{three}: whole, 3 segments, 10 records (1 to 10)\n", "")
    assert answer("verify", three) == {
        "faults": [], "folder": str(three), "whole": True, "segments": 3, "records": 10, "first": 1, "last": 10,
    }


def test_verify_tells_a_torn_tail_as_no_fault(tmp_path):
    path, offsets = j.segment(tmp_path, 1, EVENTS)
    data = path.read_bytes()
    path.write_bytes(data[: offsets[-1] + 11])
    out, err = journal("verify", tmp_path)
    assert "whole, 1 segment, 9 records (1 to 9)" in out and err == ""
    assert f"last 11 bytes, from offset {offsets[-1]} on, are a torn tail" in out
    assert answer("verify", tmp_path)["torn"] == {"file": j.name(1), "offset": offsets[-1], "bytes": 11}


def test_verify_of_every_cut_is_whole(tmp_path):
    """A last segment cut anywhere is a torn tail, with exactly the records that are there."""
    path, offsets = j.segment(tmp_path, 1, EVENTS[:2])
    data = path.read_bytes()
    ends = [*offsets[1:], len(data) - j.HEAD]
    for cut in range(0, len(data), 7):
        path.write_bytes(data[:cut])
        assert answer("verify", tmp_path)["records"] == sum(end <= cut for end in ends)


@pytest.mark.parametrize("base, index", [(5, 0), (5, 2), (8, 1)])
def test_verify_names_file_and_offset_of_damage(base, index, tmp_path):
    folder = tmp_path / "journal"
    offset = write_three(folder)[{5: 1, 8: 2}[base]][index]
    path = folder / j.name(base)
    data = bytearray(path.read_bytes())
    data[offset + j.HEAD] ^= 0x20
    path.write_bytes(data)
    out, err = journal("verify", folder, status=1)
    assert f"{path}: damaged at offset {offset}: " in err and "not whole, 3 segments" in out
    verdict = answer("verify", folder, status=1)
    (fault,) = verdict["faults"]
    assert (fault["file"], fault["offset"], verdict["whole"]) == (j.name(base), offset, False)


def test_verify_of_damage_in_a_compressed_segment_is_status_1(three):
    path = three / j.name(1, True)
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)
    _, err = journal("verify", three, status=1)
    assert f"{path}: damaged at offset " in err


def test_verify_names_what_is_missing_and_where(three):
    (three / j.name(5)).unlink()
    out, err = journal("verify", three, status=1)
    assert j.name(1, True) in err and "records 5 to 7 are missing" in err and "offset" in err


def test_verify_tells_every_fault(three):
    for base in (5, 8):
        path = three / j.name(base)
        data = bytearray(path.read_bytes())
        data[9] ^= 0xFF
        path.write_bytes(data)
    assert [f["file"] for f in answer("verify", three, status=1)["faults"]] == [j.name(5), j.name(8)]


def test_verify_of_a_newer_version_is_refused_by_name(three):
    path = three / j.name(8)
    path.write_bytes(j.header(8, version=2) + path.read_bytes()[40:])
    _, err = journal("verify", three, status=1)
    assert str(path) in err and "version 2" in err
    _, err = journal("dump", three, status=1)
    assert "version 2" in err and "salvage" not in err


# ---- dump


def test_dump_shows_one_line_for_each_record(three):
    out, err = journal("dump", three)
    rows = [line.split() for line in out.splitlines()]
    assert err == ""
    assert rows == [
        ["1", "config", "2026-01-01T12:00:00.000000Z", "-", "-", "-", "-", "-", "20", "bytes"],
        ["2", "decision", "2026-01-01T12:00:00.000001Z", "m", "a-1", "2", "0.9", "-"],
        ["3", "decision", "2026-01-01T12:00:01.000000Z", "m", "17", "0", "0.05", "-", "deferred"],
        ["4", "activation", "2026-01-01T12:00:02.500000Z", "m", "17", "-", "-", "-"],
        ["5", "feedback", "2026-01-01T12:00:03.000000Z", "m", "a-1", "-", "-", "0.25"],
        ["6", "decision", "2026-01-01T12:00:04.000000Z", "v", "00ff", "0.375", "-", "-"],
        ["7", "feedback", "2026-01-01T12:00:05.000000Z", "v", "00ff", "-", "-", "0.1,0.2"],
        ["8", "feedback", "2026-01-01T12:00:06.000000Z", "m", "far", "1", "0.75", "1"],
        ["9", "expiry", "2026-01-01T12:11:40.000000Z", "m", "-", "-", "-", "-", "n=3"],
        ["10", "promotion", "2026-01-01T12:11:41.000000Z", "m", "-", "-", "-", "-"],
    ]


def test_unheard_decisions_are_dumped_and_counted(tmp_path):
    j.segment(tmp_path, 1, UNHEARD)
    assert journal("dump", tmp_path)[0].splitlines()[1].split() == [
        "2", "unheard", "2026-01-01T12:00:01.000000Z", "m", "lost", "-", "-", "-",
    ]  # fmt: skip
    assert dump(tmp_path, "--type", "unheard") == [
        {"sequence": 2, "type": "unheard", "t": NOON + 1, "m": "m", "id": "lost"}
    ]
    assert sequences(tmp_path, "--id", "lost") == [1, 2]
    assert answer("stat", tmp_path)["models"][0]["unheard"] == 1
    row = next(line for line in journal("stat", tmp_path)[0].splitlines() if line.startswith("m "))
    assert row.split() == ["m", "1", "0", "0", "0", "0", "1", "0", "0"]


def test_units_and_forgotten_records_are_dumped_and_counted(tmp_path):
    kind, told = j.decision("a", [1.0, 2.0, 3.0], NOON)
    told = j.body(**msgpack.unpackb(told), unit="person-1728")
    j.segment(tmp_path, 1, [(kind, told), j.forgotten(NOON + 1), j.forgotten(NOON + 2, s=[["b", 2]])])
    lines = [line.split() for line in journal("dump", tmp_path)[0].splitlines()]
    assert lines[0][-1] == "unit=person-1728"
    assert lines[1] == ["2", "forgotten", "2026-01-01T12:00:01.000000Z", "m", "-", "-", "-", "-"]
    assert sequences(tmp_path, "--unit", "person-1728") == [1] and sequences(tmp_path, "--unit", "other") == []
    assert dump(tmp_path, "--type", "forgotten") == [
        {"sequence": 2, "type": "forgotten", "t": NOON + 1, "m": "m"},
        {"sequence": 3, "type": "forgotten", "t": NOON + 2, "m": "m", "s": [["b", 2]]},
    ]
    assert answer("stat", tmp_path)["models"][0]["forgotten"] == 2
    row = next(line for line in journal("stat", tmp_path)[0].splitlines() if line.startswith("m "))
    assert row.split() == ["m", "1", "0", "0", "0", "0", "0", "2", "0"]
    out = tmp_path / "out"
    journal("salvage", tmp_path, out)
    assert [r["type"] for r in dump(out)] == ["decision", "forgotten", "forgotten"]


def as_floats(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def test_dump_as_json_has_all_of_each_body(three):
    lines = dump(three)
    for i, (line, (kind, body)) in enumerate(zip(lines, EVENTS, strict=True)):
        expected = msgpack.unpackb(body, raw=False, strict_map_key=False)
        for key in ("x", "e"):
            if isinstance(expected.get(key), bytes):
                expected[key] = [pytest.approx(value, rel=1e-6) for value in as_floats(expected[key])]
        if isinstance(expected.get("x"), dict):
            expected["x"] = {str(key): value for key, value in expected["x"].items()}
        if isinstance(expected.get("id"), bytes):
            expected["id"] = expected["id"].hex()
        assert line == {"sequence": i + 1, "type": j.TYPES[kind], **expected}
    # Floats are the shortest that read back as the same float32.
    text = journal("dump", three, "--json", "--from", "8", "--to", "8")[0]
    assert '"x":[1.0,2.0,0.1]' in text


@pytest.mark.parametrize(
    "args, expected",
    [
        (["--from", 4], range(4, 11)),
        (["--to", 3], range(1, 4)),
        (["--from", 5, "--to", 8], range(5, 9)),
        (["--from", 0, "--to", 0], []),
        (["--from", 11], []),
        (["--from", 2**64 - 1], []),
        (["--from", 6, "--to", 5], []),
        (["--model", "v"], [6, 7]),
        (["--model", "x"], []),
        (["--type", "feedback"], [5, 7, 8]),
        (["--type", "config"], [1]),
        (["--id", "a-1"], [2, 5]),
        (["--id", "17"], [3, 4]),
        (["--id", "00ff"], [6, 7]),
        (["--id", "a"], []),
        (["--id", "-"], []),
        (["--type", "decision", "--model", "m", "--from", 3], [3]),
    ],
)
def test_dump_filters(args, expected, three):
    assert sequences(three, *args) == list(expected)
    assert [int(line.split()[0]) for line in journal("dump", three, *args)[0].splitlines()] == list(expected)


def test_dump_from_before_the_oldest_segment_begins_there(tmp_path):
    j.segment(tmp_path, 100, EVENTS)
    assert sequences(tmp_path, "--from", 7, "--to", 101) == [100, 101]


def test_dump_of_integer_and_string_ids(tmp_path):
    ids = ["17", 17, -17, 2**64 - 1, -(2**63), "two words", "line\nend", "ü"]
    j.segment(tmp_path, 1, [j.activation(id, NOON) for id in ids])
    assert [line["id"] for line in dump(tmp_path)] == ids
    assert sequences(tmp_path, "--id", "17") == [1, 2]
    assert sequences(tmp_path, "--id", "-17") == [3]
    assert sequences(tmp_path, f"--id={2**64 - 1}") == [4]
    assert sequences(tmp_path, "--id", "line\nend") == [7]
    text = journal("dump", tmp_path)[0]
    assert len(text.splitlines()) == len(ids) and "two words" in text and "ü" in text


@pytest.mark.parametrize(
    "t, shown",
    [
        (0.0, "1970-01-01T00:00:00.000000Z"),
        (-0.5, "1969-12-31T23:59:59.500000Z"),
        (NOON + 0.9999999, "2026-01-01T12:00:01.000000Z"),
        (253402300799.0, "9999-12-31T23:59:59.000000Z"),
        (253402300800.0, "2.53402e+11"),
        (-1e300, "-1e+300"),
    ],
)
def test_dump_shows_times_in_utc(t, shown, tmp_path):
    j.segment(tmp_path, 1, [j.promotion(t)])
    assert run("dump", tmp_path, env={**os.environ, "TZ": "Asia/Tokyo"}).stdout.split()[2] == shown


def test_dump_tells_gaps_and_goes_on(three):
    (three / j.name(5)).unlink()
    out, err = journal("dump", three)
    assert [int(line.split()[0]) for line in out.splitlines()] == [1, 2, 3, 4, 8, 9, 10]
    assert "records 5 to 7 are missing" in err


def test_dump_ends_at_damage_with_status_1(three):
    path = three / j.name(5)
    data = bytearray(path.read_bytes())
    data[-1 - j.HEAD] ^= 1
    path.write_bytes(data)
    out, err = journal("dump", three, status=1)
    assert [int(line.split()[0]) for line in out.splitlines()] == [1, 2, 3, 4, 5, 6]
    assert f"{path}: damaged at offset " in err and "coppice journal salvage" in err
    assert sequences(three, "--to", 6) == [1, 2, 3, 4, 5, 6]  # what is asked for lies before
    assert sequences(three, "--from", 8) == [8, 9, 10]  # or behind


BAD_BODIES = [
    b"",
    b"\xc1",
    b"\x80\x80",  # something behind the map
    b"\x93\x01\x02\x03",  # no map
    b"\x81\xa1t",  # cut off
    j.body(m=3, t=NOON),
    j.body(m="m", t="noon"),
    j.body(m="m", t=float("nan")),
    j.body(m="m", id=[1]),
    j.body(m="m", id="x" * 65),
    j.body(m="m", loss=[1.0, 2.0, 3.0]),
    j.body(m="m", a=-1),
    b"\x81" + b"\x91" * 40 + b"\xc0\xc0",  # deep
]


@pytest.mark.parametrize("body", BAD_BODIES, ids=[body[:12].hex() or "empty" for body in BAD_BODIES])
def test_dump_of_a_malformed_body_tells_it_and_goes_on(body, tmp_path):
    j.segment(tmp_path, 1, [EVENTS[1], (j.FEEDBACK, body), EVENTS[4]])
    lines = dump(tmp_path, status=1)
    assert [line["sequence"] for line in lines] == [1, 2, 3] and lines[1]["type"] == "feedback"
    assert "m" in lines[1] or lines[1]["malformed"] == body.hex()
    out, err = journal("dump", tmp_path, status=1)
    assert f"malformed body of {len(body)} bytes" in out.splitlines()[1] and "record 2: malformed" in err
    assert journal("dump", tmp_path, "--type", "decision")[1] == ""


def test_dump_of_what_a_later_version_may_add(tmp_path):
    odd = msgpack.packb({"m": "m", "new": {"k": [1, b"\x01"]}, 5: None, "x": b"12345", "e": "text"}, use_bin_type=True)
    j.segment(tmp_path, 1, [(99, j.body(t=NOON, m="m")), (255, b"\x80")])
    assert dump(tmp_path) == [{"sequence": 1, "type": 99, "t": NOON, "m": "m"}, {"sequence": 2, "type": 255}]
    assert journal("dump", tmp_path)[0].split()[:2] == ["1", "99"]
    j.segment(tmp_path, 1, [(j.DECISION, odd)])
    (line,) = dump(tmp_path)
    assert line.pop("sequence") == 1 and line.pop("type") == "decision"
    assert line == {"m": "m", "new": {"k": [1, "01"]}, "5": None, "x": b"12345".hex(), "e": "text"}


def test_dump_of_a_large_body(tmp_path):
    x = [i / 7 for i in range(100000)]
    j.segment(tmp_path, 1, [j.decision("big", x, NOON)])
    (line,) = dump(tmp_path)
    assert as_floats(j.packed(line["x"])) == as_floats(j.packed(x))


# ---- salvage


def test_salvage_of_a_whole_journal_copies_all(three, tmp_path):
    out = tmp_path / "out"
    report = answer("salvage", three, out)
    assert report == {
        "skips": [], "folder": str(three), "out": str(out), "records": 10, "first": 1, "last": 10, "segments": 3,
        "skipped_bytes": 0, "missing": 0,
    }
    assert dump(out) == dump(three)
    journal("verify", out)


def test_salvage_of_damage_copies_what_is_intact(tmp_path):
    state, out = tmp_path / "state", tmp_path / "out"
    offset = write_three(state / "journal")[1][1]
    path = state / "journal" / j.name(5)
    data = bytearray(path.read_bytes())
    data[offset + 5] ^= 1
    path.write_bytes(data)
    report = answer("salvage", state, out)
    (skip,) = report["skips"]
    assert (skip["file"], skip["offset"]) == (j.name(5), offset)
    assert (skip["missing_first"], skip["missing_last"]) == (6, 6) and skip["bytes"] == j.HEAD + len(EVENTS[5][1])
    assert report["records"] == 9 and report["missing"] == 1 and report["skipped_bytes"] == skip["bytes"]
    expected = [1, 2, 3, 4, 5, 7, 8, 9, 10]
    assert sequences(out) == expected
    assert "record 6 is missing" in journal("dump", out)[1]
    whole = tmp_path / "whole"
    write_three(whole)
    assert dump(out) == [line for line in dump(whole) if line["sequence"] != 6]
    text, err = journal("salvage", state, tmp_path / "again")
    assert f"{j.name(5)}: offset {offset}: {skip['bytes']} bytes passed over" in text and "record 6 is lost" in text
    assert "9 records copied (1 to 10)" in text and err == ""


def test_salvage_into_segments_is_refused(three, tmp_path):
    other = tmp_path / "other"
    j.segment(other, 1, EVENTS[:1])
    before = (other / j.name(1)).read_bytes()
    _, err = journal("salvage", three, other, status=1)
    assert "there are segments already" in err and (other / j.name(1)).read_bytes() == before
    _, err = journal("salvage", three, three, status=1)
    assert "there are segments already" in err


def test_salvage_where_no_folder_can_be_made_is_told(three, tmp_path):
    _, err = journal("salvage", three, tmp_path / "no" / "such", status=1)
    assert "cannot be made: No such file" in err
    (tmp_path / "file").write_bytes(b"")
    _, err = journal("salvage", three, tmp_path / "file", status=1)
    assert str(tmp_path / "file") in err


def test_salvage_from_the_damaged_header_on(three, tmp_path):
    path = three / j.name(8)
    path.write_bytes(bytes(40) + path.read_bytes()[40:])
    assert sequences(three, "--to", 7) == list(range(1, 8))
    report = answer("salvage", three, tmp_path / "out")
    assert report["records"] == 10 and report["missing"] == 0 and len(report["skips"]) == 1
    journal("verify", tmp_path / "out")


# ---- real journals


def test_journal_of_a_daemon(daemon, tmp_path):
    d = daemon()
    if not (d.state / "journal").is_dir():
        pytest.skip("this daemon keeps no journal")
    client = d.client()
    decided = [client.decide("m", f"id-{i}", [0.1 * i, 1.0, -1.0]) for i in range(5)]
    for i in range(3):
        assert client.feedback("m", f"id-{i}", 0.5) == "applied"
    live = sequences(d.state)  # while it runs
    d.stop()
    journal("verify", d.state)
    decisions = [line for line in dump(d.state, "--type", "decision") if line["m"] == "m"]
    assert [(line["id"], line["a"], line["p"]) for line in decisions] == [(a["id"], a["a"], a["p"]) for a in decided]
    assert [line["x"][0] for line in decisions] == pytest.approx([0.1 * i for i in range(5)])
    feedback = dump(d.state, "--type", "feedback")
    assert [(line["id"], line["loss"]) for line in feedback] == [(f"id-{i}", [0.5]) for i in range(3)]
    assert len(live) >= 8 and sequences(d.state)[: len(live)] == live
    assert answer("stat", d.state)["types"]["decision"] == 5
