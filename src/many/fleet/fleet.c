/* SPDX-License-Identifier: Apache-2.0 */
/* Results of many machines coming in, one file at a time: whose they are, and the newest of each.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "many/fleet/fleet.h"
#include "base/clock.h"

struct fleet *fleet_new(struct arena *a, bool values)
{
	struct fleet *f = ARENA_NEW(a, struct fleet);

	f->arena = a;
	f->store = ARENA_NEW(a, struct fleet_store);
	f->store->values = values;
	/* Without entropy the table is only slower under attack. */
	if (getrandom(&f->store->seed, sizeof(f->store->seed), GRND_NONBLOCK) < 0)
		f->store->seed = (uint64_t)(uintptr_t)f->store;
	/* They come first, and no file can take their places. */
	store_facts_subjects(f);
	return f;
}

void fleet_free(struct fleet *f)
{
	free(f->store->seen);
	f->store->seen = NULL;
	text_free(&f->store->key);
}

void fleet_refuse(struct fleet *f, const char *file, const char *why)
{
	struct fleet_refused *r;

	f->n_refused++;
	/* A folder of a million pictures is told in one number. */
	if (f->n_refused > FLEET_REFUSED_MAX)
		return;
	f->refused = arena_grow(f->arena, f->refused, f->n_refused - 1, sizeof(*f->refused));
	r = &f->refused[f->n_refused - 1];
	*r = (struct fleet_refused){ arena_strdup(f->arena, file), arena_strdup(f->arena, why) };
}

static const char *const schemas[] = { [FLEET_CHECK] = "gputune.check/1",
				       [FLEET_STATUS] = "gputune.status/1",
				       [FLEET_VERIFY] = "gputune.verify/1" };

static int fleet_fleet_kind_of(const json_t *j, struct err *e)
{
	const char *schema = json_string_value(json_object_get(j, "schema"));

	for (int k = 0; schema && k < FLEET_HOST; k++)
		if (strcmp(schema, schemas[k]) == 0)
			return k;
	if (!schema)
		return err_set(e, -EINVAL, "no schema: not a result of gputune");
	return err_set(e, -EINVAL,
		       "schema %.64s; only check, status, verify and bench can be compared",
		       schema);
}

/* Times are RFC 3339 in UTC, so their order is that of their letters. */
static void fleet_fleet_take(struct fleet *f, struct fleet_machine *m, const json_t *j,
			     const char *file)
{
	struct fleet_store *st = f->store;
	const char *time = json_string_value(json_object_get(j, "time"));
	enum fleet_kind kind = st->kind;

	time = time && strlen(time) <= 32 ? store_text(f, time) : "";
	if (m->times[kind]) {
		f->replaced++;
		if (strcmp(time, m->times[kind]) < 0)
			return;
	}
	m->times[kind] = time;
	m->parts[kind] = arena_array(f->arena, st->n_seen, sizeof(*st->seen));
	m->n_parts[kind] = st->n_seen;
	if (st->n_seen)
		memcpy(m->parts[kind], st->seen, st->n_seen * sizeof(*st->seen));
	/* A check names the profile; of the others only what it leaves out is taken. */
	if (kind == FLEET_CHECK || !m->n_parts[FLEET_HOST]) {
		m->file = arena_strdup(f->arena, file);
		store_facts(f, m, j);
	}
}

/* The schema decides what the list's objects are; it stands before them in what we write. */
static enum fleet_kind guess_kind(const char *text, size_t len)
{
	size_t n = len < 4096 ? len : 4096, first = n;
	enum fleet_kind kind = FLEET_CHECK;

	for (int k = 0; k < FLEET_HOST; k++) {
		const char *at = memmem(text, n, schemas[k], strlen(schemas[k]));

		if (at && (size_t)(at - text) < first) {
			first = (size_t)(at - text);
			kind = (enum fleet_kind)k;
		}
	}
	return kind;
}

static int read_document(struct fleet *f, struct split *s, json_t **frame, struct err *e)
{
	struct fleet_store *st = f->store;
	json_error_t why;
	int kind;

	st->n_seen = 0;
	st->last = NULL;
	st->kind = guess_kind(s->p, (size_t)(s->end - s->p));
	if (split_document(s, e))
		return -EINVAL;
	*frame = json_loadb(s->frame.s, s->frame.len, JSON_REJECT_DUPLICATES, &why);
	if (!*frame)
		return err_set(e, -EINVAL, "invalid JSON: %s", why.text);
	kind = fleet_fleet_kind_of(*frame, e);
	if (kind >= 0 && kind != (int)st->kind)
		kind = err_set(e, -EINVAL, "its schema is not at its beginning");
	if (kind >= 0 &&
	    !json_is_array(json_object_get(*frame, kind == FLEET_CHECK ? "findings" : "rows")))
		kind = err_set(e, -EINVAL, "its list of %s is missing",
			       kind == FLEET_CHECK ? "findings" : "rows");
	if (kind >= 0 && !json_is_object(json_object_get(*frame, "host")))
		kind = err_set(e, -EINVAL, "machine not given");
	if (kind < 0)
		json_decref(*frame);
	return kind < 0 ? kind : 0;
}

static struct split split_of(struct fleet *f, const char *text, size_t len)
{
	return (struct split){
		.p = text, .end = text + len, .item = store_item, .guess = store_guess, .ctx = f
	};
}

void fleet_add(struct fleet *f, const char *file, const char *name, const char *text, size_t len)
{
	struct split s = split_of(f, text, len);
	struct err e = { 0 };
	size_t before = f->documents;

	f->files++;
	if (proofs_is_ledger(text, len)) {
		proofs_add(f, file, text, len);
		return;
	}
	while (!*e.text && split_more(&s)) {
		struct fleet_machine *m;
		json_t *j;

		if (benches_next(s.p, s.end)) {
			f->documents += benches_add(f, file, name, &s.p, s.end, &e) == 0;
			continue;
		}
		if (read_document(f, &s, &j, &e))
			break;
		m = store_machine(f, j, name, &e);
		if (m) {
			fleet_fleet_take(f, m, j, file);
			f->documents++;
		}
		json_decref(j);
	}
	if (*e.text)
		fleet_refuse(f, file, e.text);
	else if (f->documents == before)
		fleet_refuse(f, file, "empty");
	text_free(&s.frame);
}

int fleet_golden(struct fleet *f, const char *file, const char *text, size_t len, struct err *e)
{
	struct split s = split_of(f, text, len);
	int code = 0;

	f->golden = ARENA_NEW(f->arena, struct fleet_machine);
	while (code == 0 && split_more(&s)) {
		json_t *j;

		code = read_document(f, &s, &j, e);
		if (code)
			break;
		f->golden->name = arena_strdup(f->arena, store_name(j, "golden"));
		fleet_fleet_take(f, f->golden, j, file);
		json_decref(j);
	}
	if (code == 0 && !f->golden->name)
		code = err_set(e, -EINVAL, "empty");
	text_free(&s.frame);
	return code;
}

const struct fleet_answer *fleet_answer_of(const struct fleet_machine *m,
					   const struct fleet_subject *s)
{
	return m->answers[s->number];
}

/* Ledgers of many machines: what each proved of a setting, the newest of every machine counted. */

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

/* NULL: it is valid. */
static const char *read_verdict(struct fleet *f, const json_t *j, struct fleet_verdict *v)
{
	const char *kind = get(j, "verdict"), *time = get(j, "time"), *name = get(j, "name");
	int k = 0;

	while (kind && k < FLEET_VERDICTS && strcmp(kind, verdicts[k]) != 0)
		k++;
	if (!kind || k == FLEET_VERDICTS)
		return "no verdict";
	if (!time || stamp_parse(time, &v->time_s))
		return "no time";
	v->kind = (enum fleet_verdict_kind)k;
	v->ratio = number(j, "ratio", 0);
	v->low = number(j, "low", 0);
	v->high = number(j, "high", (double)INFINITY);
	if (!(v->ratio > 0 && v->low >= 0 && v->low <= v->ratio && v->high >= v->ratio))
		return "invalid effect";
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

static const char *proofs_take(struct fleet *f, struct fleet_proof *p, const json_t *j,
			       const struct fleet_verdict *v)
{
	struct fleet_store *st = f->store;
	char number_text[24];
	const char *words[] = { number_text, get(j, "machine"), get(j, "target") };
	struct fleet_verdict *kept;
	void **place;

	snprintf(number_text, sizeof(number_text), "%zu", p->number);
	if (!words[1] || !*words[1])
		return "machine not given";
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
		return "too many verdicts";
	st->n_verdicts++;
	*place = kept = ARENA_NEW(f->arena, struct fleet_verdict);
	*kept = *v;
	p->by = arena_grow(f->arena, p->by, p->n, sizeof(struct fleet_verdict *));
	p->by[p->n++] = kept;
	return NULL;
}

static const char *fleet_fleet_add_row(struct fleet *f, const json_t *j)
{
	const char *setting = get(j, "setting"), *bench = get(j, "bench"),
		   *command = get(j, "command"), *schema = get(j, "schema"), *why;
	struct fleet_verdict v = { 0 };
	struct fleet_proof *p;

	if (!schema || strcmp(schema, mark) != 0)
		return "not a row of a ledger";
	if (!setting || !*setting || strlen(setting) > FLEET_TEXT_MAX)
		return "no setting";
	if (!bench == !command)
		return "requires either a bench or a command";
	why = read_verdict(f, j, &v);
	if (why)
		return why;
	p = proof_at(f, setting, bench ? bench : command, !bench);
	return p ? proofs_take(f, p, j, &v) : "too many settings";
}

static const char *fleet_fleet_add_line(struct fleet *f, const char *line, size_t len)
{
	json_error_t e;
	const char *why;
	json_t *j;

	if (len > LINE_MAX_BYTES)
		return "too long for a row";
	j = json_loadb(line, len, JSON_REJECT_DUPLICATES, &e);
	why = j ? fleet_fleet_add_row(f, j) : "not JSON";
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
		const char *wrong = n ? fleet_fleet_add_line(f, text, n) : NULL;

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

/* Names of many machines in few letters: "node[001-004,017]". */

/* A name as text, then a number of so many digits, then text: the last number that can be one. */
struct outline {
	const char *name;
	size_t before, digits;
	unsigned long number;
};

static struct outline outline_of(const char *name)
{
	struct outline s = { .name = name };
	size_t end = strlen(name);

	while (end && (name[end - 1] < '0' || name[end - 1] > '9'))
		end--;
	s.before = end;
	while (s.before && s.digits < 9 && name[s.before - 1] >= '0' && name[s.before - 1] <= '9') {
		s.before--;
		s.digits++;
	}
	for (size_t i = 0; i < s.digits; i++)
		s.number = s.number * 10 + (unsigned long)(name[s.before + i] - '0');
	return s;
}

/* "n9" and "n10" count on; "n09" and "n10" too; "n9" and "n010" do not. */
static bool same_series(const struct outline *a, const struct outline *b)
{
	bool zero = (a->digits > 1 && a->name[a->before] == '0') ||
		    (b->digits > 1 && b->name[b->before] == '0');

	return a->digits && b->digits && a->before == b->before &&
	       memcmp(a->name, b->name, a->before) == 0 &&
	       strcmp(a->name + a->before + a->digits, b->name + b->before + b->digits) == 0 &&
	       (!zero || a->digits == b->digits);
}

/* A run of counting names from machine i on; the index behind it. */
static size_t run_end(const struct fleet_machine *const *m, size_t n, size_t i)
{
	struct outline last = outline_of(m[i]->name);

	for (i++; i < n; i++) {
		struct outline next = outline_of(m[i]->name);

		if (!same_series(&last, &next) || next.number != last.number + 1)
			break;
		last = next;
	}
	return i;
}

/* One series from machine i on: its text into t, the index behind what was told returned. Beyond
 * max bytes (0: no bound) the rest of the series is not known. */
static size_t fold(struct text *t, const struct fleet_machine *const *m, size_t n, size_t i,
		   size_t max)
{
	struct outline first = outline_of(m[i]->name);
	size_t begin = i;

	if (i + 1 < n) {
		struct outline next = outline_of(m[i + 1]->name);

		if (same_series(&first, &next))
			text_printf(t, "%.*s[", (int)first.before, m[i]->name);
		else
			n = i;
	} else {
		n = i;
	}
	if (n == i) {
		text_add(t, first.name);
		return i + 1;
	}
	while (i < n && (i == begin || !max || t->len < max)) {
		struct outline from = outline_of(m[i]->name), to;

		if (!same_series(&first, &from))
			break;
		text_printf(t, "%s%.*s", i == begin ? "" : ",", (int)from.digits,
			    from.name + from.before);
		i = run_end(m, n, i);
		to = outline_of(m[i - 1]->name);
		if (to.number != from.number)
			text_printf(t, "-%.*s", (int)to.digits, to.name + to.before);
	}
	text_printf(t, "]%s", first.name + first.before + first.digits);
	return i;
}

const char *fleet_hosts(struct arena *a, const struct fleet_machine *const *machines, size_t n,
			size_t max)
{
	TEXT_AUTO t = { 0 };
	size_t i = 0;

	text_add(&t, "");
	while (i < n && (!max || t.len < max)) {
		if (i)
			text_addc(&t, ',');
		i = fold(&t, machines, n, i, max);
	}
	if (i < n)
		text_printf(&t, " and %zu more", n - i);
	return arena_strdup(a, t.s);
}
