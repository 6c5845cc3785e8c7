"""Instances that divide keys among themselves and merge a model: real daemons, the link over ipc and tcp."""

import random
import re
import shutil
import subprocess

import msgpack
import pytest
import zmq
from conftest import coppice as coppice_program
from conftest import free_port, grow, model, pack, section, unpack, wait_for
from python_client import coppice
from test_replica import sections

ARMS, FEATURES = 3, 3
RIDGE = {"learner": "ridge", "height": None, "trees": None, "reward_window": "1h"}


def ridge(name="m", **options):
    return model(name, **{**RIDGE, **options})


def part_section(number, of=3, **options):
    return section("partition", {"of": of, "number": number, **options})


def instances(daemon, of=3, every=0.1, models=None, **options):
    """Not started; each asks all others."""
    all_of_them = [daemon(start=False) for _ in range(of)]
    for number, one in enumerate(all_of_them):
        peers = [other.ipc("merge") for other in all_of_them if other is not one]
        text = part_section(number, of, listen=[one.ipc("merge")], peers=peers, merge=["m"], every=f"{round(every * 1000)}ms", **options)
        one.write_config(text + (models or ridge()))
    return all_of_them


def events(seed, count, prefix="e"):
    """Self-contained feedback: what was played is given, so that whoever learns it learns the same."""
    random_ = random.Random(seed)
    made = []
    for i in range(count):
        x = [random_.gauss(0, 1), 1000 + 5 * random_.gauss(0, 1), random_.random()]
        a = random_.randrange(ARMS)
        loss = min(max(0.4 + 0.1 * a + 0.1 * x[0] * (a - 1) + 0.01 * (x[1] - 1000) + random_.gauss(0, 0.1), 0), 1)
        made.append({"id": f"{prefix}{i}", "x": x, "a": a, "p": 1 / ARMS, "loss": loss})
    return made


def teach(clients, made):
    """Each event at the instance that owns it."""
    by_part = {}
    for event in made:
        by_part.setdefault(coppice.part_of(event["id"], len(clients)), []).append(event)
    for part, own in by_part.items():
        results = clients[part].ok("feedback_batch", "m", {"items": own})["items"]
        assert [r.get("result") for r in results] == ["applied"] * len(own)


PROBES = [[0.3, 1002.0, 0.1], [-1.2, 995.5, 0.8], [2.0, 1010.0, 0.5]]


def predictions(client, more=()):
    """Of each arm, for each probe with those values behind it."""
    masks = [[int(k == a) for k in range(ARMS)] for a in range(ARMS)]
    return [client.ok("explain", "m", {"x": [*x, *more], "mask": mask})["prediction"] for x in PROBES for mask in masks]


def near(a, b):
    return all(abs(p - q) < 2e-6 for p, q in zip(a, b))


def merge_of(client):
    return client.status()["partition"]["merge"]


def merged(clients, wanted, more=()):
    for client in clients:
        wait_for(lambda c=client: near(predictions(c, more), wanted), "an instance to know what all learned")


def oracle(daemon, made):
    """What one instance that saw everything predicts."""
    alone = daemon(ridge())
    client = alone.client()
    for i in range(0, len(made), 200):
        client.ok("feedback_batch", "m", {"items": made[i : i + 200]})
    return predictions(client)


def test_merged_models_are_the_one_that_saw_everything(daemon):
    three = [one.start() for one in instances(daemon)]
    clients = [one.client() for one in three]
    made = events(1, 600)
    teach(clients, made)
    merged(clients, oracle(daemon, made))
    parts = merge_of(clients[0])["parts"]
    assert [p["part"] for p in parts] == [1, 2] and all(0 <= p["age"] < 60 for p in parts)
    own = [c.model()["learned"] for c in clients]
    assert sum(own) == 600 and min(own) > 100


def test_unchanged_summaries_are_not_recorded_again(daemon):
    three = [one.start() for one in instances(daemon)]
    clients = [one.client() for one in three]
    made = events(2, 90)
    teach(clients, made)
    merged(clients, oracle(daemon, made))
    end = clients[0].status()["journal"]["next"]
    same = merge_of(clients[0])["same"]
    wait_for(lambda: merge_of(clients[0])["same"] >= same + 6, "further summaries")
    assert clients[0].status()["journal"]["next"] == end


def test_a_kill_loses_and_doubles_nothing(daemon):
    three = [one.start() for one in instances(daemon)]
    clients = [one.client() for one in three]
    made = events(3, 500)
    teach(clients, made[:150])
    three[1].kill()
    clients[1].close()
    before = [e for e in made[150:350] if coppice.part_of(e["id"], 3) != 1]
    teach(clients, before)
    three[1].start()
    clients[1] = three[1].client()
    after = [e for e in made[150:350] if coppice.part_of(e["id"], 3) == 1] + made[350:]
    teach(clients, after)
    merged(clients, oracle(daemon, made))
    three[2].restart()
    clients[2] = three[2].client()
    merged(clients, oracle(daemon, made))


def test_replay_of_the_journal_gives_the_same_bytes(daemon):
    three = [one.start() for one in instances(daemon)]
    clients = [one.client() for one in three]
    made = events(4, 300)
    teach(clients, made)
    merged(clients, oracle(daemon, made))
    live = sections(three[0])
    client = three[0].client()
    client.ok("decide", "m", {"id": f"own-{next(i for i in range(99) if coppice.part_of(f'own-{i}', 3) == 0)}", "x": PROBES[0]})
    for one in three[1:]:
        one.stop()
    three[0].kill()
    for file in three[0].state.glob("coppice.*.checkpoint"):
        file.unlink()
    three[0].start()
    again = sections(three[0])
    assert live.keys() == again.keys() == {b"m"}
    assert near(predictions(three[0].client()), oracle(daemon, made))
    three[0].kill()
    for file in three[0].state.glob("coppice.*.checkpoint"):
        file.unlink()
    three[0].start()
    assert sections(three[0]) == again


def test_a_state_folder_that_is_lost_comes_back_from_the_others(daemon):
    three = [one.start() for one in instances(daemon)]
    clients = [one.client() for one in three]
    made = events(5, 400)
    teach(clients, made[:300])
    merged(clients, oracle(daemon, made[:300]))
    three[1].logged("event=merge_life")  # a kill may lose a line
    three[1].kill()
    subprocess.run(["rm", "-rf", three[1].state], check=True)
    three[1].start()
    clients[1] = three[1].client()
    teach(clients, made[300:])
    merged(clients, oracle(daemon, made))
    three[1].logged("event=merge_life", 2)
    assert three[1].log().count("event=merge_life") == 2


def test_an_instance_that_was_restored_from_a_backup_hears_that_it_is_behind(daemon, tmp_path):
    two = [one.start() for one in instances(daemon, of=2)]
    clients = [one.client() for one in two]
    made = events(15, 200)
    teach(clients, made[:80])
    coppice_program("ctl", "--endpoint", two[1].ipc("admin"), "backup", tmp_path / "backup")
    teach(clients, made[80:])
    all_of_it = oracle(daemon, made)
    merged(clients[:1], all_of_it)
    two[1].kill()
    two[1].state.rename(tmp_path / "newer")
    shutil.copytree(tmp_path / "backup", two[1].state)
    two[1].start()
    line = two[1].logged("event=merge_behind model=\"m\"") and re.search(r"number=(\d+) next=(\d+)", two[1].log())
    assert int(line[1]) >= int(line[2])
    assert near(predictions(clients[0]), all_of_it)


def test_a_copied_state_folder_is_refused_by_name(daemon):
    three = instances(daemon)
    three[0].start()
    three[0].logged("event=merge_life")
    three[0].stop()
    subprocess.run(["cp", "-r", three[0].state, three[1].state], check=True)
    for one in three:
        one.start()
    three[0].logged("was the state folder copied?")
    assert merge_of(three[0].client())["own"] > 0


def wide_events(seed, count, prefix, wide):
    """Of five features, the last of which matters, where the instance has them."""
    random_ = random.Random(seed)
    made = events(seed, count, prefix)
    for event in made:
        more = [random_.gauss(50, 2), random_.gauss(-3, 1)]
        event["loss"] = min(max(event["loss"] + 0.2 * (more[1] + 3), 0), 1)
        event["x"] = event["x"] + (more if coppice.part_of(event["id"], 3) in wide else [])
    return made


def narrow(made):
    return [{**event, "x": event["x"][:FEATURES]} for event in made]


LOW, HIGH = (50, -4), (50, -2)


def test_features_come_to_one_instance_after_another(daemon):
    three = [one.start() for one in instances(daemon)]
    clients = [one.client() for one in three]
    made = events(6, 300)
    teach(clients, made)
    merged(clients, oracle(daemon, made))
    for part in range(3):
        applied = clients[part].ok("model", "m", {"do": "set", "options": {"features": 5}})["applied"]
        assert applied == ["model m: features: 3 -> 5"]
        more = wide_events(7 + part, 300, f"wide{part}-", range(part + 1))
        teach(clients, more)
        made += more
        merged(clients[part + 1 :], oracle(daemon, narrow(made)))
    for client in clients[1:]:  # all have seen values of all features, so what all learned is the same for all
        wait_for(lambda c=client: near(predictions(c, LOW), predictions(clients[0], LOW)), "all to know the same")
    assert sum(predictions(clients[2], LOW)) + 1 < sum(predictions(clients[2], HIGH))
    assert merge_of(clients[0])["unfit"] == merge_of(clients[0])["shape"] == 0
    three[1].stop()
    three[2].stop()
    live = sections(three[0])
    three[0].kill()
    for file in three[0].state.glob("coppice.*.checkpoint"):
        file.unlink()
    three[0].start()  # from the journal alone
    assert sections(three[0]) == live


def test_what_an_instance_learned_without_new_features_outlives_it(daemon):
    three = [one.start() for one in instances(daemon)]
    clients = [one.client() for one in three]
    made = events(8, 300)
    teach(clients, made)
    merged(clients, oracle(daemon, made))
    three[2].kill()
    subprocess.run(["rm", "-rf", three[2].state], check=True)
    for client in clients[:2]:
        client.ok("model", "m", {"do": "set", "options": {"features": 5}})
    more = [e for e in wide_events(9, 300, "more", (0, 1)) if coppice.part_of(e["id"], 3) < 2]
    teach(clients, more)
    made += more
    text = three[2].config.read_text()
    assert "features = 3" in text
    three[2].write_config(text.replace("features = 3", "features = 5"))
    three[2].start()
    clients[2] = three[2].client()
    # Two others tell it what it had learned, of three features, and what they learned, of five.
    merged(clients[2:], oracle(daemon, narrow(made)), LOW)
    made = wide_events(10, 200, "again", range(3))
    teach(clients, made)
    wait_for(lambda: sum(predictions(clients[2], LOW)) + 1 < sum(predictions(clients[2], HIGH)), "the feature to count")


def key_of(part, of=3, prefix="k"):
    return next(f"{prefix}{i}" for i in range(1000) if coppice.part_of(f"{prefix}{i}", of) == part)


def test_keys_of_other_instances_are_refused_and_counted(daemon):
    one = daemon(part_section(1) + model())
    client = one.client()
    own, foreign = key_of(1), key_of(2)
    assert client.decide("m", own, [0, 0, 0])["id"] == own
    error = client.error("decide", "m", {"id": foreign, "x": [0, 0, 0]})
    assert error["code"] == "other_part" and "part 2 of 3" in error["message"]
    assert client.decide("m", foreign, [0, 0, 0], unit=own)["id"] == foreign  # the unit's is what counts
    assert client.feedback("m", foreign, 0.5) == "applied"
    error = client.error("feedback", "m", {"id": foreign, "x": [0, 0, 0], "a": 0, "p": 1.0, "loss": 0})
    assert error["code"] == "other_part"
    assert client.status()["partition"] == {"of": 3, "number": 1, "foreign": 2, "refused": 2}
    one.logged("event=partition_foreign")
    assert "merge" not in client.status()["partition"]


def test_keys_of_other_instances_can_be_accepted(daemon):
    client = daemon(part_section(1, foreign="accept") + model()).client()
    client.decide("m", key_of(0), [0, 0, 0])
    assert client.status()["partition"]["foreign"] == 1 and client.status()["partition"]["refused"] == 0


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (part_section(3) + model(), "number: 3 is none of 3 instances, expected 0 to 2"),
        (section("partition", {"of": 2}) + model(), "number: missing in section partition"),
        (part_section(0, merge=["m"], peers=["ipc://x"]) + model(), "the forest's structure"),
        (part_section(0, merge=["m"], peers=["ipc://x"]) + model(learner="dgt"), "the tree's gradient steps"),
        (part_section(0, merge=["q"], peers=["ipc://x"]) + ridge(), '"q" is no model'),
        (part_section(0, merge=["m"]) + ridge(), "nobody to merge with"),
        (
            section("journal", {"enabled": False}) + part_section(0, merge=["m"], peers=["ipc://x"]) + ridge(),
            "expected enabled = true in section journal",
        ),
        (ridge(features=0), "learner ridge takes dense contexts"),
        (ridge(features=300), "expected 1 to 256"),
    ],
)
def test_what_cannot_be_is_refused_at_the_check(daemon, text, wrong):
    one = daemon(text, start=False)
    result = one.run("--check")
    assert result.returncode != 0 and wrong in result.stdout + result.stderr


class Peer:
    """An instance that says what the test has it say."""

    def __init__(self, one, endpoint):
        self.socket = one.socket(zmq.ROUTER, bind=endpoint)

    def asked(self):
        """The newest ask: whoever waited too long for an answer asks again by another connection."""
        assert self.socket.poll(60000)
        while self.socket.poll(0):
            identity, body = self.socket.recv_multipart()
        return identity, unpack(body)

    def tell(self, head, sums=b""):
        identity, ask = self.asked()
        self.socket.send_multipart([identity, pack(head), sums])
        self.socket.send_multipart([identity, pack({"k": "end", "version": 1})])
        return ask


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


WIDTH = 2 + 2 * FEATURES + FEATURES * (FEATURES + 1) // 2


def summary(sums, **changes):
    return {
        "k": "summary", "version": 1, "of": 2, "part": 1, "own": 1, "life": 77, "number": 5, "features": FEATURES,
        "arms": ARMS, "crc": crc32c(sums), "time": 1.0, "model": "m", "learner": "ridge", **changes,
    }  # fmt: skip


def test_summaries_that_do_not_fit_are_refused_by_name(daemon):
    import struct

    one = daemon(start=False)
    one.write_config(part_section(0, 2, peers=[one.ipc("peer")], merge=["m"], every="100ms") + ridge())
    peer = Peer(one, one.ipc("peer"))
    one.start()
    client = one.client()
    sums = struct.pack(f"<{ARMS * WIDTH}d", *([1.0] * (ARMS * WIDTH)))
    nan = struct.pack("<d", float("nan")) + sums[8:]
    bad = [
        (summary(sums, version=2), sums, "unfit"),
        (summary(sums, of=3), sums, "unfit"),
        (summary(sums, crc=1), sums, "unfit"),
        (summary(sums, model="other"), sums, "unfit"),
        (summary(sums, learner="dgt"), sums, "unfit"),
        (summary(sums, features=4), sums, "unfit"),
        (summary(sums, arms=2), sums, "unfit"),
        (summary(sums, features=2**63), sums, "unfit"),
        (summary(sums[8:]), sums[8:], "shape"),
        (summary(nan), nan, "broken"),
        (summary(sums, life=0), sums, "broken"),
        ({"k": "summary"}, sums, "unfit"),
        ({"k": "what"}, sums, "unfit"),
    ]
    for head, body, counter in bad:
        before = merge_of(client)[counter]
        peer.tell(head, body)
        wait_for(lambda b=before, c=counter: merge_of(client)[c] > b, f"{head} to be counted as {counter}")
    assert merge_of(client)["new"] == 0
    one.logged("event=merge_refused")
    before = predictions(client)
    peer.tell(summary(sums), sums)
    wait_for(lambda: merge_of(client)["new"] == 1, "a good one to be taken")
    assert predictions(client) != before
    assert msgpack.unpackb(pack(peer.tell(summary(sums), sums)["k"])) == "ask"
    wait_for(lambda: merge_of(client)["same"] == 1, "the same again to count for nothing")
    other = struct.pack("<d", 3.0) + sums[8:]
    peer.tell(summary(other), other)
    wait_for(lambda: merge_of(client)["old"] == 1, "others under the same number to count for nothing")
    peer.tell(summary(other, number=4), other)
    wait_for(lambda: merge_of(client)["old"] == 2, "a lower number to count for nothing")
    peer.tell(summary(other, number=9, part=0), other)
    wait_for(lambda: merge_of(client)["moved"] == 1, "a life of another part to be refused")
    known = peer.tell(summary(other, number=9), other)["known"]
    assert known == struct.pack("<QQ", 77, 5)
    wait_for(lambda: merge_of(client)["new"] == 2, "a higher number to be taken")


def test_asks_that_do_not_fit_are_refused(daemon):
    one = daemon(start=False)
    one.write_config(part_section(0, 2, listen=[one.ipc("merge")], merge=["m"]) + ridge())
    one.start()
    socket = one.socket(zmq.DEALER, connect=one.ipc("merge"))

    def ask(**changes):
        socket.send(pack({"k": "ask", "version": 1, "of": 2, "part": 1, "known": b"", **changes}))
        assert socket.poll(60000)
        return unpack(socket.recv_multipart()[0])

    assert ask()["k"] == "summary"
    assert unpack(socket.recv_multipart()[0])["k"] == "end"
    for changes in ({"version": 2}, {"of": 3}, {"part": 0}, {"part": 2}, {"known": b"x"}, {"k": "end"}, {"known": 1}):
        reply = ask(**changes)
        assert reply["k"] == "refused" and reply["reason"], changes
    assert merge_of(one.client())["refused"] == 7


def test_followers_take_what_was_merged(daemon):
    two = instances(daemon, of=2)
    leader = two[0]
    text = leader.config.read_text()
    leader.config.write_text(section("replica", {"name": "a", "listen": [leader.ipc("link")]}) + text)
    two[1].start()
    leader.start()
    follower = daemon(start=False)
    follower.write_config(
        section("replica", {"name": "b", "listen": [follower.ipc("link")], "of": [leader.ipc("link")]})
        + part_section(0, 2, listen=[follower.ipc("merge")], peers=[two[1].ipc("merge")], merge=["m"], every="100ms")
        + ridge()
    )
    follower.start()
    clients = [one.client() for one in two]
    made = events(6, 200)
    teach(clients, made)
    merged([*clients, follower.client()], oracle(daemon, made))
    assert merge_of(follower.client())["asked"] == 0


needs_curve = pytest.mark.skipif(not zmq.has("curve"), reason="libzmq has no CURVE")


def curve_pair(daemon, folder):
    """Not started, merging over CURVE; and who may do what at the first one."""
    keys, ports = [], [free_port() for _ in range(2)]
    for number in range(2):
        public, secret = zmq.curve_keypair()
        (folder / f"key.{number}").write_bytes(secret + b"\n")
        (folder / f"key.{number}").chmod(0o600)
        keys.append((public, secret))
    files = [folder / f"clients.{number}" for number in range(2)]
    both = [daemon(start=False) for _ in range(2)]
    for number, one in enumerate(both):
        listen, other = f"tcp://127.0.0.1:{ports[number]}", 1 - number
        peer = f"tcp://127.0.0.1:{ports[other]} server_key={keys[other][0].decode()}"
        files[number].write_text(f"peer {keys[other][0].decode()} replicate\n")
        text = section("curve", {"key": str(folder / f"key.{number}"), "clients": str(files[number])})
        text += part_section(number, 2, listen=[listen], peers=[peer], merge=["m"], every="100ms")
        one.write_config(text + ridge())
    return both, keys, ports, files


@needs_curve
def test_instances_with_keys_merge_over_curve(daemon, tmp_path):
    both, keys, ports, files = curve_pair(daemon, tmp_path)
    files[0].write_text(f"peer {keys[1][0].decode()} all\n")  # which lacks replicate
    clients = [one.start().client() for one in both]
    made = events(7, 200)
    teach(clients, made)
    wait_for(lambda: merge_of(clients[0])["refused"] >= 3, "asks without the right to be refused")
    wait_for(lambda: merge_of(clients[1])["refused"] >= 3, "whoever asked to count it, too")
    both[1].logged("peer lacks the right replicate")
    assert merge_of(clients[0])["answered"] == 0
    own = oracle(daemon, [e for e in made if coppice.part_of(e["id"], 2) == 1])
    assert merge_of(clients[1])["new"] == 0 and near(predictions(clients[1]), own)  # nothing was told to it
    files[0].write_text(f"peer {keys[1][0].decode()} replicate\n")
    clients[0].ok("reload")
    merged(clients, oracle(daemon, made))


@needs_curve
def test_only_keys_with_the_right_are_told_sums(daemon, tmp_path):
    both, keys, ports, files = curve_pair(daemon, tmp_path)
    client = both[0].start().client()
    reader = zmq.curve_keypair()
    files[0].write_text(f"reader {reader[0].decode()} all\npeer {keys[1][0].decode()} replicate\n")
    client.ok("reload")

    def ask(pair):
        options = {"CURVE_SERVERKEY": keys[0][0], "CURVE_PUBLICKEY": pair[0], "CURVE_SECRETKEY": pair[1]}
        socket = both[0].socket(zmq.DEALER, connect=f"tcp://127.0.0.1:{ports[0]}", **options)
        socket.send(pack({"k": "ask", "version": 1, "of": 2, "part": 1, "known": b""}))
        return socket

    reply = ask(reader)
    assert reply.poll(60000)
    frames = reply.recv_multipart()
    refused = unpack(frames[0])
    assert len(frames) == 1 and refused["k"] == "refused" and "reader lacks the right replicate" in refused["reason"]
    stranger = ask(zmq.curve_keypair())
    both[0].logged("event=curve_refused")
    good = ask(keys[1])
    assert good.poll(60000) and unpack(good.recv_multipart()[0])["k"] == "summary"
    assert unpack(good.recv_multipart()[0])["k"] == "end"
    assert not stranger.poll(100) and not reply.poll(100)
    assert merge_of(client)["refused"] == 1 and merge_of(client)["answered"] == 1
