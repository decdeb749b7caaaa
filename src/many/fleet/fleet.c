/* SPDX-License-Identifier: Apache-2.0 */
/* Results of many machines coming in, one file at a time: whose they are, and the newest of each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "many/fleet/fleet.h"

struct fleet *fleet_new(struct arena *a, bool values)
{
	struct fleet *f = ARENA_NEW(a, struct fleet);

	f->arena = a;
	f->store = ARENA_NEW(a, struct fleet_store);
	f->store->values = values;
	/* They come first, and no file can take their places. */
	store_facts_subjects(f);
	return f;
}

void fleet_free(struct fleet *f)
{
	free(f->store->seen);
	text_free(&f->store->frame);
	text_free(&f->store->raw);
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

const char *const fleet_kinds[FLEET_SCHEMAS] = { "check",   "status", "verify", "stack-check",
						 "defects", "doctor", "show",	"hang",
						 "host",    "bench",  "ledger" };

static int fleet_kind_of(const char *schema)
{
	char name[32] = "";
	int k = 0, whole = 0;

	/* %n is reached only behind the version. */
	if (sscanf(schema, "gputune.%31[a-z-]/1%n", name, &whole) != 1 || !whole || schema[whole])
		return FLEET_SCHEMAS;
	while (k < FLEET_SCHEMAS && (k == FLEET_HOST || strcmp(name, fleet_kinds[k]) != 0))
		k++;
	return k;
}

/* Of the document that begins here: the schema stands before its list in what we write. */
static int guess_kind(const char *at, const char *end)
{
	enum { LOOK = 4096, SCHEMA_MAX = 64 };
	size_t n = (size_t)(end - at) < LOOK ? (size_t)(end - at) : LOOK, len;
	const char *key = memmem(at, n, "\"schema\"", 8), *p = key ? key + 8 : at + n, *quote;
	char schema[SCHEMA_MAX];

	while (p < at + n && strchr(" :\n\t\r", *p))
		p++;
	quote = p < at + n && *p == '"' ? memchr(p + 1, '"', (size_t)(at + n - p - 1)) : NULL;
	len = quote ? (size_t)(quote - p - 1) : SCHEMA_MAX;
	if (len >= SCHEMA_MAX)
		return FLEET_SCHEMAS;
	memcpy(schema, p + 1, len);
	schema[len] = '\0';
	return fleet_kind_of(schema);
}

/* Times are RFC 3339 in UTC, so their order is that of their letters. */
static void fleet_take(struct fleet *f, struct fleet_machine *m, const json_t *j, const char *file)
{
	struct fleet_store *st = f->store;
	const char *time = read_string(j, "time");
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

static int read_frame(struct fleet *f, struct split *s, json_t **frame, struct err *e)
{
	struct fleet_store *st = f->store;
	const char *schema;
	const json_t *list;
	json_error_t why;
	int kind;

	st->n_seen = 0;
	st->last = NULL;
	if (split_document(s, e))
		return -EINVAL;
	*frame = json_loadb(s->frame.s, s->frame.len, JSON_REJECT_DUPLICATES, &why);
	if (!*frame)
		return err_set(e, -EINVAL, "invalid JSON: %s", why.text);
	schema = json_string_value(json_object_get(*frame, "schema"));
	kind = schema ? fleet_kind_of(schema) : FLEET_SCHEMAS;
	list = json_object_get(*frame, s->list);
	if (!schema)
		err_set(e, -EINVAL, "no schema: not a result of gputune");
	else if (kind >= FLEET_HOST)
		err_set(e, -EINVAL,
			"schema %.64s cannot be compared; supported are results of check, status, "
			"verify, stack check, defects, doctor, show, diagnose hang and bench",
			schema);
	else if (kind != (int)st->kind)
		err_set(e, -EINVAL, "the first key must be \"schema\"");
	/* --compact leaves an empty one out. */
	else if (list ? !json_is_array(list) : !json_object_get(*frame, "exit_code"))
		err_set(e, -EINVAL, "the list of %s is missing", s->list);
	else if (!json_is_object(json_object_get(*frame, "host")))
		err_set(e, -EINVAL, "machine not given");
	return *e->text ? -EINVAL : 0;
}

/* A result with such a list, or the golden machine's. */
static int take_result(struct fleet *f, const struct read_from *from, const char **at,
		       const char *end, struct err *e)
{
	struct split s = { .p = *at,
			   .end = end,
			   .list = fleet_kind_rows[f->store->kind].list,
			   .frame = f->store->frame,
			   .f = f };
	struct fleet_machine *m = f->store->golden ? f->golden : NULL;
	json_auto_t *j = NULL;
	int code = read_frame(f, &s, &j, e);

	f->store->frame = s.frame;
	if (code)
		return code;
	*at = s.p;
	if (m)
		m->name = arena_strdup(f->arena, read_machine(j, from, e));
	else
		m = store_machine(f, j, from, e);
	if (m)
		fleet_take(f, m, j, from->file);
	f->documents += m && m != f->golden;
	return m ? 0 : -EINVAL;
}

/* Makes an item of a list from a value that is not one yet. */
static int take_items(struct fleet *f, const struct read_from *from, const char **at,
		      const char *end, struct err *e)
{
	json_error_t why;
	json_auto_t *j = json_loadb(*at, (size_t)(end - *at),
				    JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &why);
	const char *p;
	char *text;
	int code;

	if (!j)
		return err_set(e, -EINVAL, "invalid JSON: %s", why.text);
	read_items(&f->store->scratch, j, false);
	p = text = json_dumps(j, JSON_COMPACT);
	code = text ? take_result(f, from, &p, text + strlen(text), e) : -ENOMEM;
	*at += code ? 0 : why.position;
	free(text);
	arena_free(&f->store->scratch);
	return code;
}

static int take_document(void *ctx, const struct read_from *from, const char **at, const char *end,
			 struct err *e)
{
	struct fleet *f = ctx;
	int kind = guess_kind(*at, end);

	if (kind == FLEET_LEDGER && !f->store->golden)
		return proofs_add(f, at, end, e);
	if (kind == FLEET_BENCH && !f->store->golden) {
		kind = benches_add(f, from, at, end, e);
		f->documents += kind == 0;
		return kind;
	}
	f->store->kind = kind < FLEET_HOST ? (enum fleet_kind)kind : FLEET_CHECK;
	return kind == FLEET_SHOW || kind == FLEET_HANG ? take_items(f, from, at, end, e)
							: take_result(f, from, at, end, e);
}

static void refuse_text(void *ctx, const char *file, const char *why)
{
	fleet_refuse(ctx, file, why);
}

struct read_ask fleet_reader(struct fleet *f)
{
	return (struct read_ask){ .most = FLEET_FILE_MAX,
				  .document = take_document,
				  .refuse = refuse_text,
				  .by_file = true,
				  .ctx = f,
				  .owner = f };
}

void fleet_add(struct fleet *f, const char *file, const char *name, const char *text, size_t len)
{
	struct read_ask ask = fleet_reader(f);

	read_text(&ask, file, name, text, len);
	f->files++;
}

void fleet_golden(struct fleet *f, bool golden)
{
	if (golden)
		f->golden = ARENA_NEW(f->arena, struct fleet_machine);
	f->store->golden = golden;
}

/* Ledgers of many machines: what each proved of a setting, the newest of every machine counted. */

enum { VERDICTS_MAX = 1 << 20 };

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
	ARENA_ADD(f->arena, f->proofs, f->n_proofs) = p;
	return p;
}

static const char *proofs_take(struct fleet *f, struct fleet_proof *p, const struct ledger_row *r)
{
	struct fleet_store *st = f->store;
	const char *words[] = { arena_printf(&st->scratch, "%zu", p->number), r->where.machine,
				r->target };
	struct fleet_verdict *kept;
	void **place = map_at(f->arena, &st->verdicts, key_of(&st->key, words, 3));

	kept = *place;
	f->verdicts++;
	if (kept && r->time_s < kept->time_s)
		return NULL;
	if (!kept) {
		if (st->n_verdicts == VERDICTS_MAX)
			return "too many verdicts";
		st->n_verdicts++;
		*place = kept = ARENA_NEW(f->arena, struct fleet_verdict);
		ARENA_ADD(f->arena, p->by, p->n) = kept;
	}
	*kept = (struct fleet_verdict){ .name = store_text(f, *r->where.name ? r->where.name
									     : "unnamed"),
					.kind = r->verdict,
					.ratio = r->ratio,
					.low = r->low,
					.high = r->high,
					.kernel = store_text(f, r->where.kernel),
					.driver = store_text(f, r->where.driver),
					.time_s = r->time_s };
	return NULL;
}

int proofs_add(struct fleet *f, const char **at, const char *end, struct err *e)
{
	const char *nl = memchr(*at, '\n', (size_t)(end - *at)), *why = NULL;
	size_t len = (size_t)((nl ? nl : end) - *at);
	struct arena *a = &f->store->scratch;
	struct ledger_row row;
	struct fleet_proof *p;
	int code = ledger_row_parse(a, *at, len, &row, e);

	if (code == 0) {
		*at += len;
		p = proof_at(f, row.setting, row.bench ? row.bench : row.command, !row.bench);
		why = p ? proofs_take(f, p, &row) : "too many settings";
		code = why ? err_set(e, -EINVAL, "%s", why) : 0;
	}
	arena_free(a);
	return code;
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

			p->count[v->kind - RULING_HELPS]++;
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

const char *fleet_hosts(struct arena *a, const struct fleet_machine *const *machines, size_t n,
			size_t max)
{
	struct outline first = { 0 }, last = { 0 }, it = n ? outline_of(machines[0]->name) : first;
	bool same = false; /* it is of the series of the one before */
	TEXT_AUTO t = { 0 };
	size_t i;

	text_add(&t, "");
	for (i = 0; i < n; i++) {
		struct outline next =
			i + 1 < n ? outline_of(machines[i + 1]->name) : (struct outline){ 0 };
		bool runs = same && it.number == last.number + 1, on;

		first = same ? first : it;
		on = i + 1 < n && same_series(&first, &next);
		if (!runs && max && t.len >= max)
			break;
		if (!same)
			text_printf(&t, "%s%.*s%s", i ? "," : "", (int)it.before, it.name,
				    on ? "[" : it.name + it.before);
		if (!runs && same)
			text_addc(&t, ',');
		if (runs ? !(on && next.number == it.number + 1) : same || on)
			text_printf(&t, "%s%.*s", runs ? "-" : "", (int)it.digits,
				    it.name + it.before);
		if (same && !on)
			text_printf(&t, "]%s", first.name + first.before + first.digits);
		last = it;
		it = next;
		same = on;
	}
	if (i < n)
		text_printf(&t, "%s%s and %zu more", same ? "]" : "",
			    same ? first.name + first.before + first.digits : "", n - i);
	return arena_strdup(a, t.s);
}
