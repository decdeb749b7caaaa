/* SPDX-License-Identifier: Apache-2.0 */
/* The openings of both sides. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/host/libraries.h"
#include "measure/bench/net/handshake.h"

int handshake_fail(const char *who, int r, const char *what, struct err *e)
{
	switch (r) {
	case -EINTR:
		return err_set(e, r, "interrupted");
	case -ETIMEDOUT:
		return err_set(e, r, "%s did not answer in time, %s", who, what);
	case -ECONNRESET:
		return err_set(e, r, "%s closed the connection, %s", who, what);
	case -EBADMSG:
		return err_set(e, r, "%s does not use gputune's protocol, %s", who, what);
	case -EKEYREJECTED:
		return err_set(e, r, "another program answered for %s, %s", who, what);
	default:
		return err_set(e, r, "%s: %s, %s", who, strerror(-r), what);
	}
}

/* --- client ----------------------------------------------------------------------------------- */

static int handshake_exchange(int fd, const char *who, const struct opening *mine,
			      struct opening *theirs, const struct net_wait *w, const char *what,
			      struct err *e)
{
	uint8_t bytes[WIRE_OPENING];
	int r;

	opening_write(mine, bytes);
	r = net_write(fd, bytes, sizeof(bytes), w);
	r = r ? r : net_read(fd, bytes, sizeof(bytes), w);
	r = r ? r : opening_read(bytes, theirs);
	if (r == -EPROTO)
		return err_set(e, r, "%s uses version %u of the protocol, this gputune version %d",
			       who, theirs->version, WIRE_VERSION);
	return r ? handshake_fail(who, r, what, e) : 0;
}

static int handshake_prove(int fd, const char *who, const struct token *t, const struct net_wait *w,
			   const struct wire_auth *auth, struct err *e)
{
	struct opening mine = { .kind = OPENING_PROOF, .version = WIRE_VERSION }, theirs = { 0 };
	uint8_t want[WIRE_SECRET];
	int r;

	wire_proof(t->secret, t->n, auth, PROOF_CLIENT, mine.secret);
	r = handshake_exchange(fd, who, &mine, &theirs, w, "while it checked the token", e);
	if (r)
		return r;
	if (theirs.kind == OPENING_REFUSED)
		return err_set(e, -EKEYREJECTED, "%s has a different token", who);
	if (theirs.kind == OPENING_BUSY)
		return err_set(e, -EBUSY, "%s is busy with another client", who);
	wire_proof(t->secret, t->n, auth, PROOF_SERVER, want);
	if (theirs.kind != OPENING_PROOF || sodium_memcmp(want, theirs.secret, WIRE_SECRET))
		return err_set(e, -EKEYREJECTED,
			       "%s could not prove that it has the token; nothing was measured",
			       who);
	return 0;
}

int handshake_client(int fd, const char *who, const struct token *t, const struct net_wait *w,
		     uint8_t key[WIRE_SECRET], struct err *e)
{
	struct opening hello = { .kind = OPENING_HELLO, .version = WIRE_VERSION }, theirs = { 0 };
	struct wire_auth auth;
	int r;

	randombytes_buf(auth.client, WIRE_SECRET);
	memcpy(hello.secret, auth.client, WIRE_SECRET);
	r = handshake_exchange(fd, who, &hello, &theirs, w, "after the greeting", e);
	if (r == 0 && theirs.kind != OPENING_CHALLENGE)
		r = handshake_fail(who, -EBADMSG, "after the greeting", e);
	if (r)
		return r;
	memcpy(auth.server, theirs.secret, WIRE_SECRET);
	r = handshake_prove(fd, who, t, w, &auth, e);
	if (r == 0)
		wire_proof(t->secret, t->n, &auth, PROOF_KEY, key);
	return r;
}

/* --- server ----------------------------------------------------------------------------------- */

bool handshake_put(int fd, enum opening_kind kind, const uint8_t *secret)
{
	struct opening o = { .kind = kind, .version = WIRE_VERSION };
	uint8_t bytes[WIRE_OPENING];

	if (secret)
		memcpy(o.secret, secret, WIRE_SECRET);
	opening_write(&o, bytes);
	return send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(bytes);
}

bool handshake_challenge(int fd, const struct opening *hello, struct wire_auth *a)
{
	memcpy(a->client, hello->secret, WIRE_SECRET);
	randombytes_buf(a->server, WIRE_SECRET);
	return handshake_put(fd, OPENING_CHALLENGE, a->server);
}

bool handshake_proves(const struct token *t, const struct wire_auth *a, const struct opening *o)
{
	uint8_t proof[WIRE_SECRET];

	wire_proof(t->secret, t->n, a, PROOF_CLIENT, proof);
	return sodium_memcmp(proof, o->secret, WIRE_SECRET) == 0;
}

bool handshake_admit(int fd, const struct token *t, const struct wire_auth *a,
		     uint8_t key[WIRE_SECRET])
{
	uint8_t proof[WIRE_SECRET];

	wire_proof(t->secret, t->n, a, PROOF_SERVER, proof);
	wire_proof(t->secret, t->n, a, PROOF_KEY, key);
	return handshake_put(fd, OPENING_PROOF, proof);
}

/* Reads the token's file, and only one that others cannot read. */

static int handshake_judge(const char *path, const struct stat *st, struct err *e)
{
	if (!S_ISREG(st->st_mode))
		return err_set(e, -EINVAL, "%s: not a regular file", path);
	if (st->st_mode & 077) {
		err_set(e, -EPERM, "%s is accessible to other users (mode %04o)", path,
			(unsigned)(st->st_mode & 07777));
		err_hint(e, "chmod 600 %.200s, and create a new token if others may have read it",
			 path);
		return -EPERM;
	}
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return err_set(e, -EPERM, "%s belongs to another user", path);
	return 0;
}

static int read_secret(int fd, const char *path, struct token *out, struct err *e)
{
	uint8_t buf[TOKEN_MAX + 1];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(buf) && (got = read(fd, buf + n, sizeof(buf) - n)) != 0) {
		if (got < 0 && errno != EINTR)
			return err_set(e, -errno, "%s: cannot read: %s", path, strerror(errno));
		n += got > 0 ? (size_t)got : 0;
	}
	while (n && (buf[n - 1] == '\n' || buf[n - 1] == '\r'))
		n--;
	if (n < TOKEN_MIN || n > TOKEN_MAX) {
		err_set(e, -EINVAL, "%s contains %zu%s bytes; a token has %d to %d", path, n,
			n > TOKEN_MAX ? " or more" : "", TOKEN_MIN, TOKEN_MAX);
		err_hint(e, "create one with head -c 32 /dev/urandom | base64");
		return -EINVAL;
	}
	memcpy(out->secret, buf, n);
	out->n = n;
	explicit_bzero(buf, sizeof(buf));
	return 0;
}

int token_load(const char *path, struct token *out, struct err *e)
{
	/* Non-blocking: a FIFO of that name must not hold us up. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r;
	struct stat st;

	out->n = 0;
	if (fd < 0)
		return err_set(e, -errno, "%s: cannot read: %s", path, strerror(errno));
	r = fstat(fd, &st) ? err_set(e, -errno, "cannot inspect %s", path)
			   : handshake_judge(path, &st, e);
	if (r == 0)
		r = read_secret(fd, path, out, e);
	/* Whoever has a token proves it. */
	if (r == 0)
		r = library_open(LIBRARY_SODIUM, e);
	close(fd);
	return r;
}

/* One frame out, one frame in, each within its time. */

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
