/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fact is a value and how it was seen. Unknown is a value: a probe never fails, it observes.
 * All fact types begin with struct fact, so that one piece of code can ask any of them how it was
 * seen.
 */
#ifndef BASE_FACT_H
#define BASE_FACT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/idset.h"

enum seen {
	SEEN_UNASKED, /* nobody looked, or the capture does not say */
	SEEN_OK,
	SEEN_ABSENT,	  /* the machine does not have it */
	SEEN_DENIED,	  /* this user may not see it */
	SEEN_UNSUPPORTED, /* kernel, driver or library answers "not supported" */
	SEEN_ERROR,	  /* it answered with nonsense or failed; err says how */
};

struct fact {
	enum seen seen;
	int err; /* positive errno for anything but SEEN_OK, 0 otherwise */
	/* Where it was read: dir + leaf when dir is set ("/sys/.../cpu0/" "topology/core_id"), else
	 * leaf alone ("nvmlDeviceGetName"). Both outlive the fact; dir is shared by all facts of an
	 * object. */
	const char *dir;
	const char *leaf;
};

struct fact_int {
	struct fact f;
	long long v;
};

struct fact_str {
	struct fact f;
	const char *v; /* NULL unless seen */
};

struct fact_set {
	struct fact f;
	struct idset v;
};

static inline bool seen_ok(const struct fact *f)
{
	return f->seen == SEEN_OK;
}

/* The state that a negative errno of the host interface means. */
enum seen seen_from_errno(int r);
/* "ok", "absent", "denied", "unsupported", "error", "unasked" and back (-1 when unknown). */
const char *seen_name(enum seen s);
int seen_parse(const char *name);
/* The full path or call, in arena memory; "" when nobody looked. */
const char *fact_from(struct arena *a, const struct fact *f);
/* True when the text fact was seen and equals s. */
bool fact_is(const struct fact_str *f, const char *s);
/* The value when it was seen, otherwise fallback. */
static inline long long fact_or(const struct fact_int *f, long long fallback)
{
	return seen_ok(&f->f) ? f->v : fallback;
}
const char *fact_text(const struct fact_str *f, const char *fallback);

#endif
