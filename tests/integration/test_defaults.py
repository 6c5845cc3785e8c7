"""Defaults: what the help of each option and the manual page of the configuration name is what is really used.

Of a tool's option: the program does the same without it and with the named value, and something else with another.
Of the configuration: --print-config shows the named value.
"""

import json
import random
import re
import subprocess
from pathlib import Path

import pytest
from conftest import DEADLINE, program, section

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"

# ---- files to run on


def write_rows(path, target, rows=300):
    rng = random.Random(5)
    lines = ["a,b,c,d,y"]
    for _ in range(rows):
        x = [rng.gauss(0, 1) for _ in range(4)]
        lines.append(",".join(f"{v:.4f}" for v in x) + f",{target(x, rng)}")
    path.write_text("\n".join(lines) + "\n")


def a_class(x, rng):
    return rng.randrange(4) if rng.random() < 0.15 else int(x[0] + x[1] > 0) + 2 * int(x[2] * x[0] > 0.2)


def a_number(x, rng):
    return f"{3 * (x[0] > 0) + x[1] * x[2] + rng.gauss(0, 0.3) + (5 if rng.random() < 0.05 else 0):.4f}"


def write_libsvm(path):
    rng = random.Random(6)
    lines = []
    for _ in range(300):
        k = rng.randrange(3)
        places = sorted({rng.randrange(1, 300) for _ in range(4)} | {400 + k * (rng.random() < 0.8)})
        lines.append(f"{k} " + " ".join(f"{i}:1" for i in places))
    path.write_text("\n".join(lines) + "\n")


def write_vw(path):
    rng = random.Random(7)
    lines = []
    for _ in range(200):
        k, word = rng.randrange(3), rng.randrange(3)
        cost = int(k != word)
        lines.append(f"{k + 1}:{cost}:0.3333 |x w{word} {rng.randrange(9)}:2 z:{rng.uniform(0.5, 2):.3f}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("defaults")
    write_rows(folder / "classes.csv", a_class)
    write_rows(folder / "values.csv", a_number)
    text = (folder / "classes.csv").read_text().splitlines()
    text[5] = "," + text[5].partition(",")[2]
    (folder / "holes.csv").write_text("\n".join(text) + "\n")
    turned = [line[:-1] + str(3 - int(line[-1])) for line in text[1:] if line[0] != ","]
    (folder / "drift.csv").write_text("\n".join([*text[:1], *(3 * (text[1:5] + text[6:])), *(2 * turned)]) + "\n")
    write_libsvm(folder / "sparse.libsvm")
    write_vw(folder / "log.vw")
    (folder / "sets").mkdir()
    (folder / "sets" / "one.train.csv").write_bytes((folder / "classes.csv").read_bytes())
    (folder / "sets" / "one.test.csv").write_bytes((folder / "classes.csv").read_bytes())
    run(folder, "convert --from class --to csv classes.csv log.csv --logging epsilon --seed 3")
    lines = (folder / "log.csv").read_text().splitlines()
    (folder / "bad.csv").write_text("\n".join([*lines[:20], "nonsense,x", *lines[20:]]) + "\n")
    run(folder, "train --learner tao --train classes.csv --model tree.model")
    return folder


# ---- running


UNSTEADY = {"seconds", "events_per_second", "microseconds", "model"}


def steady(value):
    """Without what names the options or a time."""
    if isinstance(value, dict):
        return {k: steady(v) for k, v in value.items()
                if k not in UNSTEADY and not k.endswith("_seconds") and (k != "settings" or isinstance(v, list))}
    return [steady(v) for v in value] if isinstance(value, list) else value


def run(folder, words):
    """(status, standard output, standard error) of the program."""
    done = subprocess.run([program("COPPICE"), *words.split()], cwd=folder, capture_output=True, text=True, timeout=DEADLINE)
    return done.returncode, done.stdout, done.stderr


def outcome(folder, words):
    """What the program does, in files and on its outputs."""
    made = [folder / name for name in ("out.model", "out.csv", "out.curves.csv", "out.settings.csv")]
    for path in made:
        path.unlink(missing_ok=True)
    status, out, err = run(folder, words)
    result = [status, err]
    try:
        result.append(steady(json.loads(out)))
    except ValueError:
        result.append(out)
    if made[0].exists() and words.startswith("replay"):
        result.append(made[0].read_bytes())
    elif made[0].exists():
        result.append(steady(json.loads(run(folder, "inspect out.model --view json")[1])))
    if made[1].exists():
        lines = made[1].read_text().splitlines()
        result.append(sorted(line.rpartition(",")[0] for line in lines) if words.startswith("bakeoff") else lines)
    return result


@pytest.fixture(scope="module")
def outcomes(files):
    """What commands do, each of them run once."""
    known = {}

    def of(words):
        if words not in known:
            known[words] = outcome(files, words)
        return known[words]

    return of


# ---- options: what they are tried with, the default, another value

TAO = "train --learner tao --height 6 --train classes.csv --model out.model --json"
TAO_VALUES = "train --learner tao --height 6 --task regression --train values.csv --model out.model --json"
CART = "train --learner cart --train classes.csv --model out.model --json"
CART_VALUES = "train --learner cart --task regression --train values.csv --model out.model --json"
DGT = "train --learner dgt --height 6 --train classes.csv --model out.model --json"
QUICK = DGT + " --epochs 4"
DGT_VALUES = "train --learner dgt --height 6 --task regression --train values.csv --model out.model --json --epochs 4"
LATENT = "train --learner latent --train classes.csv --model out.model --json"
POLYTOPE = "train --learner polytope --train classes.csv --model out.model --json"
POLYTOPE_QUICK = POLYTOPE + " --epochs 3 --refine 2"
LAPTAO = "train --learner laptao --train classes.csv --labelled 0.3 --model out.model --json"
LAPTAO_VALUES = "train --learner laptao --task regression --train values.csv --labelled 0.3 --model out.model --json"
SIMULATE = "simulate --data classes.csv --json"
RANK = "simulate --data classes.csv --learner rank --json"
SIMULATE_SPARSE = "simulate --data sparse.libsvm --json"
RANK_SPARSE = "simulate --data sparse.libsvm --learner rank --json"
VALUE = "simulate --data values.csv --learner value --feedback two --json"
VALUE_BINS = "simulate --data values.csv --learner value --json"
SIMULATE_DGT = "simulate --data classes.csv --learner dgt --json"
REFITS = "simulate --data classes.csv --passes 4 --refit-every 300 --json"
REFITS_TAO = REFITS + " --refit-method tao --refit-risk 0.8"  # which is promoted
REPLAY = "replay --format csv log.csv --json"
REPLAY_DGT = "replay --format csv log.csv --learner dgt --json"
REPLAY_VW = "replay --format vw log.vw --json"
REPLAY_HASHED = "replay --format vw log.vw --features hashed --json"
CLASS = "convert --from class --to csv classes.csv out.csv --json"
BAKEOFF = "bakeoff --data-dir sets --csv out.csv --json"

TRAIN_ROWS = [
    (CART, "height", "20", "1"),
    (LAPTAO, "height", "6", "2"),
    (TAO, "leaves", "constant", "linear"),
    (LAPTAO, "leaves", "constant", "linear"),
    (TAO, "alpha", "0.3", "9"),
    (TAO_VALUES, "alpha", "0.2", "9"),
    (LAPTAO, "alpha", "0.1", "9"),
    (LAPTAO_VALUES, "alpha", "0.03", "9"),
    (TAO + " --leaves linear", "leaf-alpha", "0.5", "9"),
    (TAO_VALUES + " --leaves linear", "leaf-alpha", "1", "9"),
    (LAPTAO + " --leaves linear", "leaf-alpha", "0.1", "9"),
    (TAO + " --leaves linear", "leaf-classes", "0", "1"),
    (TAO, "loss", "zero-one", "cross-entropy"),
    (TAO_VALUES, "loss", "squared", "absolute"),
    (QUICK, "loss", "cross-entropy", "squared"),
    (DGT_VALUES, "loss", "squared", "huber"),
    (TAO, "starts", "1", "3"),
    (QUICK, "starts", "1", "9"),
    (TAO, "split", "oblique", "axis"),
    (LAPTAO, "split", "oblique", "axis"),
    (TAO, "start", "random", "cart"),
    (TAO, "order", "leaves-first", "root-first"),
    (TAO_VALUES, "order", "root-first", "leaves-first"),
    (LAPTAO, "order", "root-first", "leaves-first"),
    (TAO, "iterations", "40", "1"),
    (LAPTAO, "iterations", "15", "1"),
    (TAO, "tolerance", "0.0001", "0.5"),
    (TAO, "node-tolerance", "0.003", "0.9"),
    (TAO, "node-steps", "50", "1"),
    (CART, "min-leaf", "0", "50"),
    (POLYTOPE, "height", "8", "1"),
    (POLYTOPE_QUICK, "min-leaf", "5", "50"),
    (POLYTOPE, "epochs", "30", "1"),
    (POLYTOPE_QUICK, "batch", "256", "16"),
    (POLYTOPE_QUICK, "lr", "0.05", "0.5"),
    (POLYTOPE_QUICK, "anneal-first", "2", "0.1"),
    (POLYTOPE_QUICK, "anneal-last", "30", "300"),
    (POLYTOPE_QUICK, "facets", "20", "1"),
    (POLYTOPE_QUICK, "node-starts", "0", "1"),
    (POLYTOPE_QUICK, "least-gain", "0.0001", "0.3"),
    (POLYTOPE, "refine", "40", "1"),
    (POLYTOPE_QUICK, "refine-lr", "0.02", "0.5"),
    (POLYTOPE_QUICK, "gamma0", "20", "0.1"),
    (POLYTOPE_QUICK, "c0", "0.1", "50"),
    (POLYTOPE_QUICK, "a0", "0.01", "5"),
    (POLYTOPE_QUICK, "b0", "1", "0.001"),
    (CART, "complexity", "-1", "0.2"),
    (CART + " --trees 3 --share 0.5", "complexity", "0", "0.1"),
    (CART, "folds", "10", "2"),
    (CART, "features", "0", "1"),
    (QUICK, "layers", "3", "1"),
    (QUICK, "width", "0", "5"),
    (QUICK, "gradients", "cheaper", "layered"),
    (DGT, "epochs", "100", "1"),
    (QUICK, "batch", "128", "16"),
    (DGT + " --validation 0.2", "patience", "0", "1"),
    (QUICK, "optimiser", "rmsprop", "sgd"),
    (QUICK, "lr", "0.01", "0.5"),
    (QUICK, "minimum-lr", "0.0001", "0.009"),
    (QUICK, "momentum", "0", "0.9"),
    (QUICK, "restarts", "3", "1"),
    (QUICK, "clip", "0.01", "1"),
    (QUICK, "l1", "0", "0.5"),
    (QUICK, "l2", "0", "0.5"),
    (DGT_VALUES + " --loss huber", "huber", "0.2", "2"),
    (QUICK, "shared-bias", "on", "off"),
    (QUICK, "scaled-quantiser", "on", "off"),
    (QUICK + " --anneal", "anneal-first", "1", "9"),
    (QUICK + " --anneal", "anneal-last", "100", "9"),
    (CART, "trees", "1", "3"),
    (CART, "thresholds", "all", "drawn"),
    (CART + " --trees 3 --share 0.5", "forest", "bagging", "adaboost"),
    (CART + " --trees 3 --forest bagging", "share", "0.9", "0.5"),
    (LAPTAO + " --trees 2", "share", "0.9", "0.5"),
    (CART_VALUES + " --trees 3 --forest gradient", "shrinkage", "0.1", "0.5"),
    (CART + " --trees 3 --forest gradient", "shrinkage", "0.3", "0.1"),
    (LAPTAO, "trees", "1", "2"),
    (LAPTAO, "neighbours", "10", "3"),
    (LAPTAO, "perplexity", "5", "2"),
    (LAPTAO, "graph", "auto", "features"),
    (LAPTAO, "gamma", "0.1", "9"),
    (LAPTAO_VALUES, "gamma", "0.03", "9"),
    (LAPTAO, "mu", "0.1", "9"),
    (LAPTAO, "growth", "1.3", "9"),
    (LAPTAO, "rounds", "20", "1"),
    (LAPTAO, "teacher", "0", "20"),
    (LAPTAO + " --teacher 20", "teacher-weight", "1", "0.01"),
    (LAPTAO, "solver", "gradients", "eigenvectors"),
    (LATENT, "height", "5", "2"),
    (LATENT, "lambda", "1", "500"),
    (LATENT, "layers", "3", "1"),
    (LATENT, "width", "0", "5"),
    (LATENT, "width", "64", "5"),
    (LATENT, "dropout", "0", "0.5"),
    (LATENT, "epochs", "100", "1"),
    (LATENT, "batch", "64", "16"),
    (LATENT + " --lr 0.03", "patience", "10", "1"),
    (LATENT, "lr", "0.01", "0.5"),
    (LATENT, "validation", "0.2", "0.5"),
    (LATENT, "scale", "standard", "none"),
    (CART, "task", "classification", "regression"),
    (TAO + " --search", "trials", "60", "2"),
    (TAO + " --search --trials 4", "repeats", "1", "2"),
    (TAO + " --alpha 9,1,0.1", "validation", "0.2", "0.5"),
    (TAO + " --search --trials 4", "validation", "0.2", "0.5"),
    (QUICK, "validation", "0", "0.4"),
    (TAO, "seed", "1", "2"),
    (CART_VALUES, "target", "4", "0"),
    ("train --learner cart --train holes.csv --json", "missing", "refuse", "mean"),
    (CART, "scale", "none", "standard"),
    (QUICK, "scale", "standard", "none"),
    (TAO, "scale", "auto", "range"),
]

LEARNING_ROWS = [  # of simulate and of replay
    (" --policy epsilon", "epsilon", "0.1", "0.9"),
    (" --policy epsilon", "epsilon-decay", "0", "1"),
    (" --policy epsilon --epsilon-decay 1", "epsilon-floor", "0", "0.1"),
    ("", "explore-first", "0", "250"),
    ("", "policy", "matching", "epsilon"),
    ("", "gamma", "60", "1"),
    (" --policy squarecb", "gamma", "100", "1"),
    ("", "optimism", "0.3", "9"),
    ("", "least-propensity", "0.004", "0.9"),
    (" --policy squarecb", "least-propensity", "0.004", "0.9"),
    (" --policy epsilon", "least-propensity", "0", "0.9"),
    ("", "experts", "linear,trees,quadratic,forest", "linear"),
    ("", "height", "4", "1"),
    ("", "trees", "4", "1"),
    ("", "rate", "1", "10"),
    ("", "seed", "1", "3"),
    ("", "learner", "ensemble", "dgt"),
    ("", "passes", "1", "2"),
]

DGT_ROWS = [
    ("", "least-propensity", "0", "0.9"),
    (" --policy fastcb", "least-propensity", "0", "0.9"),
    ("", "policy", "epsilon", "fastcb"),
    ("", "epsilon", "0.3", "0.9"),
    (" --policy fastcb", "gamma", "30", "5000"),
    (" --policy squarecb", "gamma", "30", "1"),
    ("", "height", "6", "2"),
    ("", "rate", "0.001", "0.5"),
]

ROWS = [
    *TRAIN_ROWS,
    *((SIMULATE + more, *row) for more, *row in LEARNING_ROWS),
    *((SIMULATE_DGT + more, *row) for more, *row in DGT_ROWS),
    *((REPLAY + " --policy-value exploring" + more, *row) for more, *row in LEARNING_ROWS),
    *((REPLAY_DGT + " --policy-value exploring" + more, *row) for more, *row in DGT_ROWS),
    (SIMULATE, "events", "300", "100"),
    (RANK, "policy", "fastcb", "epsilon"),
    (RANK, "gamma", "400", "1"),
    (RANK, "optimism", "0.1", "9"),
    (RANK + " --policy squarecb", "gamma", "60", "1"),
    (RANK, "least-propensity", "0.004", "0.9"),
    (RANK, "height", "5", "1"),
    (RANK, "trees", "16", "1"),
    (RANK_SPARSE, "height", "4", "1"),
    (RANK_SPARSE, "trees", "8", "1"),
    (SIMULATE_SPARSE, "height", "4", "1"),
    (SIMULATE_SPARSE, "trees", "8", "1"),
    (SIMULATE_SPARSE, "bits", "14", "3"),
    (VALUE, "height", "3", "1"),
    (VALUE, "trees", "16", "1"),
    (VALUE, "rate", "1", "9"),
    (VALUE, "delta", "0.1", "0.5"),
    (VALUE, "delta-decay", "0", "1"),
    (VALUE + " --delta-decay 1", "delta-floor", "0", "0.05"),
    (VALUE_BINS, "feedback", "bins", "two"),
    (VALUE, "loss", "squared", "huber"),
    (VALUE + " --loss huber", "huber-width", "0.2", "0.01"),
    (SIMULATE, "delay", "0", "50"),
    (SIMULATE, "missing", "0", "0.5"),
    (SIMULATE + " --curve", "points", "20", "5"),
    (REFITS, "refit-window", "200000", "100"),
    (REFITS, "refit-holdout", "0.2", "0.5"),
    (REFITS, "refit-method", "forest", "tao"),
    ("simulate --data classes.csv --passes 4 --refit-every 300 --learner dgt --json", "refit-method", "tao", "none"),
    (REFITS_TAO, "refit-height", "6", "1"),
    (REFITS_TAO, "refit-alpha", "auto", "9"),
    ("train --learner softmax --height 2 --leaf-classes 1 --train classes.csv --model out.model --json", "beta", "0", "5"),
    (REFITS, "refit-promote", "evidence", "bound"),
    (REFITS, "refit-margin", "0", "0.5"),
    (REFITS, "refit-risk", "0.05", "0.00000001"),
    ("simulate --data drift.csv --in-order --refit-every 100 --json", "refit-on-drift", "adwin", "none"),
    (REPLAY, "policy-value", "greedy", "exploring"),
    (REPLAY, "interval", "robust", "delta"),
    (REPLAY, "level", "0.95", "0.5"),
    (REPLAY, "clip", "10", "1"),
    (REPLAY, "arms", "4", "5"),
    (REPLAY, "loss-range", "0,1", "-1,1"),
    (REPLAY, "progress", "0", "50"),
    (REPLAY, "first-action", "0", "1"),
    (REPLAY, "context", "1-4", "1,2"),
    (REPLAY, "action", "action", "4"),
    (REPLAY, "probability", "probability", "4"),
    (REPLAY, "cost", "cost", "4"),
    ("replay --format csv bad.csv --json", "on-error", "stop", "skip"),
    (REPLAY_HASHED, "hash", "strings", "all"),
    (REPLAY_HASHED + " --save out.model", "names-bytes", "1048576", "0"),
    (REPLAY_VW, "lines", "one", "several"),
    ("convert --from vw --to dsjson log.vw out.csv --features hashed --json", "bits", "18", "3"),
    ("convert --from vw --to dsjson log.vw out.csv --features dense --json", "zeros", "drop", "keep"),
    (CLASS, "logging", "uniform", "epsilon"),
    (CLASS + " --logging epsilon", "epsilon", "0.1", "0.9"),
    (CLASS + " --logging softmax", "epsilon", "0.01", "0.9"),
    (CLASS + " --logging softmax", "temperature", "0.1", "9"),
    (CLASS + " --logging epsilon", "base", "linear", "trees"),
    (CLASS + " --logging constant", "base", "0", "2"),
    (CLASS + " --logging epsilon", "base-rows", "500", "20"),
    (CLASS, "cost", "zero-one", "negative"),
    (CLASS, "passes", "1", "2"),
    (CLASS, "seed", "1", "2"),
    ("inspect tree.model", "view", "text", "json"),
    ("inspect tree.model", "top", "4", "1"),
    ("export --c tree.model", "function", "predict", "score"),
    (BAKEOFF, "settings", "default,epsilon,dgt", "dgt"),
    (BAKEOFF + " --settings dgt", "seeds", "1", "2"),
    (BAKEOFF + " --settings dgt", "datasets", "one", "two"),
    (BAKEOFF + " --settings dgt", "events", "600", "100"),
    (BAKEOFF + " --seeds 3", "risk", "0.05", "0.5"),
]


@pytest.mark.parametrize("words, option, default, other", ROWS, ids=lambda value: str(value).replace(" ", "_"))
def test_default_of_an_option_is_the_one_in_its_help(outcomes, words, option, default, other):
    command = words.split()[0]
    assert re.search(rf"(?<![\w.-]){re.escape(default)}(?![\w-]|\.\d)", help_of(command)[option]) or (
        command, option) in TOLD_OTHERWISE, help_of(command)[option]
    without = outcomes(words)
    assert outcomes(f"{words} --{option} {default}") == without
    assert outcomes(f"{words} --{option} {other}") != without


# The default is told in words, not by the value that is tried here.
TOLD_OTHERWISE = {
    ("train", "height"),  # cart: any, as 20 is for so few rows; tao and dgt: chosen
    ("train", "perplexity"), ("train", "target"), ("simulate", "events"), ("simulate", "experts"), ("replay", "experts"),
    ("replay", "arms"), ("replay", "context"), ("replay", "progress"), ("replay", "lines"), ("bakeoff", "datasets"),
    ("bakeoff", "events"),
}  # fmt: skip


# ---- what the help says


def help_of(command):
    """{option: its text} of the help of a subcommand of coppice, or of costs, without what it is called with."""
    of, *word = command.split() if command.startswith("costs ") else ("coppice", command)
    text = subprocess.run([program(of.upper()), *word, "--help"], capture_output=True, text=True, check=True).stdout
    found, current = {}, None
    for line in text.splitlines()[1:]:
        head = re.match(r" {2,4}(-[a-z-][\w-]*.*)", line)
        if head:
            words = head.group(1)
            names = re.match(r"--?[a-z][\w-]*( [A-Z]+ --[a-z-]+)*", words).group(0)
            current = [name.lstrip("-") for name in re.findall(r"--?[a-z][\w-]*", names)]
            for name in current:
                found[name] = found.get(name, "") + words + "\n"
        elif current and re.match(r" {15,}\S", line):
            for name in current:
                found[name] += line.strip() + " "
        else:
            current = None
    return found


def takes_value(name, text):
    return re.match(rf"(?:--?[\w-]+ \S+ )*--?{re.escape(name)} (?! )[^\s(]+", text) is not None


# Options without which something is not done at all, or that are not to be left out: there is no default to name.
NONE = {
    "train": {"learner", "train", "test", "model", "cross-validation", "start-model", "labelled", "baselines", "categories", "ignore",
              "search-log"},
    "predict": {"out"},
    "export": {"c", "out"},
    "convert": {"from", "to", "events", "model", "items", "keep", "ignore", "q", "features"},
    "inspect": {"model", "tree", "names", "candidate-names", "arm-names", "out"},
    "diff": {"model", "from", "candidate-names", "arm-names"},
    "whatif": {"without", "window", "save", "changed"},
    "ctl": {"x", "loss", "key", "server-key", "for"},
    "journal": {"from", "to", "model", "type", "id", "unit"},
    "bench": {"endpoint", "model", "format", "features", "key", "server-key"},
    "costs events": {"learner", "events", "present", "height"},
    "costs daemon": {"endpoint", "model"},
    "costs refit": set(),
    "costs grid": set(),
    "costs echo": {"endpoint"},
    "simulate": {"data", "holdout", "items", "live", "model", "contexts", "actions", "feedback-to", "value-range",
                 "refit-every", "share-min", "share-max"},
    "bakeoff": {"data-dir", "settings-file", "csv", "peers", "report"},
    "replay": {"format", "events", "skip", "holdout-after", "evaluate", "compare", "save", "resume", "dump",
               "live", "model", "items", "keep", "ignore", "q", "features", "share-min", "share-max"},
    "evaluate": set(),
}  # fmt: skip

# Those that another test, or none, can compare with what is used.
ELSEWHERE = {
    "train": {"threads"},  # of no influence on what is fitted
    "predict": {"threads"},
    "evaluate": {"threads", "smoothing"},  # only shown of 20 classes and more
    "simulate": {"first-id"},  # --live
    "replay": {"loss", "threads", "first-id", "columns", "candidates", "max-nonzeros", "bits", "assume-probability"},
    "convert": {"model", "context", "action", "probability", "first-action", "assume-probability", "lines", "hash", "on-error",
                "rename"},
    "bakeoff": {"jobs", "reference"},
    "ctl": {"endpoint", "timeout", "epoch", "within"},
    "bench": {"inflight", "events", "batch", "timeout", "rounds", "seconds", "as"},
    "inspect": {"names"},  # a file
    "journal": set(), "export": set(),
}  # fmt: skip


def test_help_names_the_default_of_every_option():
    missing = []
    for command, without in NONE.items():
        for name, text in help_of(command).items():
            if takes_value(name, text) and "default" not in text and name not in without:
                missing.append(f"{command} --{name}: {text}")
    assert missing == []


def test_every_default_in_a_help_is_compared():
    tried = {(words.split()[0], option) for words, option, _default, _other in ROWS}
    missing = []
    for command, others in ELSEWHERE.items():
        for name, text in help_of(command).items():
            named = takes_value(name, text) and "default" in text
            if named and (command, name) not in tried and name not in others:
                missing.append(f"{command} --{name}: {text}")
    assert missing == []


# ---- the configuration

SHAPES = {
    "ensemble": "arms = 3 features = 4",
    "sparse": "arms = 3 features = 0",
    "squarecb": "arms = 3 features = 4 policy = squarecb",
    "epsilon": "arms = 3 features = 4 policy = epsilon",
    "dgt": "learner = dgt arms = 3 features = 4",
    "dgt fastcb": "learner = dgt arms = 3 features = 4 policy = fastcb",
    "dgt squarecb": "learner = dgt arms = 3 features = 4 policy = squarecb",
    "value": "learner = value feedback = two features = 4 value_range = { -2, 3 }",
    "value bins": "learner = value features = 4 value_range = { -2, 3 }",
    "rank": "learner = rank features = 4 candidate_features = 2",
    "rank sparse": "learner = rank features = 0",
    "rank squarecb": "learner = rank features = 4 candidate_features = 2 policy = squarecb",
}

ANY = tuple(SHAPES)
ARMS = ("ensemble", "sparse", "dgt")

# (section, option, what the manual page says, the value, in models of these shapes)
CONFIGURATION = [
    ("", "clock_tolerance", "Default 365d.", '"365d"', ()),
    ("", "refit_cpu_share", "Default 0.1.", "0.1", ()),
    ("log", "facility", "daemon (default)", '"daemon"', ()),
    ("log", "level", "info (default)", '"info"', ()),
    ("sockets", "message_limit", "Default 1MiB.", '"1MiB"', ()),
    ("sockets", "queue_limit", "Default 256MiB.", '"256MiB"', ()),
    ("sockets", "insecure", "Default false.", "false", ()),
    ("sockets", "admin", "Default ipc://STATE_DIR/admin.ipc;", '{ "ipc://s/admin.ipc" }', ()),
    ("journal", "enabled", "Default true.", "true", ()),
    ("journal", "sync", "interval (default)", '"interval"', ()),
    ("journal", "interval", "Default 10ms.", '"10ms"', ()),
    ("journal", "segment", "Default 64MiB.", '"64MiB"', ()),
    ("journal", "keep", "Default 10GiB.", '"10GiB"', ()),
    ("journal", "keep_age", "0s, the default", '"0us"', ()),
    ("journal", "compress", "Default false.", "false", ()),
    ("checkpoint", "every", "Default 60s.", '"1min"', ()),
    ("checkpoint", "keep", "Default 3.", "3", ()),
    ("checkpoint", "older", "Default 8,", "8", ()),
    ("model", "learner", "ensemble (default)", '"ensemble"', ("ensemble", "sparse")),
    ("model", "bits", "Default 14.", "14", ANY),
    ("model", "max_nonzeros", "Default 1024.", "1024", ANY),
    ("model", "max_candidates", "Default 64.", "64", ANY),
    ("model", "policy", "matching (default for ensemble)", '"matching"', ("ensemble", "sparse")),
    ("model", "policy", "fastcb (default for rank)", '"fastcb"', ("rank", "rank sparse")),
    ("model", "policy", "epsilon (default for dgt)", '"epsilon"', ("dgt",)),
    ("model", "epsilon", "Default 0.1 (dgt 0.3)", "0.1", ("epsilon",)),
    ("model", "epsilon", "Default 0.1 (dgt 0.3)", "0.3", ("dgt",)),
    ("model", "epsilon_decay", "Default 0.1 (dgt 0.3), 0 and 0.", "0", ("epsilon", "dgt")),
    ("model", "epsilon_floor", "Default 0.1 (dgt 0.3), 0 and 0.", "0", ("epsilon", "dgt")),
    ("model", "gamma", "Default 60 for fastcb, 100 for squarecb", "60", ("ensemble", "sparse")),
    ("model", "gamma", "Default 60 for fastcb, 100 for squarecb", "100", ("squarecb",)),
    ("model", "gamma", "in rank 400 and 60", "400", ("rank", "rank sparse")),
    ("model", "gamma", "in rank 400 and 60", "60", ("rank squarecb",)),
    ("model", "gamma", "in dgt 30 for both", "30", ("dgt fastcb", "dgt squarecb")),
    ("model", "optimism", "Default 0.3 (rank 0.1).", "0.3", ("ensemble", "sparse")),
    ("model", "optimism", "Default 0.3 (rank 0.1).", "0.1", ("rank", "rank sparse")),
    ("model", "least_propensity", "Default 0.004; 0 with policy epsilon, and for dgt.", "0.004",
     ("ensemble", "sparse", "squarecb", "rank", "rank sparse", "rank squarecb")),
    ("model", "least_propensity", "Default 0.004; 0 with policy epsilon, and for dgt.", "0",
     ("epsilon", "dgt", "dgt fastcb", "dgt squarecb")),
    ("model", "experts", "Default: all", '{ "linear", "trees", "quadratic", "forest" }', ("ensemble", "sparse")),
    ("model", "height", "ensemble (default 4)", "4", ("ensemble", "sparse")),
    ("model", "height", "rank (5; sparse 4)", "5", ("rank",)),
    ("model", "height", "rank (5; sparse 4)", "4", ("rank sparse",)),
    ("model", "height", "dgt (6)", "6", ("dgt",)),
    ("model", "height", "value (3)", "3", ("value",)),
    ("model", "trees", "ensemble 4, sparse 8", "4", ("ensemble",)),
    ("model", "trees", "ensemble 4, sparse 8", "8", ("sparse",)),
    ("model", "trees", "rank and value 16, sparse rank 8", "16", ("rank", "value")),
    ("model", "trees", "rank and value 16, sparse rank 8", "8", ("rank sparse",)),
    ("model", "learning_rate", "default 0.001", "0.001", ("dgt",)),
    ("model", "learning_rate", "others: a factor, default 1", "1", ("ensemble", "sparse", "value", "rank")),
    ("model", "seed", "Default 1.", "1", ANY),
    ("model", "reward_window", "Default 10min.", '"10min"', ANY),
    ("model", "default_loss", "none (default)", '"none"', ANY),
    ("model", "reward", "earliest (default)", '"earliest"', ANY),
    ("model", "loss_range", "Default { 0, 1 }.", "{ 0, 1 }", ANY),
    ("model", "delta", "Default a tenth of the range.", "0.5", ("value",)),
    ("model", "delta_decay", "Default 0 and 0: it stays.", "0", ("value",)),
    ("model", "delta_floor", "Default 0 and 0: it stays.", "0", ("value",)),
    ("model", "feedback", "bins (default)", '"bins"', ("value bins",)),
    ("model", "feedback", "one or two: that many losses", '"two"', ("value",)),  # as the shape has it
    ("model", "shared_bias", "Default true.", "true", ("dgt",)),
    ("model", "pending_max", "Default 1000000 and 1GiB.", "1000000", ANY),
    ("model", "pending_bytes", "Default 1000000 and 1GiB.", '"1GiB"', ANY),
    ("model", "unheard", "wait (default)", '"wait"', ANY),
    ("model", "unheard_max", "Default 10000, 16MiB and 10s.", "10000", ANY),
    ("model", "unheard_bytes", "Default 10000, 16MiB and 10s.", '"16MiB"', ANY),
    ("model", "unheard_age", "Default 10000, 16MiB and 10s.", '"10s"', ANY),
    ("model", "apprentice", "Default false.", "false", ANY),
    ("model", "explain_keep", "Default 256.", "256", ANY),
    ("model", "names_bytes", "Default 1MiB", '"1MiB"', ANY),
    ("refit", "every", "Default 1h (0s: any time) and 1000.", '"1h"', ARMS),
    ("refit", "least_feedback", "Default 1h (0s: any time) and 1000.", "1000", ARMS),
    ("refit", "on_drift", "adwin (default)", '"adwin"', ARMS),
    ("refit", "window", "Default 200000 and 0.2.", "200000", ARMS),
    ("refit", "holdout", "Default 200000 and 0.2.", "0.2", ARMS),
    ("refit", "method", "forest (default;", '"forest"', ARMS),
    ("refit", "height", "Default 6; dgt: the model's own", "6", ARMS),
    ("refit", "alpha", "auto (default)", '"auto"', ARMS),
    ("refit", "idle", "(default true)", "true", ARMS),
    ("refit", "nice", "0 to 19 (default)", "19", ARMS),
    ("refit", "memory", "Default auto and 1h.", '"auto"', ARMS),
    ("refit", "time_limit", "Default auto and 1h.", '"1h"', ARMS),
    ("refit", "promote", "evidence (default:", '"evidence"', ARMS),
    ("refit", "margin", "Default 0 and 0.05.", "0", ARMS),
    ("refit", "risk", "Default 0 and 0.05.", "0.05", ARMS),
    ("refit", "keep", "Default 5.", "5", ARMS),
]

# Shown by --print-config, and chosen by the test.
GIVEN = {"state_dir", "requests", "arms", "features", "candidate_features", "value_range"}
# Lists that are empty unless given.
EMPTY = {"contexts_bind", "contexts_connect", "feedback_bind", "feedback_connect", "feedback_pull_bind", "actions_bind"}


def manual_entries():
    """{(section, option): text} of coppice.conf(5)."""
    page = (ROOT / "docs" / "reference" / "coppice.conf.5.scd").read_text()
    entries, part, names = {}, "", []
    for line in page.split("# GLOBAL OPTIONS")[1].split("# EXAMPLES")[0].splitlines():
        if line.startswith("# SECTION "):
            part = re.split(r"[ ,]", line[len("# SECTION "):])[0]
        elif line.startswith("*"):
            names = re.findall(r"\*([a-z_]+)\*", line)
        elif line.startswith("\t"):
            for name in names:
                entries[part, name] = (entries.get((part, name), "") + " " + line.strip().replace("*", "")).strip()
    return entries


def printed(folder, shape, refit):
    """{(section, option): value} of --print-config."""
    text = 'state_dir = "s"\n' + section("sockets", {"requests": ["ipc://r.ipc"]}) + "journal { }\nlog { }\ncheckpoint { }\n"
    more = " refit { enabled = true }" if refit else ""
    (folder / "one.conf").write_text(f"{text}model m {{ {SHAPES[shape]}{more} }}\n")
    done = subprocess.run([program("COPPICED"), "--config", "one.conf", "--print-config"], cwd=folder, capture_output=True,
                          text=True, check=True, timeout=DEADLINE)
    found, parts = {}, [""]
    for line in done.stdout.splitlines():
        line = line.strip()
        if line.endswith("{"):
            parts.append(line.split()[0])
        elif line == "}":
            parts.pop()
        else:
            name, _, value = line.partition(" = ")
            found[parts[-1], name] = value
    return found


@pytest.fixture(scope="module")
def configurations(tmp_path_factory):
    folder = tmp_path_factory.mktemp("configurations")
    return {shape: printed(folder, shape, shape in ARMS) for shape in SHAPES}


@pytest.mark.parametrize("part, option, words, value, shapes", CONFIGURATION)
def test_default_of_the_configuration_is_the_one_in_the_manual_page(configurations, part, option, words, value, shapes):
    entry = manual_entries()[part, option]
    assert words in entry, entry
    for shape in shapes or ANY:
        assert configurations[shape][part, option] == value, shape


def test_every_value_of_the_configuration_is_compared(configurations):
    compared = {(part, option, shape) for part, option, _, _, shapes in CONFIGURATION for shape in shapes or ANY}
    shown = {(part, option, shape) for shape, values in configurations.items() for part, option in values
             if option not in GIVEN | EMPTY and (part != "refit" or shape in ARMS)}
    # What a model of this shape does not use, or what its section gives.
    others = {("model", option, shape) for shape in ANY for option in
              ("learner", "policy", "height", "trees", "learning_rate", "optimism", "experts", "shared_bias")}
    others |= {("model", o, s) for s in ("dgt fastcb", "dgt squarecb") for o in ("epsilon", "epsilon_decay", "epsilon_floor")}
    others |= {("refit", "enabled", shape) for shape in ARMS}
    assert shown - compared - others == set()
    assert all(configurations[shape]["sockets", option] == "{ }" for shape in ANY for option in EMPTY)
