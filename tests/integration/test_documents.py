"""The commands of README.md and docs/how-to, block by block as they stand there, and the options that all documents name.

A block ```sh runs. ```sh not-run=REASON does not: `root` (it changes the system), `long`, or `state` (it needs something
that only a system in use has). Every document runs in a folder of its own, whose files are small ones made here, beside
a running daemon with the models `front-page` and `shop`. Addresses and absolute paths of the documents are replaced;
coppiced is replaced by a script that only checks where it would run until it is stopped.
"""

import gzip
import os
import re
import subprocess
import sys
from functools import lru_cache
from itertools import islice
from pathlib import Path

import pytest
from conftest import DEADLINE, free_port, grow, program

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
RUN = [ROOT / "README.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
ALL = [*RUN, *sorted(path for path in (ROOT / "docs").rglob("*.md") if path not in RUN), ROOT / "CONTRIBUTING.md",
       ROOT / "examples" / "README.md"]
REASONS = {"root", "long", "state"}
FENCE = re.compile(r"^( *)```(.*)\n((?:.*\n)*?)\1```$", re.M)
TOOLS = ("coppice", "coppiced")


def blocks(path):
    """[(words of the fence, text)] of a document; text without the fence's own indentation."""
    return [(words, re.sub(rf"^{indent}", "", text, flags=re.M)) for indent, words, text in FENCE.findall(path.read_text())]


def commands(path):
    """Texts of the blocks that run."""
    return [text for words, text in blocks(path) if words == "sh"]


def test_pictures_of_concepts_are_as_they_are_drawn():
    done = subprocess.run([sys.executable, ROOT / "docs/pictures/concepts.py", "--check"], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr


# ---- options exist


@lru_cache
def help_of(tool, subcommand=None):
    done = subprocess.run([program(tool.upper()), *([subcommand] if subcommand else []), "--help"], capture_output=True,
                          text=True, timeout=DEADLINE)
    assert done.returncode == 0, f"{tool} {subcommand}: {done.stderr}"
    return done.stdout


@lru_cache
def subcommands():
    return set(re.findall(r"^  (\w+) {2,}", help_of("coppice"), re.M))


def named_commands(path):
    """[[tool, word ...]] of all blocks and of what stands in backquotes, without shell words."""
    text = path.read_text()
    found = [line for words, block in blocks(path) if words.split(" ")[0] in ("", "sh")
             for line in block.replace("\\\n", " ").splitlines()]
    found += re.findall(r"^ {4,}(?:\$ )?(coppiced?\b.*)$", text.replace("\\\n", " "), re.M)
    found += re.findall(r"`(coppiced? [^`]*)`", re.sub(r"\s+", " ", FENCE.sub("", text)))
    result = []
    for line in found:
        for command in re.split(r"&&|[;|<>]", line):
            words = re.sub(r"(^|\s)#.*", "", command).split()
            if words and Path(words[0]).name in TOOLS and not any(word.endswith(":") for word in words[:2]):  # no message
                result.append([Path(words[0]).name, *words[1:]])
    return result


def unknown(tool, words):
    """What a command names that the tool does not have, or None."""
    subcommand = None
    if tool == "coppice":
        if not words or words[0].startswith("-") or words[0] in ("help", "SUBCOMMAND"):
            return None
        subcommand, words = words[0], words[1:]
        if subcommand not in subcommands():
            return f"subcommand {subcommand}"
    text = help_of(tool, subcommand)
    for word in words:
        option = re.match(r"-{1,2}[a-z][a-z-]*", word)
        if option and not re.search(rf"(?<![\w-]){option[0]}(?![\w-])", text):
            return option[0]
    if subcommand == "ctl" and words and words[0].islower() and not re.search(rf"^  {words[0]}\b", text, re.M):
        return f"verb {words[0]}"
    return None


@pytest.mark.parametrize("path", ALL, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_options_of_documents_exist(path):
    wrong = [f"{tool} {' '.join(words)}: {missing}" for tool, *words in named_commands(path)
             for missing in [unknown(tool, words)] if missing]
    assert wrong == []


@pytest.mark.parametrize("tool,words,missing", [
    ("coppice", ["replay", "--nothing"], "--nothing"), ("coppice", ["reply"], "subcommand reply"),
    ("coppice", ["ctl", "stats"], "verb stats"), ("coppiced", ["--chek"], "--chek"),
    ("coppice", ["ctl", "status", "--json"], None), ("coppiced", ["--config", "f", "--check"], None)])
def test_unknown_commands_and_options_are_found(tool, words, missing):
    assert unknown(tool, words) == missing


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_blocks_of_commands_are_marked(path):
    for words, text in blocks(path):
        language, *rest = words.split(" ")
        if language == "sh":
            reason = rest[0].removeprefix("not-run=") if rest else None
            assert len(rest) <= 1 and (reason is None or reason in REASONS), words
        else:
            assert not re.search(r"^(\$ |coppiced? |make |cmake |systemctl )", text, re.M), f"{path}: not marked sh: {text}"
    outside = FENCE.sub("", path.read_text())
    assert not re.search(r"^ {4,}(\$ |coppiced? |build/|make |cmake |systemctl )", outside, re.M), f"{path}: not in a block"


# ---- blocks run


def put_logs(folder):
    """log.vw and the like, log.csv, log.json: six actions, each of probability 1/2 or less."""
    lines = "".join(f"{1 + k % 6}:{k * 7 % 3 / 2}:0.5 |User age:{20 + k % 50} hour:{k % 24} |Item price:{k % 9}\n" for k in range(200))
    for name in ("log.vw", "yesterday.vw", "today.vw"):
        (folder / name).write_text(lines)
    rows = "".join(f"{k % 50},{k % 24},{k % 6},0.5,{k * 7 % 3 / 2}\n" for k in range(200))
    (folder / "log.csv").write_text("age,hour,action,probability,cost\n" + rows)
    event = '{{"_label_cost":{},"_label_probability":0.5,"_label_Action":{},"_labelIndex":{},"a":[1,2],"c":{{"u":{{"x":{}}},"_multi":[{{"i":{{"f":1}}}},{{"i":{{"f":2}}}}]}},"p":[0.5,0.5]}}\n'
    (folder / "log.json").write_text("".join(event.format(k % 2, 1, 0, k) for k in range(60)))


def put_rows(folder):
    """Small parts of the bundled tables, under the names of the documents."""
    (folder / "DATA").mkdir()
    for part, count in (("train", 300), ("test", 100)):
        for source, names in (("satimage", ("satimage", "DATA/satimage", "DATA/letter", "DATA/mnist")), ("abalone", ("cpu_act",))):
            with gzip.open(DATA / f"{source}.{part}.csv.gz", "rt") as table:
                text = "".join(islice(table, count))
            for name in names:
                with gzip.open(folder / f"{name}.{part}.csv.gz", "wt") as file:
                    file.write(text)
    with gzip.open(folder / "satimage.test.csv.gz", "rt") as table:
        (folder / "rows.csv").write_text(table.read())
    (folder / "others.csv").write_text("dataset,seed,events,features,classes,setting,progressive_loss,seconds\n" + "".join(
        f"{name},{seed},400,36,6,theirs,0.5,1\n" for name in ("letter", "satimage", "mnist") for seed in (1, 2)))


def put_programs(folder, endpoint):
    """bin/ and build/ with the programs: ctl asks the test's daemon, coppiced only checks."""
    (folder / "bin").mkdir()
    scripts = {
        "coppice": f'if [ "$1" = ctl ]; then shift; exec "{program("COPPICE")}" ctl --endpoint {endpoint} "$@"; fi\n'
                   f'exec "{program("COPPICE")}" "$@"\n',
        "coppiced": 'for word; do case "$word" in --check | --print-config) '
                    f'exec "{program("COPPICED")}" "$@" ;; esac; done\nexec "{program("COPPICED")}" --check "$@"\n',
        "python3": f'exec "{sys.executable}" "$@"\n',
    }
    for name, text in scripts.items():
        (folder / "bin" / name).write_text("#!/bin/sh\n" + text)
        (folder / "bin" / name).chmod(0o755)
    for name in ("daemon/coppiced", "tools/coppice"):
        (folder / "build" / name).parent.mkdir(parents=True)
        (folder / "build" / name).symlink_to(folder / "bin" / Path(name).name)


CONFIG = """state_dir = "{state}"
sockets {{ requests = {{ {requests} }} }}
model "front-page" {{ arms = 6  features = 3  loss_range = {{ 0, 2 }} }}
model "shop" {{ start_from = "{folder}/first.model" }}
"""


@pytest.fixture
def reader(daemon, tmp_path):
    """run(document): its blocks, one after the other in one shell, in the folder of a reader."""
    folder, address = tmp_path / "reader", f"127.0.0.1:{free_port()}"
    folder.mkdir()
    put_logs(folder)
    put_rows(folder)
    one = daemon(start=False)
    put_programs(folder, one.ipc("admin"))
    environment = dict(os.environ, PATH=f"{folder / 'bin'}:{os.environ['PATH']}")

    def shell(script):
        done = subprocess.run(["sh", "-eu", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=2 * DEADLINE)
        assert done.returncode == 0, script + done.stdout[-4000:] + done.stderr[-4000:]

    shell("coppice replay --format vw log.vw --save first.model && cp first.model shop.model")
    one.write_config(CONFIG.format(state=one.state, folder=folder, requests=f'"tcp://{address}", "{one.ipc("requests")}"'))
    grow(one.start().client(), "front-page")
    shell("coppice ctl decide front-page u1-17 --x '[1, 2, 3]' && coppice ctl backup state")
    for name in ("coppice.conf", "shop.conf"):
        (folder / name).write_text(CONFIG.format(state=folder / "state", folder=folder, requests=f'"tcp://{address}"'))
    replaced = {"/var/lib/coppice": f"{folder}/state", "/tmp/coppice": f"{folder}/own", "/backup/": f"{folder}/",
                "127.0.0.1:5590": address}

    def run(path):
        script = "".join(commands(path))
        for old, new in replaced.items():
            script = script.replace(old, new)
        shell(script)

    return run


@pytest.mark.parametrize("path", [path for path in RUN if commands(path)], ids=lambda path: path.stem)
def test_blocks_of_commands_run(path, reader):
    reader(path)


# ---- incidents


def rows_of(path):
    """[cells] of all tables of a document."""
    return [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in path.read_text().splitlines() if line.startswith("| `")]


def test_every_warning_and_error_has_its_row_of_what_to_do():
    events = {name for cells in rows_of(ROOT / "docs/reference/events.md") if re.search("warning|error", cells[1])
              for name in re.findall(r"`(\w+)`", cells[0])}
    rows = rows_of(ROOT / "docs/how-to/incidents.md")
    told = [name for cells in rows for name in re.findall(r"`([a-z_]+)`", cells[0])]
    assert len(events) > 40 and set(told) == events and len(told) == len(set(told))
    assert all(len(cells) == 3 and all(cells) for cells in rows)
