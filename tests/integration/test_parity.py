"""The live daemon and the in-process simulation are one system: equal losses, bit for bit."""

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest
import zmq
from conftest import DEADLINE, model, program, section

FIGURES = {"events", "progressive_loss"}


def dataset(name):
    folders = [Path(__file__).resolve().parents[1] / "data"]
    if os.environ.get("COPPICE_DATA"):
        folders.append(Path(os.environ["COPPICE_DATA"]))
    for folder in folders:
        path = folder / f"{name}.train.csv.gz"
        if path.exists():
            return path
    pytest.skip(f"{name}.train.csv.gz is neither in tests/data nor in COPPICE_DATA")


def shape(path):
    """Features and classes: the last column is the class, and there may be a header."""
    with gzip.open(path, "rt") as file:
        lines = [line.strip().split(",") for line in file][1:]
    return len(lines[0]) - 1, len({fields[-1] for fields in lines})


def simulate(*arguments):
    run = subprocess.run(
        [program("COPPICE"), "simulate", *arguments, "--json"], capture_output=True, text=True, timeout=5 * DEADLINE
    )
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    assert FIGURES <= figures.keys()
    return {key: value for key, value in figures.items() if "second" not in key}


# Data, arguments of simulate, and the model's options that say the same.
CASES = {
    "ensemble": ("satimage", "--learner ensemble", {}),
    "ensemble, epsilon": ("satimage", "--policy epsilon --epsilon 0.2", {"policy": "epsilon", "epsilon": 0.2}),
    "dgt": ("satimage", "--learner dgt", {"learner": "dgt"}),
    "rank": ("satimage", "--learner rank", {"learner": "rank"}),
    "rank, epsilon": ("satimage", "--learner rank --policy epsilon", {"learner": "rank", "policy": "epsilon"}),
    "value, bins": ("abalone", "--learner value", {"learner": "value", "feedback": None}),
    "value, two-point": ("abalone", "--learner value --feedback two", {"learner": "value", "feedback": "two"}),
    "value, one-point": ("abalone", "--learner value --feedback one", {"learner": "value", "feedback": "one"}),
}


def prepare(name, seed):
    """(arguments of simulate, options of the model, more arguments for the live run). Targets of values are scaled to
    0 ... 1 by simulate, which is the range that a model has unless told otherwise."""
    data, arguments, options = CASES[name]
    path = dataset(data)
    features, classes = shape(path)
    options = {"features": features, "seed": seed, "height": None, "trees": None, **options}
    if options.get("learner") == "rank":  # the classes are candidates with a feature of their own each
        options |= {"arms": None, "candidate_features": classes, "max_candidates": classes + 1}
    elif data == "satimage":
        options["arms"] = classes
    return ["--data", path, "--seed", str(seed), "--events", "1500", *arguments.split()], options, ["--model", "m"]


@pytest.mark.parametrize("name", CASES)
def test_live_simulation_equals_in_process(daemon, name):
    arguments, options, live = prepare(name, seed=3)
    one = daemon(model(**options))
    expected = simulate(*arguments)
    assert simulate(*arguments, *live, "--live", one.ipc("requests")) == expected
    assert one.client().model()["decisions"] == expected["events"] == 1500


def test_live_simulation_with_items_equals_in_process(daemon, tmp_path):
    arguments, options, live = prepare("rank", seed=3)
    items = tmp_path / "items.csv"
    items.write_text("".join(f"{k % 2},{k / 5},{(k * k) % 5}\n" for k in range(6)))
    arguments += ["--items", items]
    one = daemon(model(**{**options, "candidate_features": 3}))
    expected = simulate(*arguments)
    assert simulate(*arguments, *live, "--live", one.ipc("requests")) == expected
    wrong = daemon(model(**options))
    command = [program("COPPICE"), "simulate", *arguments, *live, "--live", wrong.ipc("requests")]
    run = subprocess.run([str(a) for a in command], capture_output=True, text=True, timeout=5 * DEADLINE)
    assert run.returncode == 1 and "candidate_features = 6, the candidates have 3" in run.stderr


def test_live_simulation_over_a_restart_equals_in_process(daemon):
    """Half before, half after: the checkpoint loses nothing."""
    arguments, options, live = prepare("ensemble", seed=5)
    whole, halves = daemon(model(**options)), daemon(model(**options))
    simulate(*arguments, *live, "--live", whole.ipc("requests"))
    simulate(*arguments, *live, "--live", halves.ipc("requests"))
    halves.restart()
    second = ["--data", arguments[1], "--seed", "6", "--events", "500", *live, "--first-id", "5000"]
    results = [simulate(*second, "--live", one.ipc("requests")) for one in (whole, halves)]
    assert results[0] == results[1]
    assert whole.client().model() == halves.client().model()


@pytest.mark.parametrize("learner", ["ensemble", "rank"])
def test_live_simulation_over_streams_equals_in_process(daemon, learner):
    arguments, options, live = prepare(learner, seed=4)
    one = daemon(start=False)
    sockets = {f"{name}_bind": [one.ipc(name)] for name in ("contexts", "actions", "feedback")}
    one.write_config(model(**options) + section("sockets", {"requests": [one.ipc("requests")], **sockets}))
    one.start()
    streams = ["--contexts", one.ipc("contexts"), "--actions", one.ipc("actions"), "--feedback-to", one.ipc("feedback")]
    expected = simulate(*arguments)
    assert simulate(*arguments, *live, "--live", one.ipc("requests"), *streams) == expected
    assert one.client(zmq.REQ).model()["learned"] == 1500
