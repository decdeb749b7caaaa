/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a file of known defects: refused with a sentence, or rows that give the same answer
 * to their own examples each time. Any two words of it as versions: in every order a is before b
 * where b is behind a, and no version is before itself. As a data package: refused with a sentence,
 * or its rows are. As a key and a signature, cut at a line "@@": never of these bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "knowledge/package.h"
#include "knowledge/signature.h"
#include "look/defects/order.h"
#include "look/defects/rows.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void examples(struct arena *a, const json_t *row)
{
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(row, "examples"), i, v)
	{
		if (json_is_object(v) &&
		    strcmp(defect_example(a, row, v), defect_example(a, row, v)) != 0)
			abort();
	}
}

static void versions(const char *x, const char *y)
{
	for (enum order o = ORDER_NUMBERS; o <= ORDER_FIRMWARE; o++) {
		int there, back, same;
		bool known = order_compare(o, x, y, &there);

		if (known != order_compare(o, y, x, &back))
			abort();
		if (known && (there < 0) != (back > 0))
			abort();
		if (order_compare(o, x, x, &same) && same)
			abort();
		order_in(o, y, x);
		order_range_valid(o, y);
	}
}

static void package(struct arena *a, const char *text, size_t len)
{
	struct defect_rows rows;
	struct data_package p;
	struct err e = { 0 };

	if (package_open(a, text, len, &p, &e)) {
		if (!*e.text)
			abort();
		return;
	}
	if (defect_rows_of_package(a, &p, true, &rows, &e) && !*e.text)
		abort();
	package_close(&p);
}

static void signed_by(struct arena *a, const char *text)
{
	const char *cut = strstr(text, "\n@@\n");
	struct signature by;
	struct err e = { 0 };

	if (cut && signature_check(a, "x", 1, cut + 4, arena_strndup(a, text, (size_t)(cut - text)),
				   &by, &e) == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct defect_rows rows = { 0 };
	char *text = arena_strndup(&a, (const char *)data, size), *save = NULL, *last = NULL;
	struct err e = { 0 };

	if (defect_rows_parse(&a, "a file", text, strlen(text), &rows, &e) && !*e.text)
		abort();
	for (size_t i = 0; i < rows.n; i++)
		examples(&a, rows.rows[i]->json);
	json_decref(rows.files);
	package(&a, text, strlen(text));
	signed_by(&a, text);
	for (char *w = strtok_r(text, "\" \n,", &save); w; w = strtok_r(NULL, "\" \n,", &save)) {
		if (last)
			versions(last, w);
		last = w;
	}
	arena_free(&a);
	return 0;
}
