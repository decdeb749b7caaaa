/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any texts as arguments of the library: the first byte says which function, the first line is the
 * id or the capture's path, the rest the options. A result is JSON; an error has a number and a
 * sentence, and is never both.
 */
#include <gputune/gputune.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void holds(char *result, const struct gputune_error *e)
{
	json_t *j;

	if (!result) {
		if (e->code <= 0 || !*e->text || !memchr(e->text, '\0', sizeof(e->text)) ||
		    !memchr(e->hint, '\0', sizeof(e->hint)))
			abort();
		return;
	}
	j = json_loads(result, JSON_REJECT_DUPLICATES, NULL);
	if (e->code || !json_is_string(json_object_get(j, "schema")))
		abort();
	json_decref(j);
	gputune_free(result);
}

/* Once: a machine is only a name. */
static struct gputune_machine *captured(void)
{
	static struct gputune_machine *m;

	if (!m)
		m = gputune_open(MACHINES "/nothing", NULL);
	if (!m)
		abort();
	return m;
}

static void open_any(const char *path)
{
	struct gputune_error e = { 0 };
	struct gputune_machine *m = gputune_open(path, &e);

	if (!m == !e.code)
		abort();
	gputune_close(m);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct gputune_error e = { 0 };
	char *first, *options;

	if (!size)
		return 0;
	/* Of its own size: a byte too far is seen. */
	first = malloc(size);
	if (!first)
		abort();
	memcpy(first, data + 1, size - 1);
	first[size - 1] = '\0';
	options = strchr(first, '\n');
	if (options)
		*options++ = '\0';
	switch (*data) {
	case 'f':
		holds(gputune_facts(captured(), options, &e), &e);
		break;
	case 'c':
		holds(gputune_check(captured(), options, &e), &e);
		break;
	case 'e':
		holds(gputune_explain(captured(), first, options, &e), &e);
		break;
	case 'p':
		holds(gputune_plan(captured(), options, &e), &e);
		break;
	case 'l':
		holds(gputune_list(options, &e), &e);
		break;
	case '0':
		holds(gputune_check(NULL, options, &e), &e);
		break;
	case 'o':
		open_any(first);
		break;
	default:
		break;
	}
	free(first);
	return 0;
}
