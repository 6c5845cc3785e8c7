"""A machine whose power is cut: what a process did to a folder and did not sync is taken back, as far as chance wants.

The process runs with `env`: the shim records what happens to files and names (disk_log.c). Machine.begin() takes the
folder as it is for durable; after the process has died, Machine.cut() plays the record, and writes the folder anew as
it could be after the power cut. What is certain, and what is not:

- A file's bytes and its length: as at the beginning of its last sync that succeeded. Of what was written since, each
  page holds any of the versions that it had, and the file any of the lengths; what lies within the length and never
  reached the disk reads as zero. A file's sync says nothing about its name.
- Names in a folder: as at the beginning of the folder's last sync. Each change since then happened or did not, and one
  that others build upon (the same name, or the same file) happened if they did. A rename never leaves both names nor
  none; from one folder to another it is durable when either was synced.

A cut is of one of the KINDS: nothing that was not synced is left, all is left (as after a mere kill), all up to a
moment (in which a write may be half done), or any parts.
"""

import copy
import os
import shutil
import stat
import struct

PAGE = 4096
NOTHING, ALL, UP_TO, PARTS = KINDS = ("nothing", "all", "up to a moment", "parts")
WROTE, LENGTH, MADE, LINKED, REMOVED, RENAMED, SYNCING, SYNCED = range(1, 9)  # as in disk_log.c
HEAD = struct.Struct("<II5Q")


class File:
    """Its durable bytes, and what was done to it since: (when, offset, bytes), or (when, length, None)."""

    def __init__(self, data=b"", mode=0o640):
        self.data, self.mode, self.changes = data, mode, []

    def put(self, data, change, pages=None):
        """Makes the change to a bytearray; pages: only in those."""
        _, at, written = change
        if written is None:
            end = len(data)
            data.extend(bytes(max(0, at - end)))
            for low, high in _pieces(at, end, pages):
                data[low:high] = bytes(high - low)
            return
        data.extend(bytes(max(0, at + len(written) - len(data))))
        for low, high in _pieces(at, at + len(written), pages):
            data[low:high] = written[low - at : high - at]

    def length(self, count):
        """After so many of the changes."""
        length = len(self.data)
        for _, at, written in self.changes[:count]:
            length = at if written is None else max(length, at + len(written))
        return length

    def after(self, count):
        data = bytearray(self.data)
        for change in self.changes[:count]:
            self.put(data, change)
        return bytes(data[: self.length(count)])

    def sync(self, when):
        count = sum(c[0] < when for c in self.changes)
        self.data, self.changes = self.after(count), self.changes[count:]

    def half(self, data, change, rng):
        """The change is a write that is under way."""
        when, at, written = change
        if written is None:
            return data
        data = bytearray(data)
        self.put(data, (when, at, written[: rng.randrange(len(written) + 1)]))
        return bytes(data)

    def left(self, rng, kind, moment):
        """(bytes, how many changes are not in them as a whole)"""
        count = sum(c[0] < moment for c in self.changes)
        if kind != PARTS:
            data = self.after(count)
            if kind == UP_TO and count < len(self.changes) and self.changes[count][0] == moment:
                data = self.half(data, self.changes[count], rng)
            return data, len(self.changes) - count
        total, data, chosen = len(self.changes), bytearray(self.data), {}
        for number, change in enumerate(self.changes):
            pages = set()
            for page in _touched(change, len(data)):
                chosen.setdefault(page, rng.choice((0, total, rng.randint(0, total))))
                if number < chosen[page]:
                    pages.add(page)
            self.put(data, change, pages)
        wanted = self.length(rng.choice((0, total, rng.randint(0, total))))
        data.extend(bytes(max(0, wanted - len(data))))
        data = bytes(data[:wanted])
        return data, total if data != self.after(total) else 0


class Folder:
    """Its durable names, and the changes since: (when, {name: what it holds from then on}). A move from one folder to
    another is a change of the same moment in both."""

    def __init__(self, mode=0o750):
        self.names, self.mode, self.changes = {}, mode, []

    def now(self, changes=None):
        names = dict(self.names)
        for _, holds in self.changes if changes is None else changes:
            names.update(holds)
        return {name: node for name, node in names.items() if node is not None}

    def sync(self, keep):
        """keep(when): whether the change is durable. The moments of those that are."""
        durable = [c for c in self.changes if keep(c[0])]
        self.names, self.changes = self.now(durable), [c for c in self.changes if not keep(c[0])]
        return {when for when, _ in durable}

    def left(self, happened):
        """(names, how many changes did not happen)"""
        kept = [c for c in self.changes if happened(c[0])]
        return self.now(kept), len(self.changes) - len(kept)


def _touched(change, length):
    _, at, written = change
    end = max(at, length) if written is None else at + len(written)
    return range(at // PAGE, -(-end // PAGE))


def _pieces(low, high, pages):
    if pages is None:
        if low < high:
            yield low, high
        return
    for page in pages:
        start, end = max(low, page * PAGE), min(high, (page + 1) * PAGE)
        if start < end:
            yield start, end


def read_log(data):
    """(kind, inode, (a, b, c), payload) of each complete record; an inode is (device, number)."""
    at = 0
    while at + HEAD.size <= len(data):
        size, kind, device, inode, a, b, c = HEAD.unpack_from(data, at)
        if at + size > len(data):
            return
        yield kind, (device, inode), (a, b, c), data[at + HEAD.size : at + size]
        at += size


class Disk:
    """What a folder held when its record began, and, played, what became of it."""

    def __init__(self, root):
        self.inodes, self.syncing, self.when = {}, {}, 0
        self.moves = set()  # moments
        self.root = self._read(root)

    def _read(self, path):
        status = os.lstat(path)
        if stat.S_ISDIR(status.st_mode):
            node = Folder(stat.S_IMODE(status.st_mode))
            inner = {name: self._read(path / name) for name in sorted(os.listdir(path))}
            node.names = {name: one for name, one in inner.items() if one is not None}
        elif stat.S_ISREG(status.st_mode):
            node = File(path.read_bytes(), stat.S_IMODE(status.st_mode))
        else:
            return None  # a socket's name is of no use after a cut
        return self.inodes.setdefault((status.st_dev, status.st_ino), node)

    def play(self, data):
        for kind, inode, numbers, payload in read_log(data):
            self.when += 1
            node = self.inodes.get(inode)
            if node is not None:  # what lies elsewhere is of no interest
                self._step(kind, node, numbers, payload)
        return self

    def _step(self, kind, node, numbers, payload):
        a, b, mode = numbers
        if kind == WROTE:
            node.changes.append((self.when, a, payload))
        elif kind == LENGTH:
            node.changes.append((self.when, a, None))
        elif kind == SYNCING:
            self.syncing[a, b] = self.when
        elif kind == SYNCED:
            self._synced(node, self.syncing.pop((a, b)))
        elif kind == RENAMED:
            old, new = (name.decode() for name in payload[:-1].split(b"\0"))
            self._renamed(node, old, self.inodes[a, b], new)
        elif kind == REMOVED:
            if payload.decode() in node.now():  # it was no socket
                node.changes.append((self.when, {payload.decode(): None}))
        else:
            if kind == MADE:
                self.inodes[a, b] = (Folder if stat.S_ISDIR(mode) else File)(mode=stat.S_IMODE(mode))
            node.changes.append((self.when, {payload.decode(): self.inodes[a, b]}))

    def _renamed(self, folder, old, other, new):
        node = folder.now()[old]
        if folder is other:
            folder.changes.append((self.when, {old: None, new: node}))
            return
        folder.changes.append((self.when, {old: None}))
        other.changes.append((self.when, {new: node}))
        self.moves.add(self.when)

    def _synced(self, node, since):
        if isinstance(node, File):
            node.sync(since)
            return
        moved = node.sync(lambda when: when < since) & self.moves
        for folder in self.inodes.values() if moved else ():
            if isinstance(folder, Folder):
                folder.sync(lambda when: when in moved)

    def lost_names(self, rng):
        """By chance: the moments of changes of names that did not happen, with all that rest on them."""
        changes, lost, gone = {}, set(), set()
        for folder in {id(node): node for node in self.inodes.values() if isinstance(node, Folder)}.values():
            often = rng.random()
            for when, holds in folder.changes:
                about = {(id(folder), name) for name in holds} | {id(node) for node in holds.values() if node is not None}
                known = changes.setdefault(when, [often, set(), set()])
                known[1].update(about)
                known[2].add(id(folder))
        for when in sorted(changes):
            often, about, folders = changes[when]
            if (about | folders) & gone or rng.random() < often:
                gone |= about
                lost.add(when)
        return lost

    def place(self, node, path):
        """The same in a folder that was written anew."""
        status = os.lstat(path)
        self.inodes[status.st_dev, status.st_ino] = node
        for name, inner in node.now().items() if isinstance(node, Folder) else ():
            self.place(inner, path / name)

    def cut(self, rng, kind):
        whens = {0, *(change[0] for node in self.inodes.values() for change in node.changes)}
        moment = rng.choice(sorted(whens)) if kind == UP_TO else 0 if kind == NOTHING else self.when + 1
        lost = self.lost_names(rng) if kind == PARTS else set()

        def left(node):
            if isinstance(node, File):
                return node.left(rng, kind, moment)
            return node.left(lambda when: when < moment and when not in lost)

        cut = Cut(kind)
        _collect(self.root, "", cut.certain)
        cut.leave(self.root, "", left, {})
        return cut


class Cut:
    """What is left on the disk. left: {path below the root: bytes, or None of a folder}; modes: of these paths;
    certain: those files of `left` whose name and some bytes were synced, as they were then; writes, names: how many
    changes were lost."""

    def __init__(self, kind):
        self.kind, self.left, self.modes, self.certain, self.writes, self.names = kind, {}, {}, {}, 0, 0

    def __str__(self):
        return f"{self.kind}: {self.writes} writes and {self.names} names were lost"

    def leave(self, node, path, left, known):
        """known: what was chosen for files that have two names."""
        if isinstance(node, Folder):
            names, lost = left(node)
            self.left[path] = None
            self.names += lost
            for name, inner in names.items():
                self.leave(inner, f"{path}/{name}".lstrip("/"), left, known)
        else:
            if node not in known:
                known[node], lost = left(node)
                self.writes += lost
            self.left[path] = known[node]
        self.modes[path] = node.mode


def _collect(node, path, found):
    if isinstance(node, File):
        found[path] = node.data
        return
    for name, inner in node.names.items():
        _collect(inner, f"{path}/{name}".lstrip("/"), found)


class Machine:
    """A folder that exists, the record of what happens in it, and its disk as it was when the record began."""

    def __init__(self, root, record):
        self.root, self.record = root, record
        self.env = {"COPPICE_DISK": str(record)}
        self.begin()

    def begin(self):
        """What the folder holds now is durable. No process that is recorded runs."""
        self.record.write_bytes(b"")
        self.disk = Disk(self.root)

    def played(self):
        return copy.deepcopy(self.disk).play(self.record.read_bytes())

    def cut(self, rng, kind=None):
        """All processes were killed, and the power is cut; begins anew with what is left."""
        cut = self.played().cut(rng, kind or rng.choice(KINDS))
        self._write(cut)
        self.begin()
        return cut

    def resume(self):
        """All processes were killed, and the power stayed: what was not durable is not. A call in which one died before
        it was recorded is undone."""
        disk = self.played()
        cut = disk.cut(None, ALL)
        self._write(cut)
        self.record.write_bytes(b"")
        disk.inodes, disk.syncing = {}, {}
        disk.place(disk.root, self.root)
        self.disk = disk

    def _write(self, cut):
        shutil.rmtree(self.root)
        for path, data in cut.left.items():
            if data is None:
                (self.root / path).mkdir()
            else:
                (self.root / path).write_bytes(data)
            (self.root / path).chmod(cut.modes[path])
