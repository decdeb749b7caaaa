/* SPDX-License-Identifier: Apache-2.0 */
/* What a proof has shown: for people, and for programs. */
#ifndef PROVE_PAGE_PROVE_H
#define PROVE_PAGE_PROVE_H

#include "base/shape.h"
#include "measure/prove/proof.h"
#include "render/doc.h"
#include "measure/prove/ledger.h"
#include "render/chart.h"

struct doc *page_prove(struct arena *a, const struct proof *p);
/* Of a struct proof, with every window. */
extern const struct result_shape prove_result;
extern const struct shape proof_shape, screen_effect_shape, screen_member_shape;
/* "+3.1 % (+2.4 % to +3.9 %)"; "unknown" without an interval. */
const char *effect_text(struct arena *a, double ratio, double low, double high);

/*
 * Ledgers and proofs as charts of a document. Each adds nothing where there is nothing to show.
 * What is shown has to live as long as the document.
 */

struct proof;

/* The newest verdict of each setting and target on this machine: after over before. */
void figures_ledger(struct doc *d, const struct ledger *l);

#endif
