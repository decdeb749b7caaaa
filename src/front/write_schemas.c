/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_schemas FOLDER NAME...: the JSON Schemas of all results that are described by a shape, of
 * which NAME are expected, as FOLDER/NAME.json, and a page about all of them, FOLDER/RESULTS.md.
 * Runs when the program is built.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "front/result_shapes.h"
#include "verbs/verbs.h"

static bool schema_expected(const char *name, char **names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

static int write_schema(const struct result_shape *r, const char *folder)
{
	json_t *j = result_shape_schema(r);
	char path[4096];
	FILE *out;
	int bad;

	snprintf(path, sizeof(path), "%s/%s.json", folder, r->name);
	out = fopen(path, "w");
	bad = !out || json_dumpf(j, out, JSON_INDENT(2)) || fputc('\n', out) == EOF;
	bad |= out && fclose(out);
	json_decref(j);
	if (bad)
		perror(path);
	return bad;
}

/* --- the page --------------------------------------------------------------------------------- */

enum { SEEN_MAX = 64 };

struct page {
	FILE *out;
	struct arena arena;
	/* Structs of the result at hand, and where each was told. */
	const struct shape *seen[SEEN_MAX];
	const char *at[SEEN_MAX];
	size_t n;
};

static const char *seen_at(const struct page *p, const struct shape *s)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->seen[i] == s)
			return p->at[i];
	return NULL;
}

static const char *value_text(struct page *p, const struct shape_row *r);

/* What stands under the keys of an object or in the items of a list. */
static const char *items_text(struct page *p, const struct shape *s)
{
	const char *all = NULL;

	if (s && shape_is_value(s))
		return value_text(p, s->rows);
	for (size_t i = 0; s && i < s->n_forms; i++)
		all = all ? arena_printf(&p->arena, "%s, or %s", all, items_text(p, s->forms[i]))
			  : items_text(p, s->forms[i]);
	return all ? all : "object";
}

static const char *names_text(struct page *p, const struct shape_row *r)
{
	const char *all = "";

	for (unsigned i = 0; i < r->n_names; i++) {
		const char *name = r->name_of ? r->name_of(i) : r->names[i];

		if (name)
			all = arena_printf(&p->arena, "%s%s`%s`", all, *all ? ", " : "", name);
	}
	return all;
}

static const char *value_text(struct page *p, const struct shape_row *r)
{
	static const char *const kinds[] = {
		[SHAPE_KIND_COUNT] = "whole number",
		[SHAPE_KIND_REAL] = "number",
		[SHAPE_KIND_FLAG] = "true or false",
		[SHAPE_KIND_TEXT] = "text",
		[SHAPE_KIND_TIME] = "time",
		[SHAPE_KIND_TEXTS] = "list: text",
		[SHAPE_KIND_REALS] = "list: number",
		[SHAPE_KIND_COUNTS] = "list: whole number",
		[SHAPE_KIND_JSON] = "JSON",
		[SHAPE_KIND_FACT_INT] = "fact: whole number",
		[SHAPE_KIND_FACT_FLAG] = "fact: true or false",
		[SHAPE_KIND_FACT_HEX] = "fact: whole number",
		[SHAPE_KIND_FACT_TEXT] = "fact: text",
		[SHAPE_KIND_FACT_SET] = "fact: set",
	};
	const char *text;

	if (r->n_names)
		text = names_text(p, r);
	else if (r->kind == SHAPE_KIND_WORD)
		text = arena_printf(&p->arena, "`%s`", r->word);
	else if (r->kind == SHAPE_KIND_OBJECT)
		text = items_text(p, r->sub);
	else if (r->kind == SHAPE_KIND_LIST)
		text = arena_printf(&p->arena, "%s: %s", r->by ? "object by name" : "list",
				    items_text(p, r->sub));
	else
		text = kinds[r->kind];
	return arena_printf(&p->arena, "%s%s%s", text, shape_can_be_null(r) ? "; or null" : "",
			    r->absent || r->suffix ? "; may be absent" : "");
}

static void write_rows(struct page *p, const struct shape *s, const char *above);

static void write_row(struct page *p, const struct shape_row *r, const char *above)
{
	const char *key = r->spread ? arena_printf(&p->arena, "%sNAME", above)
				    : arena_printf(&p->arena, "%s%s%s", above, r->key,
						   r->suffix ? "_UNIT" : ""),
		   *meaning = shape_is_fact(r) && !r->meaning ? r->title : r->meaning,
		   *told = r->sub ? seen_at(p, r->sub) : NULL;

	fprintf(p->out, "| `%s` | %s | %s%s%s%s%s |\n", key, value_text(p, r),
		meaning ? meaning : "", meaning && told ? " " : "", told ? "As `" : "",
		told ? told : "", told ? "`." : "");
	if (r->sub && !told)
		write_rows(p, r->sub,
			   arena_printf(&p->arena, "%s%s.", key,
					r->spread		     ? ""
					: r->by			     ? ".NAME"
					: r->kind == SHAPE_KIND_LIST ? "[]"
								     : ""));
}

static void write_rows(struct page *p, const struct shape *s, const char *above)
{
	if (*above && !shape_is_value(s) && p->n < SEEN_MAX) {
		p->at[p->n] = arena_strndup(&p->arena, above, strlen(above) - 1);
		p->seen[p->n++] = s;
	}
	for (size_t i = 0; i < s->n_forms; i++)
		write_rows(p, s->forms[i], above);
	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].key)
			write_row(p, &s->rows[i], above);
}

static void write_result(struct page *p, const struct result_shape *r)
{
	char name[SHAPE_KEY_SIZE];
	const char *comma = "";

	p->n = 0;
	fprintf(p->out, "\n## %s\n\n%s\n\n`%s`, `%s.json`. Its head has `schema`%s%s%s", r->title,
		r->meaning, result_schema_name(r, name), r->name,
		r->no_version ? "" : ", `tool_version`", r->no_time ? "" : ", `time`",
		r->host ? ", `host`" : "");
	if (r->exit_codes)
		fprintf(p->out, ", `exit_code` (");
	for (int code = 0; code < 32; code++)
		if (r->exit_codes & 1u << code) {
			fprintf(p->out, "%s%d", comma, code);
			comma = ", ";
		}
	fprintf(p->out, "%s.\n\n| Key | Value | Meaning |\n|---|---|---|\n",
		r->exit_codes ? ")" : "");
	write_rows(p, r->shape, "");
}

/* --- what is asked ---------------------------------------------------------------------------- */

static const char *member_text(const json_t *of, const char *key)
{
	const char *text = json_string_value(json_object_get(of, key));

	return text ? text : "";
}

/* A line of the question's schema. '|' would end a cell. */
static void write_question_row(struct page *p, const char *key, const json_t *row)
{
	const char *unit = member_text(row, "unit"), *usual = member_text(row, "default");
	const json_t *names = json_object_get(row, "enum"), *name;
	size_t i;

	fprintf(p->out, "| `%s` | ", key);
	json_array_foreach(names, i, name)
		fprintf(p->out, "%s`%s`", i ? ", " : "", json_string_value(name));
	fprintf(p->out, "%s%s%s%s | ", json_array_size(names) ? "" : member_text(row, "type"),
		*unit ? " (" : "", unit, *unit ? ")" : "");
	for (const char *c = member_text(row, "description"); *c; c++)
		fprintf(p->out, *c == '|' ? "\\%c" : "%c", *c);
	fprintf(p->out, "%s%s%s |\n", *usual ? " (default: " : "", usual, *usual ? ")" : "");
}

static void write_questions(struct page *p, const struct verb *const *verbs, const char *above)
{
	for (; verbs && *verbs; verbs++) {
		const struct verb *v = *verbs;
		const char *name = arena_printf(&p->arena, "%s%s%s", above, *above ? " " : "",
						v->name),
			   *key;
		json_t *schema = v->ask ? ask_schema(v->ask) : NULL, *row;

		if (v->answer && schema) {
			fprintf(p->out,
				"\n### %s\n\n%s.%s\n\n| Key | Value | Meaning |\n|---|---|---|\n",
				name, v->summary,
				v->own_process ? " Not in libgputune: use the program." : "");
			json_object_foreach(json_object_get(schema, "properties"), key, row)
				write_question_row(p, key, row);
		}
		json_decref(schema);
		write_questions(p, v->subs, name);
	}
}

static int write_page(const char *folder)
{
	struct page p = { 0 };
	char path[4096];
	int bad;

	snprintf(path, sizeof(path), "%s/RESULTS.md", folder);
	p.out = fopen(path, "w");
	if (!p.out) {
		perror(path);
		return 1;
	}
	fprintf(p.out,
		"# Results and questions\n\nThe keys of `--format json`. The build generates this "
		"page from the rows that results are written\nfrom; their JSON Schemas are "
		"installed in `share/gputune/schemas`. A key ends in its unit. Unknown values are "
		"null, never 0.\nLater versions add keys.\n\nA fact is `{\"value\": V, \"from\": "
		"\"/sys/...\"}` if it was read, `{\"seen\": \"denied\", \"error\": \"EACCES\", "
		"\"from\": ...}` if it was not,\nand absent if it was not requested; a set is a "
		"text, \"0-4,10-14\".\n\n`list[].key` is a key of each item, `object.NAME` one "
		"under a name given by the run, `_UNIT` a unit given by the run.\n");
	for (const struct result_shape *const *r = result_shapes(&p.arena); *r; r++)
		write_result(&p, *r);
	fprintf(p.out,
		"\n## Options\n\nOptions are `--key-name VALUE` on the command line, and JSON keys "
		"in libgputune and Python (`gputune_ask`,\ndocs/AGENTS.md). Numbers can be strings "
		"with a unit. Times are in seconds; shares are fractions from 0 to 1.\n");
	write_questions(&p, answering_verbs, "");
	bad = ferror(p.out);
	bad |= fclose(p.out);
	arena_free(&p.arena);
	return bad;
}

int main(int argc, char **argv)
{
	struct arena a = { 0 };
	int n = 0;

	if (argc < 2)
		return 2;
	for (const struct result_shape *const *r = result_shapes(&a); *r; r++, n++) {
		if (!schema_expected((*r)->name, argv + 2)) {
			fprintf(stderr,
				"%s is missing: add it after its verb in src/verbs/meson.build, or "
				"in schemas/meson.build\n",
				(*r)->name);
			return 1;
		}
		if (write_schema(*r, argv[1]))
			return 1;
	}
	arena_free(&a);
	if (n == argc - 2)
		return write_page(argv[1]);
	fprintf(stderr, "meson.build lists unknown results\n");
	return 1;
}
