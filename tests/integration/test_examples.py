"""The commands of the tutorials as they stand there, and what the one in Python shows of their output. The clients in
README and docs/how-to/write-a-client.md, as they stand there but for their addresses: beside a daemon, without one, and
with one that is killed and started again in the middle. The commands of other documents are in test_documents.py."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest
from conftest import DEADLINE, free_port, model, program, section, wait_for

ROOT = Path(__file__).resolve().parents[2]
PORTS = {"5590": "requests", "5591": "contexts_bind", "5592": "feedback_bind", "5593": "actions_bind"}


def python_of(path):
    """A document's blocks of Python."""
    return re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.S)


def readme():
    (block,) = python_of("README.md")
    return block


def clients():
    """Requests, streams."""
    return python_of("docs/how-to/write-a-client.md")


EXAMPLES = {"readme": (readme(), 36, 6), "requests": (clients()[0], 3, 6), "streams": (clients()[1], 3, 6)}


def replaced(text, *pairs):
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


class Example:
    def __init__(self, daemon, name, **options):
        text, features, arms = EXAMPLES[name]
        ports = {number: f"127.0.0.1:{free_port()}" for number in PORTS}
        # In one go: a free port may begin with the digits of one that is still to be replaced.
        text = re.sub(r"127\.0\.0\.1:(\d+)", lambda match: ports.get(match[1], match[0]), text)
        sockets = {PORTS[number]: [f"tcp://{address}"] for number, address in ports.items()}
        self.text, self.daemon = text, daemon(start=False)
        sockets["requests"].append(self.daemon.ipc("requests"))
        shape = {"features": features, "arms": arms, "unheard_age": "1h", **options}
        self.daemon.write_config(model("front-page", **shape) + section("sockets", sockets))

    def launch(self):
        """Its output in a file, that nobody has to read."""
        path = self.daemon.folder / "example.py"
        path.write_text(self.text)
        with open(self.daemon.folder / "out", "wb") as out, open(self.daemon.folder / "err", "wb") as err:
            return subprocess.Popen([sys.executable, path], stdout=out, stderr=err)

    def output(self, name="out"):
        return (self.daemon.folder / name).read_text()

    def run(self, status=0):
        with self.launch() as process:
            try:
                assert process.wait(DEADLINE) == status, self.output("err")
            finally:
                process.kill()
        return self.output()

    def model(self):
        return self.client.model("front-page")

    def start(self):
        self.daemon.start()
        self.client = self.daemon.client()


def test_readme_example_decides_and_learns(daemon):
    example = Example(daemon, "readme")
    example.start()
    assert re.search(r"'id': 'u1-17'.*'a': \d", example.run())
    state = example.model()
    assert (state["decisions"], state["feedback"]["applied"], state["pending"]) == (1001, 1000, 1)
    assert state["mean_loss"] < 0.7  # it is about 5/6 without learning


def test_protocol_example_of_requests_decides_and_learns(daemon):
    example = Example(daemon, "requests")
    example.start()
    assert re.fullmatch(r"[0-5] [0-9.]+\napplied\n", example.run())
    assert example.model()["learned"] == 1


def test_protocol_example_of_streams_decides_and_learns(daemon):
    example = Example(daemon, "streams")
    example.start()
    assert re.fullmatch(r"[0-5] [0-9.]+\n", example.run())
    wait_for(lambda: example.model()["learned"] == 1, "the feedback")


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_without_a_daemon_ends_with_an_error_that_tells_so(daemon, name):
    example = Example(daemon, name)
    wait = {"readme": "tries=10", "requests": "wait=1000", "streams": "poll(10000)"}[name]
    shorter = {"readme": "tries=2", "requests": "wait=20", "streams": "poll(200)"}[name]
    example.text = replaced(example.text, (wait, shorter))
    example.run(status=1)
    last = example.output("err").strip().splitlines()[-1]
    assert last.startswith("TimeoutError: ") and "coppiced" in last


def run_over_two_kills(example, rounds):
    """To its end, while the daemon is killed under some decisions of its first and of its second third: it waits for
    that in the middle of either."""
    begin, body = re.fullmatch(r"(.*\nfor i in range\(\d+\):\n)(.*)", example.text, re.S).groups()
    third = rounds // 3
    killed = {number * third: example.daemon.folder / f"killed-{number}" for number in range(2)}
    for first, mark in killed.items():
        begin += f"    while i == {first + third // 2} and not os.path.exists({str(mark)!r}):\n        time.sleep(0.01)\n"
    example.text = f"import os, time\n{begin}{body}"
    example.start()
    with example.launch() as process:
        try:
            for first, mark in killed.items():
                wait_for(lambda first=first: example.model()["decisions"] > first, "some decisions")
                assert process.poll() is None
                example.daemon.kill()
                example.start()
                mark.touch()
            assert process.wait(DEADLINE) == 0, example.output("err")
        finally:
            process.kill()


@pytest.mark.parametrize("name", ["requests", "readme"])
def test_example_goes_on_when_the_daemon_is_killed_and_started_again(daemon, name):
    rounds = 3000
    example = Example(daemon, name)
    if name == "readme":
        example.text = replaced(example.text, ("range(1000)", f"range({rounds})"))
    else:
        head, tail = example.text.split("action = ")
        loop = "action = " + tail.replace('"u1-17"', "i")
        example.text = f"{head}for i in range({rounds}):\n" + textwrap.indent(loop, "    ")
    run_over_two_kills(example, rounds)
    state = example.model()
    decisions = rounds + (name == "readme")  # each once, and each learned once
    assert (state["decisions"], state["learned"]) == (decisions, rounds) and state["feedback"]["applied"] == rounds


def test_example_of_streams_goes_on_when_the_daemon_is_killed_and_started_again(daemon):
    rounds = 1500
    example = Example(daemon, "streams", default_loss=1, reward_window="1h")
    head, tail = example.text.split("action = decide")
    loop = ("action = decide" + tail).replace('"u1-18"', "i")
    example.text = f"{head}for i in range({rounds}):\n" + textwrap.indent(loop, "    ")
    run_over_two_kills(example, rounds)
    assert example.model()["decisions"] == rounds == len(example.output().splitlines())
    assert example.model()["defaulted"] == 0


def test_one_dealer_gets_repeated_where_a_try_came_twice(daemon):
    """What the examples rely on: the second try of a request whose answer came late."""
    one = daemon(model())
    client = one.client()
    for seq in (1, 2):
        client.send("decide", "m", {"id": "u", "x": [1, 2, 3], "seq": seq})
    first, second = client.receive()[1], client.receive()[1]
    assert "repeated" not in first and second == {**first, "repeated": True, "seq": 2}
    batch = client.ok("decide_batch", "m", {"items": [{"id": i, "x": [1, 2, 3]} for i in ("u", "v", "v")]})["items"]
    assert [item.get("repeated") for item in batch] == [True, None, True]


# ---- the tutorial


def tutorial():
    """Its blocks of commands."""
    return re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs/tutorial/first-model.md").read_text(), re.M | re.S)


def outputs_of(blocks, folder):
    """What each block prints when one shell runs them in turn, as a reader would in a checkout that was built."""
    for name, path in (("daemon/coppiced", program("COPPICED")), ("tools/coppice", program("COPPICE"))):
        (folder / "build" / name).parent.mkdir(parents=True)
        (folder / "build" / name).symlink_to(path)
    (folder / "tests").symlink_to(ROOT / "tests")
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "bin" / "python3").chmod(0o755)
    mark = "---- next block ----"
    script = "set -eu\n" + "".join(f"{block}echo '{mark}'\n" for block in blocks)
    env = dict(os.environ, PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
    with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
        shell = subprocess.Popen(["sh", "-c", script], cwd=folder, env=env, stdout=out, stderr=err, start_new_session=True)
    try:
        status = shell.wait(DEADLINE)
    finally:
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    assert status == 0, (folder / "out").read_text() + (folder / "err").read_text()
    assert (folder / "err").read_text() == ""
    return (folder / "out").read_text().split(mark + "\n")[:-1]


def figure(output, key):
    """Of a model's status."""
    return int(re.search(rf"^  {key} +(\d+)$", output, re.M)[1])


def test_tutorial_runs_as_written(tmp_path):
    blocks = tutorial()
    outputs = outputs_of(blocks, tmp_path)
    assert len(outputs) == len(blocks) == 12
    _, check, started, shop, watched, why, told, restarted, replayed, inspected, stopped, simulated = outputs

    assert check.startswith("ok: model shop ")
    assert figure(started, "decisions") == 0
    *table, last = shop.splitlines()
    losses = [float(re.fullmatch(r"visitors \d+ to \d+: mean loss (\d\.\d\d)", line)[1]) for line in table]
    assert len(losses) == 6 and losses[-1] < 0.6  # 0.77 without learning, 0.5 at best
    assert re.fullmatch(r"\{'id': 'last', 'a': [0-2], 'arm': '\w+', 'p': .*, 'rev': \d+, 'greedy': (True|False), "
                        r"'version': '[\d.]+'\}", last)

    assert [figure(watched, key) for key in ("decisions", "learned", "pending")] == [3001, 3000, 1]
    assert re.match(r"model shop, decision last, .*\narm [0-2] \((discount|new-arrivals|members)\), ", why)
    assert "\n    returning " in why and "\nexpert average: " in why
    assert re.search(r"^result +applied$", told, re.M)
    assert [figure(restarted, key) for key in ("decisions", "learned", "pending")] == [3001, 3001, 0]

    assert "number of examples = 3001\n" in replayed
    assert re.findall(r"^(\w+) +\d\.\d+ (?:dr|ips) ", replayed, re.M) == ["ensemble", "dgt", "uniform"]
    assert "\nmodel shop\n" in inspected and figure(inspected, "decisions") == 3001
    assert stopped == "" and not (tmp_path / "shop").exists()
    assert float(re.search(r"^progressive loss +(\S+)", simulated, re.M)[1]) < 0.3  # 0.83 without learning
    assert float(re.search(r"^holdout accuracy +(\S+)", simulated, re.M)[1]) > 0.7


# ---- the tutorial in Python, from packages

STUBS = {
    "sudo": 'exec "$@"',
    "apt": """case $1 in install) exec "$HERE/systemctl" start coppiced ;; esac""",
    "systemctl": """if [ -e "$HERE/pid" ]; then
    kill -TERM "$(cat "$HERE/pid")"
    while [ -e "$HERE/pid" ]; do sleep 0.01; done
fi
("$REAL_COPPICED" --config "$HERE/coppice.conf" --foreground & echo $! >"$HERE/pid"; wait $!; rm "$HERE/pid") >>"$HERE/log" 2>&1 &
exec "$REAL_COPPICE" ctl --endpoint "ipc://$HERE/admin" --timeout 60 status >/dev/null""",
    "coppice": 'shift; exec "$REAL_COPPICE" ctl --endpoint "ipc://$HERE/admin" "$@"',
    "python3": f'exec "{sys.executable}" "$@"',
}
NUMBER = re.compile(r"-?\+?\d+(?:\.\d+)?")


def near(printed, shown):
    """The same lines, whose numbers may differ a little: processors round in other orders."""
    words = [NUMBER.sub("#", re.sub(" +", " ", text.replace("+", ""))) for text in (printed, shown)]
    assert words[0] == words[1], printed
    for is_now, was in zip(NUMBER.findall(printed), NUMBER.findall(shown)):
        assert abs(float(is_now) - float(was)) <= max(0.1 * abs(float(was)), 0.1), (is_now, was, printed)


def test_tutorial_in_python_prints_what_it_shows(tmp_path):
    parts = re.findall(r"^```(sh|text)\n(.*?)^```$", (ROOT / "docs/tutorial/python.md").read_text(), re.M | re.S)
    port = free_port()
    here = tempfile.mkdtemp(prefix="cop-")
    for name, text in STUBS.items():
        (Path(here) / name).write_text(f"#!/bin/sh\n{text}\n")
        (Path(here) / name).chmod(0o755)
    Path(here, "coppice.conf").write_text(
        f'state_dir = "{here}/state"\nsockets {{ requests = {{ "tcp://127.0.0.1:{port}" }} admin = {{ "ipc://{here}/admin" }} }}\n'
        'model "front-page" { arms = 6 features = 36 }\n')
    env = dict(os.environ, PATH=f"{here}:{os.environ['PATH']}", HERE=here, REAL_COPPICED=program("COPPICED"),
               REAL_COPPICE=program("COPPICE"), PYTHONPATH=str(ROOT / "clients/python"), PYTHONDONTWRITEBYTECODE="1")  # fmt: skip
    compared, printed = 0, None
    try:
        for kind, text in parts:
            if kind == "text":
                near(printed, text)
                compared += 1
                continue
            done = subprocess.run(["sh", "-euc", text.replace("127.0.0.1:5590", f"127.0.0.1:{port}")], cwd=tmp_path, env=env,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=DEADLINE)  # fmt: skip
            assert (done.returncode, done.stderr) == (0, ""), done
            printed = done.stdout
        assert compared == 4 and [kind for kind, _ in parts].count("sh") == 5
        # To an explained decision, the shop's program apart.
        commands = re.sub(r"^cat .*?^END\n", "", "".join(text for kind, text in parts if kind == "sh"), flags=re.M | re.S)
        assert [line.startswith("coppice ctl explain ") for line in commands.splitlines()].index(True) < 5
    finally:
        pid = Path(here, "pid")
        if pid.exists():
            os.kill(int(pid.read_text()), signal.SIGTERM)
            wait_for(lambda: not pid.exists(), "coppiced to end")
        print(Path(here, "log").read_text() if Path(here, "log").exists() else "")
        shutil.rmtree(here)
