"""A daemon to talk to, and a client that knows nothing but docs/reference/protocol.md: pyzmq and msgpack.

`daemon(...)` writes a configuration into the test's folder, starts coppiced in the foreground and waits until it
answers. At the end of the test whatever still runs is stopped with SIGTERM and must end with status 0; then the
sanitizers of a sanitized build have had their say too. Nothing sleeps for a fixed time: `wait_for` polls a condition
until a deadline.
"""

import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import msgpack
import pytest
import zmq

DEADLINE = 120  # seconds; generous, for sanitized builds on busy machines. No test measures time with it.
NOTHING = object()


def wait_for(condition, what, deadline=DEADLINE):
    """The first true value of condition()."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited {deadline} s for {what}"
        time.sleep(0.002)  # only the pace of polling


GIVEN = set()  # ports


def free_port():
    """Each once. Below the ports that the system gives to outgoing connections, by chance: tests run side by side."""
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(12000, 32000)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was closed lately is free
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in GIVEN:
            GIVEN.add(port)
            return port


def program(name):
    path = os.environ.get(name)
    if not path or not Path(path).exists():
        pytest.skip(f"{name} does not name a program")
    return path


def is_sanitized(path):
    return any(mark in Path(path).read_bytes() for mark in (b"__asan_init", b"__tsan_init", b"__ubsan_handle"))


def watched(env=None):
    """The environment (None: ours) in which a tool complains at its end that blocks "were not freed" or files "left open".
    A sanitizer looks for that itself."""
    env = dict(os.environ if env is None else env)
    leaks = os.environ.get("COPPICE_LEAKS")
    if leaks and not is_sanitized(program("COPPICE")):
        env["LD_PRELOAD"] = leaks
    return env


def coppice(*args, status=0, env=None, timeout=5 * DEADLINE, **more):
    """(standard output, standard error) of the program, which must end with this status (None: any but 0) and give back
    what it took."""
    command = [program("COPPICE"), *map(str, args)]
    # what stands in for standard input after an interrupt stays open until the end
    env = env if "-" in args else watched(env)
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env, **more)
    assert "not freed" not in done.stderr and "left open" not in done.stderr, (command, done.stderr)
    assert done.returncode == status or (status is None and done.returncode != 0), (command, done.stdout, done.stderr)
    return done.stdout, done.stderr


def quote(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "{ " + ", ".join(quote(v) for v in value) + " }"
    if isinstance(value, str) and "server_key" in value:
        return f"'{value}'"  # keys may have ${, which names a variable in double quotes
    return str(value) if isinstance(value, (int, float)) else f'"{value}"'


def section(name, options):
    return name + " {\n" + "".join(f"\t{key} = {quote(value)}\n" for key, value in options.items()) + "}\n"


def model(name="m", learner="ensemble", refits=False, **options):
    """Text of a model's section: a small one unless told otherwise. An option of value None is left out. refits:
    as they are by default, on where they can be; without it there are none."""
    given = {"learner": learner, "features": 3, "height": 2, "seed": 1}
    if learner == "value":
        given["feedback"] = "two"
    else:
        given["arms"] = 3
    if learner != "dgt":
        given["trees"] = 2
    given.update(options)
    text = section(f'model "{name}"', {k: v for k, v in given.items() if v is not None})
    return text if refits or learner == "value" else text[:-2] + "\trefit { enabled = false }\n}\n"


def pack(value):
    return msgpack.packb(value, use_bin_type=True)


def unpack(data):
    # A string's bytes come back as they were sent, UTF-8 or not.
    return msgpack.unpackb(data, raw=False, strict_map_key=False, unicode_errors="surrogateescape")


ADMINISTRATION = ("checkpoint", "backup", "reload", "forget", "model", "refit", "promote", "rollback", "freeze", "lead", "follow")


class Client:
    """One socket to the requests endpoint. kind: zmq.DEALER (default) or zmq.REQ. With the endpoint of administration its
    verbs go there, by a second socket."""

    def __init__(self, context, endpoint, kind=zmq.DEALER, admin=None, **options):
        self.context, self.admin, self.options, self.administrator = context, admin, options, None
        self.asked = 0  # requests of this client
        self.socket = context.socket(kind)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.RECONNECT_IVL, 10)
        for option, value in options.items():
            self.socket.setsockopt(getattr(zmq, option), value)
        self.socket.connect(endpoint)

    def send(self, verb, model="", body=NOTHING):
        self.send_raw(verb.encode(), model.encode(), b"" if body is NOTHING else pack(body))

    def send_raw(self, *frames):
        self.asked += 1
        self.socket.send_multipart(list(frames))

    def receive_raw(self, deadline=DEADLINE):
        assert self.socket.poll(1000 * deadline), f"no reply within {deadline} s"
        return self.socket.recv_multipart()

    def receive(self, deadline=DEADLINE):
        status, body = self.receive_raw(deadline)
        assert status in (b"ok", b"error")
        reply = unpack(body)
        assert re.fullmatch(r"\d+\.\d+\.\d+", reply["version"])
        if "models" not in reply:  # all but a status
            del reply["version"]
        return status.decode(), reply

    def request(self, verb, model="", body=NOTHING):
        """(status, decoded body)"""
        if verb in ADMINISTRATION and self.admin:
            self.administrator = self.administrator or Client(self.context, self.admin, **self.options)
            return self.administrator.request(verb, model, body)
        self.send(verb, model, body)
        return self.receive()

    def raw(self, verb, model, body):
        """The same with a body of bytes."""
        self.send_raw(verb.encode(), model.encode(), body)
        return self.receive()

    def ok(self, verb, model="", body=NOTHING):
        status, reply = self.request(verb, model, body)
        assert status == "ok", reply
        return reply

    def error(self, verb, model="", body=NOTHING):
        status, reply = self.request(verb, model, body)
        assert status == "error", reply
        assert {"code", "message"} <= reply.keys() <= {"code", "message", "id", "seq", "leader"}
        return reply

    def status(self):
        return self.ok("status")

    def model(self, name="m"):
        models = self.ok("status", name)["models"]
        assert [m["name"] for m in models] == [name]
        return models[0]

    def decide(self, model, id, x, **more):
        return self.ok("decide", model, {"id": id, "x": x, **more})

    def feedback(self, model, id, loss, **more):
        return self.ok("feedback", model, {"id": id, "loss": loss, **more})["result"]

    def close(self):
        self.socket.close()
        if self.administrator:
            self.administrator.close()


# Events that a daemon logs of a disk, a state or a leader that is not as it should be.
FAULTS = {"checkpoint_failed", "checkpoints_lost", "journal_broken", "journal_still_broken", "journal_unreadable", "replica_diverged",
          "replica_unfit", "state_lost", "state_still_lost"}  # fmt: skip


class Daemon:
    def __init__(self, folder, context, text, args=("--foreground",), env=None, command=()):
        """text: the configuration, to which state_dir and a requests socket are added when it has none.
        command: what coppiced is started by. env: a variable of value None is taken out."""
        self.program = program("COPPICED")
        self.folder, self.context = folder, context
        self.sockets = tempfile.TemporaryDirectory(prefix="cop-")  # ipc paths have to be short
        self.state = folder / "state"
        self.config = folder / "coppice.conf"
        self.log_path = folder / "log"
        self.args, self.command = list(args), list(command)
        variables = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **(env or {})}
        self.env = {name: value for name, value in variables.items() if value is not None}
        self.process = None
        self.clients = []
        self.write_config(text)

    def ipc(self, name):
        return f"ipc://{self.sockets.name}/{name}"

    def write_config(self, text):
        if "sockets {" not in text:
            text += section("sockets", {"requests": [self.ipc("requests")]})
        if "admin = {" not in text:  # the state folder's path may be too long
            text = text.replace("sockets {", f"sockets {{ admin = {quote([self.ipc('admin')])}", 1)
        if "enabled = true" in text and "refit_cpu_share" not in text:  # refits are tested without rests between them
            text = "refit_cpu_share = 1\n" + text
        if "state_dir" not in text:
            text = f'state_dir = "{self.state}"\n' + text
        self.config.write_text(text)

    def launch(self, *args):
        """Starts it without waiting for an answer."""
        command = [*self.command, self.program, "--config", self.config, *self.args, *args]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=self.env, cwd=self.folder)
        return self

    def start(self, *args):
        self.launch(*args)
        client = self.client()
        client.send("status")
        wait_for(lambda: client.socket.poll(10) or self.process.poll() is not None, "coppiced to answer")
        assert self.process.poll() is None, self.log()
        assert client.receive()[0] == "ok"
        client.close()
        return self

    def client(self, kind=zmq.DEALER, endpoint=None, admin=None, **options):
        client = Client(self.context, endpoint or self.ipc("requests"), kind, admin or self.ipc("admin"), **options)
        self.clients.append(client)
        return client

    def admin(self):
        """A client of the endpoint of administration alone."""
        return self.client(endpoint=self.ipc("admin"))

    def socket(self, kind, connect=None, bind=None, **options):
        """A stream's socket; options as SNDHWM=0."""
        s = self.context.socket(kind)
        s.setsockopt(zmq.LINGER, 0)
        s.setsockopt(zmq.RECONNECT_IVL, 10)
        for option, value in options.items():
            s.setsockopt(getattr(zmq, option), value)
        self.clients.append(s)
        if connect:
            s.connect(connect)
        if bind:
            s.bind(bind)
        return s

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def complaints(self):
        """What it logged of its disk and its state that only faults bring about. One whose calls are made to fail may."""
        logged = set(re.findall(r" error: event=(\w+)", self.log()))
        return set() if "LD_PRELOAD" in self.env else logged & FAULTS

    def logged(self, text, times=1):
        """Waits for the text in the log, which is written behind the replies."""
        return wait_for(lambda: self.log().count(text) >= times, f"{text!r} in the log")

    def signal(self, number):
        os.kill(self.process.pid, number)

    def wait(self, status=0):
        """Its end, which must have this exit status."""
        assert self.process.wait(DEADLINE) == status, self.log()

    def stop(self, status=0):
        self.signal(signal.SIGTERM)
        self.wait(status)

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE)

    def restart(self, *args):
        self.stop()
        return self.start(*args)

    def run(self, *args):
        """coppiced with this configuration and other arguments, to its end."""
        command = [self.program, "--config", self.config, *args]
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, env=self.env, cwd=self.folder)

    def memory(self):
        """Highest address space and resident set so far, in MiB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        values = dict(line.split(":", 1) for line in lines)
        return tuple(int(values[key].split()[0]) / 1024 for key in ("VmPeak", "VmHWM"))

    def close(self):
        try:
            if self.process is not None and self.process.poll() is None:
                self.stop()
        finally:
            if self.process is not None and self.process.poll() is None:
                self.kill()
            for client in self.clients:
                client.close()
            self.sockets.cleanup()
            print("\n".join(self.log().splitlines()[-200:]))  # pytest shows it when the test failed


@contextmanager
def spoiled(one, verb, spoil):
    """An endpoint that passes requests on to a daemon, and the answers to one verb through spoil."""
    front = one.context.socket(zmq.ROUTER)
    port = front.bind_to_random_port("tcp://127.0.0.1")
    back = one.admin()
    stop = threading.Event()

    def serve():
        while not stop.is_set():
            if front.poll(10):
                peer, asked, *rest = front.recv_multipart()
                back.send_raw(asked, *rest)
                status, body = back.receive_raw()
                if asked == verb:
                    body = pack(spoil(unpack(body)))
                front.send_multipart([peer, status, body])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{port}"
    finally:
        stop.set()
        thread.join()
        front.close(linger=0)


def pytest_configure(config):
    config.addinivalue_line("markers", "foresees(*events): faults that the test brings about")
    config.addinivalue_line("markers", "plain: left out of sanitized builds (.ci/run), where shorter tests take the same code")


@pytest.fixture
def daemon(tmp_path, request):
    """daemon(text, ...): a running coppiced; start=False: only its configuration is written. Faults that the test does not
    foresee fail it."""
    context = zmq.Context()
    made = []

    def make(text=model(), start=True, **more):
        folder = tmp_path / f"coppiced-{len(made)}"
        folder.mkdir()
        made.append(Daemon(folder, context, text, **more))
        return made[-1].start() if start else made[-1]

    yield make
    try:
        failures = []
        for one in made:
            try:
                one.close()
            except BaseException as failure:  # the others must end too
                failures.append(failure)
        if failures:
            raise failures[0]
        foreseen = {event for mark in request.node.iter_markers("foresees") for event in mark.args}
        for one in made:
            assert one.complaints() <= foreseen, one.log()
    finally:
        context.destroy(linger=0)


def end_windows(one, client, name="m"):
    """Ends the model's reward windows of "1h", so that what came before had all the time it needed; what has ended is
    remembered for as long."""
    text, last = one.config.read_text(), time.monotonic()
    wait_for(lambda: time.monotonic() > last + 0.01, "all windows to be over at once: what ends later forgets the rest")
    one.write_config(text.replace('reward_window = "1h"', 'reward_window = "1ms"'))
    client.ok("reload")
    wait_for(lambda: client.model(name)["pending"] == 0, "the reward windows to end")
    one.write_config(text)
    client.ok("reload")


def grow(client, name="m", events=60, features=3, prefix="grow"):
    """Teaches a model something: decisions with feedback, in batches."""
    contexts = [
        {"id": f"{prefix}-{i}", "x": [((i * 7 + j * 3) % 11) / 11 for j in range(features)]} for i in range(events)
    ]
    actions = client.ok("decide_batch", name, {"items": contexts})["items"]
    losses = [{"id": a["id"], "loss": 0.25 * (a["a"] + (i % 2))} for i, a in enumerate(actions)]
    results = client.ok("feedback_batch", name, {"items": losses})["items"]
    assert [r["result"] for r in results] == ["applied"] * events
