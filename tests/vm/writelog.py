# SPDX-License-Identifier: Apache-2.0
"""The write log of a virtual disk (the format of dm-log-writes, as qemu's blklogwrites driver writes it), and disks
rebuilt from it as a power cut would have left them: what was flushed is there, of the rest a random part."""
import struct

MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD = 1, 2, 4


class Log:
    def __init__(self, path):
        self.file = open(path, "rb")
        magic, version, count, sector = struct.unpack("<QQQI", self.file.read(28))
        if magic != MAGIC or version != 1:
            raise ValueError(f"{path}: not a write log")
        self.sector = sector
        self.entries = []  # (byte offset, length, flags, place of the data in the log or None)
        at = sector
        while len(self.entries) < count:
            self.file.seek(at)
            head = self.file.read(32)
            if len(head) < 32:
                break
            start, n, flags, _ = struct.unpack("<QQQQ", head)
            at += sector
            place = None
            if n and not flags & DISCARD:
                place = at
                at += n * sector
            self.entries.append((start * sector, n * sector, flags, place))

    def data(self, entry):
        self.file.seek(entry[3])
        return self.file.read(entry[1])

    def marks(self, beyond):
        """Entries that write behind the file system: (index, first bytes)."""
        return [(i, self.data(e)[:64]) for i, e in enumerate(self.entries) if e[0] >= beyond and e[3] is not None]

    def write(self, image, entry):
        if entry[3] is not None:
            image.seek(entry[0])
            image.write(self.data(entry))
        elif entry[2] & DISCARD and entry[1]:
            image.seek(entry[0])
            image.write(bytes(entry[1]))

    def cut(self, rng, end):
        """What a cut before entry number end keeps: (number of entries that are certain, list of others kept)."""
        certain = 0
        for i in range(end - 1, -1, -1):
            if self.entries[i][2] & FLUSH:
                certain = i  # what came before; its own data only if it is forced
                break
        # One in three keeps the newest and drops the oldest, which is where a missing flush shows.
        chance = rng.choice((0.5, 0.5, 0.9, 0.1))
        kept = [i for i in range(certain, end) if self.entries[i][2] & FUA or rng.random() < chance]
        return certain, kept
