"""Alert rules and dashboard as files: what they ask for is on the metrics page, and they do what they say."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import free_port, model, section
from test_metrics import Pages

ROOT = Path(__file__).resolve().parents[2]
ALERTS, DASHBOARD = ROOT / "conf" / "alerts.yml", ROOT / "conf" / "grafana.json"
NAME = re.compile(r"\b(?:coppice|process)_[a-z0-9_]+")
promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")


def dashboard():
    return json.loads(DASHBOARD.read_text())


def expressions():
    """{where: expression} of all rules and panels."""
    found = {f"alert {i}": text for i, text in enumerate(re.findall(r"expr: (>-\n(?:\s{10,}.*\n)+|.*)", ALERTS.read_text()))}
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            found[f"{panel['title']} {target['refId']}"] = target["expr"]
    return found


def test_every_metric_and_label_is_on_the_page(daemon):
    """Of a daemon that has everything: a control group, named losses, HTTP, a journal and a refit's learner."""
    port = free_port()
    losses = {"losses": ["click=1"]}
    one = daemon(model(holdout=0.5, refits=True, **losses) + section("http", {"listen": f"127.0.0.1:{port}"}) +
                 section("api", {"listen": f"127.0.0.1:{free_port()}"}) + section("journal", {"enabled": True}))
    client = one.client()
    for i in range(20):
        client.decide("m", i, [0, 1, i])
        client.ok("feedback", "m", {"id": i, "losses": {"click": 0.5}})
    page = Pages(port).get()[2]
    families = set(re.findall(r"^# TYPE (\S+)", page, re.M))
    labels = {}
    for name, text in re.findall(r"^([a-z_0-9]+)(?:\{(.*)\})? ", page, re.M):
        labels.setdefault(name, set()).update(re.findall(r'(\w+)="', text))
    asked = {where: set(NAME.findall(text)) for where, text in expressions().items()}
    assert len(asked) > 60 and all(asked.values())
    for where, names in asked.items():
        for name in names:
            assert re.sub(r"_(bucket|sum|count)$", "", name) in families or name in families, (where, name)
    for where, text in expressions().items():
        for name, inside in re.findall(r"((?:coppice|process)_\w+)\{([^}]*)\}", text):
            for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", inside):
                assert label == "instance" or name not in labels or label in labels[name], (where, name, label)


@promtool
def test_rules_are_well_formed_and_fire_as_they_should():
    run = subprocess.run(["promtool", "check", "rules", "--lint-fatal", ALERTS], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    tests = ROOT / "tests" / "data" / "alerts.test.yml"
    run = subprocess.run(["promtool", "test", "rules", tests], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    rules = re.findall(r"- alert: (\w+)", ALERTS.read_text())
    assert len(rules) == len(set(rules)) and rules == re.findall(r"- name: (\w+)", tests.read_text())


@promtool
def test_every_panel_asks_in_promql(tmp_path):
    """As rules that promtool reads, Grafana's variables being what they could be."""
    lines = ["groups:", "  - name: panels", "    rules:"]
    for i, text in enumerate(target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", ())):
        text = text.replace("$__rate_interval", "5m").replace("$model", ".+").replace("$instance", ".+")
        assert "$" not in text
        lines += [f"      - record: panel:{i}", f"        expr: {json.dumps(text)}"]
    path = tmp_path / "panels.yml"
    path.write_text("\n".join(lines) + "\n")
    run = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr


def test_dashboard_has_room_for_each_panel():
    board = dashboard()
    taken = {}
    for panel in board["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24 and panel["title"]
        assert panel["type"] == "row" or (panel["description"] and panel["targets"] and panel["fieldConfig"]["defaults"]["unit"])
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                assert taken.setdefault((x, y), panel["id"]) == panel["id"], (panel["title"], taken[x, y])
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    assert [v["name"] for v in board["templating"]["list"]] == ["source", "instance", "model"]
