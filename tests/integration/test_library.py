"""libcoppice in somebody else's program: installed, found by pkg-config, linked shared and static, from C and C++."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from test_install import ROOT, install

DATA = ROOT / "tests/data"
COMPILERS = {"c": ["cc", "-std=c99"], "c++": ["g++", "-x", "c++", "-std=c++11"]}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SANITIZERS = ("asan", "tsan", "ubsan")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("library") / "usr"
    install(prefix)
    return prefix


def library(prefix, name):
    (path,) = prefix.glob(f"lib*/**/{name}")
    return path


def environment(prefix):
    folder = library(prefix, "libcoppice.so").parent
    return {**os.environ, "PKG_CONFIG_PATH": str(folder / "pkgconfig"), "LD_LIBRARY_PATH": str(folder)}


def flags(prefix, *options, name="coppice"):
    if shutil.which("pkg-config") is None:
        pytest.skip("no pkg-config")
    return subprocess.run(
        ["pkg-config", *options, name],
        env=environment(prefix), capture_output=True, text=True, check=True, timeout=30,
    ).stdout.split()  # fmt: skip


def build(prefix, source, out, language="c", static=False, name="coppice"):
    if shutil.which(COMPILERS[language][0]) is None:
        pytest.skip(f"no {COMPILERS[language][0]}")
    words = flags(prefix, *(["--static"] if static else []), "--cflags", "--libs", name=name)
    if static:
        words = [f"-l:lib{name}.a" if word == f"-l{name}" else word for word in words]
    made = subprocess.run(
        [*COMPILERS[language], *WARNINGS, "-o", out, source, "-x", "none", *words],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if made.returncode != 0 and any(name in made.stderr for name in SANITIZERS):
        pytest.skip("the library is built with sanitizers")
    assert made.returncode == 0, made.stderr
    return out


def run(prefix, *words, status=0):
    done = subprocess.run(words, env=environment(prefix), capture_output=True, text=True, timeout=300)
    if done.returncode != status and any(name in done.stderr.lower() for name in SANITIZERS):
        pytest.skip("the library is built with sanitizers")
    assert done.returncode == status, done.stderr
    return done


def coppice(*words):
    done = subprocess.run([os.environ["COPPICE"], *words], capture_output=True, text=True, check=True, timeout=300)
    return done.stdout


def declared(name):
    """Functions of the header but for its inline ones."""
    header = re.sub(r"/\*.*?\*/", "", (ROOT / f"include/{name.replace('-', '_')}.h").read_text(), flags=re.S)
    header = re.sub(r"^static inline [^{]*\{.*?^\}", "", header, flags=re.S | re.M)
    return set(re.findall(r"^[\w ]+[ *](coppice_\w+)\(", header, re.M))


def symbols(*options):
    done = subprocess.run(["nm", "--defined-only", *options], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.split("\n")]
    return {line[2].split("@")[0] for line in lines if len(line) == 3 and line[1] != "A"}


@pytest.mark.parametrize("name, least", [("coppice", 35), ("coppice-client", 19)])
def test_exported_are_the_functions_of_the_header_alone(prefix, name, least):
    names = declared(name)
    assert len(names) > least
    assert symbols("-D", library(prefix, f"lib{name}.so")) == names
    ours = symbols("-g", library(prefix, f"lib{name}.a"))
    assert names <= ours
    assert [one for one in ours - names if not one.startswith("__")] == []  # those are the sanitizers'


@pytest.mark.parametrize("name", ["coppice", "coppice-client"])
def test_soname_and_version(prefix, name):
    version = re.search(r'#define COPPICE_VERSION +"(.*)"', (ROOT / "include/coppice.h").read_text())[1]
    shared = library(prefix, f"lib{name}.so")
    assert shared.resolve().name == f"lib{name}.so.{version}"
    assert (shared.parent / f"lib{name}.so.1").resolve() == shared.resolve()
    dynamic = subprocess.run(["readelf", "-d", shared], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"SONAME.*\[(.*)\]", dynamic) == [f"lib{name}.so.1"]
    assert flags(prefix, "--modversion", name=name) == [version]


def test_nothing_internal_is_installed(prefix):
    assert sorted(path.name for path in (prefix / "include").rglob("*.h")) == ["coppice.h", "coppice_client.h"]
    assert sorted(path.name for path in prefix.rglob("*.a")) == ["libcoppice-client.a", "libcoppice.a"]


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
@pytest.mark.parametrize("language", ["c", "c++"])
def test_decide_learns(prefix, tmp_path, language, static):
    program = build(prefix, ROOT / "examples/decide.c", tmp_path / "decide", language, static)
    needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    assert ("libcoppice.so.1" in needed) != static
    out = run(prefix, program, "3000", "7").stdout
    assert run(prefix, program, "3000", "7").stdout == out
    losses = [float(loss) for loss in re.findall(r"visitors: average loss ([\d.]+)", out)]
    (uniform,) = re.findall(r"uniform choice: average loss ([\d.]+)", out)
    assert len(losses) == 10 and re.findall(r"(\d+) visitors", out)[-1] == "3000"
    assert sum(losses[5:]) / 5 < float(uniform) - 0.3
    assert losses[-1] < losses[0] < float(uniform)
    assert 'explanation: {"rev":3000,"state":"current","a":0,' in out
    assert run(prefix, program, "3000", "8").stdout != out
    run(prefix, program, "3", status=1)


CSV = "".join(
    f"{18 + i * 7 % 60},{('red', 'green', 'blue')[i % 3]},{'' if i % 11 == 0 else i % 5},"
    f"{'keep' if (i * 7 % 60 > 30) == (i % 3 == 1) else 'drop'}\n"
    for i in range(300)
)


@pytest.fixture(scope="module")
def predict(prefix, tmp_path_factory):
    return build(prefix, ROOT / "examples/predict.c", tmp_path_factory.mktemp("predict") / "predict")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A model with categories and missing fields, and its csv."""
    folder = tmp_path_factory.mktemp("people")
    (folder / "people.csv").write_text("age,colour,visits,kind\n" + CSV)
    coppice("train", "--learner", "cart", "--height", "5", "--missing", "mean", "--train", folder / "people.csv",
            "--test", folder / "people.csv", "--model", folder / "people.model", "--json")  # fmt: skip
    return folder


def test_predict_prints_what_coppice_predicts(prefix, predict, people):
    model, file = people / "people.model", people / "people.csv"
    out = run(prefix, predict, model, file).stdout
    assert out == coppice("predict", "--probabilities", "--no-header", model, file)
    assert len(out.split()) == 300 and {line.split(",")[0] for line in out.split()} == {"keep", "drop"}
    unlabelled = people / "unlabelled.csv"
    unlabelled.write_text("\n".join(line.rsplit(",", 1)[0] for line in file.read_text().split("\n")[:-1]) + "\n")
    assert run(prefix, predict, model, unlabelled).stdout == out


def test_predict_takes_features_by_name(prefix, predict, people):
    model = people / "people.model"
    names = run(prefix, predict, model).stdout.split("\n")
    assert names[0].startswith("kind: ") and sorted(names[0].split()[1:]) == ["drop", "keep"]
    assert {"age", "colour=red", "colour=green", "colour=blue", "visits"} <= set(names)
    for row in CSV.split()[1:8]:
        age, colour, visits, _ = row.split(",")
        if visits:
            (people / "one.csv").write_text(f"age,colour,visits\n{age},{colour},{visits}\n")
            by_file = run(prefix, predict, model, people / "one.csv").stdout
            words = (f"age={age}", f"colour={colour}", f"visits={visits}")
            assert run(prefix, predict, model, *words).stdout == by_file
    assert "no feature of the model has this name" in run(prefix, predict, model, "agee=3", status=1).stderr
    other = DATA / "abalone.test.csv.gz"
    assert "fields; expected 4 as in training" in run(prefix, predict, model, other, status=1).stderr


def test_predict_on_sparse_rows(prefix, predict, tmp_path):
    rows = [f"{i % 2} 1:{i % 2 + i % 5 / 10} {2 + i % 7}:{1 + i % 3}.5\n" for i in range(200)]
    (tmp_path / "a.libsvm").write_text("".join(rows))
    coppice("train", "--learner", "cart", "--train", tmp_path / "a.libsvm", "--test", tmp_path / "a.libsvm",
            "--model", tmp_path / "m", "--json")  # fmt: skip
    out = run(prefix, predict, tmp_path / "m", tmp_path / "a.libsvm").stdout
    assert out == coppice("predict", "--probabilities", "--no-header", tmp_path / "m", tmp_path / "a.libsvm")
    assert run(prefix, predict, tmp_path / "m").stdout.split()[3:5] == ["x1", "x2"]
    for row, line in list(zip(rows, out.split()))[:10]:
        words = [f"x{word.replace(':', '=')}" for word in row.split()[1:]]
        assert run(prefix, predict, tmp_path / "m", *words).stdout.strip() == line
    (tmp_path / "a.csv").write_text("1,2\n")
    assert "expected" in run(prefix, predict, tmp_path / "m", tmp_path / "a.csv", status=1).stderr


@pytest.mark.parametrize(
    "name, task, learner", [("satimage", "classification", "tao"), ("abalone", "regression", "cart")]
)  # fmt: skip
def test_predict_on_whole_datasets(prefix, predict, tmp_path, name, task, learner):
    train, test = DATA / f"{name}.train.csv.gz", DATA / f"{name}.test.csv.gz"
    result = json.loads(coppice(
        "train", "--learner", learner, "--task", task, "--height", "4", "--train", train, "--test", test,
        "--model", tmp_path / "m", "--json"))  # fmt: skip
    options = ["--probabilities"] if task == "classification" else []
    out = run(prefix, predict, tmp_path / "m", test).stdout
    assert out == coppice("predict", *options, "--no-header", tmp_path / "m", test)
    assert len(out.split()) > 500 and result


SWAP = """
#include <coppice.h>
#include <stdio.h>

/* Decides once by a model that `coppice replay --save` wrote, learns, and saves it for the daemon. */
int main(int argc, char **argv)
{
	coppice_message message;
	coppice_model *model;
	coppice_decision decision;
	coppice_result result;
	const char *json;
	const float values[2] = { 1.0f, 1.0f };
	coppice_row row = coppice_row_names((const char *const *)argv + 3, values, 2);
	if (argc != 5 || coppice_model_load(argv[1], &model, &message) != COPPICE_OK)
		return 1;
	if (coppice_model_decide(model, coppice_id_text("x"), &row, NULL, 1e9, &decision) != COPPICE_OK ||
	    coppice_model_feedback(model, coppice_id_text("x"), 0.0, 1e9, &result) != COPPICE_OK ||
	    coppice_model_save(model, argv[2]) != COPPICE_OK)
		return 2;
	printf("%u %d %s\\n", (unsigned)decision.action, (int)(decision.p > 0.0), coppice_result_text(result));
	if (coppice_model_explain_row(model, &row, NULL, NULL, &json) != COPPICE_OK)
		return 3;
	printf("%s\\n", json);
	coppice_model_free(model);
	return 0;
}
"""


def test_models_go_from_a_log_through_a_program_to_the_daemon(prefix, tmp_path, daemon):
    users = ("ann", "bob")
    log = "".join(
        f"{1 + i % 2}:{i % 2 == (i // 2) % 2:d}:0.5 |user {users[i // 2 % 2]} old\n" for i in range(400)
    )  # fmt: skip
    (tmp_path / "a.vw").write_text(log)
    coppice("replay", "--format", "vw", tmp_path / "a.vw", "--arms", "2", "--save", tmp_path / "log.model", "--json")
    (tmp_path / "swap.c").write_text(SWAP)
    program = build(prefix, tmp_path / "swap.c", tmp_path / "swap")
    words = (tmp_path / "log.model", tmp_path / "own.model", "user^ann", "user^old")
    out = run(prefix, program, *words).stdout.split("\n")
    arm, sure, result = out[0].split()
    assert arm in "01" and sure == "1" and result == "applied"
    one = daemon(f'model "m" {{ start_from = "{tmp_path / "own.model"}" }}\n')
    client, x = one.client(), {"user^ann": 1.0, "user^old": 1.0}
    explained = client.ok("explain", "m", {"x": x})
    assert explained.pop("model") == "m" and explained["experts"]
    assert json.loads(out[1]) == explained
    reply = client.ok("decide", "m", {"id": 1, "x": x})
    assert reply["rev"] == 401  # the log's events and the program's
