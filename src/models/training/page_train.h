/* SPDX-License-Identifier: Apache-2.0 */
/* A prediction of training, for people and for programs; a table of measured runs predicted anew.
 */
#ifndef TRAINING_PAGE_TRAIN_H
#define TRAINING_PAGE_TRAIN_H

#include "base/shape.h"
#include "models/training/rows.h"
#include "models/training/train.h"
#include "render/doc.h"

#define TRAIN_PAGE_POINTS 32

struct train_page {
	struct train_answer answer;
	const char *origin; /* of the constants */
	bool explain;
	bool asked_largest; /* then: with the global batch held, and without */
	int largest_held, largest;
	struct train_what_if *what_if; /* NULL: not asked for */
	struct train_point points[TRAIN_PAGE_POINTS];
	size_t n_points;
	bool strong;
	struct train_judgement *judgement; /* NULL: no rate was given */
};

struct doc *page_train(struct arena *a, const struct train_page *p);
/* Parts of the page. */
void page_train_what_if(struct doc *d, const struct train_what_if *w);
void page_train_scale(struct doc *d, const struct train_page *p);
void page_train_judgement(struct doc *d, const struct train_judgement *j);
struct doc *page_train_rows(struct arena *a, const struct train_rows *r);
extern const struct shape train_memory_shape, train_time_shape;
/* Of a struct train_page, and of a struct train_rows. */
extern const struct result_shape train_result, train_rows_result;

#endif
