/* SPDX-License-Identifier: Apache-2.0 */
/* What a proof has shown: for people, and for programs (schemas/prove.json). */
#ifndef PROVE_PAGE_PROVE_H
#define PROVE_PAGE_PROVE_H

#include <jansson.h>

#include "machine/model/machine.h"
#include "measure/prove/proof.h"
#include "render/doc.h"

struct doc *page_prove(struct arena *a, const struct proof *p);
/* Schema gputune.prove/1, with every window. The caller owns the reference. */
json_t *prove_json(const struct machine *m, const struct proof *p, int exit_code);

#endif
