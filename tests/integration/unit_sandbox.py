"""What systemd/coppiced.service lets its processes call, applied to a program that is not started by systemd:

    unit_sandbox.py UNIT PROGRAM [ARGUMENT ...]

runs the program under the unit's SystemCallFilter, as systemd-analyze spells its groups out, but a call beyond it kills
the process instead of failing; and under what RestrictRealtime, RestrictNamespaces and MemoryDenyWriteExecute refuse.
"""

import ctypes
import errno
import os
import re
import subprocess
import sys
from pathlib import Path

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000  # seccomp.h's SCMP_ACT_*
GREATER, MASKED_EQUAL = 6, 7  # SCMP_CMP_GT, SCMP_CMP_MASKED_EQ
SCHED_IDLE = 5  # of those that are no realtime ones, the highest
PROT_WRITE, PROT_EXEC = 2, 4
NAMESPACES = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x80]  # CLONE_NEW*


def spelled_out(word):
    """A group's calls, or the call."""
    if not word.startswith("@"):
        return {word}
    run = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", word], capture_output=True, text=True, check=True)
    lines = [line.strip() for line in run.stdout.splitlines()[1:]]
    return set().union(*(spelled_out(line) for line in lines if line and not line.startswith("#")))


def calls_of(unit):
    """The names that the unit's lines of SystemCallFilter leave, the first of which is a list of what is allowed."""
    allowed = set()
    for number, value in enumerate(re.findall(r"^SystemCallFilter=(.*)$", Path(unit).read_text(), re.M)):
        words = set().union(*(spelled_out(word) for word in value.lstrip("~").split()))
        assert number > 0 or not value.startswith("~")
        allowed = allowed - words if value.startswith("~") else allowed | words
    return allowed


class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class Filter:
    def __init__(self, default):
        self.lib = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self.lib.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.lib.seccomp_init(ctypes.c_uint32(default)))
        assert self.context

    def rule(self, action, name, *compares):
        number = self.lib.seccomp_syscall_resolve_name(name.encode())
        if number == -1:  # one that this library or processor does not know
            return
        array = (Compare * max(len(compares), 1))(*(Compare(*compare) for compare in compares))
        done = self.lib.seccomp_rule_add_array(self.context, ctypes.c_uint32(action), number, len(compares), array)
        assert done == 0, (name, os.strerror(-done))

    def load(self):
        done = self.lib.seccomp_load(self.context)  # sets no_new_privs, as the unit does
        assert done == 0, os.strerror(-done)


def restrict(unit):
    refused = Filter(ALLOW)
    refused.rule(ERRNO | errno.EPERM, "sched_setscheduler", (1, GREATER, SCHED_IDLE, 0))
    refused.rule(ERRNO | errno.ENOSYS, "clone3")  # whose flags no filter can see
    for flag in NAMESPACES:
        refused.rule(ERRNO | errno.EPERM, "clone", (0, MASKED_EQUAL, flag, flag))
    both = PROT_WRITE | PROT_EXEC
    refused.rule(ERRNO | errno.EPERM, "mmap", (2, MASKED_EQUAL, both, both))
    refused.rule(ERRNO | errno.EPERM, "mprotect", (2, MASKED_EQUAL, PROT_EXEC, PROT_EXEC))
    allowed = Filter(KILL)
    for name in calls_of(unit) | {"seccomp", "prctl"}:
        allowed.rule(ALLOW, name)
    refused.load()
    allowed.load()


if __name__ == "__main__":
    restrict(sys.argv[1])
    os.execv(sys.argv[2], sys.argv[2:])
