/* SPDX-License-Identifier: Apache-2.0 */
/* gputune diagnose: what holds a training run back, from its files or while it runs. */
#include "front/verbs/diagnose.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "front/verbs/page.h"
#include "front/verbs/predict.h"
#include "models/inference/models.h"

/* The shape of --model; of a log's own words none is taken: they are names of files as often. */
static int read_model(struct diagnosing *g, struct model_file *file)
{
	struct run *r = g->r;
	const char *name = r->value[OPT_MODEL], *taken = NULL;
	struct model_hint none = { 0 };
	struct err e = { 0 };
	int code;

	if (!name)
		return 0;
	g->ask.model = name;
	g->ask.arch = &file->arch;
	code = predict_model_file(r, name, file);
	if (code < 0)
		return -code;
	if (code > 0) {
		g->ask.file = file;
		g->view.model_taken = file->taken;
		return 0;
	}
	if (model_find(&r->arena, name, &none, &file->arch, &taken, &e) < 0)
		return complain(EXIT_USAGE, &e);
	g->view.model_taken = taken ? taken : file->arch.name;
	return 0;
}

static int tell(struct diagnosing *g)
{
	struct run *r = g->r;
	int code, failed;

	diagnose_runs(&r->arena, &g->ev, &g->ask, &g->found);
	code = diagnose_code(&g->found);
	if (r->value[OPT_QUIET])
		return code;
	g->view.d = &g->found;
	g->view.troubles = g->troubles;
	g->view.all = r->value[OPT_ALL] != NULL;
	if (run_wants_json(r)) {
		run_print_json(r, diagnose_json(&r->arena, &g->view, (long long)time(NULL), code));
		return code;
	}
	failed = run_print_doc(r, page_diagnose(&r->arena, &g->view), "gputune diagnose");
	return failed ? failed : code;
}

int verb_diagnose(struct run *r)
{
	struct diagnosing g = { .r = r, .ev = { .arena = &r->arena } };
	struct model_file file = { 0 };
	int code = read_model(&g, &file);

	if (code)
		return code;
	if (r->value[OPT_ATTACH])
		code = diagnose_attach(&g);
	else if (!r->n_args || strcmp(r->args[0], "training") != 0)
		return complain_text(EXIT_USAGE,
				     "diagnose knows training (FILES...) and --attach [PID], not "
				     "\"%s\"",
				     r->n_args ? r->args[0] : "");
	else
		code = diagnose_files(&g);
	return code ? code : tell(&g);
}
