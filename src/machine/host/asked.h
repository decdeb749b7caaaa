/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live machine through another process: a confined reader asks, and who started it looks, by
 * host.h. The looking side parses nothing but these requests, which are taken to be
 * hostile; it never writes to the machine.
 */
#ifndef HOST_ASKED_H
#define HOST_ASKED_H

#include "machine/host/host.h"

/* The asking side: requests go to one descriptor, answers come from the other; both stay the
 * caller's. One request at a time, from any thread. Its identity is a copy of id. */
struct host *host_open_asked(const struct host_identity *id, int requests, int answers);

/*
 * The looking side: one request is read, looked up on h and answered. Of files only regular ones
 * are read: opening a device may do something. 0; -EPIPE when the other side is gone; -EPROTO for
 * what is no request.
 */
int host_answer_one(struct host *h, int requests, int answers);

#endif
