/* SPDX-License-Identifier: Apache-2.0 */
/* Advice and sweeps: for people, and for programs. */
#ifndef INFERENCE_PAGE_ADVISE_H
#define INFERENCE_PAGE_ADVISE_H

#include "base/shape.h"
#include "models/inference/advise.h"
#include "models/inference/sweep.h"
#include "measure/prove/ledger.h"
#include "render/doc.h"

/* A setting of the machine that was measured here. */
struct advise_setting {
	const struct ledger_row *row;
	const char *text; /* the ledger's */
	bool expired;
};

struct advise_settings {
	struct advise_setting *rows;
	size_t n;
};

struct advise_page {
	const struct serve_advice *advice;
	const struct advise_settings *settings;
};

struct sweep_page {
	const struct sweep *asked;
	const struct sweep_result *result;
};

struct doc *page_advise(struct arena *a, const struct advise_page *p, bool verbose);
struct doc *page_sweep(struct arena *a, const struct sweep_page *s);
/* Of a struct advise_page, and of a struct sweep_page. */
extern const struct result_shape advise_result, sweep_result;

/* --- the drawing of a front: page_sweep.c ----------------------------------------------------- */
enum { FRONT_SHOWN = 24 };

#endif
