"""The retired service's own client for Node, unmodified as npm has it, against a daemon that has its paths."""

import json
import subprocess
from pathlib import Path

import pytest
from conftest import DEADLINE, free_port, model, section
from npm_packages import installed

HERE = Path(__file__).resolve().parent / "npm_personalizer"
KEY = "0123456789abcdef0123456789abcdef"
ACTIONS = ["NewsArticle", "SportsArticle", "EntertainmentArticle"]


@pytest.fixture
def packages():
    return installed(HERE, "personalizer", "visits.js")


def test_npm_client_of_the_retired_service_ranks_rewards_and_activates(daemon, packages, tmp_path):
    tokens, port = tmp_path / "tokens", free_port()
    tokens.write_text(f"web {KEY} decide,feedback p\n")
    tokens.chmod(0o600)
    one = daemon(
        section("api", {"listen": [f"127.0.0.1:{port}"], "tokens": tokens}) +
        model("p", learner="rank", arms=None, trees=None, height=None, features=0, max_candidates=8))
    run = subprocess.run(["node", "visits.js", f"http://127.0.0.1:{port}", KEY], cwd=packages, capture_output=True,
                         text=True, timeout=DEADLINE)
    assert run.returncode == 0, run.stderr
    got = json.loads(run.stdout)
    first = got["first"]
    assert (first["status"], first["eventId"]) == (201, "first")
    assert [action["id"] for action in first["ranking"]] == ACTIONS and first["rewardActionId"] in ACTIONS
    assert sum(action["probability"] for action in first["ranking"]) == pytest.approx(1)
    assert got["again"] == first["rewardActionId"]
    assert len(got["made"]) == 32
    assert len(got["excluded"]) == 20 and "SportsArticle" not in got["excluded"]
    assert (got["activated"], got["odd"], got["oddReward"], got["callback"]) == (204, "a b/c%?#é", 204, "callback")
    assert got["best"] > 40  # of the last 50 visits; about 17 without learning
    for name, status, code, detail in (
            ("reward", 400, "bad_request", "from 0 to 1"), ("other", 400, "bad_request", "at least one action"),
            ("fewer", 400, "bad_request", "other actions"), ("stranger", 401, "no_token", "token")):
        error = got[name]
        assert (error["statusCode"], error["code"]) == (status, code), error
        assert detail in error["message"] and error["body"]["error"] == {"code": code, "message": error["message"]}
    state = one.client().model("p")
    assert state["decisions"] == 1 + 1 + 20 + 1 + 1 + 1 + 100
    assert state["feedback"]["applied"] == 101 and state["repeated"] == 2
