/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs begin with: the machine that is meant, what it is, the profile; and how they complain.
 */
#include <string.h>

#include "base/text.h"
#include "front/verbs/cmd.h"
#include "front/verbs/fenced.h"
#include "knowledge/knowledge.h"
#include "look/probe/probe.h"
#include "machine/write/write.h"
#include "render/glyph.h"

/* A sentence may hold a name or a text of others: none of it moves the cursor or sets a colour. */
int complain(int code, const struct err *e)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, "gputune: ");
	glyph_clean(&t, e->text, false);
	if (e->hint[0]) {
		text_add(&t, "\n         ");
		glyph_clean(&t, e->hint, false);
	}
	fprintf(stderr, "%s\n", t.s);
	return code;
}

int complain_text(int code, const char *fmt, ...)
{
	struct err e = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	return complain(code, &e);
}

struct host *run_host(struct run *r)
{
	const char *capture = r->value[OPT_HOST], *overlay = r->value[OPT_OVERLAY];
	struct err e = { 0 };
	struct host *h;

	if (overlay && !capture) {
		complain_text(EXIT_USAGE, "--overlay goes with --host CAPTURE");
		return NULL;
	}
	if (!capture)
		return run_live(r);
	h = overlay ? host_open_overlay(capture, overlay, &e) : host_open_capture(capture, &e);
	if (!h)
		complain(EXIT_USAGE, &e);
	return h;
}

static void warn_of_rows(void *ctx, const struct err *e)
{
	(void)ctx;
	complain(EXIT_CLEAN, e);
}

const struct knowledge *run_knowledge(struct run *r)
{
	struct knowledge *k;
	struct host *h;

	if (r->known)
		return r->known;
	k = ARENA_NEW(&r->arena, struct knowledge);
	h = run_live(r);
	knowledge_read(&r->arena, h, r->value[OPT_HOST] != NULL, warn_of_rows, NULL, k);
	host_close(h);
	r->known = k;
	return k;
}

struct machine *run_machine(struct run *r, struct host *h, bool deep)
{
	struct machine *m = ARENA_NEW(&r->arena, struct machine);
	/* A capture answers everything at once; on a machine `check` leaves out what rules do not
	 * need. */
	struct probe p = { .h = h,
			   .a = &r->arena,
			   .m = m,
			   .deep = deep || h->id.captured,
			   .lean = r->verb->run == verb_check && !r->value[OPT_PROFILE] &&
				   !r->value[OPT_SINCE],
			   .config = r->verb->run == verb_capture };

	probe_machine(&p);
	run_own_changes(r, h, m);
	/* The names of all other devices stand in a file of 1.3 MB that only this page is worth. */
	if (r->verb->run == verb_show && r->n_args && strcmp(r->args[0], "pci") == 0)
		pci_names_fill(&p);
	return m;
}

bool run_narrow(struct run *r, struct profile *p)
{
	struct err e = { 0 };

	if ((r->value[OPT_ONLY] && profile_narrow(&r->arena, p, r->value[OPT_ONLY], false, &e)) ||
	    (r->value[OPT_SKIP] && profile_narrow(&r->arena, p, r->value[OPT_SKIP], true, &e)) ||
	    profile_check_some(&r->arena, p, &e)) {
		complain(EXIT_USAGE, &e);
		return false;
	}
	return true;
}

bool run_profile(struct run *r, struct profile *p)
{
	struct err e = { 0 };
	const char *name = r->value[OPT_PROFILE] ? r->value[OPT_PROFILE] : "default";

	if (profile_load(&r->arena, name, p, &e)) {
		complain(EXIT_USAGE, &e);
		return false;
	}
	return run_narrow(r, p);
}
