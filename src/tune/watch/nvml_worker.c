/* SPDX-License-Identifier: Apache-2.0 */
/* A child of the watcher that opens NVML, answers through a pipe, and ends without tidying up. */
#include <endian.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tune/watch/guard.h"
#include "machine/host/apart.h"
#include "base/text.h"
#include "tune/watch/event.h"

enum { LOOK_MS = 20000 };

bool nvml_worker_handles(const struct watcher *g, const struct watched_knob *it)
{
	return g->w->apart && it->knob.kind == KNOB_NVML;
}

/* --- looking ---------------------------------------------------------------------------------- */

struct looking {
	struct watcher *g;
	struct nvml_look *const *looks;
	size_t n;
};

/* What is written for one: the same program reads it, but what a driver's library did to the child
 * meanwhile is not known. */
struct seen {
	int sight;
	int has_value;
	size_t len; /* of what follows */
};

static bool has_value(int sight)
{
	return sight == SIGHT_OURS || sight == SIGHT_RESET || sight == SIGHT_OTHER ||
	       sight == SIGHT_UNSEEN;
}

static bool is_valid(const struct seen *s)
{
	return (has_value(s->sight) && s->has_value == 1) ||
	       ((s->sight == SIGHT_GONE || s->sight == SIGHT_BLIND) && s->has_value == 0 &&
		s->len == 0);
}

static void look_in_child(void *ctx, struct text *reply)
{
	const struct looking *l = ctx;

	for (size_t i = 0; i < l->n; i++) {
		const char *now = NULL;
		struct seen s = { 0 };

		s.sight = (int)item_look(l->g->h, &l->g->round, l->looks[i]->it, &now);
		s.has_value = now != NULL;
		s.len = now ? strlen(now) : 0;
		text_addn(reply, (const char *)&s, sizeof(s));
		text_addn(reply, now ? now : "", s.len);
	}
}

static bool take_seen(struct watcher *g, const struct text *reply, size_t *at,
		      struct nvml_look *out)
{
	struct seen s;

	if (reply->len - *at < sizeof(s))
		return false;
	memcpy(&s, reply->s + *at, sizeof(s));
	*at += sizeof(s);
	if (reply->len - *at < s.len || !is_valid(&s))
		return false;
	out->sight = (enum observation)s.sight;
	out->now = s.has_value ? arena_strndup(&g->round, reply->s + *at, s.len) : NULL;
	*at += s.len;
	return true;
}

void nvml_worker_look(struct watcher *g, struct nvml_look *const *looks, size_t n)
{
	struct looking l = { .g = g, .looks = looks, .n = n };
	TEXT_AUTO reply = { 0 };
	size_t at = 0, done = 0;
	const char *why;
	int r = apart_run(look_in_child, &l, LOOK_MS, &reply, &g->stuck, &g->apart_us);

	while (r == 0 && done < n && take_seen(g, &reply, &at, looks[done]))
		done++;
	/* All of it or nothing. */
	if (r == 0 && done == n && at == reply.len)
		return;
	why = r == -ETIME ? "the driver does not answer"
			  : "the process that queries the driver failed";
	for (size_t i = 0; i < n; i++) {
		looks[i]->sight = SIGHT_UNSEEN;
		looks[i]->now = why;
	}
}

/* Datagrams to systemd: the service manager's notification socket and the journal's own protocol.
 * Both are documented and stable, so that no library is needed. */

int datagram_open(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (!n || (path[0] != '/' && path[0] != '@') || n >= sizeof(to.sun_path))
		return -1;
	memcpy(to.sun_path, path, n);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void datagram_send(int fd, const char *text, size_t len)
{
	while (fd >= 0 && send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR)
		;
}

void journal_field(struct text *t, const char *key, const char *value)
{
	uint64_t len = htole64(strlen(value));

	text_add(t, key);
	if (!strchr(value, '\n')) {
		text_printf(t, "=%s\n", value);
		return;
	}
	text_addc(t, '\n');
	text_addn(t, (const char *)&len, sizeof(len));
	text_printf(t, "%s\n", value);
}
