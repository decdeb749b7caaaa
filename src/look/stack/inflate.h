/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A deflated stream (zlib's raw format) as an input. Reading on is one pass; the last half MiB can
 * be read again for nothing, anything before that starts the stream anew.
 */
#ifndef STACK_INFLATE_H
#define STACK_INFLATE_H

#include "look/stack/input.h"

struct inflate_state;

struct input_inflate {
	struct input in;
	struct inflate_state *state;
};

/* size: the unpacked bytes that the archive promises. -ENOMEM. packed has to outlive it. */
int input_inflate(struct input_inflate *f, struct input *packed, uint64_t size);
void input_inflate_close(struct input_inflate *f);

#endif
