/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watcher over the machine of fuzz_knobs: what wakes it are the steps of the input, and its
 * clock is theirs. What it writes and what it says is looked at as it does it.
 */
#ifndef FUZZ_KNOBS_WATCH_H
#define FUZZ_KNOBS_WATCH_H

#include <jansson.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "fuzz_knobs_machine.h"
#include "machine/knob/io.h"
#include "tune/watch/watch.h"

int __real_knob_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		    struct err *e);
int __wrap_knob_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		    struct err *e);

enum { STEPS = 80, WAITS = 400, SPINS = 100, TRIES = 12, HOUR = 3600000, MINUTE = 60000 };

/* When one knob was set again. */
struct tries {
	long long at[TRIES];
	size_t n;
};

static void count_try(struct play *p, const struct knob *k)
{
	void **place = map_at(&p->k.now, &p->tries,
			      arena_printf(&p->k.now, "%d %s\t%s", (int)k->kind, k->name,
					   k->kind == KNOB_SYSCTL ? "" : k->object));
	struct tries *t = *place;
	size_t n = 0;

	if (!t)
		t = *place = ARENA_NEW(&p->k.now, struct tries);
	for (size_t i = 0; i < t->n; i++)
		if (p->now - t->at[i] < HOUR)
			t->at[n++] = t->at[i];
	t->n = n;
	if (n == TRIES || (*p->how != 'c' && n >= 3) || (n && p->now - t->at[n - 1] < MINUTE))
		broken("the watcher sets too often", k, NULL);
	t->at[t->n++] = p->now;
}

/* The newest change of the knob that is not undone. */
static const struct entry *newest(const struct journal *j, const struct knob *k)
{
	const struct entry *out = NULL;

	for (size_t i = 0; i < j->n; i++)
		for (size_t n = 0; n < j->items[i].n; n++) {
			const struct entry *e = &j->items[i].entries[n];

			if (e->state != ENTRY_UNDONE && knob_equal(&e->knob, k) &&
			    (!out || e->txn > out->txn ||
			     (e->txn == out->txn && e->seq > out->seq)))
				out = e;
		}
	return out;
}

static bool is_reset_by_one(struct arena *a, const struct journal *j, const struct knob *k)
{
	for (size_t i = 0; i < j->n; i++)
		for (size_t n = 0; n < j->items[i].n; n++) {
			size_t others;
			struct knob *list =
				knob_disturbs(NULL, a, &j->items[i].entries[n].knob, &others);

			while (others--)
				if (knob_equal(&list[others], k))
					return true;
		}
	return false;
}

static void watcher_may(struct play *p, const struct knob *k, const char *value)
{
	const struct entry *e;
	struct journal j;

	if (*p->how == 'r' || k->kind == KNOB_FILE || k->kind == KNOB_BOOTARG)
		broken("the watcher has no business with", k, value);
	journal_holds(p, &j);
	e = newest(&j, k);
	if (e && e->state == ENTRY_DONE && strcmp(e->after, value) == 0)
		count_try(p, k);
	else if (!is_reset_by_one(&p->k.now, &j, k))
		broken("the watcher makes up", k, value);
}

int __wrap_knob_set(struct host *h, struct arena *a, const struct knob *k, const char *value,
		    struct err *e)
{
	if (playing->k.watching)
		watcher_may(playing, k, value);
	return __real_knob_set(h, a, k, value, e);
}

static struct play *play_of(struct source *s)
{
	return (struct play *)s;
}

static long long made_now(struct source *s)
{
	return play_of(s)->now;
}

static long long made_time(struct source *s)
{
	return 1790000000 + play_of(s)->now / 1000;
}

static bool made_busy(struct source *s)
{
	return play_of(s)->k.busy;
}

static unsigned long long made_stamp(struct source *s)
{
	struct kernel_node *n = kernel_find(&play_of(s)->k, TXN_JOURNAL);
	unsigned long long sum = 5381;

	for (size_t i = 0; n && i < n->n; i++)
		sum = sum * 33 + (unsigned char)n->s[i];
	return n ? sum | 1 : 0;
}

static void made_listen(struct source *s, const struct mark *marks, size_t n, bool gpus)
{
	(void)s;
	(void)gpus;
	for (size_t i = 0; i < n; i++)
		if (!marks[i].path || *marks[i].path != '/')
			abort();
}

static bool is_harmless(const char *s)
{
	uint32_t cp;
	size_t n;

	for (; (n = utf8_next(s, &cp)); s += n)
		if (!utf8_harmless(cp))
			return false;
	return true;
}

/* NAME=VALUE, or NAME, the length in eight bytes, and so many bytes of value; each ended by a
 * line's end. */
static void field_holds(const char **at, const char *end)
{
	size_t n = strspn(*at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	const char *s = *at + n, *nl;
	uint64_t len;

	if (!n || s == end || (*s != '=' && *s != '\n'))
		abort();
	if (*s == '=') {
		nl = memchr(s, '\n', (size_t)(end - s));
		if (!nl)
			abort();
		*at = nl + 1;
		return;
	}
	if ((size_t)(end - ++s) < sizeof(len))
		abort();
	memcpy(&len, s, sizeof(len));
	s += sizeof(len);
	if (len >= (size_t)(end - s) || s[len] != '\n')
		abort();
	*at = s + len + 1;
}

static void datagrams_hold(struct play *p)
{
	char buf[65537];
	ssize_t n;

	while (p->said[0] >= 0 && (n = recv(p->said[0], buf, sizeof(buf) - 1, MSG_DONTWAIT)) > 0) {
		const char *at = buf;

		buf[n] = '\0';
		/* To the service manager: no line's end behind the last. */
		if (str_starts(buf, "STATUS=") || str_starts(buf, "WATCHDOG=") ||
		    str_starts(buf, "STOPPING=")) {
			buf[n] = '\n';
			n++;
		}
		while (at < buf + n)
			field_holds(&at, buf + n);
	}
}

static void line_holds(const char *line, bool json)
{
	static const char *const keys[] = { "schema", "time", "event", "sentence" };
	json_error_t why;
	json_t *j;

	if (!is_harmless(line) && !json)
		abort();
	if (!json)
		return;
	j = json_loads(line, JSON_REJECT_DUPLICATES, &why);
	for (size_t i = 0; i < 4; i++)
		if (!json_is_string(json_object_get(j, keys[i])))
			abort();
	if (!is_harmless(json_string_value(json_object_get(j, "sentence"))))
		abort();
	json_decref(j);
}

static bool step(struct play *p, struct hint *hint);

static size_t made_step(struct play *p, long long until, struct hint *out)
{
	*out = (struct hint){ .kind = HINT_STOP, .via = "signal" };
	if (until <= p->now && p->spins++ > SPINS)
		abort();
	if (until > p->now)
		p->spins = 0;
	if (++p->waits > WAITS)
		return 1;
	if (p->until >= until) {
		p->now = until > p->now ? until : p->now + 1;
		return 0;
	}
	p->now = p->until > p->now ? p->until : p->now;
	if (p->at >= p->end || p->steps >= STEPS)
		return 1;
	out->via = NULL;
	if (!step(p, out))
		*out = (struct hint){ .kind = HINT_STOP, .via = "signal" };
	return out->via ? 1 : 0;
}

static size_t made_wait(struct source *s, long long until, struct hint *out, size_t cap)
{
	struct play *p = play_of(s);
	size_t n;

	if (!cap)
		abort();
	datagrams_hold(p);
	p->k.watching = false;
	n = made_step(p, until, out);
	p->k.watching = true;
	return n;
}

static struct host *made_open(void *ctx, struct err *e)
{
	(void)e;
	return kernel_open(&((struct play *)ctx)->k);
}

static const struct source_ops made_ops = {
	.now = made_now,
	.time = made_time,
	.wait = made_wait,
	.busy = made_busy,
	.stamp = made_stamp,
	.listen = made_listen,
};

/* r report, p re-apply, o back-off, c or none what the file says; j as JSON, s to the system's
 * journal, n to the service manager, 1 one look. */
static void watch_begin(struct play *p, const char *how)
{
	static const char *const reactions = "rpo";
	const char *r = strpbrk(how, reactions);
	struct reporter say = { .json = strchr(how, 'j') != NULL, .journal_fd = -1 };
	struct watch w = { .open = made_open,
			   .ctx = p,
			   .source = &p->source,
			   .reporter = &say,
			   .policy_file = WATCH_CONF,
			   .reaction = r && !strchr(how, 'c')
					       ? (int)(strchr(reactions, *r) - reactions)
					       : -1,
			   .once = strchr(how, '1') != NULL,
			   .notify_fd = -1,
			   .watchdog_ms = strchr(how, 'n') ? 30000 : 0 };
	struct watch_sum sum = { 0 };
	struct err e = { 0 };
	char *text = NULL, *save = NULL;
	size_t len = 0;
	int code;

	p->how = w.reaction < 0 ? "c" : r;
	p->source.ops = &made_ops;
	p->waits = p->spins = 0;
	p->until = p->now;
	p->tries = (struct map){ 0 };
	if (strpbrk(how, "sn") &&
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p->said))
		abort();
	if (strchr(how, 's'))
		say.journal_fd = p->said[1];
	if (strchr(how, 'n'))
		w.notify_fd = p->said[1];
	say.out = open_memstream(&text, &len);
	if (!say.out)
		abort();
	p->k.watching = true;
	code = watch_run(&w, &sum, &e);
	p->k.watching = false;
	fclose(say.out);
	if (code && !*e.text)
		abort();
	datagrams_hold(p);
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		line_holds(l, say.json);
	free(text);
	for (int i = 0; i < 2 && p->said[0] >= 0; i++)
		close(p->said[i]);
	p->said[0] = p->said[1] = -1;
}

static void give_hint(struct play *p, char *const *f, struct hint *out)
{
	static const struct {
		char letter;
		enum hint_kind kind;
		const char *via;
	} kinds[] = { { 'p', HINT_PATH, "fanotify" }, { 'l', HINT_LINK, "netlink" },
		      { 'd', HINT_DEVICE, "uevent" }, { 'g', HINT_GPU, "nvml" },
		      { 'a', HINT_ALL, "inotify" },   { 'r', HINT_RELOAD, "signal" } };
	long long pid = 0, uid = -1;

	(void)parse_i64(f[3], &pid);
	(void)parse_i64(f[4], &uid);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (*f[1] == kinds[i].letter) {
			*out = (struct hint){ .kind = kinds[i].kind, .via = kinds[i].via };
			snprintf(out->what, sizeof(out->what), "%s", f[2]);
			out->who = (struct who){ .pid = (long)pid, .login_uid = uid };
			if (pid > 0)
				snprintf(out->who.name, sizeof(out->who.name), "%s", f[5]);
		}
	/* What it left alone it may set again. */
	if (*f[1] == 'r')
		p->tries = (struct map){ 0 };
}

#endif
