#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A long way between two network namespaces, for kernels without netem: a tun device in each, packets handed over after a delay.

    delay.py NAMESPACE_A NAMESPACE_B MILLISECONDS

Prints a line when the devices (gt0) are there, and runs until it is killed; then they are gone."""
import collections
import ctypes
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454ca, 1, 0x1000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def tun(namespace):
    ns = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(ns, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), namespace)
    os.close(ns)
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", b"gt0", IFF_TUN | IFF_NO_PI))
    return fd


a, b = tun(sys.argv[1]), tun(sys.argv[2])
delay = float(sys.argv[3]) / 1000
waiting = collections.deque()
print("there", flush=True)
while True:
    left = max(0, waiting[0][0] - time.monotonic()) if waiting else None
    for fd in select.select([a, b], [], [], left)[0]:
        for _ in range(64):
            try:
                packet = os.read(fd, 65536)
            except OSError:  # nothing more, or not up
                break
            waiting.append((time.monotonic() + delay, b if fd == a else a, packet))
    while waiting and waiting[0][0] <= time.monotonic():
        _, fd, packet = waiting.popleft()
        try:
            os.write(fd, packet)
        except OSError:
            pass  # full, or not up yet: as a line loses it
