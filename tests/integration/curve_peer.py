"""A peer that speaks CURVE by itself (RFC 26), to send what libzmq never would; needs libsodium, which libzmq brings."""

import ctypes
import ctypes.util
import os
import struct

import zmq.utils.z85 as z85
from zmtp_peer import Peer, frame

sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
MAC = 16


def box(text, nonce, public, secret):
    out = ctypes.create_string_buffer(len(text) + MAC)
    assert len(nonce) == 24 and sodium.crypto_box_easy(out, text, ctypes.c_ulonglong(len(text)), nonce, public, secret) == 0
    return out.raw


def unbox(sealed, nonce, public, secret):
    out = ctypes.create_string_buffer(len(sealed) - MAC)
    done = sodium.crypto_box_open_easy(out, sealed, ctypes.c_ulonglong(len(sealed)), nonce, public, secret)
    assert len(nonce) == 24 and done == 0
    return out.raw


class CurvePeer(Peer):
    """Connected, behind the handshake. Keys are z85 text: the server's, and the peer's own pair."""

    def __init__(self, port, server, public, secret, kind=b"DEALER"):
        self.server, self.public, self.secret = (z85.decode(key) for key in (server, public, secret))
        self.mine, self.own = (ctypes.create_string_buffer(32) for _ in range(2))
        sodium.crypto_box_keypair(self.mine, self.own)
        self.mine, self.own, self.count = self.mine.raw, self.own.raw, 0
        super().__init__(f"tcp://127.0.0.1:{port}", greet=False)
        self.socket.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"CURVE".ljust(20, b"\0") + bytes(32))
        self.take(64)
        hello = box(bytes(64), b"CurveZMQHELLO---" + self.short(), self.server, self.own)
        self.socket.sendall(frame(b"\x05HELLO\x01\x00" + bytes(72) + self.mine + self.last + hello, command=True))
        welcome = self.read_frame()
        opened = unbox(welcome[24:], b"WELCOME-" + welcome[8:24], self.server, self.own)
        self.theirs, cookie = opened[:32], opened[32:]
        nonce = os.urandom(16)
        vouch = nonce + box(self.mine + self.server, b"VOUCH---" + nonce, self.theirs, self.secret)
        properties = b"\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
        text = self.public + vouch + properties
        initiate = box(text, b"CurveZMQINITIATE" + self.short(), self.theirs, self.own)
        self.socket.sendall(frame(b"\x08INITIATE" + cookie + self.last + initiate, command=True))
        assert self.read_frame()[1:6] == b"READY"

    def short(self):
        self.count += 1
        self.last = struct.pack(">Q", self.count)
        return self.last

    def read_frame(self):
        flags = self.take(1)[0]
        return self.take(struct.unpack(">Q", self.take(8))[0] if flags & 2 else self.take(1)[0])

    def send_part(self, content, more=False):
        """One frame of a message. OSError: the connection was closed."""
        sealed = box(bytes([more]) + content, b"CurveZMQMESSAGEC" + self.short(), self.theirs, self.own)
        self.socket.sendall(frame(b"\x07MESSAGE" + self.last + sealed))
