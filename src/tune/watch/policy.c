/* SPDX-License-Identifier: Apache-2.0 */
/* Reading watch.conf: sections are ids or prefixes, and [watch] is for all. Whatever is wrong is
 * named with its line. */
#include "tune/watch/policy.h"

#include <string.h>

#include "base/ini_file.h"
#include "base/text.h"
#include "look/settings/site.h"

enum { FILE_BYTES = 64 << 10, ROWS_MAX = 1000 };
enum { INTERVAL_MS = 30000, MAX_INTERVAL_MS = 300000 };

static const double LEAST_S = 0.1;

static const char *const reactions[] = { "report", "re-apply", "back-off" };

struct reading {
	struct arena *a;
	struct policy *p;
	struct ini_file file;
	bool site; /* it is the site's policy, which has more */
};

void policy_default(struct policy *p)
{
	*p = (struct policy){ .limit = 3,
			      .interval_ms = INTERVAL_MS,
			      .max_interval_ms = MAX_INTERVAL_MS };
}

/* -1 when none is called so. */
static int reaction_parse(const char *name)
{
	for (int i = 0; i < (int)(sizeof(reactions) / sizeof(reactions[0])); i++)
		if (strcmp(name, reactions[i]) == 0)
			return i;
	return -1;
}

const char *reaction_name(enum reaction r)
{
	return reactions[r];
}

static struct policy_row *row_for(struct reading *r, const char *pattern)
{
	struct policy *p = r->p;
	struct err unknown = { 0 };
	const char *near;

	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->rows[i].pattern, pattern) == 0)
			return &p->rows[i];
	if (setting_check(&unknown, pattern)) {
		near = setting_suggest(pattern);
		ini_bad(&r->file, "[%s]: unknown setting%s%s%s", pattern,
			near ? "; did you mean [" : "", near ? near : "", near ? "]?" : "");
		return NULL;
	}
	if (p->n == ROWS_MAX) {
		ini_bad(&r->file, "more than %d sections", ROWS_MAX);
		return NULL;
	}
	p->rows = arena_grow(r->a, p->rows, p->n, sizeof(*p->rows));
	p->rows[p->n] = (struct policy_row){ .pattern = arena_strdup(r->a, pattern),
					     .reaction = -1,
					     .limit = -1 };
	return &p->rows[p->n++];
}

/* policy and limit, of all or of one. 1: it was one of them. */
static int common_key(struct reading *r, const char *key, const char *value, int *reaction,
		      int *limit)
{
	long long n;

	if (strcmp(key, "policy") == 0) {
		*reaction = reaction_parse(value);
		return *reaction < 0
			       ? ini_bad(&r->file,
					 "policy must be report, re-apply or back-off, not \"%s\"",
					 value)
			       : 1;
	}
	if (strcmp(key, "limit") == 0) {
		if (parse_i64(value, &n) || n < 1 || n > POLICY_LIMIT_MAX)
			return ini_bad(&r->file,
				       "limit must be 1 to %d re-applications per hour, not \"%s\"",
				       POLICY_LIMIT_MAX, value);
		*limit = (int)n;
		return 1;
	}
	return -1;
}

static int watch_key(struct reading *r, const char *key, const char *value)
{
	bool longest = strcmp(key, "max-interval") == 0;
	double s;
	int reaction = (int)r->p->reaction,
	    code = common_key(r, key, value, &reaction, &r->p->limit);

	if (code == 1)
		r->p->reaction = (enum reaction)reaction;
	if (code >= 0)
		return code;
	if (strcmp(key, "gpu-events") == 0) {
		r->p->gpu_events = strcmp(value, "on") == 0;
		return r->p->gpu_events || strcmp(value, "off") == 0
			       ? 1
			       : ini_bad(&r->file, "gpu-events must be on or off, not \"%s\"",
					 value);
	}
	if (!longest && strcmp(key, "interval") != 0)
		return ini_bad(&r->file,
			       "unknown key \"%s\" in [watch]; use policy, limit, interval, "
			       "max-interval, gpu-events",
			       key);
	if (parse_seconds(value, &s) || s < LEAST_S)
		return ini_bad(&r->file,
			       "%s must be a time from 100ms to 24h like 30s or 5m, not \"%s\"",
			       key, value);
	*(longest ? &r->p->max_interval_ms : &r->p->interval_ms) = (long long)(1e3 * s + 0.5);
	return 1;
}

static int policy_on_key(void *user, const char *section, const char *key, const char *value)
{
	struct reading *r = user;
	struct policy_row *row;
	int code;

	if (r->site && !site_is_watch(section, key))
		return 1;
	if (!*section)
		return ini_bad(&r->file, "\"%s\" is before any section", key);
	if (strcmp(section, "watch") == 0)
		return watch_key(r, key, value);
	row = row_for(r, section);
	if (!row)
		return 0;
	code = common_key(r, key, value, &row->reaction, &row->limit);
	return code >= 0 ? code
			 : ini_bad(&r->file, "unknown key \"%s\" in [%s]; use policy, limit", key,
				   section);
}

static int read_policy(struct host *h, struct reading *r, const char *path, bool site,
		       struct err *e)
{
	char *text;
	size_t len;
	int code = host_read(h, path, FILE_BYTES, r->a, &text, &len);

	r->file = (struct ini_file){ .path = path, .e = e };
	r->site = site;
	if (code == -ENOENT || code == -ENOTDIR || code == HOST_NOT_CAPTURED)
		return 0;
	if (code)
		return err_set(e, code, "%s: %s", path, strerror(-code));
	return ini_file_read(&r->file, text, len, policy_on_key, r);
}

int policy_load(struct host *h, struct arena *a, const char *path, struct policy *out,
		struct err *e)
{
	struct policy p;
	struct reading r = { .a = a, .p = &p };
	struct site site;
	int code = site_load(h, a, &site, e);

	policy_default(&p);
	code = code || !site.there ? code : read_policy(h, &r, SITE_POLICY, true, e);
	code = code ? code : read_policy(h, &r, path, false, e);
	if (!code)
		*out = p;
	return code;
}

void policy_of(const struct policy *p, const char *id, enum reaction *reaction, int *limit)
{
	size_t by_reaction = 0, by_limit = 0;

	*reaction = p->reaction;
	*limit = p->limit;
	for (size_t i = 0; i < p->n; i++) {
		const struct policy_row *row = &p->rows[i];
		size_t len = strlen(row->pattern);

		if (!id_matches(id, row->pattern))
			continue;
		if (row->reaction >= 0 && len >= by_reaction) {
			*reaction = (enum reaction)row->reaction;
			by_reaction = len;
		}
		if (row->limit >= 0 && len >= by_limit) {
			*limit = row->limit;
			by_limit = len;
		}
	}
}
