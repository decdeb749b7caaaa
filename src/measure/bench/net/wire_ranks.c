/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks of a collective say to each other, to bytes and back. */
#include "measure/bench/net/wire_cursor.h"

enum { ERRNO_MAX = 4095, TIMES_MAX = 1 << 20, GPUS_ALL_MAX = WIRE_RANKS_MAX * WIRE_GPUS_MAX };

static void put_name(struct cursor *c, const char *name)
{
	char bytes[WIRE_NAME_MAX] = "";

	memcpy(bytes, name, strnlen(name, sizeof(bytes)));
	put_bytes(c, bytes, sizeof(bytes));
}

static bool printable(uint8_t b)
{
	return b >= ' ' && b <= '~';
}

/* Text, then nothing but zeros. */
static void take_name(struct cursor *c, char out[WIRE_NAME_MAX + 1])
{
	size_t n;

	take_bytes(c, out, WIRE_NAME_MAX);
	out[WIRE_NAME_MAX] = '\0';
	n = strlen(out);
	for (size_t i = 0; i < WIRE_NAME_MAX; i++)
		c->bad = c->bad || (i < n ? !printable((uint8_t)out[i]) : out[i] != '\0');
}

static void write_join(struct cursor *c, const struct frame_join *j)
{
	put(c, j->rank, 4);
	put(c, j->ranks, 4);
	put(c, j->nccl, 4);
	put(c, j->gpus, 4);
	put(c, j->machine, 8);
	for (size_t i = 0; i < WIRE_GPUS_MAX; i++)
		put(c, j->gpu[i], 8);
	put_name(c, j->tool);
	put_name(c, j->text);
}

static void read_join(struct cursor *c, struct frame_join *j)
{
	j->rank = (uint32_t)take_within(c, 4, 0, WIRE_RANKS_MAX - 1);
	j->ranks = (uint32_t)take_within(c, 4, 1, WIRE_RANKS_MAX);
	j->nccl = (uint32_t)take(c, 4);
	j->gpus = (uint32_t)take_within(c, 4, 0, WIRE_GPUS_MAX);
	j->machine = take(c, 8);
	for (size_t i = 0; i < WIRE_GPUS_MAX; i++)
		j->gpu[i] = take(c, 8);
	take_name(c, j->tool);
	take_name(c, j->text);
}

static void write_order(struct cursor *c, const struct frame_order *o)
{
	put(c, o->what, 4);
	put(c, o->op, 4);
	put(c, o->flags, 4);
	put(c, o->times, 4);
	put(c, o->first, 4);
	put(c, o->total, 4);
	put(c, o->bytes, 8);
	put_bytes(c, o->id, sizeof(o->id));
}

static void read_order(struct cursor *c, struct frame_order *o)
{
	o->what = (uint32_t)take_within(c, 4, 0, 255);
	o->op = (uint32_t)take_within(c, 4, 0, 255);
	o->flags = (uint32_t)take_within(c, 4, 0, 255);
	o->times = (uint32_t)take_within(c, 4, 0, TIMES_MAX);
	o->first = (uint32_t)take_within(c, 4, 0, GPUS_ALL_MAX);
	o->total = (uint32_t)take_within(c, 4, 0, GPUS_ALL_MAX);
	o->bytes = take_within(c, 8, 0, 1ull << 40);
	take_bytes(c, o->id, sizeof(o->id));
}

static void read_done(struct cursor *c, struct frame_done *d)
{
	d->error = (uint32_t)take_within(c, 4, 0, ERRNO_MAX);
	d->flags = (uint32_t)take_within(c, 4, 0, 255);
	d->picoseconds = take(c, 8);
	d->cpu_ns = take(c, 8);
	for (size_t i = c->at; i < c->end; i++)
		c->bad = c->bad || !printable(c->in[i]);
	take_text(c, d->text, WIRE_TEXT_MAX);
}

/* Sentences of ours may hold a file's name. */
static void write_done(struct cursor *c, const struct frame_done *d)
{
	size_t n = strnlen(d->text, WIRE_TEXT_MAX);

	put(c, d->error, 4);
	put(c, d->flags, 4);
	put(c, d->picoseconds, 8);
	put(c, d->cpu_ns, 8);
	for (size_t i = 0; i < n; i++)
		put(c, printable((uint8_t)d->text[i]) ? (uint8_t)d->text[i] : '?', 1);
}

void wire_ranks_write(struct cursor *c, const struct wire_frame *f)
{
	if (f->kind == FRAME_JOIN) {
		write_join(c, &f->join);
	} else if (f->kind == FRAME_ORDER) {
		write_order(c, &f->order);
	} else {
		write_done(c, &f->done);
	}
}

void wire_ranks_read(struct cursor *c, struct wire_frame *f)
{
	if (f->kind == FRAME_JOIN)
		read_join(c, &f->join);
	else if (f->kind == FRAME_ORDER)
		read_order(c, &f->order);
	else
		read_done(c, &f->done);
}
