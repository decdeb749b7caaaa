/* SPDX-License-Identifier: Apache-2.0 */
/* One frame out, one frame in, each within its time. */
#include "measure/bench/net/frames.h"

#include <errno.h>

int frames_put(struct frames *f, const struct wire_frame *frame, int ms)
{
	uint8_t bytes[WIRE_FRAME_MAX];
	struct net_wait w = { ms, f->stop };

	return net_write(f->fd, bytes, frame_write(frame, &f->out, bytes), &w);
}

int frames_get(struct frames *f, struct wire_frame *out, int ms)
{
	uint8_t bytes[WIRE_FRAME_MAX];
	struct net_wait w = { ms, f->stop };
	size_t total = 0;
	int r = net_read(f->fd, bytes, WIRE_HEAD, &w);

	r = r ? r : frame_length(bytes, &total);
	r = r ? r : net_read(f->fd, bytes + WIRE_HEAD, total - WIRE_HEAD, &w);
	return r ? r : frame_read(bytes, total, &f->in, out);
}
