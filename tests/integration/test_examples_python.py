"""The programs of examples/python, each against a daemon with the model that its text asks for."""

import json
import os
import re
import subprocess
import sys
import urllib.request

import pytest
from conftest import DEADLINE, free_port, model, section, wait_for
from python_client import FOLDER

EXAMPLES = FOLDER.parents[1] / "examples" / "python"
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{FOLDER}:{EXAMPLES}"}


def run(name, *arguments):
    command = [sys.executable, EXAMPLES / name, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def figures(text):
    return [float(figure) for figure in re.findall(r"\d\.\d+", text)]


def test_recommender_learns_the_hobbies(daemon):
    one = daemon(model("articles", "rank", arms=None, features=0, trees=None, height=None))
    _, last = figures(run("recommender.py", one.ipc("requests"), 1600))
    assert last > 0.45  # a random choice has 0.275, the best 0.625
    assert one.client().model("articles")["learned"] == 1600


def test_pricing_finds_a_better_price(daemon):
    one = daemon(model("price", "value", features=1, value_range=[0, 1], feedback="bins", trees=None,
                       height=None))
    first, last = figures(run("pricing.py", one.ipc("requests"), 1600))
    assert last > first
    assert one.client().model("price")["learned"] == 1600


def test_pipeline_plays_every_action(daemon):
    one = daemon(start=False)
    names = ("contexts", "feedback", "actions")
    sockets = {"requests": [one.ipc("requests")], **{f"{name}_bind": [one.ipc(name)] for name in names}}
    one.write_config(model(features=2) + section("sockets", sockets))
    one.start()
    assert run("pipeline.py", *map(one.ipc, names), 210) == "210 actions\n"
    client = one.client()
    wait_for(lambda: client.model()["learned"] == 210, "the feedback")
    assert client.model()["contexts"]["lost"] == client.model()["feedback_stream"]["lost"] == 0


def test_flask_service_shows_and_learns(daemon):
    pytest.importorskip("flask")
    one = daemon(model("banners", features=2))
    port = free_port()
    environment = {**ENVIRONMENT, "COPPICE_ENDPOINT": one.ipc("requests")}
    command = [sys.executable, "-m", "flask", "--app", "flask_service", "run", "--port", str(port)]
    with open(one.folder / "flask.log", "wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=one.folder)

    def get(path, data=None):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", data, DEADLINE) as answer:
            return json.load(answer)

    def banner():
        try:
            return get("/banner?hour=17&mobile=1")
        except OSError:
            assert server.poll() is None, (one.folder / "flask.log").read_text()
            return None

    try:
        shown = wait_for(banner, "the service")
        assert shown["banner"] in (0, 1, 2)
        assert get(f"/click/{shown['id']}", b"") == {"result": "applied"}
        assert get(f"/click/{shown['id']}", b"") == {"result": "duplicate"}
    finally:
        server.terminate()
        server.wait(DEADLINE)
    assert one.client().model("banners")["learned"] == 1
