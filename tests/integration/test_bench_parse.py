"""coppice bench parse: what it counts, and what it refuses."""

import json
from pathlib import Path

import pytest
from conftest import coppice

VW = Path(__file__).resolve().parents[1] / "data" / "vw"


def parse(*args, status=0):
    return coppice("bench", *args, status=status)


@pytest.mark.parametrize("how,dense,dimension", [((), True, 3), (("--as", "dense"), True, 3),
                                                 (("--as", "hashed"), False, 1 << 18)])
def test_bench_parse_counts_events_and_features(how, dense, dimension, tmp_path):
    log = tmp_path / "log.vw"
    log.write_text("1:0:0.5 | a:1 b:2\n2:inf:0.5 | c\n\n2:1:0.5 | a:0 b d\n")
    result = json.loads(parse("parse", "--format", "vw", log, *how, "--json")[0])
    assert (result["events"], result["bad"], result["features"]) == (2, 1, 3 + 3)
    assert result["bytes"] == len("1:0:0.5 | a:1 b:2\n") + len("\n2:1:0.5 | a:0 b d\n")
    assert (result["dense"], result["dimension"]) == (dense, dimension)
    assert result["seconds"] > 0 and result["events_per_second"] > 0
    assert result["fastest_mb_per_second"] >= result["mb_per_second"] > 0


def test_bench_parse_reads_candidates():
    out, _ = parse("parse", "--format", "vw", VW / "cb_load.dat")
    assert out.startswith("113 events (0 bad)") and "3164 features" in out


@pytest.mark.parametrize("args,says", [
    (("parse", VW / "cb_eval"), "expected --format FORMAT and a FILE"),
    (("parse", "--format", "vw"), "expected --format FORMAT and a FILE"),
    (("parse", "--format", "vx", VW / "cb_eval"), "--format"),
    (("parse", "--format", "vw", VW / "cb_eval", "more"), "parse FILE"),
    (("parse", "--format", "vw", VW / "cb_eval", "--model", "m"), "does not take"),
    (("load", "--as", "dense"), "load does not take"),
    (("kernels", "--as", "dense"), "expected load, daemon or parse FILE"),
    (("load", "more"), "expected load, daemon or parse FILE"),
])
def test_bench_parse_refuses_wrong_usage(args, says):
    out, err = parse(*args, status=2)
    assert out == "" and says in err


def test_bench_parse_of_missing_file_fails(tmp_path):
    assert "no such file" in parse("parse", "--format", "vw", tmp_path / "none", status=1)[1].lower()
