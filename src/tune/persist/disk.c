/* SPDX-License-Identifier: Apache-2.0 */
/*
 * udev rules for the queues of block devices, by what kind of device it is: names like sda may be
 * another disk after the next boot. A rule is as wide as its setting: it matches a class of which
 * every disk of this machine shall have the value, else a model; what neither can tell from others
 * is refused.
 */
#include <string.h>

#include "base/text.h"
#include "tune/persist/persist.h"
#include "tune/persist/quote.h"

enum { WIDTH_CLASS, WIDTH_MODEL, WIDTHS };

static const struct {
	const char *prefix, *transport, *match; /* transport NULL: any */
	bool spins;				/* rotational tells two kinds apart */
} classes[] = {
	{ "nvme", NULL, "KERNEL==\"nvme[0-9]*n[0-9]*\"", false },
	{ "vd", NULL, "KERNEL==\"vd[a-z]*\"", false },
	{ "mmcblk", NULL, "KERNEL==\"mmcblk[0-9]*\"", false },
	{ "sd", "usb", "KERNEL==\"sd[a-z]*\", ENV{ID_BUS}==\"usb\"", true },
	{ "sd", NULL, "KERNEL==\"sd[a-z]*\", ENV{ID_BUS}!=\"usb\"", true },
};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]), NO_CLASS = CLASSES };

static size_t class_of(const struct disk *d)
{
	for (size_t i = 0; i < CLASSES; i++)
		if (str_starts(d->name, classes[i].prefix) &&
		    (!classes[i].transport ||
		     str_starts(fact_text(&d->transport, ""), classes[i].transport)))
			return i;
	return NO_CLASS;
}

static bool is_same_class(const struct disk *x, const struct disk *y)
{
	size_t c = class_of(x);

	return c != NO_CLASS && c == class_of(y) &&
	       (!classes[c].spins || fact_or(&x->rotational, 0) == fact_or(&y->rotational, 0));
}

static bool is_same_model(const struct disk *x, const struct disk *y)
{
	return is_same_class(x, y) && seen_ok(&x->model.f) && seen_ok(&y->model.f) &&
	       strcmp(x->model.v, y->model.v) == 0;
}

/* "/sys/block/sda/queue/scheduler" -> the disk, and *attribute "queue/scheduler". */
static const struct disk *disk_of(struct arena *a, const struct machine *m, const struct knob *k,
				  const char **attribute)
{
	const char *name = k->name + strlen("/sys/block/"), *slash = strchr(name, '/');

	if (!slash)
		return NULL;
	*attribute = slash + 1;
	return machine_disk(m, arena_strndup(a, name, (size_t)(slash - name)));
}

/* What the disk has now, as far as the facts go; NULL: not known. */
static const char *now_of(struct arena *a, const struct disk *d, const char *attribute)
{
	const struct {
		const char *name;
		const struct fact_int *number;
	} numbers[] = {
		{ "queue/nr_requests", &d->nr_requests },
		{ "queue/read_ahead_kb", &d->read_ahead_kb },
		{ "queue/max_sectors_kb", &d->max_sectors_kb },
		{ "queue/rq_affinity", &d->rq_affinity },
		{ "queue/nomerges", &d->nomerges },
		{ "queue/wbt_lat_usec", &d->wbt_lat_us },
	};

	if (strcmp(attribute, "queue/scheduler") == 0)
		return fact_text(&d->scheduler, NULL);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strcmp(attribute, numbers[i].name) == 0 && seen_ok(&numbers[i].number->f))
			return arena_printf(a, "%lld", numbers[i].number->v);
	return NULL;
}

/* What the other disk shall have or has: the same value? */
static bool agrees(struct arena *a, const struct machine *m, const struct persist *p,
		   const struct disk *other, const char *attribute, const char *value)
{
	const char *its, *now;

	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i].knob.kind == KNOB_SYSFS &&
		    str_starts(p->rows[i].knob.name, "/sys/block/") &&
		    disk_of(a, m, &p->rows[i].knob, &its) == other && strcmp(its, attribute) == 0)
			return strcmp(p->rows[i].value, value) == 0;
	now = now_of(a, other, attribute);
	return now && strcmp(now, value) == 0;
}

/* Whether every disk that a rule of this width meets agrees. */
static bool fits(struct arena *a, const struct machine *m, const struct persist *p,
		 const struct disk *d, int width, const char *attribute, const char *value)
{
	LIST_FOR_EACH (struct disk, other, &m->storage.disks) {
		if (width == WIDTH_CLASS ? !is_same_class(d, other) : !is_same_model(d, other))
			continue;
		if (!agrees(a, m, p, other, attribute, value))
			return false;
	}
	return width == WIDTH_CLASS || (seen_ok(&d->model.f) && *d->model.v);
}

static const char *conditions(struct arena *a, const struct disk *d, int width)
{
	size_t c = class_of(d);
	const char *text = arena_printf(
		a, "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", %s",
		classes[c].match);

	if (classes[c].spins)
		text = arena_printf(a, "%s, ATTR{queue/rotational}==\"%lld\"", text,
				    fact_or(&d->rotational, 0));
	if (width == WIDTH_MODEL)
		text = arena_printf(a, "%s, ATTRS{model}==%s", text,
				    quote_udev_match(a, d->model.v, NULL));
	return text;
}

/* Every token is taken by itself: the attribute may hold no character of the format. */
static const char *rule(struct arena *a, const struct machine *m, const struct persist *p,
			const struct kept *row, const char **why)
{
	const char *attribute, *value = quote_udev(a, row->value, why);
	const struct disk *d = disk_of(a, m, &row->knob, &attribute);

	if (!value)
		return NULL;
	*why = "the disk was not seen";
	if (!d)
		return NULL;
	*why = "no rule tells this kind of disk from others";
	if (class_of(d) == NO_CLASS ||
	    strspn(attribute, "abcdefghijklmnopqrstuvwxyz_/") != strlen(attribute))
		return NULL;
	for (int width = WIDTH_CLASS; width < WIDTHS; width++)
		if (fits(a, m, p, d, width, attribute, row->value))
			return arena_printf(a, "%s, ATTR{%s}=%s\n", conditions(a, d, width),
					    attribute, value);
	*why = "disks of the same model have different values: no rule tells them apart";
	return NULL;
}

/* A scheduler sets the queue's depth anew. */
static bool comes_first(const struct kept *row)
{
	return str_ends(row->knob.name, "/queue/scheduler");
}

static void add_rules(struct arena *a, const struct machine *m, struct persist *p, struct text *out,
		      bool first)
{
	for (size_t i = 0; i < p->n; i++) {
		struct kept *row = &p->rows[i];
		const char *why = "", *one;

		if (row->keeper != KEEPER_UDEV || comes_first(row) != first)
			continue;
		one = rule(a, m, p, row, &why);
		if (!one)
			persist_refuse(row, why);
		else if (!out->s || !strstr(out->s, one))
			text_printf(out, "# %s\n%s", row->id, one);
	}
}

void persist_udev(struct arena *a, const struct machine *m, struct persist *p)
{
	TEXT_AUTO body = { 0 }, all = { 0 };

	add_rules(a, m, p, &body, true);
	add_rules(a, m, p, &body, false);
	if (!body.len)
		return;
	persist_header(&all, p->rows, p->n, KEEPER_UDEV, PERSIST_UDEV);
	text_add(&all, body.s);
	persist_add_file(a, p, PERSIST_UDEV, 0644, all.s);
}
