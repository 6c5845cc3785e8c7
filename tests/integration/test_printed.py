"""What the tools print, compared with the transcripts in printed/: lines "$ ARGUMENTS" of coppice (of costs in
bench_costs.txt), each with what it printed.

A line "! TEXT" is on standard error; "= N" is a status other than 0; "> NAME" behind the arguments sends the output to
a file, and "$ cat NAME" shows what is in one. What a command did not free or close is told on standard
error (leaks.c). Commands of one transcript run in the same folder, one after the other, where corpus/ and vw/ are the tests' own data. Clocks
tick with each look at them (ticks.c), so that rates are always the same; other fractions may differ a little, as
processors sum in other orders. COPPICE_PRINTED=renew writes the transcripts anew: read the difference before you
commit it.
"""

import gzip
import os
import re
import shlex
import subprocess
from functools import lru_cache
from itertools import islice
from pathlib import Path

import pytest
from conftest import DEADLINE, is_sanitized, program

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
TRANSCRIPTS = sorted(path.stem for path in (HERE / "printed").glob("*.txt") if not path.stem.startswith("bench"))


def put_dated(source, target):
    """A copy that was last written at a time that is always the same."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())
    os.utime(target, (1700000000, 1700000000))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "corpus").symlink_to(HERE.parent / "fuzz" / "corpus")
    (tmp_path / "vw").symlink_to(DATA / "vw")
    for name in ("satimage", "abalone"):
        for part, rows in (("train", 300), ("test", 100)):
            with gzip.open(DATA / f"{name}.{part}.csv.gz", "rt") as source:
                (tmp_path / f"{name}.{part}.csv").write_text("".join(islice(source, rows)))
    for segment in (tmp_path / "corpus/journal").iterdir():
        base = int.from_bytes(segment.read_bytes()[16:24], "little") or 1
        put_dated(segment, tmp_path / "j" / segment.name / f"{base:020}.journal")
    for name in ("older", "state"):
        for file in (DATA / name).rglob("*.*"):
            put_dated(file, tmp_path / name / file.relative_to(DATA / name))
    (tmp_path / "sets").mkdir()
    for name in ("satimage.train.csv", "satimage.test.csv", "abalone.train.csv"):
        (tmp_path / "sets" / name).symlink_to(tmp_path / name)
    (tmp_path / "log.vw").write_text("1:0.5:0.25 |u a:1 b:2 |t c\n2:0:0.5 |u a:2 b:1 |t d\n1:1:0.75 |u a:0 |t c d\n" * 6)
    for name in ("rows.libsvm", "rows.svm"):
        with gzip.open(tmp_path / f"{name}.gz", "wt") as file:
            file.write("0 1:1 3:2.5\n1 2:1\n2 1:4\n" * 4)
    (tmp_path / "nothing.vw").write_text("")
    (tmp_path / "unlabelled.vw").write_text("| a:1 b:2\n| a:2\n")
    (tmp_path / "items.csv").write_text("".join(f"{k},{k * k},{7 - k}\n" for k in range(8)))
    (tmp_path / "mixed.csv").write_text("size,colour,kind\n1,red,a\n2.5,blue,b\n,red,a\n4,green,b\n0.5,,c\n" * 8)
    for index, size in ((0, "32K"), (2, "1024K"), (3, "16384K")):
        (tmp_path / f"caches/index{index}").mkdir(parents=True)
        (tmp_path / f"caches/index{index}/size").write_text(size + "\n")
    return tmp_path


@lru_cache
def preloaded():
    ticks, leaks = program("COPPICE_TICKS"), program("COPPICE_LEAKS")
    return [ticks] if is_sanitized(program("COPPICE")) else [ticks, leaks]  # sanitizers look for leaks themselves


def run(folder, line, of):
    """What the transcript has below the line."""
    words = shlex.split(line)
    if words[0] == "cat":
        return "".join(f"{text}\n" for text in (folder / words[1]).read_text().splitlines())
    out = words[words.index(">") + 1] if ">" in words else None
    words = words[:words.index(">")] if out else words
    asan = os.environ.get("ASAN_OPTIONS", "")
    env = {**os.environ, "LD_PRELOAD": ":".join(preloaded()), "COPPICE_CACHES": str(folder / "caches"), "MALLOC_PERTURB_": "165",
           "ASAN_OPTIONS": f"{asan}:verify_asan_link_order=0".lstrip(":")}
    done = subprocess.run([program(of), *words], cwd=folder, env=env, capture_output=True, text=True,
                          timeout=4 * DEADLINE)
    printed = re.sub(r'^avx.*\n|,{[^{}]*"avx[^{}]*}', "", done.stdout, flags=re.M)  # which not every processor has
    if out:
        (folder / out).write_text(done.stdout)
        printed = ""
    printed = "".join(f"{text}\n" for text in printed.splitlines())
    printed += "".join(f"! {text}\n" for text in done.stderr.splitlines())
    return printed + (f"= {done.returncode}\n" if done.returncode != 0 else "")


def same_number(a, b, share):
    if a == b:
        return True
    if not {".", "e"} & set(a + b):
        return False
    digits = len((a.split("e")[0] + ".").split(".")[1])
    last = 0.0 if "e" in a or digits < 3 else 1.001 * 10.0 ** -digits
    return abs(float(a) - float(b)) <= max(share * abs(float(b)), last, 1e-9)


def same(printed, expected, share):
    """Line by line; texts, spaces and whole numbers exactly, others within a share."""
    for got, wanted in zip(printed.splitlines(), expected.splitlines()):
        a, b = NUMBER.findall(got), NUMBER.findall(wanted)
        texts = NUMBER.split(got) == NUMBER.split(wanted)
        assert texts and all(same_number(x, y, share) for x, y in zip(a, b)), f"expected {wanted!r}\ngot      {got!r}"
    assert len(printed.splitlines()) == len(expected.splitlines()), f"expected\n{expected}\ngot\n{printed}"


def check_transcript(name, folder, of="COPPICE"):
    file = HERE / "printed" / f"{name}.txt"
    pieces = re.split(r"^\$ (.*)\n", file.read_text(), flags=re.M)
    renewed = pieces[0]
    for line, expected in zip(pieces[1::2], pieces[2::2]):
        printed = run(folder, line, of)
        renewed += f"$ {line}\n{printed}"
        if os.environ.get("COPPICE_PRINTED") != "renew":
            # processors add up in orders of their own, and the network of learner value makes more of it
            same(printed, expected, 5e-2 if "--learner value" in line else 5e-3)
    if os.environ.get("COPPICE_PRINTED") == "renew":
        file.write_text(renewed)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_printed_text_is_that_of_the_transcript(name, folder):
    check_transcript(name, folder)


@pytest.mark.parametrize("a,b,equal", [("12", "12", True), ("12", "13", False), ("0.5001", "0.5", True), ("0.52", "0.5", False),
                                       ("0.3", "0.4", False), ("0.0012", "0.0013", True), ("1.5e-07", "1.6e-07", False)])
def test_printed_numbers_are_compared(a, b, equal):
    assert same_number(a, b, 1e-3) == equal
