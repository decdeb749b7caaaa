/* SPDX-License-Identifier: Apache-2.0 */
/* gputune bench list, bench show and compare: results that are there. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/bench.h"
#include "measure/bench/store.h"
#include "front/verbs/bench.h"
#include "front/verbs/compare_recordings.h"
#include "front/verbs/page.h"
#include "measure/bench/bench_json.h"
#include "look/settings/findings.h"
#include "measure/bench/page_bench.h"

const char *bench_state(struct run *r)
{
	const char *dir = r->value[OPT_STATE];
	char here[PATH_MAX];

	if (!dir)
		return BENCH_STATE;
	if (dir[0] == '/' || !getcwd(here, sizeof(here)))
		return dir;
	return arena_printf(&r->arena, "%s/%s", here, dir);
}

/* A file when there is one of that name, otherwise a kept result of that id. Its text; NULL, and a
 * complaint. */
static const char *bench_load(struct run *r, struct host *h, const char *name, struct record *out)
{
	const char *path = name;
	struct err e = { 0 };
	char here[PATH_MAX], *text = NULL;
	int code;

	if (name[0] != '/' && getcwd(here, sizeof(here)))
		path = arena_printf(&r->arena, "%s/%s", here, name);
	code = host_read(h, path, BENCH_FILE_MAX, &r->arena, &text, NULL);
	if (code == -ENOENT && store_id_sound(name))
		code = store_get(&r->arena, h, bench_state(r), name, &text, &e);
	else if (code)
		err_set(&e, code, "%s cannot be read: %s", path, strerror(-code));
	if (code == 0)
		code = bench_from_json(&r->arena, name, text, out, &e);
	if (code)
		complain(EXIT_USAGE, &e);
	return code ? NULL : text;
}

static struct doc *list_page(struct run *r, const struct record *kept, size_t n)
{
	struct record_pair *names = arena_array(&r->arena, bench_count, sizeof(*names));
	struct doc *d = page_bench_list(&r->arena, kept, n);

	for (size_t i = 0; i < bench_count; i++)
		names[i] = (struct record_pair){ benches[i]->name, benches[i]->title };
	page_bench_names(d, names, bench_count);
	return d;
}

static json_t *list_json(const struct record *kept, size_t n)
{
	json_t *names = json_array(), *results = json_array();

	for (size_t i = 0; i < bench_count; i++)
		json_array_append_new(names, json_pack("{s:s, s:s, s:s}", "name", benches[i]->name,
						       "title", benches[i]->title, "method",
						       benches[i]->method));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(results,
				      json_pack("{s:s, s:I, s:b, s:i}", "id", kept[i].id, "time_s",
						(json_int_t)kept[i].time_s, "partial",
						kept[i].partial, "cases", (int)kept[i].n));
	return json_pack("{s:s, s:s, s:o, s:o}", "schema", "gputune.bench-list/1", "tool_version",
			 GPUTUNE_VERSION, "benches", names, "results", results);
}

int bench_list(struct run *r, struct host *h)
{
	struct err e = { 0 };
	struct record *kept;
	size_t n = 0, k = 0;
	char **ids, *text;

	if (r->n_args > 1)
		return complain_text(EXIT_USAGE, "\"bench list\" takes no argument");
	if (store_list(&r->arena, h, bench_state(r), &ids, &n, &e))
		/* What can be measured is worth listing all the same. */
		complain(0, &e);
	kept = arena_array(&r->arena, n, sizeof(*kept));
	for (size_t i = 0; i < n; i++) {
		if (store_get(&r->arena, h, bench_state(r), ids[i], &text, &e) ||
		    bench_from_json(&r->arena, ids[i], text, &kept[k], &e))
			complain(0, &e);
		else
			k++;
	}
	if (r->value[OPT_QUIET])
		return EXIT_CLEAN;
	if (!run_wants_json(r))
		return run_print_doc(r, list_page(r, kept, k), "gputune bench list");
	run_print_json(r, list_json(kept, k));
	return EXIT_CLEAN;
}

int bench_print(struct run *r, const struct machine *m, const struct record *record, int code)
{
	int failed;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, bench_json(m, record, code));
		return code;
	}
	failed = run_print_doc(r, page_bench(&r->arena, record, r->value[OPT_VERBOSE] != NULL),
			       "gputune bench");
	return failed ? failed : code;
}

int bench_show(struct run *r, struct host *h)
{
	struct record record;
	const char *text;

	if (r->n_args != 2)
		return complain_text(EXIT_USAGE, "\"bench show\" needs one ID; \"bench list\" "
						 "lists them");
	text = bench_load(r, h, r->args[1], &record);
	if (!text)
		return EXIT_USAGE;
	/* The file itself is the JSON of it. */
	if (run_wants_json(r) && !r->value[OPT_QUIET]) {
		fputs(text, r->out);
		return EXIT_CLEAN;
	}
	return bench_print(r, NULL, &record, EXIT_CLEAN);
}

static int compare_code(const struct compare *c)
{
	if (c->count[COMPARE_WORSE])
		return EXIT_FINDINGS;
	return c->n == c->count[COMPARE_CANNOT] ? EXIT_BLIND : EXIT_CLEAN;
}

int verb_compare(struct run *r)
{
	struct host *h;
	struct record a, b;
	struct compare c;
	int code = EXIT_USAGE, failed = 0;

	if (compare_are_recordings(r, &code))
		return code;
	h = run_live(r);
	if (bench_load(r, h, r->args[0], &a) && bench_load(r, h, r->args[1], &b)) {
		compare_records(&r->arena, &a, &b, &c);
		code = compare_code(&c);
		if (!r->value[OPT_QUIET]) {
			if (run_wants_json(r))
				run_print_json(r, compare_json(&c, h->id.time_s, code));
			else
				failed = run_print_doc(r, page_compare(&r->arena, &c),
						       "gputune compare");
		}
	}
	host_close(h);
	return failed ? failed : code;
}
