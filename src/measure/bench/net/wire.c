/* SPDX-License-Identifier: Apache-2.0 */
/* Openings and frames to bytes and back. What is not exactly as expected is refused. */
#include <errno.h>
#include <sodium.h>

#include "measure/bench/net/wire.h"

_Static_assert(WIRE_SEAL == crypto_auth_hmacsha256_BYTES, "a seal is one HMAC-SHA-256");

static const uint8_t magic[8] = { 'g', 'p', 'u', 't', 'u', 'n', 'e', '\n' };

static bool printable(uint8_t b)
{
	return b >= ' ' && b <= '~';
}

/* What is left of the body; whatever was sent, only what can stand in a line on a terminal. out has
 * room for most and the end. strict: nothing else may have been sent. */
static void take_text(struct cursor *c, char *out, size_t most, bool strict)
{
	size_t n = c->end - c->at;

	c->bad = c->bad || n > most;
	for (size_t i = 0; i < n && i < most; i++) {
		uint8_t b = c->in[c->at + i];

		c->bad = c->bad || (strict && !printable(b));
		out[i] = printable(b) ? (char)b : '?';
	}
	out[n < most ? n : most] = '\0';
	c->at = c->end;
}

/* What only who has the key can make of those bytes. */
static void seal(const uint8_t key[WIRE_SECRET], const uint8_t *bytes, size_t n,
		 uint8_t out[WIRE_SEAL])
{
	crypto_auth_hmacsha256_state m;

	crypto_auth_hmacsha256_init(&m, key, WIRE_SECRET);
	crypto_auth_hmacsha256_update(&m, bytes, n);
	crypto_auth_hmacsha256_final(&m, out);
}

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

	opening_write(o, bytes);
	seal(key, bytes, WIRE_OPENING - WIRE_SECRET, out);
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

enum { ERRNO_MAX = 4095, TIMES_MAX = 1 << 20, GPUS_ALL_MAX = WIRE_RANKS_MAX * WIRE_GPUS_MAX };

enum wire_kind {
	WIRE_NUMBER, /* of the member's bytes, between least and most */
	WIRE_BYTES,
	WIRE_WORD, /* text of WIRE_NAME_MAX bytes, then nothing but zeros */
	WIRE_TEXT, /* the rest of the body; whatever was sent, as a terminal may show it */
	WIRE_LINE, /* the same, and nothing else is taken */
};

/* A member, as it stands in a body. */
struct wire_field {
	enum wire_kind kind;
	size_t offset, size;
	uint64_t least, most;
};

/* Numbers in memory are as they are on the line. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian");
_Static_assert(sizeof(enum test_kind) == 4, "a test's kind is 32 bits");

#define AT(member) offsetof(struct wire_frame, member), sizeof(((struct wire_frame *)0)->member)
#define ANY 0, UINT64_MAX

static const struct wire_field start_fields[] = {
	{ WIRE_NUMBER, AT(start.kind), TEST_SEND, TEST_KINDS - 1 },
	{ WIRE_NUMBER, AT(start.streams), 1, WIRE_STREAMS_MAX },
	{ WIRE_NUMBER, AT(start.segment), 0, WIRE_SEGMENT_MAX },
	{ WIRE_NUMBER, AT(start.size), 0, WIRE_BURST_MAX },
};
static const struct wire_field started_fields[] = {
	{ WIRE_NUMBER, AT(started.test), ANY },
	{ WIRE_NUMBER, AT(started.fast_open), 0, 1 },
	{ WIRE_NUMBER, AT(started.slow_start_after_idle), 0, 1 },
};
static const struct wire_field counts_fields[] = {
	{ WIRE_NUMBER, AT(counts.bytes), ANY },
	{ WIRE_NUMBER, AT(counts.wrong), ANY },
	{ WIRE_NUMBER, AT(counts.cpu_ns), ANY },
	{ WIRE_NUMBER, AT(counts.at_ns), ANY },
	{ WIRE_NUMBER, AT(counts.retransmits), ANY },
	{ WIRE_NUMBER, AT(counts.nic_rx), ANY },
	{ WIRE_NUMBER, AT(counts.nic_tx), ANY },
	{ WIRE_NUMBER, AT(counts.flags), 0, COUNTS_NO_NIC | COUNTS_LOOPBACK },
};
static const struct wire_field error_fields[] = {
	{ WIRE_TEXT, AT(error.text), ANY },
};
static const struct wire_field verbs_fields[] = {
	{ WIRE_NUMBER, AT(verbs.qp), 0, 0xffffff }, { WIRE_NUMBER, AT(verbs.psn), 0, 0xffffff },
	{ WIRE_NUMBER, AT(verbs.rkey), ANY },	    { WIRE_NUMBER, AT(verbs.address), ANY },
	{ WIRE_NUMBER, AT(verbs.length), ANY },	    { WIRE_NUMBER, AT(verbs.lid), ANY },
	{ WIRE_NUMBER, AT(verbs.mtu), 1, 5 },	    { WIRE_NUMBER, AT(verbs.link), 1, 2 },
	{ WIRE_BYTES, AT(verbs.gid), ANY },
};
static const struct wire_field join_fields[] = {
	{ WIRE_NUMBER, AT(join.rank), 0, WIRE_RANKS_MAX - 1 },
	{ WIRE_NUMBER, AT(join.ranks), 1, WIRE_RANKS_MAX },
	{ WIRE_NUMBER, AT(join.nccl), ANY },
	{ WIRE_NUMBER, AT(join.gpus), 0, WIRE_GPUS_MAX },
	{ WIRE_NUMBER, AT(join.machine), ANY },
	{ WIRE_BYTES, AT(join.gpu), ANY },
	{ WIRE_WORD, AT(join.tool), ANY },
	{ WIRE_WORD, AT(join.text), ANY },
};
static const struct wire_field order_fields[] = {
	{ WIRE_NUMBER, AT(order.what), 0, 255 },
	{ WIRE_NUMBER, AT(order.op), 0, 255 },
	{ WIRE_NUMBER, AT(order.flags), 0, 255 },
	{ WIRE_NUMBER, AT(order.times), 0, TIMES_MAX },
	{ WIRE_NUMBER, AT(order.first), 0, GPUS_ALL_MAX },
	{ WIRE_NUMBER, AT(order.total), 0, GPUS_ALL_MAX },
	{ WIRE_NUMBER, AT(order.bytes), 0, 1ull << 40 },
	{ WIRE_BYTES, AT(order.id), ANY },
};
static const struct wire_field done_fields[] = {
	{ WIRE_NUMBER, AT(done.error), 0, ERRNO_MAX },
	{ WIRE_NUMBER, AT(done.flags), 0, 255 },
	{ WIRE_NUMBER, AT(done.picoseconds), ANY },
	{ WIRE_NUMBER, AT(done.cpu_ns), ANY },
	{ WIRE_LINE, AT(done.text), ANY },
};

#define FIELDS(list)                                                                               \
	{                                                                                          \
		(list), sizeof(list) / sizeof((list)[0])                                           \
	}
/* Those of other kinds have no body. */
static const struct wire_body {
	const struct wire_field *fields;
	size_t n;
} bodies[FRAME_KINDS] = {
	[FRAME_START] = FIELDS(start_fields),	[FRAME_STARTED] = FIELDS(started_fields),
	[FRAME_COUNTS] = FIELDS(counts_fields), [FRAME_ERROR] = FIELDS(error_fields),
	[FRAME_VERBS] = FIELDS(verbs_fields),	[FRAME_JOIN] = FIELDS(join_fields),
	[FRAME_ORDER] = FIELDS(order_fields),	[FRAME_DONE] = FIELDS(done_fields),
};

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

static void write_field(struct cursor *c, const struct wire_field *w, const char *at)
{
	size_t n = w->kind >= WIRE_WORD ? strnlen(at, w->size - 1) : w->size;

	/* Sentences of ours may hold a file's name. */
	for (size_t i = 0; i < n; i++)
		put(c, w->kind != WIRE_LINE || printable((uint8_t)at[i]) ? (uint8_t)at[i] : '?', 1);
	for (; w->kind == WIRE_WORD && n < WIRE_NAME_MAX; n++)
		put(c, 0, 1);
}

static void read_field(struct cursor *c, const struct wire_field *w, char *at)
{
	uint64_t v;

	if (w->kind == WIRE_NUMBER) {
		v = take_within(c, w->size, w->least, w->most);
		if (!c->bad)
			memcpy(at, &v, w->size);
	} else if (w->kind == WIRE_BYTES) {
		take_bytes(c, at, w->size);
	} else if (w->kind == WIRE_WORD) {
		take_name(c, at);
	} else {
		take_text(c, at, WIRE_TEXT_MAX, w->kind == WIRE_LINE);
	}
}

static void write_body(struct cursor *c, const struct wire_frame *f)
{
	const struct wire_body *b = &bodies[f->kind];

	for (size_t i = 0; i < b->n; i++)
		write_field(c, &b->fields[i], (const char *)f + b->fields[i].offset);
}

static int read_body(struct cursor *c, struct wire_frame *f)
{
	const struct wire_body *b = &bodies[f->kind];

	for (size_t i = 0; i < b->n; i++)
		read_field(c, &b->fields[i], (char *)f + b->fields[i].offset);
	return c->bad || c->at != c->end ? -EBADMSG : 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

void wire_sides(const uint8_t key[WIRE_SECRET], struct wire_side *client, struct wire_side *server)
{
	static const char words[][8] = { "client", "server" };
	struct wire_side *sides[] = { client, server };

	for (size_t i = 0; i < 2; i++) {
		seal(key, (const uint8_t *)words[i], sizeof(words[i]), sides[i]->key);
		sides[i]->next = 0;
	}
}

size_t frame_write(const struct wire_frame *f, struct wire_side *side, uint8_t out[WIRE_FRAME_MAX])
{
	struct cursor body = { .out = out, .at = WIRE_HEAD }, head = { .out = out };

	write_body(&body, f);
	put(&head, body.at - WIRE_HEAD, 4);
	put(&head, f->kind, 4);
	put(&head, side->next++, 8);
	seal(side->key, out, body.at, out + body.at);
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
	seal(side->key, in, n - WIRE_SEAL, want);
	if (sodium_memcmp(want, in + n - WIRE_SEAL, WIRE_SEAL) || number != side->next)
		return -EKEYREJECTED;
	c.end = n - WIRE_SEAL;
	r = read_body(&c, out);
	if (r == 0)
		side->next++;
	return r;
}
