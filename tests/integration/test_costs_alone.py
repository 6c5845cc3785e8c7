"""costs (tests/bench/costs) without a daemon: learners and kernels are measured whole; no figure is judged here."""

import json
import re

import pytest
from test_costs import costs


def test_kernels_measures_all():
    result = json.loads(costs("kernels", "--json")[0])
    for learner in ("dgt", "ensemble", "value"):
        assert all(result[learner][key] > 0 for key in ("decide_ns", "learn_ns", "learn_mean_ns"))
    calls = {(call["variant"], call["call"]) for call in result["calls"]}
    assert {("openblas", "sgemv"), ("openblas", "sger"), ("plain", "forward"), ("plain", "adagrad")} <= calls


def test_grid_measures_kernels_beside_the_limit():
    result = json.loads(costs("grid", "--json")[0])
    assert result["multiply_add_gflops"] > 0 and all(size["read_gbytes"] > 0 for size in result["in_order"])
    kernels = {line["kernel"] for line in result["grid"]}
    assert {"forward", "backward", "update", "adagrad", "rmsprop", "P x", "P - v v'"} <= kernels
    assert all(line["ns"] > 0 and line["limit_ns"] > 0 and line["reached"] > 0 for line in result["grid"])
    assert {"dgt", "ensemble", "value"} <= {line["learner"] for line in result["learners"]}
    assert all(line["events_per_second"] > 0 for line in result["learners"])


@pytest.mark.parametrize("options", ["--learner dgt", "--learner ensemble --arms 3", "--learner value",
                                     "--learner rank --features 3 --candidate-features 2",
                                     "--learner dgt --present 5 --bits 6 --height 2",
                                     "--learner ensemble --features 4 --trees 2 --height 3"])
def test_events_says_nothing(options):
    assert costs("events", "--events", 9, *options.split()) == ("", "")


@pytest.mark.parametrize("options", ["", "--events 5", "--learner dgt", "--learner dgt --events 0",
                                     "--learner dgt --events 5 more", "--learner dgt --events 5 --present 9 --bits 3"])
def test_events_wrong_usage_is_status_2(options):
    assert "costs events: " in costs("events", *options.split(), status=2)[1]


def test_events_unknown_learner_is_status_1():
    assert "costs events: " in costs("events", "--events", 5, "--learner", "oak", status=1)[1]


def test_help_of_every_subcommand_is_on_standard_output():
    names = re.findall(r"^  (\w+) ", costs("--help")[0], re.M)
    assert set(names) == {"kernels", "grid", "events", "daemon", "refit", "echo"}
    for name in names:
        out, err = costs(name, "--help")
        assert out.startswith(f"usage: costs {name}") and err == ""
        assert all(len(line) <= 80 for line in out.splitlines())
