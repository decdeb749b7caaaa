/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a line of a ledger, and as the ledger of a fleet: refused, or sound, and then
 * writing and reading it again changes nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "many/fleet/fleet.h"
#include "measure/prove/ledger.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static char *dump(const struct ledger_row *row)
{
	json_t *j = result_shape_json(&ledger_result, row, 0, 0);
	char *text = json_dumps(j, JSON_COMPACT);

	json_decref(j);
	if (!text)
		abort();
	return text;
}

static void again(struct arena *a, const struct ledger_row *row)
{
	struct ledger l = { .rows = (struct ledger_row *)row, .n = 1, .here = row->where };
	char *once = dump(row), *twice;
	struct ledger_answer answer;
	struct ledger_row back;
	struct err e = { 0 };

	if (ledger_row_parse(a, once, strlen(once), &back, &e))
		abort();
	twice = dump(&back);
	if (strcmp(once, twice) != 0)
		abort();
	ledger_find(a, &l, row->setting, row->target, &answer);
	if (answer.valid != LEDGER_VALID || !*ledger_text(a, &answer))
		abort();
	free(once);
	free(twice);
}

static void as_fleet(struct arena *a, const char *text, size_t size)
{
	struct fleet *f = fleet_new(a, false);

	fleet_add(f, "any.jsonl", "any", text, size);
	fleet_settle(f);
	for (size_t i = 0; i < f->n_proofs; i++) {
		size_t n = 0;

		for (int k = 0; k < FLEET_VERDICTS; k++)
			n += f->proofs[i]->count[k];
		if (!n || n != f->proofs[i]->n || !(f->proofs[i]->least <= f->proofs[i]->most))
			abort();
	}
	fleet_free(f);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct arena a = { 0 };
	struct ledger_row row;
	struct err e = { 0 };
	const char *nl;

	if (!copy)
		abort();
	/* Of its own size: a byte too far is seen. */
	memcpy(copy, data, size);
	nl = memchr(copy, '\n', size);
	if (ledger_row_parse(&a, copy, nl ? (size_t)(nl - copy) : size, &row, &e) == 0)
		again(&a, &row);
	else if (!*e.text)
		abort();
	as_fleet(&a, copy, size);
	free(copy);
	arena_free(&a);
	return 0;
}
