/* SPDX-License-Identifier: Apache-2.0 */
/* The client's handshake and questions. */
#include "measure/bench/net/peer.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "machine/host/command.h"
#include "machine/host/libraries.h"
#include "measure/bench/net/serve.h"

/* The other machine when there is none: a child with a server of its own on 127.0.0.1. */

enum { CHILD_LISTENER = 3 };

/* The C library lets a child of a process with threads allocate and start threads of its own. */
static void loopback_child_main(int listener, const struct token *t, pid_t parent)
{
	struct serve s = { .listener = CHILD_LISTENER, .wake = -1, .token = t };
	struct err e;

	/* A parent that is killed takes the child along, also if it died before this. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGINT, SIG_IGN);
	/* Nothing of the parent's is held open here: no lock, no pipe that somebody waits on. */
	if (listener != CHILD_LISTENER && dup2(listener, CHILD_LISTENER) < 0)
		_exit(1);
	close_range(CHILD_LISTENER + 1, ~0u, 0);
	_exit(serve_run(&s, &e) ? 1 : 0);
}

int peer_serve(const char *at, const struct token *t, struct net_address *out, pid_t *child,
	       struct err *e)
{
	pid_t parent = getpid();
	int listener, r = net_address_parse(at, true, out, e);

	r = r ? r : serve_listen(out, &listener, e);
	if (r)
		return r;
	*child = fork();
	if (*child == 0)
		loopback_child_main(listener, t, parent);
	close(listener);
	if (*child < 0) {
		*child = 0;
		return err_set(e, -errno, "cannot create a child process: %s", strerror(errno));
	}
	return 0;
}

void peer_serve_end(pid_t child)
{
	int status;

	if (child > 0)
		reap_kill(child, false, &status, NULL);
}

int peer_fail(const struct peer *p, int r, const char *what, struct err *e)
{
	return handshake_fail(p->address.text, r, what, e);
}

/* --- handshake -------------------------------------------------------------------------------- */

static int peer_dial(struct peer *p, struct err *e)
{
	struct net_wait w = { PEER_DIAL_MS, p->frames.stop };
	int fd = net_dial(&p->address, 0, &w);

	if (fd == -ECONNREFUSED) {
		err_set(e, fd, "nothing listens on %s", p->address.text);
		err_hint(e, "run gputune bench serve --listen ADDRESS --token FILE on the other "
			    "machine");
		return fd;
	}
	if (fd < 0)
		return peer_fail(p, fd, "connecting", e);
	net_no_delay(fd, true);
	return fd;
}

/* -EBUSY: somebody else is served. */
static int shake_hands(struct peer *p, const struct token *t, struct err *e)
{
	struct net_wait w = { PEER_DIAL_MS, p->frames.stop };
	int fd = peer_dial(p, e), r;

	if (fd < 0)
		return fd;
	r = handshake_client(fd, p->address.text, t, &w, p->key, e);
	if (r) {
		close(fd);
		return r;
	}
	p->frames.fd = fd;
	wire_sides(p->key, &p->frames.out, &p->frames.in);
	return 0;
}

int peer_open(const struct peer_ask *ask, struct peer *p, struct err *e)
{
	struct timespec pause = { 0, 50000000 };
	struct token t = { .n = WIRE_SECRET };
	long long end;
	int r;

	*p = (struct peer){ .frames = { .fd = -1, .stop = ask->stop } };
	if (ask->address && !ask->token_file)
		return err_set(e, -EINVAL, NET_NO_TOKEN);
	if (ask->address) {
		r = net_address_parse(ask->address, false, &p->address, e);
		r = r ? r : token_load(ask->token_file, &t, e);
	} else {
		r = library_open(LIBRARY_SODIUM, e);
		if (r)
			return r;
		randombytes_buf(t.secret, t.n);
		r = peer_serve("127.0.0.1:0", &t, &p->address, &p->child, e);
	}
	end = net_now_ms() + PEER_BUSY_MS;
	while (r == 0) {
		r = shake_hands(p, &t, e);
		if (r != -EBUSY || net_now_ms() >= end)
			break;
		nanosleep(&pause, NULL);
		r = 0;
	}
	explicit_bzero(&t, sizeof(t));
	return r;
}

/* --- questions -------------------------------------------------------------------------------- */

static int peer_ask_one(struct peer *p, const struct wire_frame *f, enum frame_kind want,
			struct wire_frame *answer, const char *what, struct err *e)
{
	int r = frames_put(&p->frames, f, PEER_MS);

	/* Why it closed may still be there to be read. */
	if (r == 0 || r == -ECONNRESET)
		r = frames_get(&p->frames, answer, PEER_MS);
	if (r)
		return peer_fail(p, r, what, e);
	if (answer->kind == FRAME_ERROR)
		return err_set(e, -EREMOTEIO, "%s says: %s", p->address.text, answer->error.text);
	if (answer->kind != want)
		return peer_fail(p, -EBADMSG, what, e);
	return 0;
}

int peer_start(struct peer *p, const struct frame_start_test *t, struct err *e)
{
	struct wire_frame f = { .kind = FRAME_START, .start = *t }, answer = { 0 };
	int r = peer_ask_one(p, &f, FRAME_STARTED, &answer, "starting a test", e);

	if (r)
		return r;
	p->started = answer.started;
	p->test = answer.started.test;
	p->segment = t->segment;
	return 0;
}

int peer_stream(struct peer *p, size_t index, struct err *e)
{
	struct opening o = { .kind = OPENING_STREAM,
			     .version = WIRE_VERSION,
			     .index = (uint32_t)index,
			     .test = p->test };
	struct net_wait w = { PEER_DIAL_MS, p->frames.stop };
	uint8_t bytes[WIRE_OPENING];
	int fd = net_dial(&p->address, (int)p->segment, &w), r;

	if (fd < 0)
		return peer_fail(p, fd, "connecting for data", e);
	opening_seal(&o, p->key);
	opening_write(&o, bytes);
	r = net_write(fd, bytes, sizeof(bytes), &w);
	if (r) {
		net_drop(fd);
		return peer_fail(p, r, "opening a stream", e);
	}
	return fd;
}

int peer_ready(struct peer *p, struct err *e)
{
	struct wire_frame f = { .kind = FRAME_READY }, answer = { 0 };

	/* It may wait for connections itself before it answers. */
	return peer_ask_one(p, &f, FRAME_READY, &answer, "waiting for it to start", e);
}

static int peer_counts_one(struct peer *p, enum frame_kind kind, struct peer_counts *out,
			   const char *what, struct err *e)
{
	struct wire_frame f = { .kind = kind }, answer = { 0 };
	const atomic_bool *stop = p->frames.stop;
	int r;

	/* Not cut short: an answer left unread would be taken for that of the next question. */
	p->frames.stop = NULL;
	out->asked_ns = net_now_ns();
	r = peer_ask_one(p, &f, FRAME_COUNTS, &answer, what, e);
	out->answered_ns = net_now_ns();
	p->frames.stop = stop;
	if (r == 0)
		out->c = answer.counts;
	return r;
}

int peer_count(struct peer *p, struct peer_counts *out, struct err *e)
{
	return peer_counts_one(p, FRAME_COUNT, out, "while measuring", e);
}

int peer_stop(struct peer *p, struct peer_counts *out, struct err *e)
{
	int r;

	peer_finishing(p);
	r = peer_counts_one(p, FRAME_STOP, out, "ending the test", e);
	p->test = 0;
	return r;
}

void peer_finishing(struct peer *p)
{
	p->frames.stop = NULL;
}

int peer_verbs(struct peer *p, const struct frame_verbs *own, struct frame_verbs *theirs,
	       struct err *e)
{
	struct wire_frame f = { .kind = FRAME_VERBS, .verbs = *own }, answer = { 0 };
	int r = peer_ask_one(p, &f, FRAME_VERBS, &answer, "connecting queue pairs", e);

	if (r == 0)
		*theirs = answer.verbs;
	return r;
}

int peer_believable(const struct peer *p, const struct peer_counts *from,
		    const struct peer_counts *to, struct err *e)
{
	double least = (double)to->asked_ns - (double)from->answered_ns,
	       most = (double)to->answered_ns - (double)from->asked_ns,
	       said = (double)to->c.at_ns - (double)from->c.at_ns, slack = 1e6 + 1e-3 * most;

	if (to->c.bytes < from->c.bytes || to->c.cpu_ns < from->c.cpu_ns ||
	    to->c.retransmits < from->c.retransmits || to->c.wrong < from->c.wrong)
		return err_set(e, -EPROTO, "%s: its counter runs backwards", p->address.text);
	if (said < least - slack || said > most + slack)
		return err_set(e, -EPROTO,
			       "%s reported %.1f ms, but %.1f to %.1f ms passed here; its figures "
			       "are not trusted",
			       p->address.text, said / 1e6, least / 1e6, most / 1e6);
	return 0;
}

void peer_close(struct peer *p)
{
	struct wire_frame bye = { .kind = FRAME_BYE };
	/* Long enough for the other side to join its threads; nobody is told when it is not. */
	struct net_wait w = { 2000, NULL };

	if (p->frames.fd >= 0) {
		if (frames_put(&p->frames, &bye, 100) == 0)
			net_read_end(p->frames.fd, &w);
		close(p->frames.fd);
		p->frames.fd = -1;
	}
	peer_serve_end(p->child);
	p->child = 0;
	explicit_bzero(p->key, sizeof(p->key));
}
