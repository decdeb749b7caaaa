/* SPDX-License-Identifier: Apache-2.0 */
/* Fact states and their names. */
#include "base/fact.h"

#include <errno.h>
#include <string.h>

static const char *const seen_names[] = {
	[SEEN_UNASKED] = "unasked",	    [SEEN_OK] = "ok",
	[SEEN_ABSENT] = "absent",	    [SEEN_DENIED] = "denied",
	[SEEN_UNSUPPORTED] = "unsupported", [SEEN_ERROR] = "error",
};

enum seen seen_from_errno(int r)
{
	switch (r < 0 ? -r : r) {
	case 0:
		return SEEN_OK;
	case ENOENT:
	case ENOTDIR:
	case ENXIO:
	case ENODEV:
	case ELIBACC:
		return SEEN_ABSENT;
	case EACCES:
	case EPERM:
		return SEEN_DENIED;
	case EOPNOTSUPP:
	case ENOSYS:
	case EINVAL:
	case ENOTTY:
		return SEEN_UNSUPPORTED;
	case ENOMEDIUM: /* HOST_NOT_CAPTURED */
		return SEEN_UNASKED;
	default:
		return SEEN_ERROR;
	}
}

const char *seen_name(enum seen s)
{
	return seen_names[s];
}

int seen_parse(const char *name)
{
	for (size_t i = 0; i < sizeof(seen_names) / sizeof(seen_names[0]); i++)
		if (strcmp(seen_names[i], name) == 0)
			return (int)i;
	return -1;
}

const char *fact_from(struct arena *a, const struct fact *f)
{
	if (!f->leaf)
		return "";
	if (!f->dir)
		return f->leaf;
	return arena_printf(a, "%s%s", f->dir, f->leaf);
}

bool fact_is(const struct fact_str *f, const char *s)
{
	return seen_ok(&f->f) && strcmp(f->v, s) == 0;
}

const char *fact_text(const struct fact_str *f, const char *fallback)
{
	return seen_ok(&f->f) ? f->v : fallback;
}
