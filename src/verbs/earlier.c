/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --since: an earlier reading of this machine, from a result of "show --format json" or a capture.
 * It is somebody's file: what it says is believed of counters alone.
 */
#include "verbs/earlier.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/shape.h"

enum { READING_MAX = 64 << 20 };

static const struct ask_row earlier_ask_rows[] = {
	{ "since",
	  "judge error counters by their growth since this earlier reading (show --format json, or "
	  "a capture)",
	  ASK_TEXT(earlier_ask, since), .arg = "READING", .files = true },
};
const struct ask_shape earlier_ask_shape = ASK_SHAPE(earlier_ask, "Machine", earlier_ask_rows);

static int bad(struct err *e, const char *path, const char *why)
{
	return err_set(e, -EINVAL, "%s: %s", path, why);
}

/* The facts of a result, as a machine. */
static int facts_of(struct arena *a, const char *path, const json_t *j, struct machine *m,
		    struct err *e)
{
	const char *schema = json_string_value(json_object_get(j, "schema"));
	const char *subject = json_string_value(json_object_get(j, "subject"));
	struct err why = { 0 };

	if (!schema || strcmp(schema, "gputune.show/1") != 0 || !subject ||
	    strcmp(subject, "all") != 0)
		return bad(e, path, "not a result of \"gputune show --format json\"");
	return shape_read(a, &machine_shape, json_object_get(j, "facts"), m, &why)
		       ? bad(e, path, why.text)
		       : 0;
}

static int read_result(struct arena *a, const char *path, struct machine *m, struct err *e)
{
	json_auto_t *j = NULL;
	int ret = json_from_file(path, READING_MAX, &j, e);

	if (ret)
		return ret;
	ret = facts_of(a, path, j, m, e);
	return ret;
}

static int read_capture(struct door *d, const char *path, struct machine *m, struct err *e)
{
	HOST_AUTO *h = host_open_capture(path, e);

	if (!h)
		return -EINVAL;
	*m = *door_machine(d, h, &(struct door_look){ .deep = true });
	return 0;
}

static bool begins_as_json(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char c = '\0';
	bool yes = fd >= 0 && read(fd, &c, 1) == 1 && c == '{';

	if (fd >= 0)
		close(fd);
	return yes;
}

/* 0, or why the two are no readings of one machine, in order. */
static int compare_readings(const char *path, const struct machine *now, const struct machine *then,
			    struct err *e)
{
	if (seen_ok(&now->nodename.f) && seen_ok(&then->nodename.f) &&
	    strcmp(now->nodename.v, then->nodename.v) != 0) {
		err_set(e, -EINVAL, "%s: read on machine %s, not on %s", path, then->nodename.v,
			now->nodename.v);
		err_hint(e, "a capture replaces names unless taken with --no-redact; \"gputune "
			    "show --format json\" keeps them");
		return -EINVAL;
	}
	if (fact_or(&then->time_s, 0) <= 0 || fact_or(&then->time_s, 0) >= fact_or(&now->time_s, 0))
		return bad(e, path, "the earlier reading is not older than the new reading");
	return 0;
}

int door_earlier(struct door *d, const struct earlier_ask *ask, struct machine *m)
{
	const char *path = ask->since;
	struct machine *then;
	struct err e = { 0 };
	int ret;

	if (!path)
		return 0;
	then = ARENA_NEW(d->arena, struct machine);
	ret = begins_as_json(path) ? read_result(d->arena, path, then, &e)
				   : read_capture(d, path, then, &e);
	if (ret || compare_readings(path, m, then, &e))
		return door_fail(d, EXIT_USAGE, &e);
	m->earlier = then;
	return 0;
}
