"""The tool itself: what a process synced stays when the power is cut, and what it did not may go (machine.py)."""

import errno
import os
import random
import signal
import subprocess
import sys
from collections import Counter

import pytest
from faults import DIE, SYNC, WRITE, service
from machine import ALL, HEAD, KINDS, NOTHING, PAGE, PARTS, SYNCED, SYNCING, UP_TO, WROTE, Disk, Machine, read_log

SEEDS = range(60)
BEGINNING = """
import ctypes
import os
os.chdir(ROOT)
folder = os.open(".", os.O_RDONLY)

def make(name, data=b""):
    fd = os.open(name, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o640)
    os.write(fd, data)
    return fd

def page(letter, count=1):
    return letter * (4096 * count)
"""


@pytest.fixture
def machine(tmp_path, fault):
    root = tmp_path / "disk"
    root.mkdir()
    (root / "old").write_bytes(b"old")
    return Machine(root, tmp_path / "record")


def run(machine, fault, text, status=-signal.SIGKILL):
    """A python that does what the text says and dies; the disk after it."""
    text = f"ROOT = {str(machine.root)!r}\n{BEGINNING}\n{text}\nos.kill(os.getpid(), 9)\n"
    env = {**os.environ, **fault.env, **machine.env}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, timeout=service.DEADLINE)
    assert done.returncode == status, done.stderr
    return machine.played()


def cuts(disk, kind):
    """What each seed leaves."""
    for seed in SEEDS:
        left = disk.cut(random.Random(seed), kind).left
        assert left.pop("") is None
        yield left


def only(disk, kind):
    """What every seed leaves."""
    first, *rest = cuts(disk, kind)
    assert all(left == first for left in rest)
    return first


SCRIPT = """
a = make("a", b"synced ")
os.fsync(a)
os.fsync(folder)
os.write(a, b"and not")
b = make("b", b"synced without a name")
os.fdatasync(b)
os.mkdir("inner")
c = os.open("inner/c", os.O_CREAT | os.O_WRONLY)
os.fsync(c)
os.rename("old", "new")
"""


def test_what_was_synced_stays_and_what_was_not_goes(machine, fault):
    assert only(run(machine, fault, SCRIPT), NOTHING) == {"a": b"synced ", "old": b"old"}


def test_all_that_was_done_may_stay_as_after_a_mere_kill(machine, fault):
    disk = run(machine, fault, SCRIPT)
    done = {"a": b"synced and not", "b": b"synced without a name", "inner": None, "inner/c": b"", "new": b"old"}
    assert only(disk, ALL) == done
    there = {str(p.relative_to(machine.root)): None if p.is_dir() else p.read_bytes() for p in machine.root.rglob("*")}
    assert there == done


def test_sync_of_a_folder_keeps_its_names_and_no_bytes(machine, fault):
    disk = run(machine, fault, 'make("a", b"bytes"); os.rename("old", "new"); os.mkdir("inner"); make("inner/c"); os.fsync(folder)')
    assert only(disk, NOTHING) == {"a": b"", "new": b"old", "inner": None}


def test_every_kind_of_change_is_seen(machine, fault):
    text = """
a = make("a", page(b"a", 2))
os.pwrite(a, b"later", 4096)
parts = (ctypes.c_char_p * 4)(b"x", None, b"yz", None)  # pointers and lengths; os.pwritev calls another function
ctypes.cast(parts, ctypes.POINTER(ctypes.c_size_t))[1] = 1
ctypes.cast(parts, ctypes.POINTER(ctypes.c_size_t))[3] = 2
assert ctypes.CDLL(None).pwritev(a, parts, 2, ctypes.c_long(0)) == 3
os.ftruncate(a, 5000)
os.posix_fallocate(a, 0, 10)
os.lseek(a, 10, 0)
os.write(a, b"W")
os.close(os.open("a", os.O_WRONLY | os.O_APPEND))
b = os.open("b", os.O_CREAT | os.O_WRONLY | os.O_APPEND, dir_fd=folder)
os.write(b, b"one"), os.write(b, b"two")
os.link("b", "c", src_dir_fd=folder, dst_dir_fd=folder)
os.unlink("b", dir_fd=folder)
os.rename("c", "d", src_dir_fd=folder, dst_dir_fd=folder)
make("gone")
os.unlink("gone")
make("old", b"n")
make("full", b"f")
os.rename("full", "old")
"""
    a = bytearray(b"a" * 5000)
    a[4096:4101], a[:3], a[10:11] = b"later", b"xyz", b"W"
    disk = run(machine, fault, text)
    assert only(disk, ALL) == {"a": bytes(a), "d": b"onetwo", "old": b"f"}
    assert {p.name: p.read_bytes() for p in machine.root.iterdir()} == only(disk, ALL)
    assert only(disk, NOTHING) == {"old": b"old"}


def test_up_to_a_moment_is_a_prefix_of_the_writes(machine, fault):
    text = """
a = make("a")
os.fsync(folder)
for i in range(30):
    os.write(a, bytes([i]) * 100)
    if i == 9:
        os.fdatasync(a)
"""
    whole = b"".join(bytes([i]) * 100 for i in range(30))
    lengths = set()
    for left in cuts(run(machine, fault, text), UP_TO):
        data = left["a"]
        assert whole.startswith(data) and len(data) >= 1000
        lengths.add(len(data))
    assert len(lengths) > 10 and any(length % 100 for length in lengths)


def test_parts_are_versions_of_pages_within_a_length_that_was(machine, fault):
    text = """
a = make("a", page(b"0", 4))
os.fsync(a), os.fsync(folder)
os.pwrite(a, page(b"1", 2), 4096)
os.pwrite(a, page(b"2"), 8192)
os.pwrite(a, page(b"3", 2), 16384)
"""
    seen = Counter()
    for left in cuts(run(machine, fault, text), PARTS):
        data = left["a"]
        assert len(data) in (4 * PAGE, 6 * PAGE)
        pages = [data[at : at + PAGE] for at in range(0, len(data), PAGE)]
        assert all(page == page[:1] * PAGE for page in pages)
        text = "".join(chr(page[0] or ord(".")) for page in pages)
        for letter, known in zip(text, ("0", "01", "012", "0", ".3", ".3"), strict=False):
            assert letter in known, text
        seen[text] += 1
    assert {text[2] for text in seen} == set("012") and {len(text) for text in seen} == {4, 6}
    assert any(".3" in text for text in seen)  # a later page came before an earlier one


def test_parts_of_names_are_whole_changes_and_rest_on_others(machine, fault):
    text = """
for i in range(6):
    fd = make(f"tmp{i}", b"%d" % i)
    os.fsync(fd)
    os.rename(f"tmp{i}", f"new{i}")
os.unlink("old")
make("old", b"other")
"""
    seen = Counter()
    for left in cuts(run(machine, fault, text), PARTS):
        for i in range(6):
            made, renamed = left.get(f"tmp{i}"), left.get(f"new{i}")
            assert (made, renamed) in ((None, None), (b"%d" % i, None), (None, b"%d" % i))
            seen["renamed" if renamed else "made" if made else "neither"] += 1
        assert left.get("old") in (None, b"old", b"other", b"", bytes(5))
        seen[left.get("old")] += 1
        kept = [f"new{i}" in left for i in range(6)]
        seen["out of order"] += kept != sorted(kept, reverse=True)
    assert min(seen[word] for word in ("renamed", "made", "neither", "out of order", None, b"old")) > 0, seen


def test_moved_to_another_folder_it_is_in_one_of_them(machine, fault):
    text = """
os.mkdir("in"), os.mkdir("in/deep")
make("in/deep/f", b"f")
os.fsync(folder), os.fsync(os.open("in", os.O_RDONLY)), os.fsync(os.open("in/deep", os.O_RDONLY))
os.mkdir("aside")
os.rename("in/deep", "aside/deep")
os.rename("old", "aside/old")
"""
    seen = set()
    for left in cuts(run(machine, fault, text), PARTS):
        deep, old = [p for p in left if p.endswith("deep")], [p for p in left if p.endswith("old")]
        assert len(deep) == len(old) == 1 and deep[0] + "/f" in left
        seen.add((*deep, *old))
    assert seen == {(d, o) for d in ("in/deep", "aside/deep") for o in ("old", "aside/old")}


def test_move_is_durable_by_the_sync_of_either_folder(machine, fault):
    begin = 'os.mkdir("in"); inner = os.open("in", os.O_RDONLY); os.fsync(folder); os.rename("old", "in/new"); '
    for synced in ("folder", "inner"):
        disk = run(machine, fault, begin + f"os.fsync({synced})")
        assert only(disk, NOTHING) == only(disk, ALL) == {"in": None, "in/new": b"old"}
        (machine.root / "in" / "new").rename(machine.root / "old")
        (machine.root / "in").rmdir()
        machine.begin()


def test_renamed_before_its_bytes_were_synced_may_be_empty(machine, fault):
    disk = run(machine, fault, 'make("tmp", b"whole"); os.rename("tmp", "old"); os.fsync(folder)')
    assert {left["old"] for left in cuts(disk, PARTS)} == {b"", b"whole", bytes(5)}


def test_sync_that_fails_makes_nothing_durable(machine, fault):
    fault.begin(SYNC, errno.EIO, path="/disk")
    text = """
for fd in (make("a", b"bytes"), folder):
    try:
        os.fsync(fd)
    except OSError:
        continue
    raise SystemExit("no failure")
"""
    assert only(run(machine, fault, text), NOTHING) == {"old": b"old"}


def test_write_in_which_a_process_dies_is_half_done(machine, fault):
    fault.begin(WRITE, DIE, nth=2, path="/disk")
    disk = run(machine, fault, 'a = make("a", b"first"); os.fsync(a); os.fsync(folder); os.write(a, b"12345678")')
    assert only(disk, ALL) == {"a": b"first1234", "old": b"old"}
    assert only(disk, NOTHING) == {"a": b"first", "old": b"old"}


def test_written_while_a_sync_was_under_way_is_not_durable_by_it(machine):
    status = (machine.root / "old").stat()

    def record(kind, a, b=0, payload=b""):
        return HEAD.pack(HEAD.size + len(payload), kind, status.st_dev, status.st_ino, a, b, 0) + payload

    steps = [record(WROTE, 3, payload=b"er"), record(SYNCING, 1), record(WROTE, 5, payload=b"!"), record(SYNCED, 1)]
    data = b"".join(steps)
    assert only(Disk(machine.root).play(data), NOTHING) == {"old": b"older"}
    # Of two syncs at once the one that began first ends last.
    data = b"".join([*steps[:2], record(SYNCING, 2), steps[2], record(SYNCED, 2), steps[3]])
    assert only(Disk(machine.root).play(data), NOTHING) == {"old": b"older"}
    # The process died in the last record.
    assert len(list(read_log(data))) == 6 and len(list(read_log(data[:-1]))) == 5
    assert only(Disk(machine.root).play(b"".join(steps)[:-1]), NOTHING) == {"old": b"old"}


def test_machine_goes_on_from_what_is_left(machine, fault):
    run(machine, fault, 'a = make("a", b"1"); os.fsync(a); os.fsync(folder); os.write(a, b"2")')
    machine.begin()  # it ended in order
    for number, kind in enumerate((NOTHING, ALL, NOTHING)):
        run(machine, fault, 'os.write(os.open("a", os.O_WRONLY | os.O_APPEND), b"%d")' % number)
        machine.cut(random.Random(0), kind)
    assert (machine.root / "a").read_bytes() == b"121"


def test_process_that_dies_leaves_what_is_there_as_little_durable_as_it_was(machine, fault):
    run(machine, fault, 'a = make("a", b"1"); os.fsync(a); os.fsync(folder); os.write(a, b"2"); make("b", b"3")')
    (machine.root / "c").write_bytes(b"made in a call that was not recorded any more")
    machine.resume()
    assert {p.name: p.read_bytes() for p in machine.root.iterdir()} == {"a": b"12", "b": b"3", "old": b"old"}
    assert only(machine.played(), NOTHING) == {"a": b"1", "old": b"old"}
    disk = run(machine, fault, 'os.fsync(os.open("b", os.O_RDONLY)); os.rename("b", "c"); os.fsync(folder)')
    assert only(disk, NOTHING) == {"a": b"1", "c": b"3", "old": b"old"}
    disk = run(machine, fault, 'os.fsync(os.open("a", os.O_RDONLY))')
    assert only(disk, NOTHING) == {"a": b"12", "c": b"3", "old": b"old"}


def test_same_seed_leaves_the_same(machine, fault):
    disk = run(machine, fault, SCRIPT)
    for kind in KINDS:
        assert len({str(sorted(disk.cut(random.Random(7), kind).left.items(), key=str)) for _ in range(3)}) == 1


def test_certain_is_what_no_cut_takes(machine, fault):
    disk = run(machine, fault, SCRIPT)
    certain = disk.cut(random.Random(1), PARTS).certain
    assert certain == {"a": b"synced ", "old": b"old"}
