/* SPDX-License-Identifier: Apache-2.0 */
/* The part of generate's page that is of trainings. */
#ifndef GENERATE_PAGE_GENERATE_TRAIN_H
#define GENERATE_PAGE_GENERATE_TRAIN_H

#include "models/generate/page_generate.h"

void page_generate_train(struct doc *d, const struct train_view *v);
/* The member "train"; the caller owns the reference. */
json_t *generate_train_json(const struct train_view *v);

#endif
