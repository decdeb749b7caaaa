/* SPDX-License-Identifier: Apache-2.0 */
/* What a proof has shown: for people, and for programs (schemas/prove.json). */
#ifndef PROVE_PAGE_PROVE_H
#define PROVE_PAGE_PROVE_H

#include <jansson.h>

#include "machine/model/machine.h"
#include "measure/prove/proof.h"
#include "render/doc.h"
#include "measure/prove/ledger.h"
#include "render/chart.h"

struct doc *page_prove(struct arena *a, const struct proof *p);
/* Schema gputune.prove/1, with every window. The caller owns the reference. */
json_t *prove_json(const struct machine *m, const struct proof *p, int exit_code);

/*
 * Ledgers and proofs as charts of a document. Each adds nothing where there is nothing to show.
 * What is shown has to live as long as the document.
 */

struct proof;

/* The newest verdict of each setting and target on this machine: after over before. */
void figures_ledger(struct doc *d, const struct ledger *l);

#endif
