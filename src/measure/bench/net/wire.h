/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes over the line between two gputunes that measure a network together: openings (the first
 * 64 bytes of every connection, and the handshake) and frames (everything said afterwards). Pure
 * functions over buffers: every byte comes from somebody who may lie. docs/BENCH.md describes
 * it. All numbers are little-endian on the line.
 */
#ifndef NET_WIRE_H
#define NET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	WIRE_VERSION = 3,
	WIRE_OPENING = 64, /* bytes */
	WIRE_SECRET = 32,  /* of a nonce, of a proof, of a key */
	WIRE_SEAL = 32,	   /* behind a frame: HMAC-SHA-256 */
	WIRE_HEAD = 16,
	WIRE_BODY_MAX = 256,
	WIRE_FRAME_MAX = WIRE_HEAD + WIRE_BODY_MAX + WIRE_SEAL,
	WIRE_TEXT_MAX = 200,
	WIRE_STREAMS_MAX = 64,
	WIRE_SEGMENT_MAX = 32767,
	WIRE_BURST_MAX = 64 << 20,
	WIRE_RANKS_MAX = 64, /* processes */
	WIRE_GPUS_MAX = 16,  /* of one of them */
	WIRE_NAME_MAX = 32,
	WIRE_ID = 128
};

/* --- openings --------------------------------------------------------------------------------- */
enum opening_kind {
	OPENING_HELLO = 1, /* client: nonce */
	OPENING_CHALLENGE, /* server: nonce */
	OPENING_PROOF,	   /* client, then server: that they know the token */
	OPENING_REFUSED,   /* server: the proof is wrong */
	OPENING_BUSY,	   /* server: somebody else is being served */
	OPENING_VERSION,   /* server: its version, which is another one */
	OPENING_STREAM,	   /* client: data of a test; proof with the session's key */
	OPENING_REQUEST,   /* client: a whole connection that is one request; proof likewise */
	OPENING_REPLY,	   /* server: the answer to that */
	OPENING_KINDS
};

struct opening {
	enum opening_kind kind;
	unsigned version;
	uint32_t index; /* of the stream or request */
	uint64_t test;
	uint8_t secret[WIRE_SECRET]; /* nonce or proof */
};

void opening_write(const struct opening *o, uint8_t out[WIRE_OPENING]);
/* 0; -EBADMSG when it is none; -EPROTO when it is one of another version (*out: version alone). */
int opening_read(const uint8_t in[WIRE_OPENING], struct opening *out);

/* What both sides know after hello and challenge. */
struct wire_auth {
	uint8_t client[WIRE_SECRET], server[WIRE_SECRET]; /* nonces */
};

enum proof_by { PROOF_CLIENT, PROOF_SERVER, PROOF_KEY };

/* That who made it knows the token; PROOF_KEY: the session's key, which is never sent. */
void wire_proof(const void *token, size_t n, const struct wire_auth *a, enum proof_by by,
		uint8_t out[WIRE_SECRET]);
/* Fills o->secret of a stream or request. */
void opening_seal(struct opening *o, const uint8_t key[WIRE_SECRET]);
bool opening_sealed(const struct opening *o, const uint8_t key[WIRE_SECRET]);

/* --- frames ----------------------------------------------------------------------------------- */
enum frame_kind {
	FRAME_START = 1, /* client */
	FRAME_STARTED,	 /* server: openings for that test may come */
	FRAME_READY,	 /* client, no body: all are there? server: all are */
	FRAME_COUNT,	 /* client, no body */
	FRAME_COUNTS,	 /* server */
	FRAME_STOP,	 /* client, no body; answered by counts when all is over */
	FRAME_ERROR,	 /* either: why it ends here */
	FRAME_BYE,	 /* client, no body */
	FRAME_VERBS,	 /* either: where an RDMA queue pair is */
	FRAME_JOIN,	 /* a rank (client), then rank 0 (server): who it is */
	FRAME_ORDER,	 /* rank 0: what all ranks do now */
	FRAME_DONE,	 /* a rank: what became of it */
	FRAME_KINDS
};

enum test_kind {
	TEST_SEND = 1, /* client sends streams */
	TEST_RECEIVE,  /* server sends them */
	TEST_ECHO,     /* server returns every message */
	TEST_CONNECT,  /* connections of one request each */
	TEST_BURST,    /* client sends so many bytes, server answers when they are there */
	TEST_RDMA_WRITE,
	TEST_RDMA_READ,
	TEST_RDMA_SEND,
	TEST_RDMA_PING, /* writes there and back */
	TEST_KINDS
};

struct frame_start_test {
	enum test_kind kind;
	uint32_t streams; /* 1 to WIRE_STREAMS_MAX */
	uint32_t segment; /* bytes, TCP_MAXSEG; 0: as the path allows */
	uint32_t size;	  /* bytes of a message or burst */
};

struct frame_started {
	uint64_t test; /* random */
	bool fast_open;
	bool slow_start_after_idle;
};

enum { COUNTS_NO_NIC = 1, COUNTS_LOOPBACK = 2 };

/* Totals since the test's start, except at_ns and the interface's, which are since some time. */
struct frame_counts {
	uint64_t bytes;	 /* received, or sent */
	uint64_t wrong;	 /* blocks with other data than was sent */
	uint64_t cpu_ns; /* of the process */
	uint64_t at_ns;	 /* a monotonic clock when bytes was read */
	uint64_t retransmits;
	uint64_t nic_rx, nic_tx; /* bytes of the interface */
	uint32_t flags;		 /* COUNTS_NO_NIC: they are not known; COUNTS_LOOPBACK */
};

struct frame_verbs {
	uint32_t qp, psn, rkey;
	uint64_t address, length;
	uint16_t lid;
	uint8_t mtu;  /* as verbs number it: 1 is 256 bytes, 5 is 4096 */
	uint8_t link; /* 1 InfiniBand, 2 Ethernet */
	uint8_t gid[16];
};

/* One process of a collective. */
struct frame_join {
	uint32_t rank, ranks;
	uint32_t nccl;		      /* its version; 0: none, and text says why */
	uint32_t gpus;		      /* how many it drives */
	uint64_t machine;	      /* differs between machines */
	uint64_t gpu[WIRE_GPUS_MAX];  /* differs between GPUs */
	char tool[WIRE_NAME_MAX + 1]; /* gputune's version */
	char text[WIRE_NAME_MAX + 1]; /* the host's name; why it cannot take part */
};

struct frame_order {
	uint32_t what; /* the bench's own */
	uint32_t op, flags, times;
	uint32_t first, total; /* the receiver's first GPU among all */
	uint64_t bytes;
	uint8_t id[WIRE_ID]; /* what connects the GPUs */
};

struct frame_done {
	uint32_t error; /* an errno; 0: it went well */
	uint32_t flags;
	uint64_t picoseconds; /* of the slowest GPU */
	uint64_t cpu_ns;      /* of the process since it joined; world_answer fills it in */
	char text[WIRE_TEXT_MAX + 1];
};

struct frame_error {
	char text[WIRE_TEXT_MAX + 1]; /* printable ASCII, whatever was sent */
};

struct wire_frame {
	enum frame_kind kind;
	union {
		struct frame_start_test start;
		struct frame_started started;
		struct frame_counts counts;
		struct frame_verbs verbs;
		struct frame_error error;
		struct frame_join join;
		struct frame_order order;
		struct frame_done done;
	};
};

/* One direction of a session. Each frame carries its number and a seal with the direction's key. */
struct wire_side {
	uint8_t key[WIRE_SECRET];
	uint64_t next; /* number of the next frame */
};

/* The two directions of a session from its key. */
void wire_sides(const uint8_t key[WIRE_SECRET], struct wire_side *client, struct wire_side *server);
/* The bytes of it; advances the side. */
size_t frame_write(const struct wire_frame *f, struct wire_side *side, uint8_t out[WIRE_FRAME_MAX]);
/* Bytes of the whole frame that begins so; -EBADMSG when that cannot be. */
int frame_length(const uint8_t head[WIRE_HEAD], size_t *total);
/* n: as frame_length said. 0 and the side advances; -EBADMSG: malformed; -EKEYREJECTED: not sealed
 * by the other side, or not the next one. */
int frame_read(const uint8_t *in, size_t n, struct wire_side *side, struct wire_frame *out);

/* Numbers and bytes in a frame's buffer, for who writes and reads bodies. Not for anybody else. */

/* A place in a buffer that is written or read to its end. */
struct cursor {
	uint8_t *out;
	const uint8_t *in;
	size_t at, end;
	bool bad;
};

static inline void put(struct cursor *c, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		c->out[c->at++] = (uint8_t)(v >> (8 * i));
}

static inline uint64_t take(struct cursor *c, size_t bytes)
{
	uint64_t v = 0;

	if (c->end - c->at < bytes) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)c->in[c->at++] << (8 * i);
	return v;
}

/* A number that must lie between two others. */
static inline uint64_t take_within(struct cursor *c, size_t bytes, uint64_t least, uint64_t most)
{
	uint64_t v = take(c, bytes);

	c->bad = c->bad || v < least || v > most;
	return v;
}

static inline void put_bytes(struct cursor *c, const void *p, size_t n)
{
	memcpy(c->out + c->at, p, n);
	c->at += n;
}

static inline void take_bytes(struct cursor *c, void *p, size_t n)
{
	if (c->end - c->at < n) {
		c->bad = true;
		c->at = c->end;
		memset(p, 0, n);
		return;
	}
	memcpy(p, c->in + c->at, n);
	c->at += n;
}

#endif
