/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any file as evidence of a training run: refused with a word, or figures that are finite and stand
 * in it. What holds the run back is judged from them, alone and, now and then, beside itself as a
 * second run; it is shown, and every verdict has a sentence and lines that there are.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_file.h"
#include "models/diagnose/page_diagnose.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(const struct run_evidence *ev)
{
	for (size_t i = 0; i < ev->n_figures; i++) {
		const struct metric_sample *f = &ev->figures[i];

		if (!isfinite(f->value) || f->kind >= FIGURE_KINDS || f->file >= ev->n_files ||
		    f->line > ev->files[f->file].lines || f->rank < -1 || f->step < -1 ||
		    (f->kind != FIGURE_LOSS && f->value < 0))
			abort();
	}
	for (size_t i = 0; i < ev->n_traits; i++)
		if (!ev->traits[i].text || ev->traits[i].kind >= TRAIT_KINDS ||
		    ev->traits[i].line > ev->files[ev->traits[i].file].lines)
			abort();
}

static void cause(const struct judged_cause *c)
{
	if (c->how >= CERTAINTIES || isinf(c->share) || c->n_cites > CITES_MAX ||
	    (c->how != IS_UNSEEN && !c->says))
		abort();
	for (size_t i = 0; i < c->n_cites; i++)
		if (!c->cites[i].file || c->cites[i].line > c->cites[i].file->lines)
			abort();
}

static void split(const struct run_summary *r)
{
	double sum = 0;

	if (isnan(r->split.step_s))
		return;
	for (int k = 0; k < PARTS; k++) {
		if (!isfinite(r->split.s[k]) || r->split.s[k] < 0)
			abort();
		sum += r->split.s[k];
	}
	if (fabs(sum - r->split.step_s) > 1e-6 * fabs(r->split.step_s) + 1e-9)
		abort();
}

static void judge(struct arena *a, const struct run_evidence *ev, size_t runs)
{
	static const char *const names[] = { "one", "two" };
	struct diagnose_ask ask = { .names = names, .n_runs = runs };
	struct diagnosis_of_runs d = { 0 };
	struct diagnose_view v = { .d = &d, .ev = ev, .all = true };
	json_t *j;

	diagnose_runs(a, ev, &ask, &d);
	for (size_t i = 0; i < d.n; i++) {
		split(&d.runs[i]);
		if (!d.verdicts[i].verdict)
			abort();
		for (size_t k = 0; k < CAUSES; k++)
			cause(&d.verdicts[i].causes[k]);
	}
	j = result_shape_json(&diagnose_result, &v, 0, diagnose_code(&d));
	if (!j || !page_diagnose(a, &v))
		abort();
	json_decref(j);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct run_evidence ev = { .arena = &a };
	struct err e = { 0 };
	char path[FUZZ_PATH];
	bool named = fuzz_is_sqlite(data, size);
	int fd = named ? fuzz_named_file(data, size, path)
		       : fuzz_memory_file("rank3", data, size, path);
	size_t runs = 1;

	if (evidence_add(&ev, path, 0, &e) && !*e.text)
		abort();
	if (size % 8 == 0 && ev.n_figures && evidence_add(&ev, path, 1, &e) == 0)
		runs = 2;
	check(&ev);
	if (ev.n_figures)
		judge(&a, &ev, runs);
	arena_free(&a);
	close(fd);
	if (named)
		unlink(path);
	return 0;
}
