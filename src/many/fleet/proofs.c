/* SPDX-License-Identifier: Apache-2.0 */
/* Ledgers of many machines: what each proved of a setting, the newest of every machine counted. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stamp.h"
#include "base/text.h"
#include "many/fleet/store.h"

enum { LINE_MAX_BYTES = 16 << 10, VERDICTS_MAX = 1 << 20, MARK_WITHIN = 4096 };
static const char mark[] = "gputune.ledger/1";

static const char *const verdicts[FLEET_VERDICTS] = { [FLEET_HELPS] = "helps",
						      [FLEET_HURTS] = "hurts",
						      [FLEET_NO_DIFFERENCE] = "no-difference",
						      [FLEET_UNDECIDED] = "undecided" };

const char *fleet_verdict_name(enum fleet_verdict_kind k)
{
	return verdicts[k];
}

/* A ledger says what it is in its first line; a result may quote it in a later one only. */
bool proofs_is_ledger(const char *text, size_t len)
{
	size_t n = len < MARK_WITHIN ? len : MARK_WITHIN;
	const char *nl = memchr(text, '\n', n),
		   *at = memmem(text, nl ? (size_t)(nl - text) : n, "\"schema\"", 8);
	size_t rest = at ? (size_t)(text + n - at) : 0;

	return at && memmem(at, rest < 40 ? rest : 40, mark, sizeof(mark) - 1);
}

static const char *get(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

static double number(const json_t *j, const char *key, double missing)
{
	const json_t *v = json_object_get(j, key);

	return json_is_number(v) ? json_number_value(v) : missing;
}

/* NULL: it is sound. */
static const char *read_verdict(struct fleet *f, const json_t *j, struct fleet_verdict *v)
{
	const char *kind = get(j, "verdict"), *time = get(j, "time"), *name = get(j, "name");
	int k = 0;

	while (kind && k < FLEET_VERDICTS && strcmp(kind, verdicts[k]) != 0)
		k++;
	if (!kind || k == FLEET_VERDICTS)
		return "it has no verdict";
	if (!time || stamp_parse(time, &v->time_s))
		return "it has no time";
	v->kind = (enum fleet_verdict_kind)k;
	v->ratio = number(j, "ratio", 0);
	v->low = number(j, "low", 0);
	v->high = number(j, "high", (double)INFINITY);
	if (!(v->ratio > 0 && v->low >= 0 && v->low <= v->ratio && v->high >= v->ratio))
		return "its effect makes no sense";
	v->name = store_text(f, name && *name ? name : "unnamed");
	v->kernel = store_text(f, get(j, "kernel") ? get(j, "kernel") : "");
	v->driver = store_text(f, get(j, "driver") ? get(j, "driver") : "");
	return NULL;
}

/* Lengths before texts: no text can look like two. */
static const char *key_of(struct text *key, const char *const *words, size_t n)
{
	text_clear(key);
	for (size_t i = 0; i < n; i++)
		text_printf(key, "%zu:%s", strlen(words[i]), words[i]);
	return key->s;
}

static struct fleet_proof *proof_at(struct fleet *f, const char *setting, const char *on,
				    bool command)
{
	const char *const words[] = { setting, command ? "c" : "b", on };
	struct fleet_store *st = f->store;
	void **place = map_at(f->arena, &st->proofs, key_of(&st->key, words, 3));
	struct fleet_proof *p;

	if (*place || f->n_proofs == FLEET_SUBJECTS_MAX)
		return *place;
	p = ARENA_NEW(f->arena, struct fleet_proof);
	*p = (struct fleet_proof){ .setting = store_text(f, setting),
				   .on = store_text(f, on),
				   .command = command,
				   .number = f->n_proofs };
	*place = p;
	f->proofs = arena_grow(f->arena, f->proofs, f->n_proofs, sizeof(struct fleet_proof *));
	f->proofs[f->n_proofs++] = p;
	return p;
}

static const char *take(struct fleet *f, struct fleet_proof *p, const json_t *j,
			const struct fleet_verdict *v)
{
	struct fleet_store *st = f->store;
	char number_text[24];
	const char *words[] = { number_text, get(j, "machine"), get(j, "target") };
	struct fleet_verdict *kept;
	void **place;

	snprintf(number_text, sizeof(number_text), "%zu", p->number);
	if (!words[1] || !*words[1])
		return "it does not say which machine it is of";
	words[2] = words[2] ? words[2] : "";
	place = map_at(f->arena, &st->verdicts, key_of(&st->key, words, 3));
	kept = *place;
	f->verdicts++;
	if (kept) {
		if (v->time_s >= kept->time_s)
			*kept = *v;
		return NULL;
	}
	if (st->n_verdicts == VERDICTS_MAX)
		return "with it there are too many verdicts";
	st->n_verdicts++;
	*place = kept = ARENA_NEW(f->arena, struct fleet_verdict);
	*kept = *v;
	p->by = arena_grow(f->arena, p->by, p->n, sizeof(struct fleet_verdict *));
	p->by[p->n++] = kept;
	return NULL;
}

static const char *add_row(struct fleet *f, const json_t *j)
{
	const char *setting = get(j, "setting"), *bench = get(j, "bench"),
		   *command = get(j, "command"), *schema = get(j, "schema"), *why;
	struct fleet_verdict v = { 0 };
	struct fleet_proof *p;

	if (!schema || strcmp(schema, mark) != 0)
		return "it is no row of a ledger";
	if (!setting || !*setting || strlen(setting) > FLEET_TEXT_MAX)
		return "it has no setting";
	if (!bench == !command)
		return "it has to name either a bench or a command";
	why = read_verdict(f, j, &v);
	if (why)
		return why;
	p = proof_at(f, setting, bench ? bench : command, !bench);
	return p ? take(f, p, j, &v) : "with it there are too many settings";
}

static const char *add_line(struct fleet *f, const char *line, size_t len)
{
	json_error_t e;
	const char *why;
	json_t *j;

	if (len > LINE_MAX_BYTES)
		return "it is longer than any row";
	j = json_loadb(line, len, JSON_REJECT_DUPLICATES, &e);
	why = j ? add_row(f, j) : "it is no JSON";
	json_decref(j);
	return why;
}

void proofs_add(struct fleet *f, const char *file, const char *text, size_t len)
{
	size_t number = 0, bad = 0, first = 0;
	const char *why = NULL, *end = text + len;

	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((nl ? nl : end) - text);
		const char *wrong = n ? add_line(f, text, n) : NULL;

		number++;
		text += n + 1;
		if (wrong && !bad++) {
			why = wrong;
			first = number;
		}
	}
	if (bad) {
		struct text t = { 0 };

		text_printf(&t, "line %zu: %s", first, why);
		if (bad > 1)
			text_printf(&t, ", and %zu more lines", bad - 1);
		fleet_refuse(f, file, t.s);
		text_free(&t);
	}
}

static int by_setting(const void *a, const void *b)
{
	const struct fleet_proof *x = *(const struct fleet_proof *const *)a,
				 *y = *(const struct fleet_proof *const *)b;
	int r = str_natural(x->setting, y->setting);

	return r ? r : str_natural(x->on, y->on);
}

static int by_name(const void *a, const void *b)
{
	const struct fleet_verdict *x = *(const struct fleet_verdict *const *)a,
				   *y = *(const struct fleet_verdict *const *)b;
	int r = str_natural(x->name, y->name);

	return r ? r : (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

void proofs_settle(struct fleet *f)
{
	size_t kept = 0;

	/* Without a verdict that could be taken it says nothing. */
	for (size_t i = 0; i < f->n_proofs; i++)
		if (f->proofs[i]->n)
			f->proofs[kept++] = f->proofs[i];
	f->n_proofs = kept;
	if (f->n_proofs)
		qsort(f->proofs, f->n_proofs, sizeof(struct fleet_proof *), by_setting);
	for (size_t i = 0; i < f->n_proofs; i++) {
		struct fleet_proof *p = f->proofs[i];

		qsort(p->by, p->n, sizeof(struct fleet_verdict *), by_name);
		for (size_t k = 0; k < p->n; k++) {
			const struct fleet_verdict *v = p->by[k];

			p->count[v->kind]++;
			p->least = k && p->least < v->ratio ? p->least : v->ratio;
			p->most = k && p->most > v->ratio ? p->most : v->ratio;
		}
	}
}
