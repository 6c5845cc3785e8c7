"""The requests socket: a DEALER that queues nothing without a connection, so that what cannot be sent now stays with the
calls' core, and that notices when a connection ends."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple, Union

import zmq

from ._calls import TICK


def connect(kind: int, endpoint: str, curve: Optional["CurveKeys"], options: List[Tuple[int, int]]) -> "zmq.Socket[bytes]":
    """A socket that connects to the endpoint, and again whenever the connection ended."""
    socket = zmq.Context.instance().socket(kind)
    for option, value in [(zmq.LINGER, 0), (zmq.RECONNECT_IVL, 10), (zmq.RECONNECT_IVL_MAX, 500), *options]:
        socket.setsockopt(option, value)
    if curve is not None:
        curve.set(socket)
    try:
        socket.connect(endpoint)
    except zmq.ZMQError as failure:
        socket.close(linger=0)
        raise ValueError(f"endpoint {endpoint!r}: {failure}") from None
    return socket


Endpoints = Union[str, Sequence[str]]  # one, or those of all instances of a group of replicas


class RequestSocket:
    def __init__(self, endpoints: Endpoints, curve: Optional["CurveKeys"]) -> None:
        self.endpoints = [endpoints] if isinstance(endpoints, str) else list(endpoints)
        if not self.endpoints:
            raise ValueError("endpoint: none, expected at least one")
        self.place = 0
        options = [(zmq.IMMEDIATE, 1), (zmq.SNDHWM, 0), (zmq.RCVHWM, 0), (zmq.RCVTIMEO, int(1000 * TICK))]
        self.socket = connect(zmq.DEALER, self.endpoints[0], curve, options)
        self.monitor = self.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)

    def write(self, frames: List[bytes]) -> bool:
        """Whether it could be sent."""
        try:
            self.socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def move(self) -> None:
        """To the next endpoint, or anew to the only one."""
        self.socket.disconnect(self.endpoints[self.place])
        self.place = (self.place + 1) % len(self.endpoints)
        self.socket.connect(self.endpoints[self.place])

    def descriptor(self) -> int:
        """Readable when the socket's state has changed."""
        number = self.socket.getsockopt(zmq.FD)
        assert isinstance(number, int)
        return number

    def was_lost(self) -> bool:
        """Whether a connection ended since the last look."""
        lost = False
        while self.monitor.poll(0):
            self.monitor.recv_multipart()
            lost = True
        return lost

    def close(self) -> None:
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
        self.socket.close(linger=0)


class CurveKeys:
    """The daemon's public key and this client's own pair, each in the 40 characters of Z85."""

    def __init__(self, server_key: str, public_key: str, secret_key: str) -> None:
        for name, key in (("server_key", server_key), ("public_key", public_key), ("secret_key", secret_key)):
            if len(key) != 40:
                raise ValueError(f"{name}: {len(key)} characters, expected 40")
        self.server_key, self.public_key, self.secret_key = server_key, public_key, secret_key

    def set(self, socket: "zmq.Socket[bytes]") -> None:
        socket.setsockopt(zmq.CURVE_SERVERKEY, self.server_key.encode())
        socket.setsockopt(zmq.CURVE_PUBLICKEY, self.public_key.encode())
        socket.setsockopt(zmq.CURVE_SECRETKEY, self.secret_key.encode())
