"""What `coppice replay --save` wrote is resumed only when its sections are of one model: each is exchanged for another's."""

import struct
import subprocess

import pytest
from conftest import DEADLINE, program

LOG = "1:0.5:0.25 | a:1 b:2\n2:0:0.5 | a:2 b:1\n" * 8
WIDER = "1:0.5:0.25 | a:1 b:2 c:3\n2:0:0.5 | a:2 b:1\n" * 8
CANDIDATES = "shared | x:1\n0:1:0.5 | a:1\n | b:1\n\nshared | x:2\n | a:1\n0:0:0.5 | b:1\n\n" * 5
HASHED = "--features hashed --bits 4"
SAVED = {
    "one": (LOG, ""), "arms": (LOG, "--arms 3"), "low": (LOG, "--loss-range -1,1"), "high": (LOG, "--loss-range 0,2"),
    "wider": (WIDER, ""), "hashed": (LOG, HASHED), "entries": (LOG, HASHED + " --max-nonzeros 1030"),
    "three": (CANDIDATES, "--bits 4 --candidates 3"),
    "four": (CANDIDATES, "--bits 4 --candidates 4"),
}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def sections(data):
    """[(name, the whole section)] of a model file."""
    found, at = [], 24
    while at < len(data):
        length = 32 + struct.unpack_from("<Q", data, at + 20)[0]
        found.append((data[at:at + 16].rstrip(b"\0").decode(), data[at:at + length]))
        at += length
    return found


def write(path, parts):
    body = b"".join(parts)
    head = b"COPF" + struct.pack("<IQI", 1, 24 + len(body), len(parts))
    path.write_bytes(head + struct.pack("<I", crc32c(head)) + body)


def replay(folder, log, *args, status=0):
    (folder / "log.vw").write_text(log)
    command = [program("COPPICE"), "replay", "--format", "vw", "log.vw", *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == status, (args, done.stderr)
    return done.stderr


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    for name, (log, options) in SAVED.items():
        replay(folder, log, "--height", "1", "--trees", "1", "--save", name, *options.split())
    return {name: sections((folder / name).read_bytes()) for name in SAVED}


@pytest.mark.parametrize("name", SAVED)
def test_sections_of_one_model_are_resumed(name, saved, tmp_path):
    write(tmp_path / "whole", [part for _, part in saved[name]])
    replay(tmp_path, SAVED[name][0], "--resume", "whole")


@pytest.mark.parametrize("section,name,other", [
    ("replay", "one", "arms"), ("replay", "arms", "one"), ("replay", "one", "low"), ("replay", "one", "high"),
    ("replay", "hashed", "entries"), ("replay", "entries", "hashed"), ("replay", "three", "four"),
    ("replay", "four", "three"), ("replay", "hashed", "three"), ("replay", "three", "hashed"),
    ("features", "one", "wider"), ("features", "wider", "one"), ("features", "one", "hashed"), ("features", "hashed", "one"),
])
def test_section_of_another_model_is_refused(section, name, other, saved, tmp_path):
    theirs = dict(saved[other])
    write(tmp_path / "mixed", [theirs[section] if which == section else part for which, part in saved[name]])
    told = replay(tmp_path, SAVED[name][0], "--resume", "mixed", status=1)
    assert "mixed" in told and "its sections do not fit together" in told


@pytest.mark.parametrize("section", ["replay", "features"])
def test_model_without_a_section_is_no_replay(section, saved, tmp_path):
    write(tmp_path / "less", [part for which, part in saved["one"] if which != section])
    told = replay(tmp_path, LOG, "--resume", "less", status=1)
    assert "no feature space and no replay in it" in told


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_replay_section_cut_short_is_refused(cut, saved, tmp_path):
    parts = []
    for which, part in saved["one"]:
        if which == "replay":
            head, body = part[:20], part[32:-cut]
            head += struct.pack("<Q", len(body))
            part = head + struct.pack("<I", crc32c(head + body)) + body
        parts.append(part)
    write(tmp_path / "short", parts)
    assert "section 'replay'" in replay(tmp_path, LOG, "--resume", "short", status=1)
