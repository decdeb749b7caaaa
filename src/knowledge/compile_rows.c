/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of the build, which runs on the machine that builds: reads NAME.rows with the reader of
 * run time and prints it as a constant array of C, ended by a row without
 * a name. A wrong row ends the build with its place.
 *
 *     compile_rows NAME ROWS OUT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knowledge/tables.h"

static const struct row_table *table_named(const char *name)
{
	for (size_t i = 0; row_tables[i]; i++)
		if (strcmp(row_tables[i]->name, name) == 0)
			return row_tables[i];
	return NULL;
}

static void print_text(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e || *s == '?')
			fprintf(out, "\\%03o", (unsigned)(unsigned char)*s);
		else
			fputc(*s, out);
	fputc('"', out);
}

static void print_counts(FILE *out, const int *items, size_t n)
{
	fputc('{', out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%d", i ? ", " : " ", items[i]);
	fputs(" }", out);
}

/* Whether a member is as C leaves it where it is not named. */
static bool is_zero(const char *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (at[i])
			return false;
	return true;
}

static void print_member(FILE *out, const struct row_column *c, const void *at)
{
	long long wide;
	double real;
	int narrow;

	fprintf(out, " .%s = ", c->member);
	switch (c->kind) {
	case ROW_KIND_TEXT:
	case ROW_KIND_DATE:
		print_text(out, *(const char *const *)at);
		break;
	case ROW_KIND_REAL:
		memcpy(&real, at, sizeof(real));
		fprintf(out, "%.17g", real);
		break;
	case ROW_KIND_FLAG:
		fputs("true", out);
		break;
	case ROW_KIND_COUNTS:
		print_counts(out, at, c->size / sizeof(int));
		break;
	default:
		memcpy(&narrow, at, sizeof(narrow));
		wide = narrow;
		if (c->size == sizeof(wide))
			memcpy(&wide, at, sizeof(wide));
		fprintf(out, "%lld", wide);
		break;
	}
	fputc(',', out);
}

static void print_rows(FILE *out, const struct row_table *t, const struct row_list *rows)
{
	fprintf(out, "/* Made of %s.rows. */\n#include \"%s\"\n\nconst %s %s[] = {\n", t->name,
		t->header, t->type, t->array);
	for (size_t i = 0; i < rows->n; i++) {
		const char *row = (const char *)rows->items + i * t->size;

		fputs("\t{", out);
		for (size_t k = 0; k < t->n_columns; k++)
			if (!is_zero(row + t->columns[k].offset, t->columns[k].size))
				print_member(out, &t->columns[k], row + t->columns[k].offset);
		fputs(" },\n", out);
	}
	fprintf(out, "\t{ .%s = NULL },\n};\nconst size_t %s = %zu;\n", t->columns[0].member,
		t->many, rows->n);
}

/* The whole file, with one byte more than rows_read takes so that it refuses a larger one. */
static char *compile_rows_read_file(struct arena *a, const char *path, size_t *len)
{
	char *text = arena_alloc(a, ROW_BYTES_MAX + 1);
	FILE *in = fopen(path, "r");

	if (!in)
		return NULL;
	*len = fread(text, 1, ROW_BYTES_MAX + 1, in);
	fclose(in);
	return text;
}

static int compile_rows_compile(struct arena *a, const struct row_table *t, const char *from,
				const char *to)
{
	struct row_list rows = { 0 };
	struct err e = { 0 };
	size_t len;
	char *text = compile_rows_read_file(a, from, &len);
	FILE *out;

	if (!text) {
		perror(from);
		return EXIT_FAILURE;
	}
	if (rows_read(a, t, text, len, from, &rows, &e) < 0) {
		fprintf(stderr, "%s\n%s%s", e.text, e.hint, *e.hint ? "\n" : "");
		return EXIT_FAILURE;
	}
	if (!rows.n) {
		fprintf(stderr, "%s: no rows\n", from);
		return EXIT_FAILURE;
	}
	out = fopen(to, "w");
	if (!out) {
		perror(to);
		return EXIT_FAILURE;
	}
	print_rows(out, t, &rows);
	if (fclose(out)) {
		perror(to);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const struct row_table *t = argc == 4 ? table_named(argv[1]) : NULL;
	ARENA_AUTO a = { 0 };
	int code;

	if (!t) {
		fprintf(stderr, "usage: compile_rows NAME ROWS OUT, with a NAME of tables.c\n");
		return EXIT_FAILURE;
	}
	code = compile_rows_compile(&a, t, argv[2], argv[3]);
	return code;
}
