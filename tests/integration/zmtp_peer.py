"""A peer that speaks ZMTP 3.0 by hand, so that it can do what no library does: frames without end, half of a frame."""

import socket
import struct


def frame(content, more=False, command=False):
    flags = (1 if more else 0) | (4 if command else 0)
    if len(content) < 256:
        return bytes([flags, len(content)]) + content
    return bytes([flags | 2]) + struct.pack(">Q", len(content)) + content


class Peer:
    def __init__(self, endpoint, kind=b"DEALER", greet=True):
        if endpoint.startswith("ipc://"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(endpoint[6:])
        else:
            host, port = endpoint[6:].rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)))
        self.socket.settimeout(60)
        if greet:
            self.socket.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
            self.take(64)
            self.socket.sendall(frame(b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind, command=True))
            self.take(self.take(2)[1])  # READY of the other side

    def take(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            assert more, "the connection was closed in the handshake"
            data += more
        return data

    def send(self, data):
        """False: the connection was closed."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def closed(self):
        """Waits for the other side to close."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        return True

    def close(self):
        self.socket.close()
