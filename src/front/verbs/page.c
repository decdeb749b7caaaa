/* SPDX-License-Identifier: Apache-2.0 */
/* Results on their way out: terminal, Markdown, HTML or JSON. */
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_print.h"
#include "front/verbs/page.h"
#include "machine/host/libraries.h"

static bool wants_colour(const struct run *r)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (r->value[OPT_NO_COLOR] || (no && *no) || !r->tty)
		return false;
	return term && strcmp(term, "dumb") != 0;
}

struct term_style run_style(const struct run *r)
{
	struct term_style how = { .width = r->width, .colour = wants_colour(r) };

	how.ascii = r->value[OPT_ASCII] || !setlocale(LC_CTYPE, "") ||
		    strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	return how;
}

int run_print_doc(struct run *r, const struct doc *d, const char *title)
{
	const char *format = r->value[OPT_FORMAT] ? r->value[OPT_FORMAT] : "term";
	struct term_style how;
	struct err e = { 0 };

	if (strcmp(format, "md") == 0) {
		doc_md(r->out, d);
	} else if (strcmp(format, "html") == 0) {
		if (library_open(LIBRARY_SODIUM, &e))
			return complain(EXIT_BLIND, &e);
		doc_html(r->out, d, title);
	} else if (strcmp(format, "term") == 0) {
		how = run_style(r);
		doc_term(r->out, d, &how);
	} else {
		return complain_text(EXIT_USAGE, "%s has no format %s, it has %s", r->verb->name,
				     format, option_help(r->verb, OPT_FORMAT));
	}
	return EXIT_CLEAN;
}

bool run_wants_json(const struct run *r)
{
	return r->value[OPT_FORMAT] && strcmp(r->value[OPT_FORMAT], "json") == 0;
}

void run_print_json(struct run *r, json_t *j)
{
	json_t *code = json_object_get(j, "exit_code");

	if (json_is_integer(code))
		json_integer_set(code, run_journal_code(r, (int)json_integer_value(code)));
	json_print(r->out, j, JSON_INDENT(2));
	fputc('\n', r->out);
	json_decref(j);
}

int run_check_result_file(const struct run *r)
{
	const char *path = r->value[OPT_JSON];
	FILE *f = path ? fopen(path, "re") : NULL;
	char head[256], schema[64];
	size_t n;

	if (!f)
		return 0;
	n = fread(head, 1, sizeof(head) - 1, f);
	head[n] = '\0';
	fclose(f);
	snprintf(schema, sizeof(schema), "\"gputune.%s/1\"", r->verb->name);
	if (n && !strstr(head, schema))
		return complain_text(EXIT_USAGE,
				     "%s is there and is no result of gputune %s; it is left alone",
				     path, r->verb->name);
	return 0;
}
