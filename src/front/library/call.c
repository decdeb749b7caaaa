/* SPDX-License-Identifier: Apache-2.0 */
/* One call: nothing of it outlives its end but the text that it returns. */
#include "front/library/call.h"

#include <string.h>
#include <unistd.h>

#include "look/probe/probe.h"
#include "tune/txn/txn.h"

void call_error(struct gputune_error *error, int code, const struct err *e)
{
	_Static_assert(sizeof(error->text) >= sizeof(e->text) &&
			       sizeof(error->hint) >= sizeof(e->hint),
		       "sentences fit");

	if (!error)
		return;
	*error = (struct gputune_error){ .code = code < 0 ? -code : code };
	memcpy(error->text, e->text, sizeof(e->text));
	memcpy(error->hint, e->hint, sizeof(e->hint));
}

struct host *call_open_host(const char *capture, struct err *e, int *code)
{
	struct host *h;

	if (!capture)
		return host_open_live();
	h = host_open_capture(capture, e);
	if (!h)
		*code = access(capture, F_OK) ? -errno : -EINVAL;
	return h;
}

bool call_begin(struct call *c, const struct gputune_machine *m, const char *options,
		unsigned allowed)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	*c = (struct call){ 0 };
	/* Numbers are written and read with a point, whatever the caller's language. */
	if (plain)
		c->callers = uselocale(plain);
	if (!options_read(c, options, allowed))
		return false;
	if (m)
		c->host = call_open_host(m->capture, &c->err, &c->code);
	return !m || c->host;
}

void call_look(struct call *c, bool lean, bool config)
{
	struct journal ignored;
	struct probe p = { .h = c->host,
			   .a = &c->arena,
			   .m = &c->m,
			   .deep = c->deep || c->host->id.captured,
			   .lean = lean,
			   .config = config,
			   .session = config };

	probe_machine(&p);
	our_clock_locks(c->host, &c->arena, &c->m, &ignored);
}

char *call_end(struct call *c, json_t *result, struct gputune_error *error)
{
	char *text = result ? json_dumps(result, JSON_INDENT(2)) : NULL;

	if (!text && !c->code) {
		c->code = -ENOMEM;
		err_set(&c->err, -ENOMEM, "there is no memory for the result");
	}
	if (!text)
		call_error(error, c->code, &c->err);
	json_decref(result);
	if (c->host)
		host_close(c->host);
	arena_free(&c->arena);
	if (c->callers)
		freelocale(uselocale(c->callers));
	return text;
}
