/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as what "report" is given besides captures, drawn on every medium: a result of "show"
 * (f), of "bench" (b), of any other verb (g), lines of a ledger (l), a recording (r), by the first
 * byte. No text of it
 * becomes an element of a page, or a control sequence for a terminal.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "fuzz_plain.h"
#include "look/monitor/recording.h"
#include "look/settings/check.h"
#include "look/settings/profile.h"
#include "measure/bench/bench_json.h"
#include "measure/bench/page_bench.h"
#include "measure/prove/page_prove.h"
#include "look/monitor/figures_recording.h"
#include "measure/prove/ledger_view.h"
#include "front/report/result_file.h"
#include "verbs/page_check.h"
#include "front/report/page_report.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* --- media ------------------------------------------------------------------------------------ */

/* Elements that no page of ours has. */
static void no_element(const char *text)
{
	static const char *const elements[] = { "<img", "<iframe", "<object", "<b>" };

	for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
		if (strstr(text, elements[i]))
			abort();
}

static void draw(const struct doc *d)
{
	static const struct term_style widths[] = { { .width = 80 },
						    { .width = 40, .ascii = true } };

	for (size_t i = 0; i < 4; i++) {
		char *text = NULL;
		size_t n = 0;
		FILE *out = open_memstream(&text, &n);

		if (!out)
			abort();
		if (i == 0)
			doc_html(out, d, NULL);
		else if (i == 1)
			doc_md(out, d);
		else
			doc_term(out, d, &widths[i - 2]);
		if (fclose(out))
			abort();
		if (i == 0)
			no_element(text);
		fuzz_plain(text, n, "\n");
		free(text);
	}
}

/* --- what is given ---------------------------------------------------------------------------- */

static struct fact_str read_nothing(void *ctx, struct arena *a, const struct knob *k)
{
	(void)ctx;
	(void)a;
	(void)k;
	return (struct fact_str){ .f = { .seen = SEEN_UNASKED } };
}

static void facts(struct arena *a, const char *text)
{
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *out;
	struct machine *m = ARENA_NEW(a, struct machine);
	struct check_view how = { .verbose = true, .all = true };
	struct report_machine page = { 0 };
	struct profile profile = { 0 };
	struct findings f = { 0 };
	struct err e = { 0 };

	if (j && shape_read(a, &machine_shape, json_object_get(j, "facts"), m, &e) == 0) {
		if (profile_load(a, "default", &profile, &e))
			abort();
		settings_check(a, m, &profile, read_nothing, NULL, &f);
		page.head = report_head_of(a, m, &f);
		page.head.id = "m1";
		page.head.from = "a file";
		page.parts[page.n++] =
			(struct report_part){ .id = "machine",
					      .title = "The machine",
					      .doc = report_hardware(a, m, "machine") };
		page.parts[page.n++] =
			(struct report_part){ .id = "findings",
					      .title = "Findings",
					      .doc = page_check(a, m, &profile, &f, &how) };
		draw(page_report_front(a, "Report", 0, &page.head, 1));
		draw(page_report_machine(a, &page, true));
		out = measured_check_json(a, m, &profile, &f, NULL, 0);
		if (!out)
			abort();
		json_decref(out);
	} else if (j && !*e.text) {
		abort();
	}
	json_decref(j);
}

static void bench(struct arena *a, const char *text)
{
	struct record r;
	struct err e = { 0 };

	if (bench_from_json(a, "a file", text, &r, &e) == 0)
		draw(report_benches(a, &r, 1, "benches"));
}

static void given(struct arena *a, const char *text)
{
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	const char *schema = json_string_value(json_object_get(j, "schema"));
	bool another;
	const struct result_file_kind *kind = result_file_kind_of(schema, &another);
	struct err e = { 0 };

	if (kind && result_file_valid(a, kind, j, &e) == 0) {
		struct doc *d = result_file_page(a, kind, j);

		result_file_node(j);
		json_decref(j); /* everything is in the arena */
		draw(d);
		return;
	}
	if (kind && !*e.text)
		abort();
	json_decref(j);
}

static void ledger(struct arena *a, const char *text, size_t n)
{
	struct ledger l = { .file = "a file" };
	struct doc *d;

	for (const char *at = text, *end = text + n; at < end && l.n < 64;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct err e = { 0 };

		l.rows = arena_grow(a, l.rows, l.n, sizeof(*l.rows));
		if (ledger_row_parse(a, at, (size_t)((nl ? nl : end) - at), &l.rows[l.n], &e) == 0)
			l.n++;
		at = nl ? nl + 1 : end;
	}
	if (!l.n)
		return;
	l.here = l.rows[0].where;
	d = report_proofs(a, &l);
	if (d)
		draw(d);
}

static void recording(struct arena *a, const char *text, size_t n)
{
	struct recording *rec = ARENA_NEW(a, struct recording);
	struct timeline *t = timeline_new(a, &rec->mon);
	size_t cap = ZSTD_compressBound(n), k;
	void *packed = malloc(cap);
	struct err e = { 0 };
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	k = packed ? ZSTD_compress(packed, cap, text, n, 1) : 0;
	if (fd < 0 || !packed || write(fd, packed, k) != (ssize_t)k || lseek(fd, 0, SEEK_SET))
		abort();
	free(packed);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (recording_read(a, path, rec, timeline_row, t, &e) == 0) {
		struct doc *d = doc_new(a);

		doc_heading(d, 2, rec->mon.machine.name ? rec->mon.machine.name : "");
		timeline_add(d, t);
		draw(d);
	} else if (!*e.text) {
		abort();
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	char *text;

	if (!size)
		return 0;
	/* Of its own size: a byte too far is seen. */
	text = malloc(size);
	if (!text)
		abort();
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (*data == 'f')
		facts(&a, text);
	else if (*data == 'b')
		bench(&a, text);
	else if (*data == 'g')
		given(&a, text);
	else if (*data == 'l')
		ledger(&a, text, size - 1);
	else if (*data == 'r')
		recording(&a, text, size - 1);
	free(text);
	arena_free(&a);
	return 0;
}
