"""The configuration: --check, --print-config, reload by verb and by SIGHUP."""

import re
import signal
import socket
import subprocess

import pytest
from conftest import DEADLINE, grow, model, section, wait_for

X = [0.25, 1.0, 3.5]

WRONG = """state_dir = "state"
log {
	level = "loud"
}
sockets {
	requests = { "http://127.0.0.1:80" }
	message_limit = "1TiB"
}
checkpoint {
	every = "soon"
	keep = 0
}
model "m" {
	arms = 1
	features = 3
	epsilon = 2
	reward_window = "10 parsecs"
	loss_range = { 1, 0 }
}
model "bad name" {
	arms = 3
	features = 3
	reward = "latest"
}
"""


def test_check_reports_all_wrong_values_with_lines(daemon):
    one = daemon(start=False)
    one.config.write_text(WRONG)
    run = one.run("--check")
    assert run.returncode == 1 and run.stdout == ""  # what is wrong with a section itself is told at its end
    for line, option in {
        3: "level", 6: "requests", 7: "message_limit", 10: "every", 11: "keep", 14: "arms", 16: "epsilon",
        17: "reward_window", 18: "loss_range", 24: "model", 23: "reward",
    }.items():  # fmt: skip
        matching = [text for text in run.stderr.splitlines() if text.startswith(f"{one.config}:{line}: {option}")]
        assert len(matching) == 1 and "expected" in matching[0], (line, option, run.stderr)


def test_wrong_configuration_does_not_start(daemon):
    one = daemon(start=False)
    one.config.write_text(WRONG)
    one.launch()
    one.wait(1)
    assert "epsilon" in one.log() and "reward_window" in one.log() and not one.state.exists()
    one.config.unlink()
    one.launch()
    one.wait(1)
    assert str(one.config) in one.log()


@pytest.mark.parametrize("line, text", [(4, "epsillon = 0.1"), (5, "arms = = 3"), (4, 'polixy { x = 1 }')])
def test_unknown_option_or_syntax_error_names_its_line(daemon, line, text):
    lines = ['state_dir = "state"', 'sockets { requests = { "ipc://r.ipc" } }']
    lines += ['model "m" {', "features = 3", "arms = 3", "}"]
    lines[line - 1] = text
    one = daemon(start=False)
    one.config.write_text("\n".join(lines) + "\n")
    run = one.run("--check")
    assert run.returncode == 1 and f"{one.config}:{line}:" in run.stderr, run.stderr


def test_check_of_a_good_file_names_each_models_memory(daemon):
    one = daemon(model("a") + model("v", learner="value"), start=False)
    run = one.run("--check")
    assert (run.returncode, run.stderr) == (0, "") and not one.state.exists()
    lines = run.stdout.splitlines()
    assert len(lines) == 2 and re.fullmatch(r"ok: model a about \d+ MiB, refits off: configuration", lines[0]), lines
    assert re.fullmatch(r"ok: model v about \d+ MiB, refits off: learner", lines[1]), lines
    one.write_config(model("a", refits=True))
    assert one.run("--check").stdout.endswith(" MiB, refits on\n")
    one.write_config(model("a", refits=True) + section("journal", {"enabled": False}))
    assert one.run("--check").stdout.endswith(" MiB, refits off: no journal\n")


def test_print_config_parses_back_to_itself(daemon, tmp_path):
    (tmp_path / "arms.txt").write_text("one\ntwo\nthree\n")
    text = model("a", epsilon=0.25, policy="epsilon", arm_names=tmp_path / "arms.txt", loss_range=(-1.5, 1e6))
    text += model("v", learner="value", value_range=(-3, 7), delta=0.5, feedback="one") + model("s", features=0, bits=9)
    text += model("d", learner="dgt", default_loss=0.5) + section("journal", {"sync": "always"})
    one = daemon(text, start=False)
    first = one.run("--print-config")
    assert first.returncode == 0 and "epsilon = 0.25" in first.stdout
    one.config.write_text(first.stdout)
    second = one.run("--print-config")
    assert (second.returncode, second.stdout) == (0, first.stdout)
    one.start()
    assert [m["name"] for m in one.client().status()["models"]] == ["a", "v", "s", "d"]


def test_built_in_configuration_is_printed_without_a_file(daemon):
    one = daemon(start=False)
    built_in = subprocess.run([one.program, "--print-config"], capture_output=True, text=True, timeout=60)
    assert built_in.returncode == 0 and 'model "demo"' in built_in.stdout and "ipc://requests.ipc" in built_in.stdout


def test_usage_errors_exit_2(daemon):
    one = daemon(start=False)
    for arguments in (["--frobnicate"], ["extra"], ["--config"], ["--reset-model", "nobody"]):
        run = one.run(*arguments)
        assert run.returncode == 2 and run.stderr, arguments
    assert one.run("--help").returncode == one.run("--version").returncode == 0


def told_at_the_end(one, text):
    """The log of a start with this configuration (None: as it is), which fails."""
    if text is not None:
        one.write_config(text)
    before = len(one.log()) if one.log_path.exists() else 0
    one.launch()
    one.wait(1)
    return one.log()[before:]


def test_places_that_cannot_be_served_are_told_in_full(daemon):
    other = daemon()
    one = daemon(start=False)
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    where = "127.0.0.1:%d" % taken.getsockname()[1]
    for text, told in (
        (section("http", {"listen": where}), f"http: listen: cannot bind {where}: Address already in use"),
        (section("http", {"listen": "256.1.2.3.:80"}), "http: listen: cannot find 256.1.2.3.:80: "),
        (section("sockets", {"requests": [other.ipc("requests")], "contexts_connect": ["tcp://127.0.0.1:none"]}),
         "contexts_connect"),
    ):
        assert told in told_at_the_end(one, text + model())
    taken.close()


def test_folder_of_the_state_that_cannot_be_made_is_told(daemon, tmp_path):
    one = daemon(start=False)
    file = tmp_path / "file"
    file.write_text("")
    long = f"/{300 * 'x'}"
    for folder, reasons in ((file, ["Not a directory"]), (file / "below", ["Not a directory"]),
                            (tmp_path / "none" / "below", ["No such file"]), (long, ["File name too long"])):
        one.write_config(f'state_dir = "{folder}"\n' + model())
        checked = one.run("--check")
        assert checked.returncode == 1 and any(r in checked.stderr for r in reasons), (folder, checked.stderr)
        told = told_at_the_end(one, None)
        assert any(r in told for r in reasons), (folder, told)


def test_journal_that_cannot_be_made_is_told(daemon):
    one = daemon()
    one.stop()
    for path in (one.state / "journal").iterdir():
        path.unlink()
    (one.state / "journal").rmdir()
    (one.state / "journal").write_text("")
    told = told_at_the_end(one, None)
    assert f"{one.state / 'journal'}: " in told and "Not a directory" in told, told


def reload_by_verb(one, client):
    status, reply = client.request("reload")
    return status, reply


def reload_by_signal(one, client):
    before = one.log().count("event=reload ")
    one.signal(signal.SIGHUP)
    one.logged("event=reload ", before + 1)
    return None, None


@pytest.mark.parametrize("reload", [reload_by_verb, reload_by_signal])
def test_reload_applies_what_can_change_and_names_the_rest(daemon, reload):
    # Without exploration an arm is chosen for certain.
    one = daemon(model(policy="epsilon", epsilon=0.5) + section("log", {"level": "info"}))
    client = one.client()
    grow(client)
    assert client.decide("m", "before", X)["p"] < 1
    before = client.model()
    changed = model(policy="epsilon", epsilon=0, features=2, pending_max=7, reward_window="1h") + model("new")
    one.write_config(changed + section("log", {"level": "notice"}))
    status, reply = reload(one, client)
    assert one.logged("event=reload_restart_refused") and one.logged("event=reload result=ok")
    if reply is not None:
        assert status == "ok" and reply.keys() == {"applied", "restart", "refused"}
        assert any("level" in text for text in reply["applied"])
        assert any("features" in text for text in reply["refused"])
        assert "model new: added" in reply["applied"] and reply["restart"] == []
    assert client.model() == before  # a model whose shape changes keeps its settings until the restart
    one.write_config(model(policy="epsilon", epsilon=0, reward_window="1h") + section("log", {"level": "debug"}))
    status, reply = reload(one, client)
    if reply is not None:
        assert any("epsilon" in text and "0.5" in text for text in reply["applied"])
        assert any("reward_window" in text for text in reply["applied"]) and reply["restart"] == []
        assert "model new: removed" in reply["applied"]
    assert client.decide("m", "after", X)["p"] == 1
    assert client.decide("m", "before", X)["p"] < 1  # still the first decision


def test_reload_of_unchanged_file_changes_nothing(daemon):
    client = daemon().client()
    assert client.ok("reload", "", {"seq": 7}) == {"applied": [], "restart": [], "seq": 7}


def test_reload_lowers_and_raises_the_log_level(daemon):
    one = daemon(model() + section("log", {"level": "info"}))
    client = one.client()
    client.ok("checkpoint")
    one.logged("event=checkpoint sequence=1")
    one.write_config(model() + section("log", {"level": "error"}))
    client.ok("reload")
    client.ok("checkpoint")
    one.write_config(model() + section("log", {"level": "info"}))
    client.ok("reload")
    client.ok("checkpoint")
    one.logged("event=checkpoint sequence=3")
    assert "event=checkpoint sequence=2" not in one.log()


def test_reload_takes_new_names(daemon, tmp_path):
    names = tmp_path / "arms.txt"
    names.write_text("a\nb\nc\n")
    one = daemon(model(arm_names=names))
    client = one.client()
    names.write_text("x\ny\nz\n")
    assert client.ok("explain", "m", {"x": X})["arm"] in "abc"
    assert len(client.ok("reload")["applied"]) == 1
    assert client.ok("explain", "m", {"x": X})["arm"] in "xyz"


def test_answers_carry_the_arms_name(daemon, tmp_path):
    names = tmp_path / "arms.txt"
    names.write_text("left\nmiddle\nright\n")
    client = daemon(model(arm_names=names) + model("n")).client()
    for i in range(20):
        answer = client.decide("m", i, X)
        assert answer["arm"] == ("left", "middle", "right")[answer["a"]]
    items = client.ok("decide_batch", "m", {"items": [{"id": 50, "x": X}, {"id": 0, "x": X}]})["items"]
    assert all("arm" in item for item in items) and items[1]["repeated"]
    assert "arm" not in client.decide("n", 1, X)


def test_arms_are_named_in_masks_and_feedback(daemon, tmp_path):
    names = tmp_path / "arms.txt"
    names.write_text("left\nmiddle\nright\n")
    client = daemon(model(arm_names=names) + model("n")).client()
    for i in range(20):
        assert client.decide("m", i, X, mask=["right", "left"])["a"] in (0, 2)
        assert client.decide("m", 100 + i, X, mask=["middle"])["arm"] == "middle"
    assert client.ok("explain", "m", {"x": X, "mask": ["right"]})["arm"] == "right"
    with_name = {"id": 200, "x": X, "a": "right", "p": 0.5, "loss": 0.5}
    assert client.ok("feedback", "m", with_name)["result"] == "applied"
    assert client.error("decide", "m", {"id": 201, "x": X, "mask": ["up"]})["message"].startswith("mask[0]: ")
    for verb, body in (("decide", {"id": 1, "x": X, "mask": ["left"] * 3}), ("feedback", with_name)):
        assert client.error(verb, "n", body)["code"] == "bad_request"
    names.write_text("right\nmiddle\nleft\n")
    assert len(client.ok("reload")["applied"]) == 1
    assert client.decide("m", 300, X, mask=["left"])["a"] == 2


def test_feedback_by_an_arms_name_learns_what_its_number_learns(daemon, tmp_path):
    names = tmp_path / "arms.txt"
    names.write_text("left\nmiddle\nright\n")
    client = daemon(model(arm_names=names) + model("n")).client()
    for i in range(60):
        arm, x = i % 3, [i % 5 / 5, i % 7 / 7, 1.0]
        body = {"id": i, "x": x, "p": 0.25, "loss": float(arm != i % 5 % 3)}
        named = client.ok("feedback", "m", {**body, "a": ("left", "middle", "right")[arm]})
        assert named == client.ok("feedback", "n", {**body, "a": arm}) and named["result"] == "applied"
    named, numbered = (client.ok("explain", name, {"x": X}) for name in "mn")
    assert named.pop("arm") == ("left", "middle", "right")[named["a"]]
    assert named.pop("model") == "m" and numbered.pop("model") == "n"
    assert named == numbered


@pytest.mark.parametrize("broken", ["model {", model(epsilon=7) + model("n", arms=1), None])
def test_reload_of_a_broken_file_is_refused_and_changes_nothing(daemon, broken):
    one = daemon(model(policy="epsilon", epsilon=0.5))
    client = one.client()
    before = client.model()
    good = one.config.read_text()
    if broken is None:
        one.config.unlink()
    else:
        one.write_config(broken)
    error = client.error("reload", "", {"seq": 1})
    assert error["code"] == "bad_request" and error["message"].startswith("configuration") and error["seq"] == 1
    if broken is not None and "epsilon" in broken:
        assert "epsilon" in error["message"]
        assert one.logged("event=config_wrong", 2) and "arms" in one.log()
    one.logged("event=reload result=refused")
    reload_by_signal(one, client)
    one.logged("event=reload result=refused", 2)
    assert client.model() == before and client.decide("m", 1, X)["p"] < 1
    one.config.write_text(good)
    assert client.ok("reload") == {"applied": [], "restart": []}


def test_reload_many_times_keeps_serving(daemon):
    one = daemon(model(policy="epsilon"))
    client = one.admin()
    for i in range(50):
        one.write_config(model(policy="epsilon", epsilon=(i % 10) / 10, explain_keep=i))
        client.send("decide", "m", {"id": i, "x": X})
        client.send("reload")
        client.send("explain", "m", {"id": i})
        assert [client.receive()[0] for _ in range(3)] == ["ok"] * 3
    assert client.model()["decisions"] == 50


# ---- what check and reload report is what happens


def check(daemon, *args):
    done = subprocess.run([daemon.program, "--config", str(daemon.config), "--check", *args], capture_output=True, text=True,
                          timeout=DEADLINE, env=daemon.env, cwd=daemon.folder)
    return done.returncode, done.stdout + done.stderr


def starts(daemon, *args):
    """(whether it comes to serve, its log since then)"""
    before = len(daemon.log()) if daemon.log_path.exists() else 0
    daemon.launch(*args)
    wait_for(lambda: "event=serving" in daemon.log()[before:] or daemon.process.poll() is not None, "a start or an end")
    serves = daemon.process.poll() is None
    if serves:
        daemon.stop()
    return serves, daemon.log()[before:]


def as_a_file(d):
    d.write_config(f'state_dir = "{d.config}"\n' + model())
    return "cannot be used"


def below_a_file(d):
    d.write_config(f'state_dir = "{d.config}/state"\n' + model())
    return "cannot"


def below_nothing(d):
    d.write_config(f'state_dir = "{d.folder}/absent/state"\n' + model())
    return "cannot make the state folder"


def without_a_file_to_start_from(d):
    d.write_config(model(start_from="absent.model"))
    return "absent.model"


def with_another_shape(d):
    d.start()
    d.stop()
    d.write_config(model(features=2))
    return "--reset-model m"


def with_a_variable_that_is_not_set(d):
    d.write_config(model() + 'log { facility = "user${COPPICE_NEVER_SET}" }\n')
    return "COPPICE_NEVER_SET is not set"


@pytest.mark.parametrize("spoil", [as_a_file, below_a_file, below_nothing, without_a_file_to_start_from, with_another_shape,
                                   with_a_variable_that_is_not_set])
def test_check_refuses_what_a_start_refuses(daemon, spoil):
    d = daemon(model(), start=False)
    assert check(d)[0] == 0
    told = spoil(d)
    before = sorted(str(path) for path in d.folder.rglob("*"))
    status, text = check(d)
    assert status == 1 and told in text, text
    assert sorted(str(path) for path in d.folder.rglob("*")) == before  # it changes nothing
    assert not starts(d)[0]


def test_check_honours_reset_model(daemon):
    d = daemon(model())
    d.stop()
    d.write_config(model(features=2))
    assert check(d)[0] == 1
    assert check(d, "--reset-model", "m")[0] == 0
    assert starts(d, "--reset-model", "m")[0]


def test_check_changes_nothing_beside_a_running_daemon(daemon):
    d = daemon(model())
    grow(d.client())
    before = d.client().model()
    assert check(d)[0] == 0
    assert d.client().model() == before


SHAPES = [{"arms": 2}, {"features": 2}, {"height": 3}, {"trees": 5}, {"learner": "dgt"}, {"loss_range": (0, 2)}]
TAKEN = [{"policy": "squarecb"}, {"seed": 9}, {"learning_rate": 0.5}]


@pytest.mark.parametrize("change", SHAPES + TAKEN, ids=str)
def test_reload_reports_what_a_restart_does(daemon, change):
    d = daemon(model())
    client = d.client()
    grow(client)
    d.write_config(model(**change))
    reply = client.ok("reload")
    refused = change in SHAPES
    assert ("refused" in reply) is refused
    if refused:
        assert reply["restart"] == [] and any("a restart refuses it" in text for text in reply["refused"])
        assert d.logged("event=reload_restart_refused")
    else:
        assert reply["restart"]
    d.stop()
    assert starts(d)[0] is not refused


def test_reload_of_a_parked_model_in_another_shape_is_refused(daemon):
    d = daemon(model("m") + model("other"))
    d.stop()
    d.write_config(model("m"))
    d.start()
    d.write_config(model("m") + model("other", features=2))
    reply = d.client().ok("reload")
    assert any("other" in text and "a restart refuses it" in text for text in reply["refused"])
    d.write_config(model("m") + model("other"))
    assert d.client().ok("reload") == {"applied": ["model other: added"], "restart": []}


@pytest.mark.parametrize("text, told", [
    ('replica { listen = { "ipc:///nope/deep/x" } }', "ipc:///nope/deep/x: /nope/deep"),
    ('http { listen = "192.0.2.7:9000" }', "192.0.2.7:9000: expected an address of this machine"),
])
def test_check_finds_what_cannot_be_bound(daemon, text, told):
    one = daemon(start=False)
    one.write_config(one.config.read_text() + text + "\n")
    run = one.run("--check")
    assert run.returncode == 1 and told in run.stderr, run
    one.launch()
    assert one.process.wait(60) != 0, "the start fails as well"


def test_check_leaves_addresses_that_are_taken_to_the_start(daemon):
    one = daemon()
    assert one.run("--check").returncode == 0
