/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request: everything that is kept, with what keeps it, as JSON in /etc/gputune/boot.json. The
 * boot-time unit applies its share of it; verify --boot compares all of it with the machine. An
 * administrator may have edited it: the reader takes nothing for granted.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/idset.h"
#include "base/text.h"
#include "tune/persist/persist.h"
#include "machine/knob/knob.h"
#include "tune/plan/plan.h"

enum { TEXT_MAX = 4096, ROWS_MAX = 1 << 12, EXPANDED_MAX = 1 << 16 };

/* The same bytes in every release: a reworded one would be another file than the one that was kept.
 */
static const char written_by[] =
	"gputune; \"gputune persist status\" shows it, \"gputune persist remove\" removes it";

/* A row of the file: many values where it has numbers. */
struct request_row {
	struct persist_entry of; /* its knob's name has {} for each of the numbers */
	const char *numbers;
};

/* What the request can ask for; NULL: not this. */
static const char *request_kind(unsigned kind)
{
	switch (kind) {
	case KNOB_FILE:
	case KNOB_ADDRESS:
	case KNOB_BLOCK:
	case KNOB_FIRMWARE:
	case KNOB_CPUSET:
		return NULL;
	default:
		return knob_kind_name((enum knob_kind)kind);
	}
}

static const char *request_sets(unsigned backend)
{
	return backend == PERSIST_IN_NONE ? NULL
					  : persist_backend_name((enum persist_backend)backend);
}

/* clang-format off */
static const struct shape_row request_row_rows[] = {
	{ "id", "Id of the setting.", SHAPE_TEXT(request_row, of.id) },
	{ "kind", NULL, SHAPE_CHOICE_BY(request_row, of.knob.kind, request_kind, KNOB_KINDS) },
	{ "name", NULL, SHAPE_TEXT(request_row, of.knob.name) },
	{ "object", NULL, SHAPE_TEXT(request_row, of.knob.object) },
	{ "numbers", "Numbers for {} in the name: \"0-6,8-255\".", SHAPE_TEXT(request_row, numbers) },
	{ "value", NULL, SHAPE_TEXT(request_row, of.value) },
	{ "device", "Target value.", SHAPE_TEXT(request_row, of.device) },
	{ "keeper", "Mechanism that sets it at boot.", SHAPE_CHOICE_BY(request_row, of.keeper, request_sets, KEEPERS) },
	{ "by", "Path of the file.", SHAPE_TEXT(request_row, of.by) },
	{ "before", "Value before any change of gputune.", SHAPE_TEXT(request_row, of.before),
	  .unknown = SHAPE_NULL, .later = true },
};
static const struct shape request_row_shape = SHAPE(request_row, request_row);

struct request {
	const char *written_by;
	struct request_row *rows;
	size_t n;
};

static const struct shape request_shape = SHAPE_OF(request, request,
	{ "written_by", NULL, SHAPE_TEXT(request, written_by) },
	{ "rows", NULL, SHAPE_LIST(request, rows, n, request_row) });
/* clang-format on */

const struct result_shape boot_result = {
	.name = "boot",
	.title = "/etc/gputune/boot.json",
	.meaning = "Values kept for every boot, and the files that keep them.",
	.shape = &request_shape,
	.no_time = true,
	.no_version = true,
	.version = 2,
};

/* --- writing ---------------------------------------------------------------------------------- */

/* Of "/sys/devices/system/cpu/cpu12/x" the number and what is around it: CPUs and frequency
 * policies come by the hundred. */
static bool split_number(struct arena *a, const struct knob *k, const char **pattern,
			 unsigned *number)
{
	static const char *const stems[] = { "/sys/devices/system/cpu/cpu",
					     "/sys/devices/system/cpu/cpufreq/policy" };

	for (size_t i = 0; k->kind == KNOB_SYSFS && i < 2; i++) {
		const char *digits, *end;
		unsigned long long v;

		if (!str_starts(k->name, stems[i]))
			continue;
		digits = k->name + strlen(stems[i]);
		end = digits + strspn(digits, "0123456789");
		if (*end != '/' ||
		    parse_u64(arena_strndup(a, digits, (size_t)(end - digits)), &v) ||
		    v > IDSET_MAX)
			continue;
		*pattern = arena_printf(a, "%s{}%s", stems[i], end);
		*number = (unsigned)v;
		return true;
	}
	return false;
}

static bool is_alike(const struct persist_entry *x, const struct persist_entry *y)
{
	return x->keeper == y->keeper && strcmp(x->id, y->id) == 0 &&
	       strcmp(x->value, y->value) == 0 && strcmp(x->device, y->device) == 0 &&
	       (x->before && y->before ? strcmp(x->before, y->before) == 0
				       : x->before == y->before);
}

/* The numbers of all rows from i on that are the same but for it; they are marked as told. */
static const char *persist_request_gather(struct arena *a, const struct persist_entry *rows,
					  size_t n, size_t i, const char *pattern, bool *told)
{
	struct idset set = { 0 };

	for (size_t k = i; k < n; k++) {
		const char *its;
		unsigned number;

		if (told[k] || !is_alike(&rows[i], &rows[k]) ||
		    !split_number(a, &rows[k].knob, &its, &number) || strcmp(its, pattern) != 0)
			continue;
		idset_add(a, &set, number);
		told[k] = true;
	}
	return idset_format(a, &set);
}

const char *persist_request(struct arena *a, const struct persist_entry *rows, size_t n)
{
	struct request request = { written_by, NULL, 0 };
	bool *told = arena_array(a, n, sizeof(*told));
	const char *out;
	json_auto_t *j = NULL;
	char *text;

	request.rows = arena_array(a, n, sizeof(*request.rows));
	for (size_t i = 0; i < n; i++) {
		struct request_row *row = &request.rows[request.n];
		const char *pattern = NULL;
		unsigned number;

		if (rows[i].keeper == PERSIST_IN_NONE || told[i])
			continue;
		*row = (struct request_row){ rows[i], "" };
		if (split_number(a, &rows[i].knob, &pattern, &number)) {
			row->of.knob.name = pattern;
			row->numbers = persist_request_gather(a, rows, n, i, pattern, told);
		}
		if (!row->of.knob.name)
			row->of.knob.name = "";
		request.n++;
	}
	j = result_shape_json(&boot_result, &request, 0, 0);
	text = json_dumps(j, JSON_INDENT(1));
	if (!text)
		abort();
	out = arena_printf(a, "%s\n", text);
	free(text);
	return out;
}

/* --- reading ---------------------------------------------------------------------------------- */

struct reading {
	struct arena *a;
	struct persist_entry *rows;
	size_t n;
	size_t item; /* counted from 1; 0: the top level */
	struct err *e;
};

__attribute__((format(printf, 2, 3))) static int bad(struct reading *r, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(r->a, fmt, ap);
	va_end(ap);
	if (r->item)
		return err_set(r->e, -EINVAL, "%s: row %zu: %s", PERSIST_REQUEST, r->item, text);
	return err_set(r->e, -EINVAL, "%s: %s", PERSIST_REQUEST, text);
}

/* Short, and of one line. */
static int texts_hold(struct reading *r, const struct request_row *row)
{
	for (size_t i = 0; i < request_row_shape.n; i++) {
		const struct shape_row *is = &request_row_rows[i];
		const char *s = is->kind == SHAPE_KIND_TEXT ? shape_text(is, row) : NULL;

		if (s && strlen(s) > TEXT_MAX)
			return bad(r, "\"%s\" is too long", is->key);
		for (; s && *s; s++)
			if ((unsigned char)*s < ' ' || *s == 0x7f)
				return bad(r, "\"%s\" contains control characters", is->key);
	}
	return 0;
}

static int persist_request_add(struct reading *r, const struct persist_entry *row)
{
	const struct setting *s = setting_find(row->id);
	const char *why = "";

	if (!s)
		return bad(r, "unknown setting \"%.60s\"", row->id);
	if (row->knob.kind == KNOB_NONE ? row->keeper != PERSIST_IN_LIMITS
					: !knob_allows(r->a, &row->knob, row->value, &why) ||
						  !knob_valid(&row->knob, row->before, &why))
		return bad(r, "%.60s: %s", row->id, why);
	if (r->n == EXPANDED_MAX)
		return bad(r, "the name expands to more than %d values", EXPANDED_MAX);
	ARENA_ADD(r->a, r->rows, r->n) = *row;
	return 0;
}

/* One row of the file, or as many as it has numbers. */
static int persist_request_expand(struct reading *r, const struct persist_entry *row,
				  const char *numbers)
{
	struct idset set;

	if (!*numbers)
		return persist_request_add(r, row);
	if (idset_parse(r->a, numbers, &set) || !set.n || !strstr(row->knob.name, "{}"))
		return bad(r, "\"numbers\" is not a list of numbers for a name with {}");
	IDSET_FOR_EACH (number, &set) {
		struct persist_entry one = *row;

		one.knob = knob_make(r->a, row->knob.kind, row->knob.name,
				     arena_printf(r->a, "%u", number));
		one.knob.object = row->knob.object;
		if (persist_request_add(r, &one))
			return -EINVAL;
	}
	return 0;
}

static int document(struct reading *r, const json_t *j)
{
	const json_t *list = json_object_get(j, "rows");
	const char *schema = json_string_value(json_object_get(j, "schema"));
	size_t keys = request_row_shape.n;
	struct request request;
	struct err why = { 0 };

	if (json_object_size(j) != 3 || !schema)
		return bad(r, "not a list of values that gputune wrote");
	if (strcmp(schema, "gputune.boot/1") == 0)
		keys--; /* without "before" */
	else if (strcmp(schema, "gputune.boot/2") != 0)
		return bad(r, "its schema \"%.60s\" is not supported by this version", schema);
	if (json_array_size(list) > ROWS_MAX)
		return bad(r, "more than %d rows", ROWS_MAX);
	if (shape_read(r->a, &request_shape, j, &request, &why))
		return bad(r, "%s", why.text);
	for (size_t i = 0; i < request.n; i++) {
		r->item = i + 1;
		if (json_object_size(json_array_get(list, i)) != keys)
			return bad(r, "a row does not have the required %zu keys", keys);
		request.rows[i].of.target = "";
		if (texts_hold(r, &request.rows[i]) ||
		    persist_request_expand(r, &request.rows[i].of, request.rows[i].numbers))
			return -EINVAL;
	}
	return 0;
}

int persist_request_read(struct arena *a, const char *text, size_t len, struct persist_entry **rows,
			 size_t *n, struct err *e)
{
	struct reading r = { .a = a, .e = e };
	json_error_t why;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	int code = j ? document(&r, j)
		     : err_set(e, -EINVAL, "%s:%d: %s", PERSIST_REQUEST, why.line, why.text);

	json_decref(j);
	if (code)
		return code;
	*rows = r.rows;
	*n = r.n;
	return 0;
}

/*
 * What ties a kept value to a device rather than to a name, and finding that device again at the
 * next boot: a slot may hold another card, an interface may be called otherwise, and idle states
 * are numbered by the driver.
 */

static const char *pci_ids(struct arena *a, const struct machine *m, const char *address)
{
	const struct pci_function *f = machine_pci(m, address);

	if (!f || !seen_ok(&f->vendor.f) || !seen_ok(&f->device.f))
		return NULL;
	return arena_printf(a, "%04llx:%04llx", (unsigned long long)f->vendor.v,
			    (unsigned long long)f->device.v);
}

/* "C6" of "/sys/devices/system/cpu/cpu3/cpuidle/state2/disable"; NULL: not seen, "" no such path.
 */
static const char *idle_name(const struct machine *m, const char *path)
{
	unsigned cpu, state;
	char rest[16];

	if (sscanf(path, "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/%15s", &cpu, &state,
		   rest) != 3)
		return "";
	LIST_FOR_EACH (struct idle_group, g, &m->cpu.idle) {
		if (!seen_ok(&g->cpus.f) || !idset_has(&g->cpus.v, cpu))
			continue;
		LIST_FOR_EACH (struct idle_state, s, &g->states)
			if (s->index == state)
				return fact_text(&s->name, NULL);
	}
	return NULL;
}

const char *persist_device(struct arena *a, const struct machine *m, const struct knob *k)
{
	const struct nic *n;
	const char *ids;

	switch (k->kind) {
	case KNOB_NVML:
	case KNOB_HELPER:
		/* A GPU that is no PCI function of its own (GB10's) has nothing to compare. */
		ids = pci_ids(a, m, k->object);
		return ids ? ids : "";
	case KNOB_PCI:
		return pci_ids(a, m, k->object);
	case KNOB_LINK:
		n = machine_nic(m, k->object);
		return n ? n->pci : NULL;
	case KNOB_SYSFS:
		return idle_name(m, k->name);
	default:
		return "";
	}
}

/* The interface that hangs from the function: the one of that name, else the only one. */
static const char *interface_of(const struct machine *m, const char *pci, const char *name)
{
	const struct nic *named = machine_nic(m, name);
	const char *found = NULL;

	if (named && (!*pci || strcmp(named->pci, pci) == 0))
		return named->name;
	LIST_FOR_EACH (struct nic, n, &m->net.nics) {
		if (!*pci || strcmp(n->pci, pci) != 0)
			continue;
		if (found)
			return NULL;
		found = n->name;
	}
	return found;
}

const struct knob *persist_find(struct arena *a, const struct machine *m,
				const struct persist_entry *row, const char **why)
{
	struct knob *k = ARENA_NEW(a, struct knob);
	const char *now;

	*k = row->knob;
	if (k->kind == KNOB_LINK) {
		k->object = interface_of(m, row->device, k->object);
		*why = "no such interface";
		return k->object ? k : NULL;
	}
	now = persist_device(a, m, k);
	if (!*row->device || (now && strcmp(now, row->device) == 0))
		return k;
	*why = now && *now ? arena_printf(a, "the device was %s and is now %s", row->device, now)
			   : arena_printf(a, "%s does not exist", row->device);
	return NULL;
}

const char *persist_target(struct arena *a, const struct machine *m, const char *id,
			   const struct knob *k, struct persist_targets *cache)
{
	const struct setting *s = setting_find(id);
	struct map *targets;

	if (!s)
		return NULL;
	if (cache->s != s) {
		targets = setting_targets(a, m, s);
		*cache = (struct persist_targets){ .s = s,
						   .items = map_sorted(a, targets),
						   .n = targets->n };
	}
	/* Rows come in the order of targets, mostly. */
	for (size_t i = 0; i < cache->n; i++) {
		size_t at = (cache->next + i) % cache->n;

		if (!setting_reaches(a, s, cache->items[at].value, k))
			continue;
		cache->next = at;
		return cache->items[at].key;
	}
	return NULL;
}
