"""CURVE: who gets in, what each key may do, and what becomes of connections when the file of clients changes."""

import json
import socket
import subprocess
import threading
import time

import pytest
import zmq

from curve_peer import CurvePeer
from conftest import DEADLINE, coppice, free_port, is_sanitized, model, pack, program, section, unpack, wait_for, watched

pytestmark = pytest.mark.skipif(not zmq.has("curve"), reason="libzmq has no CURVE")


class Keys:
    """A daemon with CURVE on its endpoints of TCP, and key pairs of clients by name."""

    def __init__(self, daemon, folder, rights, models="mn", model_options=None, **sockets):
        self.pairs = {name: zmq.curve_keypair() for name in (*rights, "stranger")}
        self.public, secret = zmq.curve_keypair()
        self.clients = folder / "clients"
        self.write(rights)
        (folder / "curve.key").write_bytes(secret + b"\n")
        (folder / "curve.key").chmod(0o600)
        self.ports = {name: free_port() for name in ("requests", "admin", "contexts", "feedback", "actions")}
        text = section("curve", {"key": str(folder / "curve.key"), "clients": str(self.clients)})
        text += "".join(model(name, **(model_options or {})) for name in models)
        self.one = daemon(text, start=False)
        text += section("sockets", {
            "requests": [self.one.ipc("requests"), self.endpoint("requests")],
            "admin": [self.one.ipc("admin"), self.endpoint("admin")],
            "contexts_bind": [self.endpoint("contexts")], "feedback_bind": [self.endpoint("feedback")],
            "actions_bind": [self.endpoint("actions")], **sockets})
        self.one.write_config(text)
        self.one.start()
        self.local = self.one.client()

    def write(self, rights):
        lines = [f"{name} {self.pairs[name][0].decode()} {right}\n" for name, right in rights.items()]
        self.clients.write_text("# who may do what\n" + "".join(lines))

    def let_in_when_refused(self, rights):
        """A thread: when somebody was refused, these are the rights."""
        def wait():
            self.one.logged("event=curve_refused")
            self.write(rights)
            coppice("ctl", "--endpoint", self.one.ipc("admin"), "reload")

        thread = threading.Thread(target=wait)
        thread.start()
        return thread

    def endpoint(self, name):
        return f"tcp://127.0.0.1:{self.ports[name]}"

    def options(self, name):
        public, secret = self.pairs[name]
        return {"CURVE_SERVERKEY": self.public, "CURVE_PUBLICKEY": public, "CURVE_SECRETKEY": secret}

    def client(self, name, **more):
        admin = self.endpoint("admin")
        return self.one.client(endpoint=self.endpoint("requests"), admin=admin, **self.options(name), **more)

    def socket(self, name, kind, endpoint):
        return self.one.socket(kind, connect=self.endpoint(endpoint), **self.options(name))

    def streams(self):
        return self.local.status()["streams"]

    def closed(self):
        return self.local.status()["queues"]["closed"]


@pytest.fixture
def keys(daemon, tmp_path):
    return lambda rights, **more: Keys(daemon, tmp_path, rights, **more)


def context(id):
    return {"id": id, "x": [0.1, 0.2, 0.3]}


def test_each_key_may_do_what_its_rights_say(keys):
    k = keys({"shop": "decide m", "judge": "feedback", "eyes": "read", "boss": "all"})
    shop, judge, eyes, boss = (k.client(name) for name in ("shop", "judge", "eyes", "boss"))
    assert shop.ok("decide", "m", context("a"))["id"] == "a"
    assert judge.ok("feedback", "m", {"id": "a", "loss": 0.5})["result"] == "applied"
    assert [m["name"] for m in eyes.ok("status")["models"]] == ["m", "n"]
    boss.ok("checkpoint")
    refused = [shop.error("decide", "n", context("b")), shop.error("feedback", "m", {"id": "a", "loss": 0}),
               shop.error("status"), judge.error("decide", "m", context("b")), eyes.error("checkpoint"),
               eyes.error("reload"), judge.error("freeze", "m", {})]
    assert {r["code"] for r in refused} == {"forbidden"}
    assert refused[0]["message"] == "shop lacks the right decide for the model n"
    assert refused[2]["message"] == "shop lacks the right read for all models"
    k.one.logged('event=request_forbidden name=shop reason="shop lacks the right decide for the model n"')
    assert k.local.ok("decide", "n", context("c"))["id"] == "c"  # files' modes decide who reaches ipc
    assert k.local.model("n")["decisions"] == 1


def test_strangers_get_no_answer_and_change_nothing(keys):
    k = keys({"boss": "all"})
    before = k.local.model("m")
    plain = k.one.client(endpoint=k.endpoint("requests"))
    stranger = k.client("stranger")
    wrong_server = k.one.client(endpoint=k.endpoint("requests"), **{**k.options("boss"), "CURVE_SERVERKEY": zmq.curve_keypair()[0]})
    for client in (plain, stranger, wrong_server):
        client.send("decide", "m", context("x"))
    k.one.logged("event=curve_refused address=127.0.0.1 key=\"" + k.pairs["stranger"][0].decode() + '"')
    # libzmq's own plain client may leave before it has told its mechanism; this one does not.
    with socket.create_connection(("127.0.0.1", k.ports["requests"]), timeout=DEADLINE) as raw:
        raw.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16) + bytes(32))
        wait_for(lambda: k.closed()["clear"] > 0, "the plain connection to end")
    assert k.client("boss").ok("decide", "m", context("y"))["id"] == "y"  # those who may are served beside them
    assert not any(client.socket.poll(100) for client in (plain, stranger, wrong_server))
    assert k.local.model("m")["decisions"] == before["decisions"] + 1


def test_messages_that_are_taken_are_not_held_against_their_sender(keys):
    """More than an eighth of queue_limit comes by each connection, and the loop has nothing to do in between."""
    pull = f"tcp://127.0.0.1:{free_port()}"
    k = keys({"shop": "decide", "judge": "feedback"}, queue_limit="16MiB", feedback_pull_bind=[pull])
    shop, judge = k.client("shop"), k.one.socket(zmq.PUSH, connect=pull, **k.options("judge"))
    for number in range(3):
        for i in range(12):
            assert shop.ok("decide", "m", {**context(f"{number}-{i}"), "unknown": "x" * 250_000})["p"] > 0
            judge.send_multipart([b"fb.m", pack({"id": f"{number}-{i}", "loss": 0.5, "unknown": "x" * 250_000})])
        time.sleep(1.2)  # as long as what is held back may be on its way
    wait_for(lambda: k.local.model()["rev"] == 36, "36 losses")
    assert sum(k.closed().values()) == 0


@pytest.mark.parametrize("length", [100_000, 7])
def test_message_of_endless_parts_ends_its_connection(keys, length):
    """Each part is encrypted, so that it cannot be seen from outside which one is the last. As short as heartbeats, too."""
    k = keys({"shop": "decide", "other": "decide"}, queue_limit="16MiB")
    peer = CurvePeer(k.ports["requests"], k.public, *k.pairs["shop"])
    peer.send_part(b"decide", more=True)
    peer.send_part(b"m", more=True)
    peer.send_part(pack({**context("first"), "seq": 1}))
    peer.read_frame()  # answered: it does speak as libzmq does
    other, sent = k.client("other"), 0
    with pytest.raises(OSError):  # reset, or nobody reads any more
        while sent < 200_000_000:
            peer.send_part(bytes(length), more=True)
            sent += length + 128
    assert k.closed()["message"] == 1 and sent < 200_000_000
    assert other.decide("m", "second", [0.1, 0.2, 0.3])["p"] > 0


def test_streams_are_judged_by_the_key_of_each_message(keys):
    k = keys({"shop": "decide,read m", "judge": "feedback m", "all": "all"})
    actions = k.socket("shop", zmq.SUB, "actions")
    actions.subscribe("act.m")
    wait_for(lambda: k.streams()["subscribers"] == 1, "the subscription")
    shop, judge = k.socket("shop", zmq.XPUB, "contexts"), k.socket("judge", zmq.XPUB, "contexts")
    for one in (shop, judge):
        assert one.poll(1000 * DEADLINE) and one.recv() == b"\x01ctx."
    judge.send_multipart([b"ctx.m", pack(context("no"))])
    wait_for(lambda: k.streams()["forbidden"] == 1, "the refusal")
    k.one.logged('event=stream_refused stream=contexts model="m" reason="judge lacks the right decide for the model m"')
    shop.send_multipart([b"ctx.m", pack(context("yes"))])
    assert actions.poll(1000 * DEADLINE) and actions.recv_multipart()[0] == b"act.m"
    shop.send_multipart([b"ctx.n", pack(context("no"))])
    feedback = k.socket("judge", zmq.XPUB, "feedback")
    assert feedback.poll(1000 * DEADLINE) and feedback.recv() == b"\x01fb."
    feedback.send_multipart([b"fb.m", pack({"id": "yes", "loss": 0.5})])
    wait_for(lambda: k.local.model("m")["feedback"]["applied"] == 1, "the feedback")
    wait_for(lambda: k.streams()["forbidden"] == 2, "the refusal of another model")
    assert (k.local.model("m")["decisions"], k.local.model("n")["decisions"]) == (1, 0)


def test_actions_are_sent_to_those_whose_key_may_read_them(keys):
    k = keys({"m": "read m", "both": "read", "shop": "decide"})
    subscribers = {name: k.socket(name, zmq.SUB, "actions") for name in ("m", "both", "shop")}
    subscribers["m"].subscribe("act.n")
    subscribers["m"].subscribe("act.")  # covers n
    wait_for(lambda: k.streams()["subscriptions_refused"] == 2, "the refusals")
    k.one.logged('event=subscription_refused name=m reason="m lacks the right read for the model n"')
    subscribers["m"].subscribe("act.m")
    subscribers["both"].subscribe("act.")
    subscribers["shop"].subscribe("act.m")
    wait_for(lambda: k.streams()["subscribers"] == 2 and k.streams()["subscriptions_refused"] == 3, "subscriptions")
    contexts = k.socket("shop", zmq.XPUB, "contexts")
    assert contexts.poll(1000 * DEADLINE) and contexts.recv() == b"\x01ctx."
    for topic in (b"ctx.n", b"ctx.m"):
        contexts.send_multipart([topic, pack(context("i"))])
    assert subscribers["m"].poll(1000 * DEADLINE) and subscribers["m"].recv_multipart()[0] == b"act.m"
    assert [subscribers["both"].recv_multipart()[0] for _ in range(2)] == [b"act.n", b"act.m"]
    assert not subscribers["m"].poll(0) and not subscribers["shop"].poll(0)
    for one in subscribers.values():
        one.close()
    wait_for(lambda: k.streams()["subscribers"] == 0, "the ends of subscriptions")


def test_a_reload_takes_keys_away_and_gives_new_ones(keys):
    k = keys({"stays": "all", "leaves": "all", "changes": "decide,read", "narrowed": "read"})
    clients = {name: k.client(name) for name in ("stays", "leaves", "changes")}
    subscribers = {name: k.socket(name, zmq.SUB, "actions") for name in ("stays", "leaves", "narrowed")}
    for one in subscribers.values():
        one.subscribe("act.")
    for name, client in clients.items():
        client.ok("decide", "m", context(name))
    wait_for(lambda: k.streams()["subscribers"] == 3, "the subscriptions")
    old = k.pairs["changes"]
    k.pairs["changes"] = zmq.curve_keypair()
    k.pairs["comes"] = zmq.curve_keypair()
    k.write({"stays": "all", "changes": "decide", "comes": "decide", "narrowed": "read m"})
    assert k.local.ok("reload")["applied"] == [
        f"curve.clients: {change}" for change in ("changes changed", "comes added", "leaves removed", "narrowed changed")]
    assert clients["stays"].ok("decide", "m", context("1"))["id"] == "1"
    assert clients["leaves"].error("decide", "m", context("2"))["code"] == "forbidden"
    assert clients["changes"].error("decide", "m", context("3"))["code"] == "forbidden"  # the key before
    assert k.client("comes").ok("decide", "m", context("4"))["id"] == "4"
    assert k.client("changes").ok("decide", "m", context("5"))["id"] == "5"
    assert old != k.pairs["changes"]
    wait_for(lambda: k.streams()["subscribers"] == 1, "the ends of subscriptions")
    assert k.closed()["key"] == 2
    k.clients.write_text("nobody\n")
    assert "number of words" in k.local.error("reload")["message"]
    assert clients["stays"].ok("decide", "m", context("6"))["id"] == "6"


def test_the_daemon_connects_to_a_publisher_by_its_key(keys):
    public, secret = zmq.curve_keypair()
    port = free_port()
    k = keys({"boss": "all"}, contexts_connect=[f"tcp://127.0.0.1:{port} server_key={public.decode()}"])
    publisher = k.one.socket(zmq.XPUB, CURVE_SERVER=1, CURVE_SECRETKEY=secret)
    publisher.bind(f"tcp://127.0.0.1:{port}")
    assert publisher.poll(1000 * DEADLINE) and publisher.recv() == b"\x01ctx."
    actions = k.socket("boss", zmq.SUB, "actions")
    actions.subscribe("act.m")
    wait_for(lambda: k.streams()["subscribers"] == 1, "the subscription")
    publisher.send_multipart([b"ctx.m", pack(context("p"))])
    assert actions.poll(1000 * DEADLINE) and unpack(actions.recv_multipart()[1])["id"] == "p"


def test_wrong_configurations_are_refused_with_their_line(keys, daemon, tmp_path):
    k = keys({"boss": "all"})
    text = k.one.config.read_text()
    key = str(tmp_path / "curve.key")

    def wrong(changed):
        k.one.config.write_text(changed)
        done = k.one.run("--check")
        assert done.returncode == 1
        return done.stderr

    assert "server_key" in wrong(text.replace("sockets {", 'sockets {\n contexts_connect = { "tcp://10.0.0.1:5" }'))
    assert "missing in section curve" in wrong(text.replace(f'key = "{key}"', ""))
    assert "not allowed" in wrong(text.replace("sockets {", 'sockets {\n contexts_connect = { "tcp://a:5 server_key=short" }'))
    (tmp_path / "curve.key").chmod(0o604)
    assert "everybody can read" in wrong(text)
    (tmp_path / "curve.key").chmod(0o600)
    (tmp_path / "curve.key").write_text("short")
    assert "no key" in wrong(text)
    k.one.config.write_text(text)


def test_ctl_and_bench_take_keys(keys, tmp_path):
    k = keys({"boss": "all", "eyes": "read"})
    (tmp_path / "server.pub").write_text(k.public.decode() + "\n")
    for name in ("boss", "eyes", "stranger"):
        (tmp_path / name).write_bytes(k.pairs[name][1])
        (tmp_path / name).chmod(0o600)

    def run(name, *args):
        endpoint = k.endpoint("admin" if {"checkpoint", "backup"} & set(args) else "requests")
        keyed = ["--endpoint", endpoint, "--key", tmp_path / name, "--server-key", tmp_path / "server.pub"]
        return subprocess.run([program("COPPICE"), *args, *map(str, keyed)], capture_output=True, text=True,
                              timeout=DEADLINE, env=watched())

    assert json.loads(run("eyes", "ctl", "status", "--json").stdout)["models"]
    refused = run("eyes", "ctl", "checkpoint")
    assert refused.returncode == 1 and "forbidden: eyes lacks the right admin for all models" in refused.stderr
    assert run("boss", "ctl", "checkpoint").returncode == 0
    unknown = run("stranger", "ctl", "status", "--timeout", "0.5")
    assert unknown.returncode == 1 and "within 0.5 s" in unknown.stderr
    assert "of this public key, whose file of clients has this client's key" in unknown.stderr
    bare = ("ctl", "--endpoint", k.endpoint("requests"), "--timeout", "0.5", "status")
    assert "expected a running coppiced that takes clients without keys" in coppice(*bare, status=1)[1]
    done = run("boss", "bench", "load", "--model", "m", "--features", "3", "--events", "20", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)
    copied = run("boss", "ctl", "backup", str(tmp_path / "copy"))
    assert copied.returncode == 0 and (tmp_path / "copy").is_dir()
    alone = subprocess.run([program("COPPICE"), "ctl", "status", "--key", tmp_path / "boss"], capture_output=True, text=True,
                           timeout=DEADLINE)
    assert alone.returncode == 2 and "go together" in alone.stderr


def test_endpoints_beyond_this_machine_are_refused_in_the_clear(daemon):
    one = daemon(start=False)
    exposed = {"requests": [one.ipc("requests"), f"tcp://0.0.0.0:{free_port()}"]}
    one.write_config(section("sockets", exposed) + model())
    done = one.run("--check")
    assert done.returncode == 1 and "can be reached from other machines" in done.stderr
    one.launch().wait(1)
    one.write_config(section("sockets", {**exposed, "insecure": True}) + model())
    done = one.run("--check")
    assert done.returncode == 0 and "warning: tcp://0.0.0.0" in done.stderr and "ok: model m" in done.stdout
    one.start()
    one.logged('event=insecure endpoint="tcp://0.0.0.0')


def test_hostile_handshakes_leave_memory_and_queues_as_they_were(keys):
    k = keys({"boss": "all"})
    boss = k.client("boss")
    boss.ok("decide", "m", context("first"))
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE" + bytes(15) + bytes(32)
    hello = b"\x04\xc8\x05HELLO" + bytes(194)

    def attack(junk):
        with socket.create_connection(("127.0.0.1", k.ports["requests"])) as s:
            s.settimeout(DEADLINE)
            try:
                s.sendall(greeting + junk)
                while s.recv(4096):
                    pass
            except OSError:
                pass

    kinds = [hello + b"\x00\x21" * 4000, b"\x00\x01a" * 4000, b"\x06" + (1 << 20).to_bytes(8, "big") + bytes(8192),
             hello + hello, b"\x04\x05READY" * 1000]
    for junk in kinds:
        attack(junk)
    before = k.one.memory()[1]
    threads = [threading.Thread(target=lambda: [attack(junk) for junk in kinds * 20]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(50):
        assert boss.ok("decide", "m", context(i))["id"] == i
    for thread in threads:
        thread.join()
    if not is_sanitized(program("COPPICED")):  # which keeps what is freed for a while
        assert k.one.memory()[1] < before + 8
    assert wait_for(lambda: k.local.status()["queues"]["unfinished"] == 0, "connections to end")
    assert k.local.model("m")["decisions"] == 51
