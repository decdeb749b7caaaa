/* SPDX-License-Identifier: Apache-2.0 */
/* The live page: plain lines, so that a slow line needs to carry only those that changed. */
#include <math.h>
#include <string.h>

#include "machine/model/gpu.h"
#include "render/display_text.h"
#include "look/monitor/page_monitor.h"
#include "knowledge/health.h"
#include "look/settings/predicates.h"
#include "render/doc_term.h"
#include "base/json.h"

/* --- lines ------------------------------------------------------------------------------------ */

void look_add_word(struct look_page *p, enum style s, const char *text)
{
	const char *colour = p->how->colour && s != STYLE_PLAIN ? term_colour(s) : NULL;
	TEXT_AUTO clean = { 0 };
	size_t w;

	display_clean(&clean, text, p->how->ascii);
	w = display_width(clean.s ? clean.s : "");
	/* A word that does not fit is left out whole: half a figure is a wrong one. */
	if (!clean.len)
		return;
	/* What follows would stand beside words that it does not belong to. */
	if (p->full || p->used + w > (size_t)p->how->width) {
		p->full = true;
		p->cut++;
		return;
	}
	if (colour)
		text_add(&p->line, colour);
	text_add(&p->line, clean.s);
	if (colour)
		text_add(&p->line, "\033[0m");
	p->used += w;
}

void look_addf(struct look_page *p, enum style s, const char *fmt, ...)
{
	TEXT_AUTO t = { 0 };
	va_list ap;

	va_start(ap, fmt);
	text_vprintf(&t, fmt, ap);
	va_end(ap);
	look_add_word(p, s, t.s ? t.s : "");
}

/* A word that does not fit is left out whole, and counted. */
void look_end_line(struct look_page *p)
{
	if (p->line.len)
		text_add(p->out, p->line.s);
	text_addc(p->out, '\n');
	text_clear(&p->line);
	p->used = 0;
	p->full = false;
}

/* --- figures ---------------------------------------------------------------------------------- */

/* "1.5 GiB" */
static void look_bytes(struct text *t, double v)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	for (; v >= 1024 && i < 4; i++)
		v /= 1024;
	text_printf(t, v < 10 && i ? "%.1f %s" : "%.0f %s", v, unit[i]);
}

/* Decimal, as networks and disks are sold. */
static void monitor_page_rate(struct text *t, double v, const char *unit)
{
	static const char *const prefix[] = { "", "k", "M", "G", "T" };
	size_t i = 0;

	for (; v >= 1000 && i < 4; i++)
		v /= 1000;
	text_printf(t, v < 10 && i ? "%.2f %s%s" : "%.0f %s%s", v, prefix[i], unit);
}

static void look_add_rate(struct look_page *p, const char *what, double v, double factor,
			  const char *unit)
{
	TEXT_AUTO t = { 0 };

	if (isnan(v))
		return;
	monitor_page_rate(&t, v * factor, unit);
	look_addf(p, STYLE_MUTED, "  %s ", what);
	look_addf(p, STYLE_PLAIN, "%11s", t.s);
}

void monitor_reasons(double bits, struct text *out)
{
	static const struct {
		long long bit;
		const char *text;
	} rows[] = {
		{ EVENT_HW_THERMAL, "thermal (hardware)" }, { EVENT_SW_THERMAL, "thermal" },
		{ EVENT_HW_POWER, "power brake" },	    { EVENT_SW_POWER, "power cap" },
		{ EVENT_HW_SLOWDOWN, "hardware slowdown" }, { EVENT_SYNC_BOOST, "sync boost" },
		{ EVENT_APP_CLOCKS, "clock setting" },	    { EVENT_DISPLAY, "display setting" }
	};
	long long b = bits >= 0 && bits < 1e15 ? (long long)bits : 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (b & rows[i].bit)
			text_printf(out, "%s%s", out->len ? ", " : "", rows[i].text);
}

/* --- values ----------------------------------------------------------------------------------- */

/* "  what 1.50 Gbit/s" of v * factor; nothing for NAN. */
double look_of(const struct look_page *p, const char *type, const char *target)
{
	return instant_value(p->f, type, target);
}

/* As a setting judges this column now. */
static enum style look_style(const struct look_page *p, const char *type, const char *target)
{
	const struct finding *f = monitor_finding(&p->judged, type, target);

	return f && f->v.kind == VERDICT_FAIL ? STYLE_BAD : STYLE_PLAIN;
}

/* --- the rest --------------------------------------------------------------------------------- */

static void share(struct look_page *p, const char *what, double v, double warn)
{
	if (isnan(v))
		return;
	look_addf(p, STYLE_MUTED, "  %s ", what);
	look_addf(p, v > warn ? STYLE_WARN : STYLE_PLAIN, "%.0f %%", fmin(v, 100));
}

static void cpu_line(struct look_page *p)
{
	const struct monitor_machine *m = &p->f->mon->machine;
	double busy = look_of(p, "cpu.busy", ""), runnable = look_of(p, "cpu.runnable", "");

	look_add_word(p, STYLE_STRONG, "CPU   ");
	if (!isnan(busy))
		look_addf(p, STYLE_PLAIN, "%.1f", busy);
	if (m->cpus)
		look_addf(p, STYLE_MUTED, isnan(busy) ? "%u, usage unknown" : " of %u in use",
			  m->cpus);
	share(p, "busiest", look_of(p, "cpu.busiest", ""), 95);
	share(p, "I/O wait", 100 * look_of(p, "cpu.waiting", "") / fmax(m->cpus, 1),
	      WAITING_MOST_PCT);
	share(p, "stolen", 100 * look_of(p, "cpu.stolen", "") / fmax(m->cpus, 1), STOLEN_MOST_PCT);
	if (!isnan(runnable))
		look_addf(p, STYLE_MUTED, "  %.0f runnable", runnable);
	look_end_line(p);
}

static void memory_line(struct look_page *p)
{
	static const char *const rows[][2] = { { "memory.cached", "cache" },
					       { "memory.dirty", "dirty" },
					       { "memory.swap-used", "swap" } };
	double available = look_of(p, "memory.available", ""),
	       total = p->f->mon->machine.memory_bytes;
	TEXT_AUTO t = { 0 };

	look_add_word(p, STYLE_STRONG, "Memory");
	if (!isnan(available)) {
		look_bytes(&t, available);
		look_addf(p, look_style(p, "memory.available", ""), " %s", t.s);
		text_clear(&t);
		if (total > 0) {
			look_bytes(&t, total);
			look_addf(p, STYLE_MUTED, " of %s available", t.s);
		}
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double v = look_of(p, rows[i][0], "");

		if (!(v > 0))
			continue;
		text_clear(&t);
		look_bytes(&t, v);
		look_addf(p, STYLE_MUTED, "  %s ", rows[i][1]);
		look_add_word(p, STYLE_PLAIN, t.s);
	}
	look_end_line(p);
}

static void pressure_line(struct look_page *p)
{
	double cpu = look_of(p, "pressure.cpu", ""), io = look_of(p, "pressure.io", ""),
	       memory = look_of(p, "pressure.memory", "");

	if (isnan(cpu) && isnan(io) && isnan(memory))
		return;
	look_add_word(p, STYLE_STRONG, "Waits ");
	share(p, "for a CPU", 100 * cpu, WAITING_MOST_PCT);
	share(p, "for disks", 100 * io, WAITING_MOST_PCT);
	share(p, "for memory", 100 * memory, 1);
	look_add_word(p, STYLE_MUTED, "  (at least one task)");
	look_end_line(p);
}

/* A line for each target of the type, in the order of the columns. */
static void monitor_page_traffic(struct look_page *p, const char *title, const char *in,
				 const char *out, double factor, const char *unit)
{
	const struct monitor *mon = p->f->mon;

	for (size_t i = 0; i < mon->n; i++) {
		const char *target = mon->columns[i].target;

		if (strcmp(mon->columns[i].type->name, in) != 0 ||
		    (isnan(look_of(p, in, target)) && isnan(look_of(p, out, target))))
			continue;
		look_addf(p, STYLE_STRONG, "%-6s", title);
		look_addf(p, STYLE_PLAIN, "%-16.16s", target);
		look_add_rate(p, strcmp(in, "disk.read") == 0 ? "read" : "in",
			      look_of(p, in, target), factor, unit);
		look_add_rate(p, strcmp(in, "disk.read") == 0 ? "written" : "out",
			      look_of(p, out, target), factor, unit);
		if (strcmp(in, "disk.read") == 0)
			share(p, "busy", 100 * look_of(p, "disk.busy", target), 90);
		look_end_line(p);
	}
}

/* The GPUs of the live page: a line each, why they are held back, what their links carry, and who
 * uses them. */

enum { NUMBER_COLUMNS = 4, NAME_COLUMNS = 20, FIGURE_COLUMNS = 52, NAME_BYTES = 256 };

/* What names take: as much as the longest needs and the terminal has beside all figures. */
static size_t name_columns(const struct look_page *p)
{
	const struct monitor_machine *m = &p->f->mon->machine;
	size_t room = p->how->width > 0 ? (size_t)p->how->width : 0, widest = NAME_COLUMNS;

	for (size_t i = 0; i < m->n_gpus; i++) {
		size_t w = m->gpus[i].name ? display_width(gpu_name_short(m->gpus[i].name)) : 0;

		widest = w > widest ? w : widest;
	}
	room -= room > NUMBER_COLUMNS + FIGURE_COLUMNS ? NUMBER_COLUMNS + FIGURE_COLUMNS : room;
	return widest <= room ? widest : room > NAME_COLUMNS ? room : NAME_COLUMNS;
}

/* Without the maker, which tells no GPU from another; as wide as all of them. */
static void name_cell(struct look_page *p, const char *name, size_t columns)
{
	const char *shown = gpu_name_short(name);
	TEXT_AUTO t = { 0 }, whole = { 0 };

	text_add(&t, "");
	text_addn(&whole, shown, strnlen(shown, NAME_BYTES));
	display_clean(&t, whole.s, p->how->ascii);
	while (display_width(t.s) > columns) {
		do
			t.s[--t.len] = '\0';
		while (t.len && ((unsigned char)t.s[t.len] & 0xc0) == 0x80);
	}
	for (size_t w = display_width(t.s); w < columns; w++)
		text_addc(&t, ' ');
	look_add_word(p, STYLE_PLAIN, t.s);
}

static void clock_cell(struct look_page *p, const struct monitor_gpu *g, const char *target)
{
	double mhz = look_of(p, "gpu.sm-clock", target);

	if (isnan(mhz))
		look_addf(p, STYLE_MUTED, "%10s", "-");
	else
		look_addf(p, look_style(p, "gpu.sm-clock", target), "%5.0f", mhz);
	if (!isnan(mhz) && g->sm_max_mhz > 0)
		look_addf(p, STYLE_MUTED, "/%-4.0f", g->sm_max_mhz);
	else if (!isnan(mhz))
		look_add_word(p, STYLE_MUTED, "     ");
}

static void power_cell(struct look_page *p, const struct monitor_gpu *g, const char *target)
{
	double w = look_of(p, "gpu.power", target);

	if (isnan(w))
		look_addf(p, STYLE_MUTED, "%9s", "-");
	else if (g->power_limit_w > 0)
		look_addf(p, STYLE_PLAIN, "%4.0f/%-4.0f", w, g->power_limit_w);
	else
		look_addf(p, STYLE_PLAIN, "%4.0f     ", w);
}

static void monitor_page_memory_cell(struct look_page *p, const struct monitor_gpu *g,
				     const char *target)
{
	double used = look_of(p, "gpu.memory-used", target);

	if (g->integrated || isnan(used))
		/* What its driver would tell is not what a program can have. */
		look_addf(p, STYLE_MUTED, "%11s", g->integrated ? "host memory" : "-");
	else if (g->memory_bytes > 0)
		look_addf(p, STYLE_PLAIN, "%5.1f/%-5.1f", used / 0x1p30, g->memory_bytes / 0x1p30);
	else
		look_addf(p, STYLE_PLAIN, "%5.1f      ", used / 0x1p30);
}

/* Seconds since the page began, and the share of the last interval. */
static void held(struct look_page *p, const char *type, const char *target, const char *name,
		 double most, bool *any)
{
	long i = monitor_find(p->f->mon, type, target);
	double share = look_of(p, type, target), since;
	enum style style = 100 * share > most ? STYLE_WARN : STYLE_MUTED;

	if (i < 0 || !p->first)
		return;
	since = column_grown(p->f->mon->columns[i].type, p->f->now[i], p->first->now[i],
			     p->f->at_s - p->first->at_s);
	if (!(since > 0.05))
		return;
	look_add_word(p, STYLE_PLAIN, *any ? ", " : "");
	look_addf(p, style, "%s %.0f s", name, since);
	if (share > 0.01)
		look_addf(p, style, " (%.0f %%)", fmin(100 * share, 100));
	*any = true;
}

static void reasons_line(struct look_page *p, const char *target)
{
	/* A power cap under load is normal; see gpu.throttle. */
	double most = health_figure("gpu.throttle-history", "share", NULL, 0);
	TEXT_AUTO now = { 0 };
	bool any = false;

	monitor_reasons(look_of(p, "gpu.reasons", target), &now);
	look_add_word(p, STYLE_MUTED, "    throttled: ");
	if (now.len) {
		look_add_word(p,
			      look_style(p, "gpu.reasons", target) == STYLE_BAD ? STYLE_WARN
										: STYLE_PLAIN,
			      now.s);
		look_add_word(p, STYLE_MUTED, "; total ");
	}
	held(p, "gpu.capped", target, "power cap", HUGE_VAL, &any);
	held(p, "gpu.warm", target, "thermal", most, &any);
	held(p, "gpu.brake", target, "power brake", most, &any);
	if (!any && !now.len) {
		/* Nothing to say: no line. */
		text_clear(&p->line);
		p->used = 0;
		p->full = false;
		return;
	}
	if (!any)
		look_add_word(p, STYLE_MUTED, "less than 0.1 s");
	look_end_line(p);
}

/* A lock of ours, and what goes over the links; no line where nothing is told. */
void look_gpu_details(struct look_page *p, const struct monitor_gpu *g, const char *target)
{
	static const char *const links[][3] = {
		{ "PCIe", "gpu.pcie-received", "gpu.pcie-sent" },
		{ "NVLink", "gpu.nvlink-received", "gpu.nvlink-sent" },
	};
	bool any = g->lock_high_mhz > 0;

	look_add_word(p, STYLE_MUTED, "  "); /* both links fill 80 columns */
	if (any)
		look_addf(p, STYLE_PLAIN, " locked to %.0f-%.0f MHz ", g->lock_low_mhz,
			  g->lock_high_mhz);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		double in = look_of(p, links[i][1], target), out = look_of(p, links[i][2], target);

		if (isnan(in) && isnan(out))
			continue;
		look_addf(p, STYLE_MUTED, " %s", links[i][0]);
		look_add_rate(p, "in", in, 1, "B/s");
		look_add_rate(p, "out", out, 1, "B/s");
		any = true;
	}
	if (any) {
		look_end_line(p);
		return;
	}
	text_clear(&p->line);
	p->used = 0;
	p->full = false;
}

enum { USERS_SHOWN = 8 };

static void user_lines(struct look_page *p)
{
	const struct monitor_processes *users = p->f->users;
	size_t shown = users && users->n < USERS_SHOWN ? users->n : USERS_SHOWN;

	if (!users || !users->n)
		return;
	look_addf(p, STYLE_MUTED, "%-8s%10s  %-10s%11s  %s", "GPU", "process", "", "memory GiB",
		  "command");
	look_end_line(p);
	for (size_t i = 0; i < shown; i++) {
		const struct monitor_process *u = &users->items[i];

		look_addf(p, STYLE_STRONG, "%3u     ", u->gpu);
		look_addf(p, STYLE_PLAIN, "%10d  %-10s", u->pid, u->kind);
		if (isnan(u->memory))
			look_addf(p, STYLE_MUTED, "%11s  ", "-");
		else
			look_addf(p, STYLE_PLAIN, "%11.1f  ", u->memory / 0x1p30);
		look_add_word(p, *u->command ? STYLE_PLAIN : STYLE_MUTED,
			      *u->command ? u->command : "not visible");
		look_end_line(p);
	}
	if (users->n + users->left_out > shown) {
		look_addf(p, STYLE_MUTED, "        and %zu more",
			  users->n + users->left_out - shown);
		look_end_line(p);
	}
	look_end_line(p);
}

void look_gpu_line(struct look_page *p, const struct monitor_gpu *g)
{
	char target[24];
	double busy, warm, gen, width;

	snprintf(target, sizeof(target), "gpu%u", g->index);
	busy = look_of(p, "gpu.busy", target);
	warm = look_of(p, "gpu.temperature", target);
	gen = look_of(p, "gpu.link-generation", target);
	width = look_of(p, "gpu.link-width", target);
	look_addf(p, STYLE_STRONG, "%3u ", g->index);
	name_cell(p, g->name ? g->name : "GPU", name_columns(p));
	clock_cell(p, g, target);
	look_addf(p, STYLE_PLAIN, isnan(busy) ? "   -  " : "%4.0f%% ", busy);
	power_cell(p, g, target);
	look_addf(p, look_style(p, "gpu.temperature", target), isnan(warm) ? "   -  " : "%4.0f  ",
		  warm);
	monitor_page_memory_cell(p, g, target);
	if (!g->integrated && gen > 0)
		look_addf(p, STYLE_MUTED, "  gen%.0f x%.0f", gen, width);
	look_end_line(p);
}

void look_gpu_head(struct look_page *p)
{
	if (!p->f->mon->machine.n_gpus)
		return;
	look_addf(p, STYLE_MUTED, "%-*s%10s%6s%9s%6s%11s  PCIe",
		  (int)(NUMBER_COLUMNS + name_columns(p)), "GPU", "clock MHz", "busy", "power W",
		  "C", "memory GiB");
	look_end_line(p);
}

static void look_gpu_lines(struct look_page *p)
{
	const struct monitor_machine *m = &p->f->mon->machine;

	if (!m->n_gpus)
		return;
	look_gpu_head(p);
	for (size_t i = 0; i < m->n_gpus; i++) {
		char target[24];

		snprintf(target, sizeof(target), "gpu%u", m->gpus[i].index);
		look_gpu_line(p, &m->gpus[i]);
		reasons_line(p, target);
		look_gpu_details(p, &m->gpus[i], target);
	}
	look_end_line(p);
	user_lines(p);
}

void look_begin(struct look_page *p, struct arena *a, const struct monitor_head *h)
{
	const struct monitor_machine *m = &p->f->mon->machine;

	monitor_judge(a, p->f, &p->judged);
	look_add_word(p, STYLE_STRONG, m->name);
	if (m->platform)
		look_addf(p, STYLE_PLAIN, "  %s", m->platform);
	if (m->driver)
		look_addf(p, STYLE_MUTED, "  driver %s", m->driver);
	look_addf(p, STYLE_PLAIN, "  %s", h->when);
	if (h->note)
		look_addf(p, STYLE_MUTED, "  %s", h->note);
	look_end_line(p);
	if (h->bad_note) {
		look_add_word(p, STYLE_BAD, h->bad_note);
		look_end_line(p);
	}
	look_end_line(p);
}

void look_system(struct look_page *p)
{
	cpu_line(p);
	memory_line(p);
	pressure_line(p);
	monitor_page_traffic(p, "Net", "net.received", "net.sent", 8, "bit/s");
	monitor_page_traffic(p, "RDMA", "rdma.received", "rdma.sent", 8, "bit/s");
	monitor_page_traffic(p, "Disk", "disk.read", "disk.written", 1, "B/s");
	if (p->cut) {
		look_addf(p, STYLE_MUTED, "left out: %zu value%s beyond %d columns", p->cut,
			  PLURAL(p->cut), p->how->width);
		look_end_line(p);
	}
}

void monitor_page(const struct instant *f, const struct instant *first,
		  const struct monitor_head *h, const struct term_style *how, struct text *out)
{
	struct look_page p = { .f = f, .first = first, .how = how, .out = out };
	ARENA_AUTO a = { 0 };

	look_begin(&p, &a, h);
	look_gpu_lines(&p);
	look_system(&p);
	text_free(&p.line);
}

/*
 * A look as a line of JSON. What stands between the figures is the same in every line, and is made
 * once: at ten lines a second the text would cost more than the looks.
 */

/* Text, and the figure behind it. */
struct slot {
	const char *text;
	size_t len;
	size_t column;
	bool per_second;
};

struct monitor_line {
	struct slot *slots;
	size_t n;
	const char *end;
};

/* What a column is called in the line; NULL: it has no place there. */
struct place {
	const char *group, *key;
};

/* A word in quotes; NULL: there is none for it. */
static const char *monitor_page_quoted(struct arena *a, const char *s)
{
	json_auto_t *v = json_string(s);
	TEXT_AUTO text = { 0 };
	const char *out = NULL;

	if (v && json_add(&text, v, JSON_ENCODE_ANY) == 0)
		out = arena_strdup(a, text.s);
	return out;
}

/* "gpu" of "gpu.sm-clock", "gpu0" where there is a target. A target may hold any bytes. */
static struct place monitor_page_place_of(struct arena *a, const struct column_of *c)
{
	static const char *const taken[] = { "\"schema\"", "\"time_ms\"", "\"processes\"" };
	const char *dot = strchr(c->type->name, '.');
	struct place p = { NULL, NULL };

	if (!dot)
		return p;
	p.group = monitor_page_quoted(
		a, *c->target ? c->target
			      : arena_printf(a, "%.*s", (int)(dot - c->type->name), c->type->name));
	p.key = monitor_page_quoted(a, dot + 1);
	for (size_t i = 0; p.group && i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strcmp(taken[i], p.group) == 0)
			p.group = NULL;
	if (!p.group || !p.key)
		p = (struct place){ NULL, NULL };
	return p;
}

static void add(struct arena *a, struct monitor_line *l, const char *text, size_t column,
		bool per_second)
{
	ARENA_ADD(a, l->slots, l->n) = (struct slot){ text, strlen(text), column, per_second };
}

/* All columns of the group that column begin opens; *before: text since the last figure. */
static void add_group(struct arena *a, struct monitor_line *l, const struct monitor *mon,
		      struct place *places, size_t begin, const char **before)
{
	const char *group = places[begin].group;
	size_t first = l->n;

	*before = arena_printf(a, "%s,%s:{", *before, group);
	for (size_t i = begin; i < mon->n; i++) {
		const struct column_type *t = mon->columns[i].type;
		const char *key = places[i].key, *unit;
		bool again = false;

		if (!places[i].group || strcmp(places[i].group, group) != 0)
			continue;
		places[i].group = NULL;
		for (size_t k = begin; k < i && !again; k++)
			again = places[k].key && !places[k].group &&
				strcmp(places[k].key, key) == 0;
		if (again)
			continue;
		unit = monitor_page_quoted(a, t->unit);
		add(a, l,
		    arena_printf(a, "%s%s%s:{\"%s\":", *before, l->n > first ? "," : "", key,
				 t->kind == COLUMN_TOTAL ? "total" : "value"),
		    i, false);
		if (t->kind == COLUMN_TOTAL)
			add(a, l, ",\"per_second\":", i, true);
		*before = arena_printf(a, ",\"unit\":%s}", unit ? unit : "\"\"");
	}
	*before = arena_printf(a, "%s}", *before);
	/* So that the keys of this group are not taken for those of the next one. */
	for (size_t i = begin; i < mon->n; i++)
		if (!places[i].group)
			places[i].key = NULL;
}

struct monitor_line *monitor_line_make(struct arena *a, const struct monitor *mon)
{
	struct monitor_line *l = ARENA_NEW(a, struct monitor_line);
	struct place *places = arena_array(a, mon->n + 1, sizeof(*places));

	*l = (struct monitor_line){ .end = "" };
	for (size_t i = 0; i < mon->n; i++)
		places[i] = monitor_page_place_of(a, &mon->columns[i]);
	for (size_t i = 0; i < mon->n; i++)
		if (places[i].group)
			add_group(a, l, mon, places, i, &l->end);
	return l;
}

/* --- a line ----------------------------------------------------------------------------------- */

static void add_figure(struct text *out, double v)
{
	char digits[24], *p = digits + sizeof(digits);
	unsigned long long n;

	if (!isfinite(v)) {
		text_add(out, "null");
		return;
	}
	if (!(v >= 0 && v < 0x1p53) || v > floor(v)) {
		text_printf(out, "%.12g", v);
		return;
	}
	/* Most are whole, and these are quick. */
	n = (unsigned long long)v;
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	text_addn(out, p, (size_t)(digits + sizeof(digits) - p));
}

static json_t *users_json(const struct monitor_processes *users)
{
	json_t *list = json_array();

	for (size_t i = 0; i < users->n; i++) {
		const struct monitor_process *u = &users->items[i];
		json_t *o = json_object();

		json_object_set_new(o, "gpu", json_integer(u->gpu));
		json_object_set_new(o, "pid", json_integer(u->pid));
		json_object_set_new(o, "kind", json_string(u->kind));
		json_object_set_new(o, "command",
				    *u->command ? json_text(u->command) : json_null());
		json_object_set_new(o, "memory_bytes", json_figure(u->memory));
		json_array_append_new(list, o);
	}
	return list;
}

static void add_users(struct text *out, const struct monitor_processes *users)
{
	json_auto_t *list = users->n ? users_json(users) : NULL;
	text_add(out, ",\"processes\":");
	if (!list || json_add(out, list, JSON_COMPACT | JSON_REAL_PRECISION(12)))
		text_add(out, "[]");
}

void monitor_line_add(const struct monitor_line *l, const struct instant *f, long long time_ms,
		      struct text *out)
{
	text_printf(out, "{\"schema\":\"gputune.monitor/1\",\"time_ms\":%lld", time_ms);
	for (size_t i = 0; i < l->n; i++) {
		const struct slot *s = &l->slots[i];

		text_addn(out, s->text, s->len);
		add_figure(out, s->per_second ? instant_column(f, s->column) : f->now[s->column]);
	}
	text_add(out, l->end);
	if (f->users)
		add_users(out, f->users);
	text_add(out, "}\n");
}

/*
 * A look for collectors: Prometheus' text format 0.0.4, and OpenMetrics 1.0. They differ in what a
 * counter's family is called (in the text format as its samples, with "_total"; in OpenMetrics
 * without), in "# UNIT" and in "# EOF", which the text format does not have.
 */

static const char *suffix(const struct column_type *t)
{
	return t->kind == COLUMN_TOTAL ? "_total" : "";
}

static void monitor_page_sample(FILE *out, const struct column_of *c, double v)
{
	const struct column_type *t = c->type;

	fprintf(out, "gputune_%s%s", t->metric, suffix(t));
	if (*c->target) {
		/* "gpu" for gpu0's number, "device" for the names of everything else. */
		bool gpu = strncmp(t->name, "gpu.", 4) == 0;

		fputc('{', out);
		display_label(out, gpu ? "gpu" : "device", gpu ? c->target + 3 : c->target);
		fputc('}', out);
	}
	fprintf(out, " %.15g\n", v * t->factor);
}

/* The unit that the name ends in, or NULL: counts and bits have none. */
static const char *monitor_page_unit_of(const char *metric)
{
	static const char *const units[] = { "hertz",	"watts", "ratio",
					     "celsius", "bytes", "seconds" };
	const char *last = strrchr(metric, '_') + 1;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i], last) == 0)
			return units[i];
	return NULL;
}

static void monitor_page_head(FILE *out, const struct column_type *t, enum exposition how)
{
	const char *end = how == EXPOSITION_TEXT ? suffix(t) : "",
		   *unit = monitor_page_unit_of(t->metric);

	fprintf(out, "# HELP gputune_%s%s %s\n# TYPE gputune_%s%s %s\n", t->metric, end, t->what,
		t->metric, end, t->kind == COLUMN_TOTAL ? "counter" : "gauge");
	if (unit && how == EXPOSITION_OPENMETRICS)
		fprintf(out, "# UNIT gputune_%s %s\n", t->metric, unit);
}

void monitor_exposition(FILE *out, const struct instant *f, enum exposition how)
{
	for (size_t k = 0; k < column_types_n; k++) {
		const struct column_type *t = &column_types[k];
		bool headed = false;

		for (size_t i = 0; i < f->mon->n; i++) {
			if (f->mon->columns[i].type != t || isnan(f->now[i]))
				continue;
			if (!headed)
				monitor_page_head(out, t, how);
			headed = true;
			monitor_page_sample(out, &f->mon->columns[i], f->now[i]);
		}
	}
	if (how == EXPOSITION_OPENMETRICS)
		fputs("# EOF\n", out);
}
