/* SPDX-License-Identifier: Apache-2.0 */
/* States of the machine as subsets of one plan's changes. */
#include "measure/prove/switch.h"

#include <errno.h>
#include <string.h>

struct switcher {
	struct arena *a;
	struct txn_trial *trial;
	const struct plan *all;
	struct plan now; /* the changes that are on */
	bool *on;	 /* by change of all */
	size_t switches;
	bool is_original;
};

int switch_begin(struct host *h, struct arena *a, const struct txn_who *who, const char *what,
		 const struct plan *p, struct switcher **out, struct err *e)
{
	struct switcher *s = ARENA_NEW(a, struct switcher);
	struct txn_report report;
	int r;

	*s = (struct switcher){ .a = a,
				.all = p,
				.now = *p,
				.on = arena_array(a, p->n, sizeof(*s->on)),
				.is_original = true };
	s->now.changes = arena_array(a, p->n, sizeof(*s->now.changes));
	s->now.n = 0;
	r = txn_trial_begin(h, a, who, what, &report, &s->trial, e);
	if (r)
		return r;
	/* What the plan saw may be of the interrupted state. */
	if (report.recovered)
		r = err_set(e, -ESTALE,
			    "an interrupted transaction was rolled back first: plan again");
	if (r == 0)
		r = txn_trial_look(s->trial, p, e);
	if (r) {
		struct err ignored = { 0 };

		(void)txn_trial_end(s->trial, &ignored);
		return r;
	}
	*out = s;
	return 0;
}

static bool is_on(const struct switcher *s, const bool *on, size_t i)
{
	return on && on[i] && !s->all->changes[i].gate;
}

bool switch_is(const struct switcher *s, const bool *on)
{
	for (size_t i = 0; i < s->all->n; i++)
		if (is_on(s, on, i) != s->on[i])
			return false;
	return true;
}

static int back(struct switcher *s, struct err *e)
{
	int r = s->is_original ? 0 : txn_trial_revert(s->trial, NULL, e);

	s->is_original = true;
	s->now.n = 0;
	memset(s->on, 0, s->all->n * sizeof(*s->on));
	return r;
}

/* The changes before others in the plan are written before them. */
static int forth(struct switcher *s, const bool *on, const char *op, struct txn_report *report,
		 struct err *e)
{
	int r;

	s->now.n = 0;
	for (size_t i = 0; i < s->all->n; i++)
		if (is_on(s, on, i))
			s->now.changes[s->now.n++] = s->all->changes[i];
	if (!s->now.n)
		return 0;
	r = txn_trial_set(s->trial, &s->now, op, report, e);
	if (r) {
		s->now.n = 0;
		return r;
	}
	s->is_original = false;
	s->switches++;
	for (size_t i = 0; i < s->all->n; i++)
		s->on[i] = is_on(s, on, i);
	return 0;
}

int switch_look(struct switcher *s, struct err *e)
{
	return txn_trial_look(s->trial, s->is_original ? s->all : &s->now, e);
}

int switch_to(struct switcher *s, const bool *on, bool again, struct err *e)
{
	struct txn_report report = { 0 };
	int r;

	if (!again && switch_is(s, on))
		return switch_look(s, e);
	r = back(s, e);
	if (r == 0)
		r = forth(s, on, NULL, &report, e);
	return r ? r : switch_look(s, e);
}

int switch_keep(struct switcher *s, const bool *on, const char *profile, unsigned long *txn,
		struct err *e)
{
	struct txn_report report = { 0 };
	int r = back(s, e);

	s->now.profile = profile;
	if (r == 0)
		r = forth(s, on, "apply", &report, e);
	if (r == 0 && s->is_original)
		return err_set(e, -ENOENT, "there is nothing to keep");
	if (r == 0)
		r = txn_trial_keep(s->trial, e);
	if (r == 0) {
		*txn = report.txn;
		s->is_original = true;
	}
	return r;
}

int switch_end(struct switcher *s, struct err *e)
{
	return txn_trial_end(s->trial, e);
}

size_t switch_count(const struct switcher *s)
{
	return s->switches;
}
