"""coppice-lease and what is on its two sides: etcd servers of Debian on loopback ports, and a daemon that is none.

`Etcd` is one member or three. `Instance` answers status, lead and follow at an ipc endpoint as docs/reference/protocol.md
has them, notes from when until when it led in which epoch, and has a coppice-lease of its own.
"""

import shutil
import signal
import subprocess
import threading
import time
import urllib.request

import zmq
from conftest import free_port, pack, program, unpack, wait_for

SECONDS = 2  # of leases: the least that etcd grants


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Etcd:
    def __init__(self, folder, members=1):
        self.etcd = shutil.which("etcd")
        self.folder = folder
        self.ports = [(free_port(), free_port()) for _ in range(members)]
        self.names = [f"e{i}" for i in range(members)]
        self.processes = [None] * members
        for i in range(members):
            self.start(i)
        self.wait()

    def url(self, i, peer=False):
        return f"http://127.0.0.1:{self.ports[i][peer]}"

    @property
    def endpoints(self):
        return ",".join(self.url(i) for i in range(len(self.ports)))

    def start(self, i):
        cluster = ",".join(f"{name}={self.url(k, True)}" for k, name in enumerate(self.names))
        words = [self.etcd, "--name", self.names[i], "--data-dir", str(self.folder / self.names[i]),
                 "--initial-cluster", cluster, "--initial-cluster-state", "new",
                 "--heartbeat-interval", "50", "--election-timeout", "500"]
        for peer, kind in ((False, "client"), (True, "peer")):
            words += [f"--listen-{kind}-urls", self.url(i, peer)]
        words += ["--advertise-client-urls", self.url(i), "--initial-advertise-peer-urls", self.url(i, True)]
        with open(self.folder / f"{self.names[i]}.log", "ab") as log:
            self.processes[i] = subprocess.Popen(words, stdout=log, stderr=log)

    def wait(self):
        """Until one of them takes a write."""
        def writes():
            for i in range(len(self.ports)):
                request = urllib.request.Request(self.url(i) + "/v3/kv/put", b'{"key":"dA==","value":"dA=="}')
                try:
                    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                    return opener.open(request, timeout=2).status == 200
                except OSError:
                    continue
            return False

        wait_for(writes, "etcd to take a write", 60)

    def signal(self, number):
        for process in self.processes:
            if process is not None and process.poll() is None:
                process.send_signal(number)

    def kill(self, i):
        self.processes[i].kill()
        self.processes[i].wait()
        self.processes[i] = None

    def close(self):
        self.signal(signal.SIGKILL)
        for process in self.processes:
            if process is not None:
                process.wait()


class Lease:
    """A coppice-lease for the daemon at an endpoint."""

    def __init__(self, folder, name, etcd, endpoint, *options, group="g"):
        self.words = [program("COPPICE_LEASE"), "--foreground", "--etcd", etcd, "--group", group, "--name", name,
                      "--endpoint", endpoint, "--seconds", str(SECONDS), *options]
        self.path = folder / f"lease-{name}.log"
        self.start()

    def start(self):
        with open(self.path, "ab") as log:
            self.process = subprocess.Popen(self.words, stderr=log)

    def log(self):
        return self.path.read_text()

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        self.signal(signal.SIGTERM)
        assert self.process.wait(60) == 0

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Instance:
    """What an order to lead means to a daemon: until then, unless it ends before, and only in a higher epoch."""

    def __init__(self, folder, name, etcd, *options, held=0, next=1):
        self.endpoint = f"ipc://{folder}/{name}.ipc"
        self.name, self.held, self.next = name, held, next
        self.led = []  # [from, until, epoch]
        self.leads, self.until, self.epoch = False, 0.0, held
        self.deaf = False
        self.drains = 0  # requests to follow that are answered only later
        self.lock, self.over = threading.Lock(), False
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.ROUTER)
        self.socket.bind(self.endpoint)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        self.lease = Lease(folder, name, etcd, self.endpoint, *options)

    def is_leader(self):
        with self.lock:
            return self.leads and now() < self.until

    def restart(self):
        """Another process of the same journal: it follows."""
        with self.lock:
            self.end()

    def end(self):
        if self.leads:
            self.led[-1][1] = min(now(), self.until)
        self.leads = False

    def lead(self, body):
        if self.leads and now() >= self.until:
            self.end()
        if self.leads and body["epoch"] == self.epoch:
            self.until = self.led[-1][1] = body["until"]
        elif body["epoch"] > self.epoch and body["until"] > now():
            self.end()
            self.leads, self.epoch, self.until = True, body["epoch"], body["until"]
            self.held = self.epoch
            self.led.append([now(), self.until, self.epoch])
        else:
            return b"error", {"code": "bad_request", "message": f"epoch; expected above {self.epoch}"}
        return b"ok", {"epoch": self.epoch, "clock": now()}

    def answer(self, verb, body):
        if verb == b"status":
            role = "leader" if self.leads and now() < self.until else "follower"
            return b"ok", {"replica": {"role": role, "epoch": self.epoch, "held": self.held, "next": self.next, "clock": now()}}
        if verb == b"lead":
            return self.lead(body)
        if self.drains:
            self.drains -= 1
            return None
        self.end()
        return b"ok", {}

    def serve(self):
        while not self.over:
            if not self.socket.poll(20):
                continue
            sender, verb, _, body = self.socket.recv_multipart()
            with self.lock:
                answer = None if self.deaf else self.answer(verb, unpack(body))
            if answer is not None:
                self.socket.send_multipart([sender, answer[0], pack(answer[1])])

    def close(self):
        self.lease.close()
        self.over = True
        self.thread.join()
        self.context.destroy(linger=0)


def check_history(instances):
    """Never two at a time, and in rising epochs."""
    led = sorted(span for one in instances for span in one.led)
    for before, after in zip(led, led[1:]):
        assert before[1] <= after[0] and before[2] < after[2], led
    return led
