"""Models made from logs, started by start_from alone and asked by name: what replay computed, to the bit."""

import json
import re
import subprocess

import msgpack
import pytest
from bandit_logs import FEATURES, VW, coppice, events, read_dump, replay, write_csv, write_dsjson, write_vw
from conftest import DEADLINE, section

# ---- an event of a log as a client would send it; maps are lists of pairs, for names that come twice


class Map(list):
    pass


def pack(value):
    """MessagePack of a value with Maps in it."""
    packer = msgpack.Packer(autoreset=False, use_bin_type=True)

    def put(v):
        if isinstance(v, dict):
            v = Map(v.items())
        if isinstance(v, Map):
            packer.pack_map_header(len(v))
            for key, inner in v:
                packer.pack(key)
                put(inner)
        elif isinstance(v, list):
            packer.pack_array_header(len(v))
            for inner in v:
                put(inner)
        else:
            packer.pack(v)

    put(value)
    return packer.bytes()


def vw_number(text):
    try:
        return float(text)
    except ValueError:
        return None


def vw_object(text, spelled=False):
    """What stands behind the label of a line; spelled: flat, NAMESPACE^FEATURE."""
    result = Map()
    for part in text.split("|")[1:]:
        name, scale = "", 1.0
        words = part.split()
        if words and not part[0].isspace():
            name, _, weight = words.pop(0).partition(":")
            scale = float(weight) if weight else 1.0
        inner, unnamed = Map(), []
        texts = any(":" in w and vw_number(w.partition(":")[2]) is None for w in words)
        for word in words:
            feature, colon, value = word.partition(":")
            number = vw_number(value) if colon else 1.0
            if feature == "" and number is not None:
                unnamed.append(number * scale)
            elif texts or spelled:
                key = feature if number is not None else word
                result.append((f"{name}^{key}", scale if number is None else number * scale))
            else:
                inner.append((feature, number * scale))
        if inner:
            result.append((name, inner))
        if unnamed:
            result.append((name, unnamed))
    return result


def vw_label(line):
    return line.split("|")[0]


class VwEvent:
    """Lines of an event: one, or shared features and candidates."""

    def __init__(self, lines, arms):
        self.lines, self.arms, self.several = lines, arms, len(lines) > 1
        self.shared = [l for l in lines if vw_label(l).strip().startswith("shared")]
        self.candidates = [l for l in lines if l not in self.shared]
        self.actions = len(self.candidates) if self.several else arms

    def as_logged(self, action, cost, p):
        if not self.several:
            return [f"{action + 1}:{cost!r}:{p!r} |" + self.lines[0].partition("|")[2]]
        bare = [" |" + l.partition("|")[2] for l in self.candidates]
        bare[action] = f"0:{cost!r}:{p!r} |{bare[action].partition('|')[2]}"
        return self.shared + bare + [""]

    def message(self, spelled=False):
        if not self.several:
            return {"x": vw_object(self.lines[0], spelled)}
        x = vw_object(self.shared[0], spelled) if self.shared else Map()
        return {"x": x, "c": [vw_object(l, spelled) for l in self.candidates]}


def vw_events(path, arms=0):
    lines = path.read_text().splitlines()
    several = any(vw_label(l).strip().startswith("shared") for l in lines) or "" in lines[:-1]
    if not several:
        return [VwEvent([l], arms) for l in lines if l.strip()]
    blocks = re.split(r"\n\s*\n", path.read_text().strip())
    return [VwEvent(b.splitlines(), 0) for b in blocks]


class JsonEvent:
    def __init__(self, line):
        self.members = json.loads(line, object_pairs_hook=Map)
        names = dict(self.members)
        self.decision = "c" in names
        self.context = names["c"] if self.decision else self.members
        self.candidates = dict(self.context).get("_multi", [])
        self.actions = len(self.candidates)

    def as_logged(self, action, cost, p):
        label = [("_labelIndex", action), ("_label_Action", action + 1), ("_label_cost", cost),
                 ("_label_probability", p)]
        kept = [("c", self.context)] if self.decision else [m for m in self.members if not m[0].startswith("_label")]
        return [dump_json(Map(label + kept))]

    def message(self, spelled=False):
        return {"x": Map(m for m in self.context if m[0] != "_multi"), "c": self.candidates}


def dump_json(value):
    if isinstance(value, Map):
        return "{" + ",".join(json.dumps(k) + ":" + dump_json(v) for k, v in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump_json, value)) + "]"
    return json.dumps(value)


def json_events(path):
    lines = [l for l in path.read_text().splitlines() if l.startswith("{")]  # others are no events
    return [e for e in map(JsonEvent, lines) if e.actions > 0]


class CsvEvent:
    def __init__(self, header, row):
        self.header, self.row, self.actions = header, row, 3

    def as_logged(self, action, cost, p):
        return [",".join([*self.row[:FEATURES], str(action), repr(p), repr(cost)])]

    def message(self, spelled=False):
        return {"x": Map((n, float(v)) for n, v in zip(self.header, self.row[:FEATURES]))}


def csv_events(path):
    header, *rows = [l.split(",") for l in path.read_text().split()]
    return [CsvEvent(header, r) for r in rows]


# ---- both sides


def computed(folder, format, shop, shown, decided):
    """What replay, going on from the model, gives each action that was decided, before it learns the event."""
    lines = [l for e, d in zip(shown, decided) for l in e.as_logged(*d)]
    if format == "csv":
        lines.insert(0, ",".join(shown[0].header[:FEATURES] + ["action", "probability", "cost"]))
    log, dump = folder / "decided", folder / "dump"
    log.write_text("\n".join(lines) + "\n")
    replay(log, "--resume", shop, "--dump", dump, format=format)
    return list(read_dump(dump)["policy_probability"])


def serve(daemon, shop, name="shop", **more):
    return daemon(section(f'model "{name}"', {"start_from": str(shop), **more}))


def check_served(daemon, folder, format, shop, shown, spelled=False):
    """Decides and learns the events, by name, and replays what was decided."""
    d = serve(daemon, shop)
    client = d.client()
    low, high = json.loads(coppice("inspect", shop, "--json")[0])["models"][0]["loss_range"]
    decided = []
    for i, event in enumerate(shown):
        verb = "rank" if "c" in event.message() else "decide"
        status, reply = client.raw(verb, "shop", pack({"id": i, **event.message(spelled and i % 2 == 1)}))
        assert status == "ok", (i, event.message(), reply)
        decided.append((reply["a"], float(high if i % 3 == 0 else low), reply["p"]))
        assert client.feedback("shop", i, decided[-1][1]) == "applied"
    assert [p for a, cost, p in decided] == computed(folder, format, shop, shown, decided)
    assert client.model("shop")["unknown_names"] == 0
    return d


def save(log, shop, format, *args):
    return replay(log, "--save", shop, "--on-error", "skip", "--policy-value", "exploring", *args, format=format)


CORPUS = [
    ("vw", "cb_load.dat", ()),
    ("vw", "cb_load.dat", ("--features", "hashed", "--bits", "5")),
    ("vw", "cb_load.dat", ("-q", "UA", "--bits", "12")),
    ("vw", "cb_load.dat", ("-q", "::", "--bits", "4")),
    ("vw", "cb_load.dat", ("--features", "hashed", "--bits", "9", "--hash", "all", "--ignore", "U")),
    ("vw", "cb_test.ldf", ("--features", "hashed", "--bits", "9")),
    ("vw", "cb_test.ldf", ()),
    ("vw", "cb_test_nonewline.ldf", ()),
    ("vw", "cb_test_small.ldf", ("-q", "::", "--bits", "4")),
    ("vw", "cb_test_with_empty_shared_feature.ldf", ("--features", "hashed", "--bits", "9")),
    ("vw", "cb_features_w_zero_vals.dat", ()),
    ("vw", "cb_adf_sm.data", ("--features", "hashed", "--bits", "4")),
    ("vw", "cb_eval", ("--learner", "ensemble")),
    ("vw", "cb_eval", ("--learner", "dgt", "--features", "hashed", "--bits", "4")),
    ("dsjson", "dsjson_cb.json", ()),
    ("dsjson", "dsjson_cb.json", ("--features", "hashed", "--bits", "6")),
    ("dsjson", "dsjson_cb.json", ("-q", "Fj", "--bits", "10")),
    ("dsjson", "dsjson_cb.json", ("--features", "hashed", "--bits", "9", "--hash", "all", "--keep", "Fj")),
    ("dsjson", "dsjson_cb_default_ns.json", ("--features", "dense",)),
    ("dsjson", "dsjson_cb_default_ns.json", ("--features", "hashed", "-q", "::", "--bits", "8")),
    ("dsjson", "decisionservice.json", ()),
    ("dsjson", "decisionservice.json", ("--features", "dense")),
    ("dsjson", "no_shared_features.json", ()),
    ("dsjson", "cb_test.json", ("--features", "hashed", "--bits", "9")),
    ("dsjson", "cb_test.json", ()),
    ("dsjson", "cb_simple.json", ()),
]


@pytest.mark.parametrize("format, name, args", CORPUS, ids=[f"{n} {' '.join(a)}".strip() for _, n, a in CORPUS])
def test_names_of_corpus_give_what_replay_computed(daemon, tmp_path, format, name, args):
    log, shop = VW / name, tmp_path / "shop.model"
    result = save(log, shop, format, *args)
    arms = json.loads(coppice("inspect", shop, "--json")[0])["models"][0].get("arms", 0)
    shown = vw_events(log, arms) if format == "vw" else json_events(log)
    assert result["events"] > 0 and shown
    check_served(daemon, tmp_path, format, shop, shown[:40], spelled=format == "vw")


MADE = [
    ("vw", write_vw, vw_events, ()),
    ("vw", write_vw, vw_events, ("--features", "hashed", "--bits", "2")),
    ("vw", write_vw, vw_events, ("--learner", "dgt", "--height", "3")),
    ("vw", write_vw, vw_events, ("--learner", "dgt", "-q", "xx", "--bits", "6")),
    ("vw", write_vw, vw_events, ("--policy", "squarecb", "--experts", "linear,forest")),
    ("vw", write_vw, vw_events, ("--policy", "epsilon", "--epsilon", "0.2", "--epsilon-decay", "0.01")),
    ("dsjson", write_dsjson, json_events, ()),
    ("dsjson", write_dsjson, json_events, ("--features", "hashed", "--bits", "10")),
    ("dsjson", write_dsjson, json_events, ("-q", "xi", "--height", "2")),
    ("csv", write_csv, csv_events, ()),
    ("csv", write_csv, csv_events, ("--features", "hashed", "--bits", "4", "--trees", "3")),
]


@pytest.mark.parametrize("format, write, read, args", MADE, ids=[f"{m[0]} {' '.join(m[3])}".strip() for m in MADE])
def test_names_of_made_logs_give_what_replay_computed(daemon, tmp_path, format, write, read, args):
    log, shop = write(tmp_path / "log", events(600)), tmp_path / "shop.model"
    save(log, shop, format, *args)
    shown = read(log, 3) if read is vw_events else read(log)
    check_served(daemon, tmp_path, format, shop, shown[:40], spelled=format == "vw")


def test_names_of_strings_and_scales_give_what_replay_computed(daemon, tmp_path):
    lines = [
        "1:0:0.5 |user age:31 country=de premium:yes |item:0.5 price:9.99 sports",
        "2:1:0.5 |a b:2 c:0.5 | e:red f:1e-3", "1:1:0.25 |user 12:0.5 13:0.25 |item x1:-1e-3 |item y",
        "2:0:0.5 |ns_with_long_name émile:1.5 x^y:2 |ns2:0.5 p q:4 size:big",
    ]
    log = tmp_path / "log.vw"
    log.write_text("\n".join(lines * 20) + "\n")
    for i, args in enumerate([(), ("--features", "hashed", "--bits", "9"), ("-q", "::", "--bits", "7"), ("--hash", "all", "--bits", "9")]):
        shop = tmp_path / f"{i}.model"
        save(log, shop, "vw", *args)
        check_served(daemon, tmp_path, "vw", shop, vw_events(log, 2)[:4], spelled=True).stop()


# ---- what the section says


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.model"
    save(write_vw(tmp_path / "log.vw", events(300)), path, "vw", "--height", "2", "--trees", "2")
    return path


def wrong(daemon, shop, **more):
    d = daemon(section('model "shop"', {"start_from": str(shop), **more}), start=False)
    checked = d.run("--check")
    assert checked.returncode == 1, checked.stdout
    d.launch()
    assert d.process.wait(DEADLINE) == 1
    return checked.stderr


@pytest.mark.parametrize("more, is_, was", [
    ({"arms": 2}, "arms 2", "arms 3"),
    ({"features": 3}, "features 3", "features 4"),
    ({"learner": "dgt"}, 'learner "dgt"', 'learner "ensemble"'),
    ({"height": 3}, "height 3", "height 2"),
    ({"trees": 4}, "trees 4", "trees 2"),
    ({"loss_range": [0, 2]}, "loss_range { 0, 2 }", "loss_range { 0, 1 }"),
    ({"experts": ["linear"]}, 'experts { "linear" }', "experts {"),
])
def test_names_contradictions_are_told_with_both_values(daemon, shop, more, is_, was):
    told = wrong(daemon, shop, **more)
    assert f"configured with {is_}, but {shop} was saved with {was}" in told


def test_names_of_features_that_contradict_are_told(daemon, shop, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("x^f0\nx^f1\nother\nx^f3\n")
    assert 'feature 2 is "other"' in (told := wrong(daemon, shop, feature_names=str(names))) and '"x^f2"' in told


def test_names_missing_file_is_told(daemon, tmp_path):
    assert "expected a saved model" in wrong(daemon, tmp_path / "none.model")


def test_names_what_agrees_may_be_said(daemon, shop):
    d = serve(daemon, shop, arms=3, features=4, height=2, learner="ensemble", feature_names=f"{shop}.features.txt")
    assert d.client().model("shop")["features"] == 4


def test_names_live_options_stand_above_saved_ones(daemon, shop):
    printed = serve(daemon, shop, policy="epsilon", epsilon=0.25).run("--print-config").stdout
    assert "epsilon = 0.25" in printed and "height = 2" in printed and "arms = 3" in printed


@pytest.mark.parametrize("given, expected", [
    (["--policy", "epsilon", "--epsilon", "0.25", "--epsilon-decay", "0.5", "--epsilon-floor", "0.0625", "--seed", "9",
      "--rate", "0.75", "--height", "3", "--trees", "1", "--experts", "linear,trees", "--optimism", "0.125",
      "--least-propensity", "0.0625", "--share-min", "1=0.125", "--share-max", "2=0.5", "--loss-range", "-1,3"],
     ['policy = "epsilon"', "epsilon = 0.25", "epsilon_decay = 0.5", "epsilon_floor = 0.0625", "seed = 9",
      "learning_rate = 0.75", "height = 3", "trees = 1", 'experts = { "linear", "trees" }',
      "optimism = 0.125", "least_propensity = 0.0625", "loss_range = { -1, 3 }", 'learner = "ensemble"']),
    (["--learner", "dgt", "--policy", "squarecb", "--gamma", "77", "--height", "3", "--literal"],
     ['learner = "dgt"', 'policy = "squarecb"', "gamma = 77", "height = 3", "shared_bias = false"]),
])
def test_names_what_the_section_does_not_say_is_as_it_was_saved(daemon, tmp_path, given, expected):
    path = tmp_path / "other.model"
    save(write_vw(tmp_path / "log.vw", events(300)), path, "vw", *given)
    d = serve(daemon, path)
    for _ in range(2):  # from the file; from the checkpoint
        lines = [line.strip() for line in d.run("--print-config").stdout.splitlines()]
        assert [line for line in expected if line not in lines] == [], lines
        d.client().ok("checkpoint")
        path.unlink(missing_ok=True)


def test_names_outlive_the_file_and_a_reload(daemon, shop, tmp_path):
    d = serve(daemon, shop)
    x = {"x": {"f0": 0.5, "f1": -0.25}}
    client = d.client()
    before = client.ok("explain", "shop", {"x": x})
    shop.unlink()
    assert client.ok("reload") == {"applied": [], "restart": []}
    d.kill()
    d.start()
    assert d.client().ok("explain", "shop", {"x": x}) == before
    save(write_vw(tmp_path / "other.vw", events(300, arms=2)), shop, "vw", "--height", "3")  # another one now
    d.restart()
    assert d.client().ok("explain", "shop", {"x": x}) == before
    assert d.client().ok("reload") == {"applied": [], "restart": []}


def test_names_reset_begins_with_the_file_of_today(daemon, shop, tmp_path):
    d = serve(daemon, shop)
    save(write_vw(tmp_path / "other.vw", events(300, arms=5)), shop, "vw", "--height", "3")
    d.restart()
    assert d.client().model("shop")["arms"] == 3
    d.restart("--reset-model", "shop")
    assert d.client().model("shop")["arms"] == 5


def test_names_replayed_from_the_journal_are_the_same_state(daemon, shop, tmp_path):
    d = serve(daemon, shop)
    client = d.client()
    for i, event in enumerate(vw_events(tmp_path / "log.vw", 3)[:60]):
        assert client.raw("decide", "shop", pack({"id": i, **event.message()}))[0] == "ok"
        client.feedback("shop", i, float(i % 3 == 0))
    explained = client.ok("explain", "shop", {"x": {"x": {"f0": 0.5}}})
    d.kill()
    d.start()
    assert d.client().ok("explain", "shop", {"x": {"x": {"f0": 0.5}}}) == explained


# ---- what names mean


def test_names_unknown_are_counted_and_left_out(daemon, shop):
    d = serve(daemon, shop)
    client = d.client()
    plain = client.ok("explain", "shop", {"x": {"x": {"f0": 0.5}}})
    assert client.ok("explain", "shop", {"x": {"x": {"f0": 0.5, "f9": 1}, "y": {"f0": 3}, "z": "t", "f0": 1}}) == plain
    assert client.model("shop")["unknown_names"] == 4
    told = {name for e in plain["experts"] for f in e["features"] for name in f["feature"].split("*")}
    assert told <= {"constant", "x^f0", "x^f1", "x^f2", "x^f3"}


def test_names_in_every_spelling_are_one_feature(daemon, tmp_path):
    log, shop = tmp_path / "log.vw", tmp_path / "shop.model"
    log.write_text("".join(f"{1 + i % 2}:{i % 2}:0.5 |User user={'tom' if i % 3 else 'ann'} age:{20 + i % 9} a b\n"
                           for i in range(200)))
    for args in [(), ("--features", "hashed", "--bits", "9")]:
        save(log, shop, "vw", *args)
        d = serve(daemon, shop)
        client = d.client()
        spellings = [
            {"User": {"user=tom": 1, "age": 31, "a": True}},
            {"User": {"user=": "tom", "age": 31.0, "a": True, "b": False, "c": None}},
            {"User^user=tom": 1, "User^age": 31, "User^a": True},
            {"Outer": {"User": {"user=tom": 1, "age": 31, "a": 1}}, "_ignored": {"User": {"b": 1}}},
            {"User": [{"user=tom": 1}, {"age": 31, "_text": "a"}]},
        ]
        replies = [client.ok("explain", "shop", {"x": x}) for x in spellings]
        assert all(r == replies[0] for r in replies), [r["prediction"] for r in replies]
        d.stop()
        (d.state / "gone").mkdir()
        for part in d.state.iterdir():
            subprocess.run(["rm", "-rf", part], check=True)


@pytest.mark.parametrize("x, complaint", [
    ({"x": {"f0": [True]}}, 'x["f0"]: got a boolean, expected numbers or maps in an array'),
    ({"x": {"f0": ["a"]}}, 'x["f0"]: got a string, expected numbers or maps in an array'),
    ({"x": {"f0": b"a"}}, 'x["f0"]: got binary, expected a number'),
    ({"x": {"f0": float("nan")}}, 'x["f0"]: not a finite number'),
    ({"x": {"f0": 1e300}}, 'x["f0"]: not a finite number'),
    ({"x": {3: 1}}, 'x["x"]: got an integer, expected a name as a key'),
    ({"_multi": []}, 'x["_multi"]: candidates have a key of their own'),
    ({9: 1}, "x[9]: expected an index below 4"),
    ({"x": {"f0": 1}, 9: 1}, "x: index 9, expected one below 4"),
])
def test_names_wrong_values_are_told(daemon, shop, x, complaint):
    reply = serve(daemon, shop).client().error("explain", "shop", {"x": x})
    assert reply["code"] == "bad_features" and complaint in reply["message"]


def test_names_nested_too_deeply_are_refused(daemon, shop):
    client = serve(daemon, shop).client()
    for depth in (10, 11, 13, 40):
        x = {"f0": 1}
        for _ in range(depth):
            x = {"x": x}
        status, reply = client.request("explain", "shop", {"x": x})
        assert (status == "ok") == (depth == 10), (depth, reply)


def test_names_more_than_max_nonzeros_are_refused(daemon, tmp_path):
    log, shop = write_vw(tmp_path / "log.vw", events(50)), tmp_path / "shop.model"
    save(log, shop, "vw", "--features", "hashed", "--bits", "10", "--max-nonzeros", "8")
    client = serve(daemon, shop).client()
    assert client.ok("explain", "shop", {"x": {"x": {f"f{i}": 1 for i in range(8)}}})
    assert "at most 8" in client.error("explain", "shop", {"x": {"x": {f"f{i}": 1 for i in range(9)}}})["message"]


def test_names_of_a_sparse_model_without_a_log_hash_as_a_log_would(daemon, tmp_path):
    d = daemon(section('model "shop"', {"features": 0, "bits": 12, "arms": 2}))
    client = d.client()
    a = client.ok("explain", "shop", {"x": {"User": {"user=": "tom", "age": 31}}})
    b = client.ok("explain", "shop", {"x": {"User^user=tom": 1, "User^age": 31}})
    assert a == b


def test_names_in_feedback_and_streams_mean_the_same(daemon, shop, tmp_path):
    first, second = serve(daemon, shop), serve(daemon, shop)
    by_name, by_place = first.client(), second.client()
    for i in range(20):
        more = {"id": i, "loss": float(i % 2), "a": i % 3, "p": 0.5}
        assert by_name.ok("feedback", "shop", {**more, "x": {"x": {"f1": i / 7, "f3": 2}}})["result"] == "applied"
        assert by_place.ok("feedback", "shop", {**more, "x": [0, i / 7, 0, 2]})["result"] == "applied"
    x = {"x": [0.1, 0.2, 0.3, 0.4]}
    assert by_name.ok("explain", "shop", x) == by_place.ok("explain", "shop", x)


def test_names_of_candidates_before_their_context_multiply_too(daemon, tmp_path):
    log, shop = write_dsjson(tmp_path / "log", events(100)), tmp_path / "shop.model"
    save(log, shop, "dsjson", "-q", "xi", "--bits", "8")
    client = serve(daemon, shop).client()
    event = json_events(log)[0].message()
    after = client.raw("explain", "shop", pack({"x": event["x"], "c": event["c"]}))
    before = client.raw("explain", "shop", pack({"c": event["c"], "x": event["x"]}))
    assert after[0] == "ok" and after == before


# ---- files of hashed features


def test_names_file_of_a_small_rank_model_is_small(daemon, tmp_path):
    log, shop = VW / "cb_load.dat", tmp_path / "shop.model"
    save(log, shop, "vw")
    assert json.loads(coppice("inspect", shop, "--json")[0])["models"][0]["learner"] == "rank"
    assert shop.stat().st_size <= 1 << 20
    d = serve(daemon, shop)
    d.stop()
    assert all(c.stat().st_size <= 1 << 20 for c in d.state.glob("*.checkpoint"))
