/* SPDX-License-Identifier: Apache-2.0 */
/* Openings and frames to bytes and back. What is not exactly as expected is refused. */
#include <errno.h>
#include <sodium.h>

#include "measure/bench/net/wire.h"

_Static_assert(WIRE_SEAL == crypto_auth_hmacsha256_BYTES, "a seal is one HMAC-SHA-256");

static const uint8_t magic[8] = { 'g', 'p', 'u', 't', 'u', 'n', 'e', '\n' };

/* --- openings --------------------------------------------------------------------------------- */

void opening_write(const struct opening *o, uint8_t out[WIRE_OPENING])
{
	struct cursor c = { .out = out };

	put_bytes(&c, magic, sizeof(magic));
	put(&c, o->version, 2);
	put(&c, o->kind, 2);
	put(&c, o->index, 4);
	put(&c, o->test, 8);
	put(&c, 0, 8);
	put_bytes(&c, o->secret, WIRE_SECRET);
}

int opening_read(const uint8_t in[WIRE_OPENING], struct opening *out)
{
	struct cursor c = { .in = in, .at = sizeof(magic), .end = WIRE_OPENING };

	*out = (struct opening){ 0 };
	if (memcmp(in, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	out->version = (unsigned)take(&c, 2);
	if (out->version != WIRE_VERSION)
		return -EPROTO;
	out->kind = (enum opening_kind)take_within(&c, 2, OPENING_HELLO, OPENING_KINDS - 1);
	out->index = (uint32_t)take(&c, 4);
	out->test = take(&c, 8);
	take_within(&c, 8, 0, 0);
	take_bytes(&c, out->secret, WIRE_SECRET);
	return c.bad ? -EBADMSG : 0;
}

void wire_proof(const void *token, size_t n, const struct wire_auth *a, enum proof_by by,
		uint8_t out[WIRE_SECRET])
{
	/* Different words, so that a proof can never be sent back as one's own. */
	static const char words[][16] = { "gputune client", "gputune server", "gputune session" };
	uint8_t version[2] = { WIRE_VERSION, 0 };
	crypto_auth_hmacsha256_state m;

	crypto_auth_hmacsha256_init(&m, token, n);
	crypto_auth_hmacsha256_update(&m, (const uint8_t *)words[by], sizeof(words[by]));
	crypto_auth_hmacsha256_update(&m, version, sizeof(version));
	crypto_auth_hmacsha256_update(&m, a->client, WIRE_SECRET);
	crypto_auth_hmacsha256_update(&m, a->server, WIRE_SECRET);
	crypto_auth_hmacsha256_final(&m, out);
}

static void opening_proof(const struct opening *o, const uint8_t key[WIRE_SECRET],
			  uint8_t out[WIRE_SECRET])
{
	uint8_t bytes[WIRE_OPENING];
	crypto_auth_hmacsha256_state m;

	opening_write(o, bytes);
	crypto_auth_hmacsha256_init(&m, key, WIRE_SECRET);
	crypto_auth_hmacsha256_update(&m, bytes, WIRE_OPENING - WIRE_SECRET);
	crypto_auth_hmacsha256_final(&m, out);
}

void opening_seal(struct opening *o, const uint8_t key[WIRE_SECRET])
{
	opening_proof(o, key, o->secret);
}

bool opening_sealed(const struct opening *o, const uint8_t key[WIRE_SECRET])
{
	uint8_t want[WIRE_SECRET];

	opening_proof(o, key, want);
	return sodium_memcmp(want, o->secret, WIRE_SECRET) == 0;
}

/* --- bodies ----------------------------------------------------------------------------------- */

static void write_counts(struct cursor *c, const struct frame_counts *k)
{
	const uint64_t all[] = { k->bytes,	 k->wrong,  k->cpu_ns, k->at_ns,
				 k->retransmits, k->nic_rx, k->nic_tx };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		put(c, all[i], 8);
	put(c, k->flags, 4);
}

static void read_counts(struct cursor *c, struct frame_counts *k)
{
	uint64_t *const all[] = { &k->bytes,	   &k->wrong,  &k->cpu_ns, &k->at_ns,
				  &k->retransmits, &k->nic_rx, &k->nic_tx };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		*all[i] = take(c, 8);
	k->flags = (uint32_t)take_within(c, 4, 0, COUNTS_NO_NIC | COUNTS_LOOPBACK);
}

static void write_verbs(struct cursor *c, const struct frame_verbs *v)
{
	put(c, v->qp, 4);
	put(c, v->psn, 4);
	put(c, v->rkey, 4);
	put(c, v->address, 8);
	put(c, v->length, 8);
	put(c, v->lid, 2);
	put(c, v->mtu, 1);
	put(c, v->link, 1);
	put_bytes(c, v->gid, sizeof(v->gid));
}

static void read_verbs(struct cursor *c, struct frame_verbs *v)
{
	v->qp = (uint32_t)take_within(c, 4, 0, 0xffffff);
	v->psn = (uint32_t)take_within(c, 4, 0, 0xffffff);
	v->rkey = (uint32_t)take(c, 4);
	v->address = take(c, 8);
	v->length = take(c, 8);
	v->lid = (uint16_t)take(c, 2);
	v->mtu = (uint8_t)take_within(c, 1, 1, 5);
	v->link = (uint8_t)take_within(c, 1, 1, 2);
	take_bytes(c, v->gid, sizeof(v->gid));
}

static void read_start(struct cursor *c, struct frame_start_test *s)
{
	s->kind = (enum test_kind)take_within(c, 4, TEST_SEND, TEST_KINDS - 1);
	s->streams = (uint32_t)take_within(c, 4, 1, WIRE_STREAMS_MAX);
	s->segment = (uint32_t)take_within(c, 4, 0, WIRE_SEGMENT_MAX);
	s->size = (uint32_t)take_within(c, 4, 0, WIRE_BURST_MAX);
}

static bool printable(uint8_t b)
{
	return b >= ' ' && b <= '~';
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

static void put_name(struct cursor *c, const char *name)
{
	char bytes[WIRE_NAME_MAX] = "";

	memcpy(bytes, name, strnlen(name, sizeof(bytes)));
	put_bytes(c, bytes, sizeof(bytes));
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

static void wire_ranks_write(struct cursor *c, const struct wire_frame *f)
{
	if (f->kind == FRAME_JOIN) {
		write_join(c, &f->join);
	} else if (f->kind == FRAME_ORDER) {
		write_order(c, &f->order);
	} else {
		write_done(c, &f->done);
	}
}

static void write_body(struct cursor *c, const struct wire_frame *f)
{
	switch (f->kind) {
	case FRAME_START:
		put(c, f->start.kind, 4);
		put(c, f->start.streams, 4);
		put(c, f->start.segment, 4);
		put(c, f->start.size, 4);
		break;
	case FRAME_STARTED:
		put(c, f->started.test, 8);
		put(c, f->started.fast_open, 1);
		put(c, f->started.slow_start_after_idle, 1);
		break;
	case FRAME_COUNTS:
		write_counts(c, &f->counts);
		break;
	case FRAME_VERBS:
		write_verbs(c, &f->verbs);
		break;
	case FRAME_ERROR:
		put_bytes(c, f->error.text, strnlen(f->error.text, WIRE_TEXT_MAX));
		break;
	case FRAME_JOIN:
	case FRAME_ORDER:
	case FRAME_DONE:
		wire_ranks_write(c, f);
		break;
	default:
		break;
	}
}

static int read_body(struct cursor *c, struct wire_frame *f)
{
	switch (f->kind) {
	case FRAME_START:
		read_start(c, &f->start);
		break;
	case FRAME_STARTED:
		f->started.test = take(c, 8);
		f->started.fast_open = take_within(c, 1, 0, 1);
		f->started.slow_start_after_idle = take_within(c, 1, 0, 1);
		break;
	case FRAME_COUNTS:
		read_counts(c, &f->counts);
		break;
	case FRAME_VERBS:
		read_verbs(c, &f->verbs);
		break;
	case FRAME_ERROR:
		take_text(c, f->error.text, WIRE_TEXT_MAX);
		break;
	case FRAME_JOIN:
	case FRAME_ORDER:
	case FRAME_DONE:
		wire_ranks_read(c, f);
		break;
	default:
		break;
	}
	return c->bad || c->at != c->end ? -EBADMSG : 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

void wire_sides(const uint8_t key[WIRE_SECRET], struct wire_side *client, struct wire_side *server)
{
	static const char words[][8] = { "client", "server" };
	struct wire_side *sides[] = { client, server };

	for (size_t i = 0; i < 2; i++) {
		crypto_auth_hmacsha256_state m;

		crypto_auth_hmacsha256_init(&m, key, WIRE_SECRET);
		crypto_auth_hmacsha256_update(&m, (const uint8_t *)words[i], sizeof(words[i]));
		crypto_auth_hmacsha256_final(&m, sides[i]->key);
		sides[i]->next = 0;
	}
}

static void seal(const struct wire_side *side, const uint8_t *bytes, size_t n,
		 uint8_t out[WIRE_SEAL])
{
	crypto_auth_hmacsha256_state m;

	crypto_auth_hmacsha256_init(&m, side->key, WIRE_SECRET);
	crypto_auth_hmacsha256_update(&m, bytes, n);
	crypto_auth_hmacsha256_final(&m, out);
}

size_t frame_write(const struct wire_frame *f, struct wire_side *side, uint8_t out[WIRE_FRAME_MAX])
{
	struct cursor body = { .out = out, .at = WIRE_HEAD }, head = { .out = out };

	write_body(&body, f);
	put(&head, body.at - WIRE_HEAD, 4);
	put(&head, f->kind, 4);
	put(&head, side->next++, 8);
	seal(side, out, body.at, out + body.at);
	return body.at + WIRE_SEAL;
}

int frame_length(const uint8_t head[WIRE_HEAD], size_t *total)
{
	struct cursor c = { .in = head, .end = WIRE_HEAD };
	uint64_t n = take_within(&c, 4, 0, WIRE_BODY_MAX);

	take_within(&c, 4, FRAME_START, FRAME_KINDS - 1);
	if (c.bad)
		return -EBADMSG;
	*total = WIRE_HEAD + (size_t)n + WIRE_SEAL;
	return 0;
}

int frame_read(const uint8_t *in, size_t n, struct wire_side *side, struct wire_frame *out)
{
	struct cursor c = { .in = in, .at = 4, .end = WIRE_HEAD };
	uint8_t want[WIRE_SEAL];
	uint64_t number;
	size_t total;
	int r;

	memset(out, 0, sizeof(*out));
	if (n < WIRE_HEAD + WIRE_SEAL || frame_length(in, &total) || total != n)
		return -EBADMSG;
	out->kind = (enum frame_kind)take(&c, 4);
	number = take(&c, 8);
	seal(side, in, n - WIRE_SEAL, want);
	if (sodium_memcmp(want, in + n - WIRE_SEAL, WIRE_SEAL) || number != side->next)
		return -EKEYREJECTED;
	c.end = n - WIRE_SEAL;
	r = read_body(&c, out);
	if (r == 0)
		side->next++;
	return r;
}

/* What ranks of a collective say to each other, to bytes and back. */

enum { ERRNO_MAX = 4095, TIMES_MAX = 1 << 20, GPUS_ALL_MAX = WIRE_RANKS_MAX * WIRE_GPUS_MAX };

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

void wire_ranks_read(struct cursor *c, struct wire_frame *f)
{
	if (f->kind == FRAME_JOIN)
		read_join(c, &f->join);
	else if (f->kind == FRAME_ORDER)
		read_order(c, &f->order);
	else
		read_done(c, &f->done);
}
