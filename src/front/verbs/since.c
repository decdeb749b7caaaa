/* SPDX-License-Identifier: Apache-2.0 */
/* --since: an earlier reading of this machine, from a result of "show --format json" or a capture.
 * It is somebody's file: what it says is believed of counters alone. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front/verbs/cmd.h"

enum { READING_MAX = 64 << 20 };

static int bad(struct err *e, const char *path, const char *why)
{
	return err_set(e, -EINVAL, "%s: %s", path, why);
}

/* The facts of a result, as a machine. */
static int facts_of(struct arena *a, const char *path, const json_t *j, struct machine *m,
		    struct err *e)
{
	const char *schema = json_string_value(json_object_get(j, "schema"));

	if (!schema || strcmp(schema, "gputune.show/1") != 0 ||
	    strcmp(json_string_value(json_object_get(j, "subject"))
			   ? json_string_value(json_object_get(j, "subject"))
			   : "",
		   "all") != 0)
		return bad(e, path, "it is no result of \"gputune show --format json\"");
	return schema_from_json(a, &schema_machine, json_object_get(j, "facts"), m, e);
}

static int read_result(struct arena *a, const char *path, struct machine *m, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), ret;
	json_error_t why;
	struct stat st;
	json_t *j;

	if (fd < 0)
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > READING_MAX) {
		close(fd);
		return bad(e, path, "it is no file of a size that a reading has");
	}
	j = json_loadfd(fd, JSON_REJECT_DUPLICATES, &why);
	close(fd);
	ret = j ? facts_of(a, path, j, m, e) : bad(e, path, why.text);
	json_decref(j);
	return ret;
}

/* A capture, by way of JSON: texts of the probes live in the host, which is closed again. */
static int read_capture(struct run *r, const char *path, struct machine *m, struct err *e)
{
	struct host *h = host_open_capture(path, e);
	json_t *j;
	int ret;

	if (!h)
		return -EINVAL;
	j = schema_to_json(&schema_machine, run_machine(r, h, true));
	host_close(h);
	ret = schema_from_json(&r->arena, &schema_machine, j, m, e);
	json_decref(j);
	return ret;
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
static int compare(const char *path, const struct machine *now, const struct machine *then,
		   struct err *e)
{
	if (seen_ok(&now->nodename.f) && seen_ok(&then->nodename.f) &&
	    strcmp(now->nodename.v, then->nodename.v) != 0) {
		err_set(e, -EINVAL, "%s: a reading of %s, not of %s", path, then->nodename.v,
			now->nodename.v);
		err_hint(e, "captures carry other names, unless taken with --no-redact; \"gputune "
			    "show --format json\" keeps them");
		return -EINVAL;
	}
	if (fact_or(&then->time_s, 0) <= 0 || fact_or(&then->time_s, 0) >= fact_or(&now->time_s, 0))
		return bad(e, path, "it was not read before this one");
	return 0;
}

bool run_since(struct run *r, struct machine *m)
{
	const char *path = r->value[OPT_SINCE];
	struct machine *then;
	struct err e = { 0 };
	int ret;

	if (!path)
		return true;
	then = ARENA_NEW(&r->arena, struct machine);
	memset(then, 0, sizeof(*then));
	ret = begins_as_json(path) ? read_result(&r->arena, path, then, &e)
				   : read_capture(r, path, then, &e);
	if (ret || compare(path, m, then, &e)) {
		complain(EXIT_USAGE, &e);
		return false;
	}
	m->earlier = then;
	return true;
}
