"""Real brokers on loopback ports, and clients that know nothing but their protocols. A broker whose program is missing
skips the test loudly: tools/install-deps test installs them."""

import base64
import json
import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from conftest import DEADLINE, free_port, quote, wait_for


def server(name):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if path is None:
        pytest.skip(f"{name} is missing: tools/install-deps test installs it")
    return path


def bridge_program():
    path = os.environ.get("COPPICED_STREAMS")
    if not path and os.environ.get("COPPICED"):
        path = str(Path(os.environ["COPPICED"]).parent / "streams" / "coppiced-streams")
    if not path or not Path(path).exists():
        pytest.skip("coppiced-streams was not built: tools/install-deps streams installs the libraries it needs")
    return path


def engines():
    text = subprocess.run([bridge_program(), "--version"], capture_output=True, text=True, check=True).stdout
    return text.split(" with ")[1].split()


def dial(port):
    """A connection; one that the system made with itself, as nobody listened, is none."""
    one = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
    if one.getsockname() == one.getpeername():
        one.close()
        raise OSError("nobody listens")
    return one


class Process:
    """A program that is started, killed and started again with the same arguments."""

    def __init__(self, folder, name, command):
        self.command, self.path, self.process = command, folder / f"{name}.log", None

    def start(self):
        with open(self.path, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        self.process.terminate()
        return self.process.wait(DEADLINE)

    def log(self):
        return self.path.read_text(errors="replace") if self.path.exists() else ""

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()
        print("\n".join(self.log().splitlines()[-100:]))


class Redis:
    """A redis-server that appends each write to its file before it answers; clients speak RESP."""

    engine = "redis"

    def __init__(self, folder):
        self.port = free_port()
        state = folder / "redis"
        state.mkdir()
        self.process = Process(folder, "redis", [
            server("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(state),
            "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--daemonize", "no",
        ])  # fmt: skip
        self.servers = f"127.0.0.1:{self.port}"
        self.socket = None

    def start(self):
        self.process.start()
        wait_for(self.answers, "redis-server to answer")
        return self

    def answers(self):
        try:
            return self.call("PING") == "PONG"
        except (OSError, RuntimeError):
            return False

    def call(self, *words):
        return self.calls([words])[0]

    def calls(self, commands):
        try:
            if self.socket is None:
                self.socket = dial(self.port)
                self.file = self.socket.makefile("rb")
            data = b""
            for words in commands:
                words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
                data += b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
            self.socket.sendall(data)
            return [self.read() for _ in commands]
        except OSError:
            self.socket = None
            raise

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        return None if rest == b"-1" else [self.read() for _ in range(int(rest))]

    def create(self, topics):
        """Streams of Redis are there once something is added."""

    def add(self, topic, bodies):
        return self.calls([("XADD", topic, "*", "event", body) for body in bodies])

    def events(self, topic):
        return [fields[1] for _, fields in self.call("XRANGE", topic, "-", "+") or []]

    def kill(self):
        self.process.kill()
        self.socket = None

    def close(self):
        self.process.close()


class Nats:
    """A nats-server with JetStream on the disk; the client speaks its text protocol."""

    engine = "nats"

    def __init__(self, folder):
        self.port = free_port()
        self.process = Process(folder, "nats", [
            server("nats-server"), "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(folder / "nats"),
        ])  # fmt: skip
        self.servers = f"nats://127.0.0.1:{self.port}"
        self.socket, self.inbox = None, 0

    def start(self):
        self.process.start()
        wait_for(self.answers, "nats-server to answer")
        return self

    def answers(self):
        try:
            return "error" not in self.ask("$JS.API.INFO", b"")
        except (OSError, ValueError):
            self.socket = None
            return False

    def connect(self):
        self.socket = dial(self.port)
        self.file = self.socket.makefile("rb")
        self.file.readline()  # INFO
        self.socket.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB _IN.* 1\r\nPING\r\n')
        while self.file.readline() != b"PONG\r\n":
            pass

    def message(self):
        while True:
            line = self.file.readline()
            if not line.endswith(b"\r\n"):
                raise OSError("closed")
            words = line.split()
            if words[0] == b"PING":
                self.socket.sendall(b"PONG\r\n")
            elif words[0] == b"MSG":
                return words[1], self.file.read(int(words[-1]) + 2)[:-2]
            elif words[0] == b"HMSG":
                head, whole = int(words[-2]), int(words[-1])
                return words[1], self.file.read(whole + 2)[head:-2]

    def asks(self, questions):
        """Answers to (subject, body), in order."""
        try:
            if self.socket is None:
                self.connect()
            first = self.inbox
            data = b""
            for subject, body in questions:
                data += f"PUB {subject} _IN.{self.inbox} {len(body)}\r\n".encode() + body + b"\r\n"
                self.inbox += 1
            self.socket.sendall(data)
            answers = {}
            while len(answers) < len(questions):
                subject, body = self.message()
                answers[int(subject.split(b".")[1])] = body
            return [json.loads(answers[first + i]) for i in range(len(questions))]
        except OSError:
            self.socket = None
            raise

    def ask(self, subject, body):
        return self.asks([(subject, body)])[0]

    def create(self, topics):
        for topic in topics:
            options = {"name": topic, "subjects": [topic], "storage": "file"}
            reply = self.ask(f"$JS.API.STREAM.CREATE.{topic}", json.dumps(options).encode())
            assert "error" not in reply, reply

    def add(self, topic, bodies):
        replies = self.asks([(topic, body) for body in bodies])
        assert all("seq" in reply for reply in replies), replies
        return [reply["seq"] for reply in replies]

    def events(self, topic):
        info = self.ask(f"$JS.API.STREAM.INFO.{topic}", b"")
        first, last = info["state"]["first_seq"], info["state"]["last_seq"]
        if info["state"]["messages"] == 0:
            return []
        replies = self.asks([(f"$JS.API.STREAM.MSG.GET.{topic}", json.dumps({"seq": n}).encode())
                             for n in range(first, last + 1)])
        return [base64.b64decode(r["message"].get("data", "")) for r in replies if "message" in r]

    def kill(self):
        self.process.kill()
        self.socket = None

    def close(self):
        self.process.close()


class Bridge(Process):
    """coppiced-streams with sections as dictionaries of options by name."""

    def __init__(self, folder, daemon, streams, name="bridge", **options):
        path = self.config = folder / f"{name}.conf"
        text = f'daemon = "{daemon.ipc("requests")}"\ntimeout = 2\n'
        text += "".join(f"{k} = {quote(v)}\n" for k, v in options.items())
        for title, given in streams.items():
            text += f'stream "{title}" {{\n' + "".join(f"\t{k} = {quote(v)}\n" for k, v in given.items()) + "}\n"
        path.write_text(text)
        super().__init__(folder, name, [bridge_program(), "--config", str(path), "--foreground"])


class Kafka:
    """librdkafka's mock cluster in a program of its own (tests/streams/kafka_mock.c), which holds all in memory: its
    brokers go down and come up again instead of being killed."""

    engine = "kafka"

    def __init__(self, folder):
        path = Path(bridge_program()).parent / "kafka_mock"
        if not path.exists():
            pytest.skip("kafka_mock was not built: tools/install-deps streams")
        self.log, self.lock = open(folder / "kafka.log", "w"), threading.Lock()
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.servers = self.process.stdout.readline().strip()

    def start(self):
        self.command("up")
        return self

    def command(self, *words):
        with self.lock:
            self.process.stdin.write(" ".join(words) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().split()
        assert answer and answer[0] == "ok"
        return answer[1:]

    @staticmethod
    def place(name):
        return (name, "0") if name.startswith("act") else (name[:-1], name[-1])

    def create(self, topics):
        for topic, last in {self.place(name)[0]: self.place(name)[1] for name in topics}.items():
            self.command("create", topic, str(int(last) + 1))

    def add(self, topic, bodies):
        failed = self.command("add", *self.place(topic), *(body.hex() or "-" for body in bodies))
        assert failed == ["0"]

    def events(self, topic):
        return [b"" if e == "-" else bytes.fromhex(e) for e in self.command("events", *self.place(topic))]

    def kill(self):
        self.command("down")

    def close(self):
        self.process.stdin.close()
        self.process.wait(DEADLINE)
        self.log.close()


BROKERS = {"redis": Redis, "nats": Nats, "kafka": Kafka}
