"""Every allocation of a tool fails once: it ends with a message and status 1, or does its work nevertheless; and gives
back what it took."""

import errno
import gzip
import itertools
import os
import subprocess
from pathlib import Path

import pytest
import zmq
from faults import LONG, MEMORY, Fault, service

DATA = Path(__file__).resolve().parent.parent / "data"
CORPUS = Path(__file__).resolve().parent.parent / "fuzz" / "corpus"
NEAR, NEAR_SANITIZED = (400 if LONG else 120), 40  # of the first allocations each, then further and further apart
STEP = 1.15 if LONG else 1.3

OUTPUTS = ("salvaged", "out.csv", "out.curves.csv", "out.settings.csv", "report.txt", "report.html", "saved",
           "saved.features.txt", "dump", "out.dsjson", "out.vw", "page.html", "out.tree")

COMMANDS = {
    "simulate": "simulate --data rows.csv --learner dgt --height 1 --holdout rows.csv --curve --json",
    "simulate_rank": "simulate --data rows.csv --learner rank --height 1 --trees 1 --items items.csv --delay 5",
    "simulate_refit": "simulate --data rows.csv --height 1 --trees 1 --refit-every 20 --refit-method tao --refit-height 1",
    "replay": "replay --format csv log.csv --height 1 --trees 1 --save saved --dump dump --progress 20",
    "replay_sequence": "replay --format csv log.csv --height 1 --trees 1 --interval sequence --json",
    "resume": "replay --format csv log.csv --resume model --passes 2",
    "hashed": "replay --format vw log.vw --bits 4 --features hashed --height 1 --trees 1 --save saved --json",
    "compare": "replay --format csv log.csv --compare dgt:height=1,ensemble:height=1:trees=1,uniform --threads 1",
    "evaluate_policy": "replay --format csv log.csv --evaluate model --json",
    "journal_replay": "replay --format journal state/journal --model e --learner dgt --height 1",
    "convert": "convert --from csv --to dsjson log.csv out.dsjson --json",
    "convert_class": "convert --from class --to vw rows.csv out.vw --logging epsilon --base trees --base-rows 10 --shuffle",
    "inspect": "inspect corpus/checkpoint/several --json",
    "inspect_tree": "inspect corpus/checkpoint/mixture_sparse --tree all",
    "inspect_page": "inspect corpus/checkpoint/several --view html --out page.html",
    "diff": "diff corpus/checkpoint/several corpus/checkpoint/several --json",
    "whatif": "whatif lived --without 1 epsilon=0.5 --json",
    "diff_words": "diff corpus/checkpoint/mixture_sparse corpus/checkpoint/mixture_sparse",
    "inspect_replay": "inspect model",
    "inspect_trained": "inspect tree --view json",
    "importance": "inspect tree --importance",
    "train": "train --learner cart --train rows.csv --test rows.csv --height 2 --model out.tree --threads 1 --json",
    "train_tao": "train --learner tao --train rows.csv --height 1 --iterations 2 --threads 1 --starts 2",
    "train_dgt": "train --learner dgt --train rows.csv --height 1 --epochs 1 --threads 1",
    "train_laptao": "train --learner laptao --train rows.csv --test rows.csv --height 1 --labelled 0.5 --rounds 1 --threads 1 --baselines all",
    "search": "train --learner cart --train rows.csv --search --trials 2 --threads 1",
    "predict": "predict tree rows.csv --probabilities --leaves --json",
    "evaluate": "evaluate tree rows.csv --confusion --threads 1",
    "export": "export --c tree --json",
    "embed": "embed --train rows.csv --height 1 --rounds 1 --sweeps 1 --threads 1 --model map --html map.html --out places --json",
    "journal_stat": "journal stat state --json",
    "journal_verify": "journal verify state",
    "journal_dump": "journal dump state --json",
    "journal_salvage": "journal salvage state salvaged",
    "bakeoff": "bakeoff --data-dir sets --seeds 1 --events 20 --jobs 1 --csv out.csv --report report --settings dgt:height=1,ensemble:height=1:trees=1",
    "bakeoff_again": "bakeoff --csv kept.csv --report report --json",
    "costs_events": "costs events --learner rank --events 2 --features 2 --candidate-features 2 --height 1 --trees 1",
    "bench_parse": "bench parse --format vw log.vw --json",
}


def run(line, folder, env=None):
    words = line.split()
    costs = words[0] == "costs"
    return subprocess.run([service.program("COSTS" if costs else "COPPICE"), *words[costs:]], cwd=folder, env={**os.environ, **(env or {})},
                          capture_output=True, text=True, timeout=service.DEADLINE)


def live(folder):
    """A daemon's state folder, `lived`."""
    context = zmq.Context()
    (folder / "daemon").mkdir()
    one = service.Daemon(folder / "daemon", context, service.model("w", height=1, trees=1, policy="epsilon"))
    service.grow(one.start().client(), "w", 20)
    one.stop()
    one.close()
    context.destroy(linger=0)
    one.state.rename(folder / "lived")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory")
    (path / "corpus").symlink_to(CORPUS)
    (path / "state").symlink_to(DATA / "state")
    live(path)
    with gzip.open(DATA / "satimage.train.csv.gz", "rt") as source:
        rows = [line.strip().split(",")[-4:] for line in itertools.islice(source, 40)]
    (path / "rows.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    (path / "items.csv").write_text("".join(f"{k},{k * k}\n" for k in range(6)))
    (path / "sets").mkdir()
    (path / "sets" / "rows.csv").write_text((path / "rows.csv").read_text())
    (path / "log.vw").write_text("1:0.5:0.25 | a:1 b:2\n2:0:0.5 | a:2 b:1\n" * 20)
    for line in ("convert --from class --to csv rows.csv log.csv", "replay --format csv log.csv --height 1 --trees 1 --save model",
                 "train --learner cart --train rows.csv --height 2 --model tree",
                 "bakeoff --data-dir sets --seeds 1 --events 20 --jobs 1 --csv kept.csv --settings dgt:height=1"):
        done = run(line, path)
        assert done.returncode == 0, (line, done.stderr)
    return path


def clean(folder):
    for name in OUTPUTS:
        file = folder / name
        if file.is_dir():
            for part in file.iterdir():
                part.unlink()
        elif file.exists():
            file.unlink()


def lines_of_files(folder):
    """Of those that hold text."""
    named = {name: folder / name for name in OUTPUTS if name not in ("saved", "out.tree")}
    return {name: file.read_bytes().count(b"\n") for name, file in named.items() if file.is_file()}


@pytest.mark.parametrize("name", COMMANDS)
def test_tool_without_memory_fails_with_a_message(name, folder, tmp_path):
    fault = Fault(tmp_path)
    sanitized = service.is_sanitized(service.program("COPPICE"))
    if not sanitized:  # sanitizers look for leaks themselves
        fault.env["LD_PRELOAD"] = f"{service.program('COPPICE_LEAKS')}:{fault.env['LD_PRELOAD']}"
    clean(folder)
    fault.count(MEMORY, path="")
    whole = run(COMMANDS[name], folder, fault.env)
    assert whole.returncode == 0, whole.stderr
    total, files = fault.get("count"), lines_of_files(folder)
    assert total > 0
    n, failures = 1, 0
    while n <= total:
        clean(folder)
        fault.begin(MEMORY, errno.ENOMEM, nth=n, times=1, path="")
        done = run(COMMANDS[name], folder, fault.env)
        assert done.returncode in (0, 1), (n, total, done)
        assert "not freed" not in done.stderr and "left open" not in done.stderr, (n, total, done.stderr)
        if done.returncode == 1:
            assert "memory" in done.stderr, (n, total, done.stderr)
        elif fault.get("failed"):
            assert done.stdout.count("\n") == whole.stdout.count("\n"), (n, total, done.stdout)
            assert lines_of_files(folder) == files, (n, total)
        failures += done.returncode
        n = n + 1 if n < (NEAR_SANITIZED if sanitized else NEAR) else int(n * STEP)
    assert failures > 0
