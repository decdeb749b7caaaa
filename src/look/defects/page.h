/* SPDX-License-Identifier: Apache-2.0 */
/* Known defects as results and as pages. */
#ifndef DEFECTS_PAGE_H
#define DEFECTS_PAGE_H

#include "base/shape.h"
#include "look/defects/baseline.h"
#include "look/defects/world.h"
#include "render/doc.h"

/* A row as it is shown. */
struct defect_shown {
	const json_t *row;
	const char *id, *component, *title, *effect, *cause, *worth, *worth_source, *fix, *command,
		*setting, *only, *but, *confirmed_by, *date;
	const char *symptoms, *signatures, *source, *cve;
	bool cause_confirmed;
};

struct defect_found {
	struct defect_shown s;
	const char *place;
	enum defect_state state;
	struct defect_proof *proofs;
	size_t n_proofs;
	const char *unseen, *covered;
};

struct defects_view {
	const struct machine *m; /* NULL: a root file system */
	struct defect_found *items;
	size_t n, count[DEFECT_STATES];
	size_t security; /* of those that are here */
	size_t rows;
	const char *rows_from, *rows_date;
	int rows_age_days; /* since they were put together; below 0: not known */
	struct baseline baseline;
	struct world_seen seen;
	const char **orderless;
	size_t n_orderless;
	bool all;
	const char *component; /* of --component; NULL: all components */
};

struct defects_listing {
	struct defect_shown *items;
	size_t n;
	const char *rows_from, *rows_date;
	int rows_age_days;
	bool one; /* explain */
};

struct defects_linted {
	struct defect_problem {
		const char *file, *what;
	} * problems;
	size_t n, rows;
};

extern const struct result_shape defects_result, defects_list_result, defects_lint_result;

/* It is here and costs or breaks something: no security bulletin, no mere message. */
bool defect_breaks(const struct defect_found *f);
/* What is there is held against how's rows. */
void defects_look(struct arena *a, const struct world_look *how, struct defects_view *out);
void defect_show(struct arena *a, const json_t *row, struct defect_shown *out);
struct doc *page_defects(struct arena *a, const struct defects_view *v);
struct doc *page_defects_list(struct arena *a, const struct defects_listing *l);
struct doc *page_defects_lint(struct arena *a, const struct defects_linted *l);

#endif
