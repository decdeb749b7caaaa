/* SPDX-License-Identifier: Apache-2.0 */
/* gputune predict: what a model will do on a machine. */
#include "front/verbs/predict.h"

#include <string.h>
#include <time.h>

#include "front/verbs/calibrate.h"
#include "front/verbs/page.h"
#include "front/verbs/predict_train.h"
#include "models/inference/predict.h"
#include "models/inference/page_predict.h"

#define MOST_CONSTANTS (1u << 20)

int predict_constants(struct run *r, struct fits *fits)
{
	const char *path = r->value[OPT_CALIBRATION];
	struct err e = { 0 };
	size_t len;
	char *text;

	fits_default(fits);
	calibration_use(r, fits);
	if (!path)
		return 0;
	text = predict_file(r, path, MOST_CONSTANTS, &len, NULL);
	if (!text)
		return EXIT_USAGE;
	if (fits_read(fits, text, &e) < 0)
		return complain_text(EXIT_USAGE, "%s: %s", path, e.text);
	fits->origin = path;
	return 0;
}

int predict_place(struct run *r, struct words *w, struct place *p, predict_more *more, void *ctx)
{
	struct err e = { 0 };
	struct host *h;
	struct machine *m;
	int found;

	if (w->on && r->value[OPT_HOST])
		return complain_text(EXIT_USAGE, "--on and --host both say on which machine: one "
						 "of them");
	if (w->on)
		return 0;
	h = run_host(r);
	if (!h)
		return EXIT_USAGE;
	m = run_machine(r, h, false);
	found = m ? place_of(&r->arena, m, p, &e) : -1;
	if (found == 0) {
		w->place = p;
		if (more)
			more(r, h, m, ctx);
	}
	host_close(h);
	return !m ? EXIT_BLIND : found < 0 ? complain(EXIT_BLIND, &e) : 0;
}

static int tell(struct run *r, const struct prediction *p, const struct claim *c)
{
	int code = p->memory.fits ? EXIT_CLEAN : EXIT_FINDINGS, failed;

	if (r->value[OPT_QUIET])
		return code;
	if (run_wants_json(r)) {
		run_print_json(r, predict_json(p, c, (long long)time(NULL), code));
		return code;
	}
	failed = run_print_doc(r, page_predict(&r->arena, p, c, r->value[OPT_EXPLAIN] != NULL),
			       "gputune predict");
	return failed ? failed : code;
}

int verb_predict(struct run *r)
{
	struct model_file file = { 0 };
	struct query q;
	struct prediction p;
	struct claim claim = { 0 };
	struct place place;
	struct words w;
	struct fits fits;
	struct err e = { 0 };
	int code;

	if (strcmp(r->args[0], "training") == 0)
		return predict_training(r);
	if (strcmp(r->args[0], "inference") != 0)
		return complain_text(EXIT_USAGE, "predict knows inference and training, not \"%s\"",
				     r->args[0]);
	if ((code = predict_foreign_option(r, false)) != 0 ||
	    (code = predict_constants(r, &fits)) != 0)
		return code;
	if (r->value[OPT_ROWS])
		return predict_table(r, &fits);
	if ((code = predict_words(r, &w, &claim.tokens_s)) != 0)
		return code;
	if (!w.model)
		return complain_text(EXIT_USAGE, "predict inference needs --model");
	code = predict_model_file(r, w.model, &file);
	if (code < 0)
		return -code;
	if (code > 0) {
		w.file = &file;
		w.weight_bytes = file.bytes;
	}
	if ((code = predict_place(r, &w, &place, NULL, NULL)) != 0)
		return code;
	if (question_make(&r->arena, &w, &fits, &q, &e) < 0)
		return complain(EXIT_USAGE, &e);
	predict(&r->arena, &q, &fits, &p);
	if (claim.tokens_s > 0)
		claim.verdict = predict_claim(&r->arena, &p, claim.tokens_s, &claim.why);
	return tell(r, &p, &claim);
}
