/* SPDX-License-Identifier: Apache-2.0 */
/* Frames over a connection, either side's. */
#ifndef NET_FRAMES_H
#define NET_FRAMES_H

#include "measure/bench/net/socket.h"
#include "measure/bench/net/wire.h"

struct frames {
	int fd;
	const atomic_bool *stop;
	struct wire_side in, out;
};

/* 0 or -errno as net_read and net_write; -EBADMSG and -EKEYREJECTED as frame_read. */
int frames_put(struct frames *f, const struct wire_frame *frame, int ms);
int frames_get(struct frames *f, struct wire_frame *out, int ms);

#endif
