/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any script as what others do to the side that waits, and to the side that asks. The first byte
 * says to whom: 'w' rank 0 of a collective, 's' a session of "bench serve", 'd' its door, 'p' who
 * measures with such a session, 'j' who joins rank 0 or a session. Then steps: a byte that says
 * what, one that says how much, and so many bytes. Frames are sealed and numbered rightly unless
 * the step says otherwise, so that they are looked at. Every wait ends, every descriptor is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "measure/bench/net/handshake.h"
#include "measure/bench/net/peer.h"
#include "measure/bench/net/serve.h"
#include "measure/bench/net/world.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { STEPS = 24, LINES = 6, WAIT_MS = 2000, LONGEST = 6000 };

/* Known to rank 0 and whoever is of the same user. */
static const struct token of_user = { "gputune: same user", 18 };
static const struct token of_door = { "0123456789abcdef", 16 };

struct line {
	int fd;
	struct wire_side out, in;
	uint8_t key[WIRE_SECRET];
	bool heard; /* its first frame is whole: nobody waits for more */
};

struct script {
	const unsigned char *at, *end;
	struct line line[LINES];
	size_t n;
	char job[32];		 /* of rank 0 */
	struct net_address door; /* of the door */
	struct session *session;
	uint64_t test;	       /* that the session has begun */
	atomic_bool stop, met; /* met: nobody listens any more */
};

struct step {
	uint8_t what, n;
	const unsigned char *bytes;
};

static bool next(struct script *s, struct step *out)
{
	if (s->end - s->at < 2)
		return false;
	*out = (struct step){ s->at[0], s->at[1], s->at + 2 };
	if (out->n > s->end - out->bytes)
		out->n = (uint8_t)(s->end - out->bytes);
	s->at = out->bytes + out->n;
	return true;
}

/* --- as a client ------------------------------------------------------------------------------ */

static int dial(struct script *s)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct net_wait w = { WAIT_MS, &s->stop };
	int n, fd;

	if (!*s->job)
		return net_dial(&s->door, 0, &w);
	n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "gputune-%u-%s", (unsigned)geteuid(),
		     s->job);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	for (int i = 0; i < 20000 && !atomic_load(&s->met); i++, usleep(100))
		if (connect(fd, (struct sockaddr *)&a,
			    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) ==
		    0)
			return fd;
	close(fd);
	return -1;
}

static struct line *last(struct script *s)
{
	return s->n ? &s->line[s->n - 1] : NULL;
}

static void hang_up(struct script *s)
{
	struct line *l = last(s);

	if (l && l->fd >= 0)
		close(l->fd);
	if (l)
		l->fd = -1;
}

/* With the token, or with what the step has in its place. */
static void join(struct script *s, const struct step *step, bool honest)
{
	struct net_wait w = { WAIT_MS, &s->stop };
	struct token token = *s->job ? of_user : of_door;
	struct err e = { 0 };
	struct line *l;
	int fd = s->n < LINES ? dial(s) : -1;

	if (fd < 0)
		return;
	/* Rank 0 hears one after the other, and waits two seconds for who is silent. */
	if (s->n && s->line[s->n - 1].fd >= 0 && !s->line[s->n - 1].heard)
		shutdown(s->line[s->n - 1].fd, SHUT_WR);
	l = &s->line[s->n++];
	*l = (struct line){ .fd = fd };
	if (!honest) {
		if (send(fd, step->bytes, step->n, MSG_NOSIGNAL) < 0 || shutdown(fd, SHUT_WR))
			hang_up(s);
		return;
	}
	if (handshake_client(fd, "it", &token, &w, l->key, &e)) {
		hang_up(s);
		return;
	}
	wire_sides(l->key, &l->out, &l->in);
}

/* A frame of any kind and body. */
static void put_frame(struct line *l, const struct step *step, bool sealed)
{
	uint8_t bytes[WIRE_FRAME_MAX] = { 0 };
	uint8_t kind = step->n ? step->bytes[0] : 0;
	size_t n = step->n ? step->n - 1u : 0;
	crypto_auth_hmacsha256_state m;

	bytes[0] = (uint8_t)n;
	bytes[4] = kind;
	for (size_t i = 0; i < 8; i++)
		bytes[8 + i] = (uint8_t)(l->out.next >> 8 * i);
	memcpy(bytes + WIRE_HEAD, step->bytes + (step->n > 0), n);
	crypto_auth_hmacsha256_init(&m, l->out.key, WIRE_SECRET);
	crypto_auth_hmacsha256_update(&m, bytes, WIRE_HEAD + n);
	crypto_auth_hmacsha256_final(&m, bytes + WIRE_HEAD + n);
	l->out.next += sealed;
	if (send(l->fd, bytes, WIRE_HEAD + n + WIRE_SEAL, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

/* An opening for a test of the session: its seal is right. */
static void fill_opening(const struct script *s, const struct step *step, struct opening *o)
{
	*o = (struct opening){ .kind = step->what & 32 ? OPENING_REQUEST : OPENING_STREAM,
			       .version = WIRE_VERSION,
			       .index = step->n ? step->bytes[0] : 0,
			       .test = s->test };
	opening_seal(o, s->line[0].key);
}

/* Until the other side has what was sent, or is gone: who is told to stop before that never looks.
 */
static void wait_taken(struct script *s, const struct line *l)
{
	int left = 0;

	for (int i = 0; i < 5000 && !atomic_load(&s->met); i++, usleep(100))
		if (ioctl(l->fd, SIOCOUTQ, &left) || left == 0)
			return;
}

static void play(struct script *s, const struct step *step)
{
	struct line *l = last(s);

	switch (step->what % 8) {
	case 0:
	case 1:
		join(s, step, step->what % 8 == 0);
		break;
	case 2:
	case 3:
	case 4:
		if (l && l->fd >= 0) {
			put_frame(l, step, true);
			if (*s->job && !l->heard)
				wait_taken(s, l);
			l->heard = true;
		}
		break;
	case 5:
		if (l && l->fd >= 0)
			put_frame(l, step, false);
		break;
	case 6:
		if (l && l->fd >= 0 &&
		    send(l->fd, step->bytes, step->n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			hang_up(s);
		break;
	default:
		hang_up(s);
		break;
	}
}

static void end(struct script *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->line[i].fd >= 0)
			close(s->line[i].fd);
}

/* --- rank 0 ----------------------------------------------------------------------------------- */

static void *others(void *arg)
{
	struct script *s = arg;
	struct step step;

	for (int i = 0; i < STEPS && next(s, &step); i++)
		play(s, &step);
	/* Nothing more comes: who waits for a rank is told to stop, and woken. */
	for (size_t i = 0; i < s->n; i++)
		if (s->line[i].fd >= 0)
			shutdown(s->line[i].fd, SHUT_WR);
	atomic_store(&s->stop, true);
	close(dial(s));
	return NULL;
}

static void orders(struct world *w)
{
	struct frame_order o = { .what = 1, .times = 3 };
	struct frame_done done;
	struct err e = { 0 };

	for (int i = 0; i < 3; i++) {
		int r = world_command(w, &o, &e);

		if (r == 0)
			r = world_gather(w, 0.1, "a test", &done, &e);
		if (r && !*e.text)
			abort();
		if (r == 0 && strlen(done.text) > WIRE_TEXT_MAX)
			abort();
		world_trouble(w);
	}
}

static void rank_zero(struct script *s)
{
	static unsigned job;
	struct frame_join own = { .nccl = 22809, .gpus = 1, .tool = "0.1", .text = "box" };
	struct world_ask ask = { .ranks = 2, .job = s->job, .limit_s = 3, .stop = &s->stop };
	struct world *w = NULL;
	struct arena a = { 0 };
	struct err e = { 0 };
	pthread_t thread;
	int r;

	if (s->at < s->end)
		ask.ranks = 2 + *s->at++ % 3;
	snprintf(s->job, sizeof(s->job), "fuzz-%d-%u", (int)getpid(), job++);
	if (pthread_create(&thread, NULL, others, s))
		abort();
	r = world_open(&ask, &own, &w, &e);
	atomic_store(&s->met, true);
	if (r == 0) {
		if (!world_leads(w) || world_total(w) < ask.ranks ||
		    world_machines(w) > ask.ranks || !*world_placement(&a, w))
			abort();
		orders(w);
		world_close(w);
	} else if (!*e.text) {
		abort();
	}
	pthread_join(thread, NULL);
	end(s);
	arena_free(&a);
}

/* --- a session -------------------------------------------------------------------------------- */

/* The answer to a start says which test it is; nothing else is read. */
static void hear_start(struct script *s)
{
	struct frames f = { .fd = s->line[0].fd, .in = s->line[0].in };
	struct wire_frame frame;

	while (frames_get(&f, &frame, WAIT_MS) == 0)
		if (frame.kind == FRAME_STARTED) {
			s->test = frame.started.test;
			break;
		}
	s->line[0].in = f.in;
}

static void close_data(struct script *s)
{
	while (s->n > 1) {
		hang_up(s);
		s->n--;
	}
}

static void session_step(struct script *s, const struct step *step)
{
	struct opening o;
	int fd[2];

	switch (step->what % 4) {
	case 0:
	case 1:
		if (step->n && step->bytes[0] == FRAME_STOP)
			close_data(s); /* otherwise it waits for the end of what is sent */
		put_frame(&s->line[0], step, true);
		if (step->n && step->bytes[0] == FRAME_START)
			hear_start(s);
		break;
	case 2:
		fill_opening(s, step, &o);
		if (step->what & 32) {
			session_take_request(s->session, &o);
			break;
		}
		if (s->n >= LINES || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
			break;
		if (!session_take_stream(s->session, &o, fd[0]))
			close(fd[0]);
		s->line[s->n++].fd = fd[1];
		break;
	default:
		if (send(last(s)->fd, step->bytes, step->n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			return;
	}
}

static void one_session(struct script *s)
{
	struct serve serve = { .listener = -1, .wake = -1, .token = &of_door };
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), fd[2];
	struct step step;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd))
		abort();
	s->n = 1;
	s->line[0] = (struct line){ .fd = fd[1], .key = { 7 } };
	wire_sides(s->line[0].key, &s->line[0].out, &s->line[0].in);
	s->session = session_start(&serve, fd[0], s->line[0].key, "somebody", wake);
	if (!s->session)
		abort();
	for (int i = 0; i < STEPS && next(s, &step); i++)
		session_step(s, &step);
	end(s);
	session_end(s->session);
	close(wake);
}

/* --- the door --------------------------------------------------------------------------------- */

static void *door(void *arg)
{
	struct err e = { 0 };

	if (serve_run(arg, &e))
		abort();
	return NULL;
}

static void at_the_door(struct script *s)
{
	struct serve serve = { .token = &of_door, .stop = NULL };
	struct err e = { 0 };
	uint64_t one = 1;
	pthread_t thread;
	struct step step;

	if (net_address_parse("127.0.0.1:0", true, &s->door, &e) ||
	    serve_listen(&s->door, &serve.listener, &e))
		return;
	serve.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pthread_create(&thread, NULL, door, &serve))
		abort();
	for (int i = 0; i < STEPS && next(s, &step); i++)
		play(s, &step);
	for (size_t i = 0; i < s->n; i++)
		if (s->line[i].fd >= 0)
			net_drop(s->line[i].fd);
	if (write(serve.wake, &one, sizeof(one)) < 0)
		abort();
	pthread_join(thread, NULL);
	close(serve.listener);
	close(serve.wake);
}

/* --- who asks --------------------------------------------------------------------------------- */

/* All that is ever answered lies there before the first question: frames, and then the end. */
static void answers(struct script *s, struct line *l)
{
	struct step step;

	for (int i = 0; i < STEPS && next(s, &step); i++)
		if (step.what % 4 == 3 &&
		    send(l->fd, step.bytes, step.n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		else if (step.what % 4 != 3)
			put_frame(l, &step, step.what % 4 != 2);
	shutdown(l->fd, SHUT_WR);
}

static void believed(const struct peer *p, const struct peer_counts *from,
		     const struct peer_counts *to)
{
	struct err e = { 0 };

	if (peer_believable(p, from, to, &e)) {
		if (!*e.text)
			abort();
	} else if (to->c.bytes < from->c.bytes || to->c.wrong < from->c.wrong) {
		abort();
	}
}

static void questions(struct peer *p)
{
	struct frame_start_test test = { .segment = 1448 };
	struct peer_counts from = { 0 }, to = { 0 };
	struct frame_verbs own = { 0 }, theirs;
	struct err e = { 0 };
	int r = peer_start(p, &test, &e);

	if (r == 0)
		r = peer_verbs(p, &own, &theirs, &e);
	if (r == 0 || r == -EBADMSG || r == -EREMOTEIO)
		r = peer_ready(p, &e);
	if (r == 0)
		r = peer_count(p, &from, &e);
	if (r == 0)
		r = peer_stop(p, &to, &e);
	if (r == 0)
		believed(p, &from, &to);
	else if (!*e.text)
		abort();
}

static void who_asks(struct script *s)
{
	struct peer p = { .key = { 7 }, .address = { .text = "it" } };
	struct line *l = &s->line[0];
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd))
		abort();
	s->n = 1;
	*l = (struct line){ .fd = fd[1], .key = { 7 } };
	/* The server's ends. */
	wire_sides(l->key, &l->in, &l->out);
	p.frames.fd = fd[0];
	wire_sides(p.key, &p.frames.out, &p.frames.in);
	answers(s, l);
	questions(&p);
	peer_close(&p);
	end(s);
}

/* The bytes that answer a hello: a challenge, a proof, a refusal. */
static void who_joins(struct script *s)
{
	struct net_wait w = { WAIT_MS, NULL };
	uint8_t key[WIRE_SECRET];
	struct err e = { 0 };
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd))
		abort();
	if (s->at < s->end && send(fd[1], s->at, (size_t)(s->end - s->at), MSG_NOSIGNAL) < 0)
		abort();
	shutdown(fd[1], SHUT_WR);
	/* Who does not know the token proves nothing. */
	if (handshake_client(fd[0], "it", &of_door, &w, key, &e) == 0 || !*e.text)
		abort();
	close(fd[0]);
	close(fd[1]);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct script *s = calloc(1, sizeof(*s));
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC), after;

	if (!s)
		abort();
	close(before);
	s->at = data + (size > 0);
	s->end = data + (size < LONGEST ? size : LONGEST);
	if (size && *data == 'w')
		rank_zero(s);
	else if (size && *data == 's')
		one_session(s);
	else if (size && *data == 'd')
		at_the_door(s);
	else if (size && *data == 'p')
		who_asks(s);
	else if (size && *data == 'j')
		who_joins(s);
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(after);
	if (before != after)
		abort();
	free(s);
	return 0;
}
