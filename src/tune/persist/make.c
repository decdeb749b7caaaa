/* SPDX-License-Identifier: Apache-2.0 */
/* Which file keeps which value, and the files that are a list of lines: sysctl.d, tmpfiles.d,
 * modprobe.d, limits. */
#include <string.h>

#include "base/text.h"
#include "tune/persist/persist.h"
#include "tune/persist/quote.h"

enum { HEADER_WIDTH = 96 };

const char *keeper_name(enum keeper k)
{
	static const char *const names[KEEPERS] = { "nothing",	"sysctl",	 "tmpfiles", "udev",
						    "modprobe", "boot-argument", "link",     "unit",
						    "limits",	"itself" };

	return names[k];
}

void persist_add_file(struct arena *a, struct persist *p, const char *path, unsigned mode,
		      const char *text)
{
	p->files = arena_grow(a, p->files, p->n_files, sizeof(*p->files));
	p->files[p->n_files++] = (struct persist_file){ path, mode, arena_strdup(a, text) };
}

void persist_note(struct arena *a, struct persist *p, const char *sentence)
{
	for (size_t i = 0; i < p->n_notes; i++)
		if (strcmp(p->notes[i], sentence) == 0)
			return;
	p->notes = arena_grow(a, p->notes, p->n_notes, sizeof(*p->notes));
	p->notes[p->n_notes++] = sentence;
}

void persist_refuse(struct kept *row, const char *sentence)
{
	row->keeper = KEEPER_NONE;
	row->by = "";
	row->refusal = sentence;
}

/* --- what every file begins with ---------------------------------------------------------------
 */

static bool is_of(const struct kept *row, enum keeper k, const char *path)
{
	return row->keeper == k && strcmp(row->by, path) == 0;
}

/* Whether an earlier row of the file has the same setting. */
static bool is_named(const struct kept *rows, size_t i, enum keeper k, const char *path)
{
	for (size_t n = 0; n < i; n++)
		if (is_of(&rows[n], k, path) && strcmp(rows[n].id, rows[i].id) == 0)
			return true;
	return false;
}

void persist_header(struct text *t, const struct kept *rows, size_t n, enum keeper k,
		    const char *path)
{
	size_t column;
	bool none = true;

	text_add(t, "# Written by gputune for:");
	column = t->len;
	for (size_t i = 0; i < n; i++) {
		if (!is_of(&rows[i], k, path) || is_named(rows, i, k, path))
			continue;
		if (column + strlen(rows[i].id) + 1 > HEADER_WIDTH) {
			text_add(t, "\n#  ");
			column = 4;
		}
		text_printf(t, " %s", rows[i].id);
		column += strlen(rows[i].id) + 1;
		none = false;
	}
	/* The unit, where other files keep all of it. */
	if (none)
		text_add(t, " the report of each boot");
	text_add(t, "\n# \"gputune persist status\" shows it, \"gputune persist remove\" takes it "
		    "back.\n# Put lines of your own into a file of your own: an edited file is "
		    "left alone.\n\n");
}

/* --- who keeps what ----------------------------------------------------------------------------
 */

static bool is_core_kernel(const char *path)
{
	return str_starts(path, "/sys/kernel/mm/") ||
	       (str_starts(path, "/sys/devices/system/node/") && strstr(path, "/hugepages/"));
}

static enum keeper keeper_of(const struct kept *row)
{
	const struct knob *k = &row->knob;

	switch (k->kind) {
	case KNOB_SYSCTL:
		return KEEPER_SYSCTL;
	case KNOB_SYSFS:
		return is_core_kernel(k->name)		    ? KEEPER_TMPFILES
		       : str_starts(k->name, "/sys/block/") ? KEEPER_UDEV
							    : KEEPER_UNIT;
	case KNOB_MODPARAM:
		return KEEPER_MODPROBE;
	case KNOB_BOOTARG:
		return KEEPER_BOOT_ARGUMENT;
	case KNOB_LINK:
		return strcmp(k->name, "mtu") == 0 ? KEEPER_LINK : KEEPER_UNIT;
	case KNOB_NVML:
	case KNOB_PCI:
	case KNOB_HELPER:
		return KEEPER_UNIT;
	case KNOB_UNIT:
	case KNOB_ZPROP:
		return KEEPER_SELF;
	default:
		return strcmp(row->id, PERSIST_MEMLOCK) == 0 ? KEEPER_LIMITS : KEEPER_NONE;
	}
}

static const char *file_of(enum keeper k)
{
	static const char *const files[KEEPERS] = {
		[KEEPER_SYSCTL] = PERSIST_SYSCTL,  [KEEPER_TMPFILES] = PERSIST_TMPFILES,
		[KEEPER_UDEV] = PERSIST_UDEV,	   [KEEPER_MODPROBE] = PERSIST_MODPROBE,
		[KEEPER_UNIT] = PERSIST_UNIT_NAME, [KEEPER_LIMITS] = PERSIST_LIMITS,
	};

	return files[k] ? files[k] : "";
}

const char *persist_boot_file(const struct machine *m)
{
	return fact_is(&m->config.boot_menu, "kernel-install") ? PERSIST_KERNEL : PERSIST_GRUB;
}

static void assign(struct arena *a, const struct machine *m, struct kept *row)
{
	const char *why = NULL, *device = persist_device(a, m, &row->knob);

	row->keeper = keeper_of(row);
	row->by = row->keeper == KEEPER_BOOT_ARGUMENT ? persist_boot_file(m) : file_of(row->keeper);
	row->refusal = row->loses = row->contested = NULL;
	row->device = device ? device : "";
	if (row->keeper == KEEPER_NONE)
		persist_refuse(row, "nothing of ours keeps it");
	else if (row->knob.kind != KNOB_NONE && !knob_sound(&row->knob, row->value, &why))
		persist_refuse(row, why);
	else if (row->keeper == KEEPER_UNIT && !device)
		persist_refuse(row, "which device it belongs to could not be seen");
}

/* --- lines -------------------------------------------------------------------------------------
 */

/* A value "NAME=VALUE" is that of the other one of a pair. */
static const char *sysctl_line(struct arena *a, const struct machine *m, const struct kept *row,
			       const char **why)
{
	const char *name = row->knob.name, *value = row->value, *equals = strchr(value, '='), *q;

	(void)m;
	if (equals && str_starts(value, "vm.")) {
		name = arena_strndup(a, value, (size_t)(equals - value));
		value = equals + 1;
	}
	q = quote_sysctl(a, value, why);
	return q ? arena_printf(a, "%s = %s\n", name, q) : NULL;
}

/* Of plain lines for one path the first counts, of those with a plus all do. */
static bool is_set_elsewhere(const struct machine *m, const char *path)
{
	LIST_FOR_EACH (struct assignment, it, &m->config.assignments)
		if (it->file && it->name && strcmp(it->name, path) == 0 &&
		    strstr(it->file, "/tmpfiles.d/") && strcmp(it->file, PERSIST_TMPFILES) != 0)
			return true;
	return false;
}

static const char *tmpfiles_line(struct arena *a, const struct machine *m, const struct kept *row,
				 const char **why)
{
	const char *path = quote_tmpfiles_path(a, row->knob.name, why),
		   *value = path ? quote_tmpfiles(a, row->value, why) : NULL;

	return value ? arena_printf(a, "%s %s - - - - %s\n",
				    is_set_elsewhere(m, row->knob.name) ? "w+" : "w", path, value)
		     : NULL;
}

static const char *modprobe_line(struct arena *a, const struct machine *m, const struct kept *row,
				 const char **why)
{
	const char *dot = strchr(row->knob.name, '.'),
		   *option = quote_modprobe(a, dot + 1, row->value, why);

	(void)m;
	return option ? arena_printf(a, "options %.*s %s\n", (int)(dot - row->knob.name),
				     row->knob.name, option)
		      : NULL;
}

typedef const char *line_of(struct arena *a, const struct machine *m, const struct kept *row,
			    const char **why);

static void lines_file(struct arena *a, const struct machine *m, struct persist *p, enum keeper k,
		       line_of *line)
{
	TEXT_AUTO body = { 0 }, all = { 0 };
	const char *id = "";

	for (size_t i = 0; i < p->n; i++) {
		const char *why = "", *one;

		if (p->rows[i].keeper != k)
			continue;
		one = line(a, m, &p->rows[i], &why);
		if (!one) {
			persist_refuse(&p->rows[i], why);
			continue;
		}
		if (strcmp(id, p->rows[i].id) != 0)
			text_printf(&body, "# %s\n", p->rows[i].id);
		id = p->rows[i].id;
		text_add(&body, one);
	}
	if (!body.len)
		return;
	persist_header(&all, p->rows, p->n, k, file_of(k));
	text_add(&all, body.s);
	persist_add_file(a, p, file_of(k), 0644, all.s);
}

static void limits_files(struct arena *a, struct persist *p)
{
	TEXT_AUTO limits = { 0 }, manager = { 0 };
	bool any = false;

	for (size_t i = 0; i < p->n; i++)
		any = any || p->rows[i].keeper == KEEPER_LIMITS;
	if (!any)
		return;
	persist_header(&limits, p->rows, p->n, KEEPER_LIMITS, PERSIST_LIMITS);
	text_add(&manager, limits.s);
	/* A star does not mean root. */
	text_add(&limits, "* - memlock unlimited\nroot - memlock unlimited\n");
	text_add(&manager, "[Manager]\nDefaultLimitMEMLOCK=infinity\n");
	persist_add_file(a, p, PERSIST_LIMITS, 0644, limits.s);
	persist_add_file(a, p, PERSIST_SYSTEM_CONF, 0644, manager.s);
}

/* --- all of it ---------------------------------------------------------------------------------
 */

static void notes(struct arena *a, const struct machine *m, struct persist *p)
{
	const char *maker = strcmp(persist_boot_file(m), PERSIST_KERNEL) == 0 ? "kernel-install"
									      : "update-grub";

	for (size_t i = 0; i < p->n; i++) {
		if (p->rows[i].keeper == KEEPER_BOOT_ARGUMENT)
			persist_note(a, p,
				     arena_printf(a,
						  "Boot arguments take effect after %s and a "
						  "reboot; --update-grub runs it.",
						  maker));
		if (p->rows[i].keeper == KEEPER_MODPROBE)
			persist_note(
				a, p,
				"Module parameters count when the module is loaded: one that "
				"the initial ramdisk loads needs update-initramfs, one that is "
				"built in needs a kernel argument.");
	}
}

/* The first that is written and the last that goes: whatever a crash leaves of the others, it says
 * what they set and what was there before. */
static void request_file(struct arena *a, struct persist *p)
{
	struct persist_file request;

	persist_add_file(a, p, PERSIST_REQUEST, 0644, persist_request(a, p->rows, p->n));
	request = p->files[p->n_files - 1];
	memmove(p->files + 1, p->files, (p->n_files - 1) * sizeof(*p->files));
	p->files[0] = request;
}

static bool keeps_any(const struct persist *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->rows[i].keeper != KEEPER_NONE && p->rows[i].keeper != KEEPER_SELF)
			return true;
	return false;
}

void persist_make(struct arena *a, const struct machine *m, const struct persist_wish *w,
		  struct persist *out)
{
	*out = (struct persist){ .rows = arena_array(a, w->n, sizeof(*out->rows)), .n = w->n };
	for (size_t i = 0; i < w->n; i++) {
		out->rows[i] = w->rows[i];
		assign(a, m, &out->rows[i]);
	}
	lines_file(a, m, out, KEEPER_SYSCTL, sysctl_line);
	lines_file(a, m, out, KEEPER_TMPFILES, tmpfiles_line);
	persist_udev(a, m, out);
	lines_file(a, m, out, KEEPER_MODPROBE, modprobe_line);
	limits_files(a, out);
	persist_links(a, m, w, out);
	if (!keeps_any(out))
		return;
	persist_losers(a, m, w, out);
	notes(a, m, out);
	request_file(a, out);
	/* Last: it is what acts on the others. */
	persist_add_file(a, out, PERSIST_UNIT, 0644, persist_unit(a, m, out, w->program));
}
