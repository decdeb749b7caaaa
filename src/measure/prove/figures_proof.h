/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ledgers and proofs as charts of a document. Each adds nothing where there is nothing to show.
 * What is shown has to live as long as the document.
 */
#ifndef PROVE_FIGURES_PROOF_H
#define PROVE_FIGURES_PROOF_H

#include "measure/prove/ledger.h"
#include "render/chart.h"

struct proof;

/* The newest verdict of each setting and target on this machine: after over before. */
void figures_ledger(struct doc *d, const struct ledger *l);
/* One proof: its effect, what its guards saw, of many settings each one's, and how the pairs lie.
 */
void figures_proof(struct doc *d, const struct proof *p);

#endif
