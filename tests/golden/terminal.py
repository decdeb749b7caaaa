# SPDX-License-Identifier: Apache-2.0
"""A program whose standard error is a terminal: what it says there, progress above all, is read as it comes and can be waited for. And what
one prints to a terminal of some width."""
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading

from common import until


class OnTerminal:
    def __init__(self, argv, **how):
        fd, theirs = pty.openpty()
        self.seen = b""
        self.p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=theirs, text=True, **how)
        os.close(theirs)
        self.reader = threading.Thread(target=self.read, args=(fd,), daemon=True)
        self.reader.start()

    def read(self, fd):
        try:
            while more := os.read(fd, 65536):
                self.seen += more
        except OSError:
            pass  # the other end is closed
        os.close(fd)

    def says(self, words, seconds=60):
        """Waits until it said so, or ended. Whether it did."""
        until(lambda: words in self.seen or self.p.poll() is not None, seconds)
        return words in self.seen

    def end(self, sig=None, seconds=60):
        """Its exit code and standard output; a signal first."""
        if sig is not None:
            self.p.send_signal(sig)
        try:
            out = self.p.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            self.p.kill()
            return "it hangs", self.p.communicate()[0]
        self.reader.join(seconds)
        return self.p.returncode, out


def at_terminal(argv, columns, env=None):
    """What it prints where its standard output is a terminal of that many columns."""
    fd, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, env=env)
    os.close(theirs)
    seen = b""
    try:
        while more := os.read(fd, 65536):
            seen += more
    except OSError:
        pass  # the other end is closed
    os.close(fd)
    p.communicate(timeout=60)
    return seen.decode(errors="replace").replace("\r\n", "\n")
