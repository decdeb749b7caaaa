/* SPDX-License-Identifier: Apache-2.0 */
/* What documents say, as facts and figures of their machine. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "many/history/history.h"
#include "many/read/read.h"

struct take {
	struct history *h;
	struct history_sum *sum;
	struct read_ask read;
	long long machine, t;
	bool failed; /* the file cannot be written */
	struct err *e;
	int code; /* of the document */
};

static void put(struct take *k, const char *kind, const char *name, const char *target,
		const char *state, const char *value, const char *wanted)
{
	const struct history_fact f = { kind, name, target, NULL, state, value, wanted };

	if (!k->failed && name && (state || value))
		k->failed = history_put(k->h, k->machine, k->t, &f, k->sum) != 0;
}

static void version(struct take *k, const char *name, const char *target, const char *value)
{
	put(k, "version", name, target, NULL, value, NULL);
}

/* --- one of each schema ----------------------------------------------------------------------- */

/* Readings of a health check change with every look; its verdict is what is kept. */
static void take_check(struct take *k, const json_t *j)
{
	const json_t *it;
	size_t i;

	json_array_foreach(json_object_get(j, "findings"), i, it)
	{
		bool health = json_is_true(json_object_get(it, "health"));

		put(k, health ? "health" : "setting", read_string(it, "id"),
		    read_string(it, "target"), read_string(it, "verdict"),
		    health ? NULL : read_string(it, "current"),
		    health ? NULL : read_string(it, "wanted"));
	}
	put(k, "tool", "profile", NULL, NULL, read_string(json_object_get(j, "profile"), "name"),
	    NULL);
}

static void take_rows(struct take *k, const json_t *j)
{
	const char *kind =
		str_starts(read_string(j, "schema"), "gputune.status") ? "status" : "verify";
	const json_t *it;
	size_t i;

	json_array_foreach(json_object_get(j, "rows"), i, it)
	{
		put(k, kind, read_string(it, "id"), read_string(it, "target"),
		    read_string(it, "state"), read_string(it, "now"), read_string(it, "wanted"));
	}
}

static void take_figure(void *ctx, const struct read_figure *r)
{
	struct take *k = ctx;

	if (k->failed)
		return;
	k->failed = history_measure(
			    k->h, k->machine, k->t,
			    &(struct history_fact){ .kind = r->lower ? "lower" : "higher",
						    .name = arena_printf(k->h->a, "%s/%s %s",
									 r->bench, r->name, r->key),
						    .unit = r->unit },
			    r->median, k->sum) != 0;
}

static void take_bench(struct take *k, const json_t *j)
{
	const json_t *v;
	const char *key;

	k->code = read_figures(k->h->a, j, take_figure, k, k->e);
	if (k->code)
		return;
	json_object_foreach((json_t *)json_object_get(j, "fingerprint"), key, v)
	{
		/* What the kernel keeps for itself differs from boot to boot. */
		if (strcmp(key, "memory_kib") != 0)
			version(k, key, NULL, json_string_value(v));
	}
}

static void take_show(struct take *k, const json_t *j)
{
	const json_t *it;
	size_t i;

	read_items(k->h->a, (json_t *)j, true);
	json_array_foreach(json_object_get(j, "rows"), i, it)
	{
		version(k, read_string(it, "id"), read_string(it, "target"),
			read_string(it, "state"));
	}
}

static void take_ledger(struct take *k, const json_t *j)
{
	const char *on =
		read_string(j, "bench") ? read_string(j, "bench") : read_string(j, "command");
	const json_t *ratio = json_object_get(j, "ratio");

	put(k, "proof", arena_printf(k->h->a, "%s on %s", read_string(j, "setting"), on),
	    read_string(j, "target"), read_string(j, "verdict"),
	    arena_printf(k->h->a, "%.4f", json_number_value(ratio)), read_string(j, "after"));
}

/* What gputune changed, each at its own time. */
static void take_history(struct take *k, const json_t *j)
{
	const json_t *t, *c;
	size_t i, n;

	json_array_foreach(json_object_get(j, "transactions"), i, t)
	{
		long long then = k->t;

		if (!read_string(t, "time") || stamp_parse(read_string(t, "time"), &k->t))
			continue;
		json_array_foreach(json_object_get(t, "changes"), n, c)
		{
			put(k, "change", read_string(c, "id"), read_string(c, "target"),
			    read_string(c, "state"), read_string(c, "after"),
			    read_string(c, "before"));
		}
		k->t = then;
	}
}

static const struct {
	const char *schema;
	void (*take)(struct take *k, const json_t *j);
	const char *list; /* what it must have */
} documents[] = {
	{ "gputune.check/1", take_check, "findings" },
	{ "gputune.status/1", take_rows, "rows" },
	{ "gputune.verify/1", take_rows, "rows" },
	{ "gputune.bench/1", take_bench, "cases" },
	{ "gputune.show/1", take_show, "facts" },
	{ "gputune.ledger/1", take_ledger, "verdict" },
	{ "gputune.history/1", take_history, "transactions" },
};

enum { DOCUMENTS = sizeof(documents) / sizeof(documents[0]) };

/* --- whose, and when -------------------------------------------------------------------------- */

static int time_of(struct take *k, const json_t *j, struct err *e)
{
	const char *time = read_string(j, "time");

	if (!time || stamp_parse(time, &k->t))
		return err_set(e, -EINVAL, "the result has no time");
	if (k->t > k->h->now_s + HISTORY_FUTURE_S)
		return err_set(
			e, -EINVAL,
			"the result's time %.32s is in the future: check the clock of that machine",
			time);
	return 0;
}

/* 0; -EINVAL and *e where it is none that is taken. */
static int take_document(struct take *k, const json_t *j, const struct read_from *from,
			 struct err *e)
{
	const char *schema = read_string(j, "schema"), *name, *value;
	const json_t *host = json_object_get(j, "host");
	size_t i = 0;
	int code;

	while (schema && i < DOCUMENTS && strcmp(schema, documents[i].schema) != 0)
		i++;
	if (!schema || i == DOCUMENTS)
		return err_set(e, -EINVAL, "this version cannot add results of schema %.64s",
			       schema ? schema : "JSON without a schema");
	/* --compact leaves an empty list out. */
	if (!json_object_get(j, documents[i].list) && !json_object_get(j, "exit_code"))
		return err_set(e, -EINVAL, "the result has no %s", documents[i].list);
	name = read_machine(j, from, e);
	if (!name || time_of(k, j, e))
		return -EINVAL;
	if (k->h->n_machines >= HISTORY_MACHINES_MAX || k->h->n_items >= HISTORY_ITEMS_MAX)
		return err_set(e, -EINVAL, "the history holds %d machines or %d facts, the limit",
			       HISTORY_MACHINES_MAX, HISTORY_ITEMS_MAX);
	code = history_machine(k->h, name, read_string(j, "machine"), &k->machine);
	k->failed = code < 0;
	if (code > 0)
		k->read.refuse(k->read.owner, from->file,
			       arena_printf(k->h->a,
					    "another machine is also called %s: stored with its "
					    "identity after the name",
					    name));
	k->e = e;
	k->code = 0;
	documents[i].take(k, j);
	if (k->code)
		return k->code;
	value = read_string(host, "kernel");
	if (host)
		version(k, "kernel", NULL, value);
	put(k, "tool", "gputune", NULL, NULL, read_string(j, "tool_version"), NULL);
	k->sum->documents++;
	return 0;
}

/* --- dpkg's log ------------------------------------------------------------------------------- */

/* "2026-09-01 04:05:06 upgrade libnccl2:amd64 2.20 2.21": local time. False: another line. */
static bool take_package(struct take *k, char *line)
{
	char *word[6] = { 0 }, *at = NULL;
	struct tm tm = { .tm_isdst = -1 };
	int n = 0;

	for (char *w = strtok_r(line, " ", &at); w && n < 6; w = strtok_r(NULL, " ", &at))
		word[n++] = w;
	if (n < 6 ||
	    (strcmp(word[2], "upgrade") != 0 && strcmp(word[2], "install") != 0 &&
	     strcmp(word[2], "remove") != 0 && strcmp(word[2], "purge") != 0) ||
	    sscanf(word[0], "%4d-%2d-%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday) != 3 ||
	    sscanf(word[1], "%2d:%2d:%2d", &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 3)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	k->t = (long long)mktime(&tm);
	if (k->t <= 0 || k->t > k->h->now_s + HISTORY_FUTURE_S)
		return false;
	k->t--;
	for (int i = 4; i < 6; i++, k->t++)
		put(k, "package", word[3], NULL, NULL,
		    strcmp(word[i], "<none>") == 0 ? "none" : word[i], NULL);
	return true;
}

static bool is_dpkg_log(const char *text, size_t len)
{
	return len > 20 && isdigit((unsigned char)text[0]) && text[4] == '-' && text[10] == ' ' &&
	       text[13] == ':';
}

static void take_packages(struct take *k, const struct read_from *from, const char *text,
			  size_t len)
{
	struct arena line = { 0 };

	if (!from->name) {
		k->read.refuse(k->read.owner, from->file,
			       "a package log names no machine; give --machine NAME");
		return;
	}
	k->failed = history_machine(k->h, from->name, NULL, &k->machine) < 0;
	for (const char *at = text, *end = text + len; at < end && !k->failed;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((nl ? nl : end) - at);

		if (n < HISTORY_TEXT_MAX)
			(void)take_package(k, arena_strndup(&line, at, n));
		arena_free(&line);
		at += n + 1;
	}
	k->sum->documents++;
	k->read.stop = k->failed;
}

static int add_document(void *ctx, const struct read_from *from, const char **at, const char *end,
			struct err *e)
{
	struct take *k = ctx;
	json_error_t why;
	json_auto_t *j = json_loadb(*at, (size_t)(end - *at),
				    JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &why);
	int code;

	if (!j)
		return err_set(e, -EINVAL, "no JSON: %s", why.text);
	*at += why.position;
	code = take_document(k, j, from, e);
	k->read.stop = k->failed;
	return code;
}

static bool add_packages(void *ctx, const struct read_from *from, const char *text, size_t len)
{
	if (!is_dpkg_log(text, len))
		return false;
	take_packages(ctx, from, text, len);
	return true;
}

int history_add(struct history *h, const char *path, const char *name,
		void (*refuse)(void *ctx, const char *file, const char *why), void *ctx,
		struct history_sum *sum, struct err *e)
{
	struct take k = { .h = h,
			  .sum = sum,
			  .read = { .name = name,
				    .most = 1 << 30,
				    .document = add_document,
				    .text = add_packages,
				    .refuse = refuse,
				    .owner = ctx } };

	h->sql.e = e;
	k.read.ctx = &k;
	read_path(&k.read, path);
	return k.failed ? -EINVAL : 0;
}
