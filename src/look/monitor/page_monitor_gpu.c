/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of the live page: a line each, why they are held back, what their links carry, and who
 * uses them. */
#include <math.h>
#include <string.h>

#include "machine/model/gpu.h"
#include "render/glyph.h"
#include "look/monitor/page_monitor_inside.h"

enum { NUMBER_COLUMNS = 4, NAME_COLUMNS = 20, FIGURE_COLUMNS = 52, NAME_BYTES = 256 };

/* What names take: as much as the longest needs and the terminal has beside all figures. */
static size_t name_columns(const struct look_page *p)
{
	const struct monitor_machine *m = &p->f->mon->machine;
	size_t room = p->how->width > 0 ? (size_t)p->how->width : 0, widest = NAME_COLUMNS;

	for (size_t i = 0; i < m->n_gpus; i++) {
		size_t w = m->gpus[i].name ? glyph_width(gpu_name_short(m->gpus[i].name)) : 0;

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
	glyph_clean(&t, whole.s, p->how->ascii);
	while (glyph_width(t.s) > columns) {
		do
			t.s[--t.len] = '\0';
		while (t.len && ((unsigned char)t.s[t.len] & 0xc0) == 0x80);
	}
	for (size_t w = glyph_width(t.s); w < columns; w++)
		text_addc(&t, ' ');
	look_add_word(p, STYLE_PLAIN, t.s);
}

static void clock_cell(struct look_page *p, const struct monitor_gpu *g, const char *target)
{
	double mhz = look_of(p, "gpu.sm-clock", target), busy = look_of(p, "gpu.busy", target);
	bool slow = busy >= 80 && g->sm_max_mhz > 0 && mhz < 0.6 * g->sm_max_mhz;

	if (isnan(mhz))
		look_addf(p, STYLE_MUTED, "%10s", "-");
	else
		look_addf(p, slow ? STYLE_BAD : STYLE_PLAIN, "%5.0f", mhz);
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

static void memory_cell(struct look_page *p, const struct monitor_gpu *g, const char *target)
{
	double used = look_of(p, "gpu.memory-used", target);

	if (g->integrated || isnan(used))
		/* What its driver would tell is not what a program can have. */
		look_addf(p, STYLE_MUTED, "%11s", g->integrated ? "the host's" : "-");
	else if (g->memory_bytes > 0)
		look_addf(p, STYLE_PLAIN, "%5.1f/%-5.1f", used / 0x1p30, g->memory_bytes / 0x1p30);
	else
		look_addf(p, STYLE_PLAIN, "%5.1f      ", used / 0x1p30);
}

/* Seconds since the page began, and the share of the last interval. */
static void held(struct look_page *p, const char *type, const char *target, const char *name,
		 bool *any)
{
	long i = monitor_find(p->f->mon, type, target);
	double share = look_of(p, type, target), since;

	if (i < 0 || !p->first)
		return;
	since = p->f->now[i] - p->first->now[i];
	if (!(since > 0.05))
		return;
	look_add_word(p, STYLE_PLAIN, *any ? ", " : "");
	look_addf(p, share > 0.01 ? STYLE_WARN : STYLE_MUTED, "%s %.0f s", name, since);
	if (share > 0.01)
		look_addf(p, STYLE_WARN, " (%.0f %%)", fmin(100 * share, 100));
	*any = true;
}

static void reasons_line(struct look_page *p, const char *target)
{
	TEXT_AUTO now = { 0 };
	bool any = false;

	monitor_reasons(look_of(p, "gpu.reasons", target), &now);
	look_add_word(p, STYLE_MUTED, "    held back: ");
	if (now.len) {
		look_add_word(p, STYLE_WARN, now.s);
		look_add_word(p, STYLE_MUTED, "; in all ");
	}
	held(p, "gpu.capped", target, "power cap", &any);
	held(p, "gpu.warm", target, "too warm", &any);
	held(p, "gpu.brake", target, "power brake", &any);
	if (!any && !now.len) {
		/* Nothing to say: no line. */
		text_clear(&p->line);
		p->used = 0;
		p->full = false;
		return;
	}
	if (!any)
		look_add_word(p, STYLE_MUTED, "under a tenth of a second");
	look_end_line(p);
}

/* A lock of ours, and what goes over the links; no line where nothing is told. */
static void details_line(struct look_page *p, const struct monitor_gpu *g, const char *target)
{
	static const char *const links[][3] = {
		{ "PCIe", "gpu.pcie-received", "gpu.pcie-sent" },
		{ "NVLink", "gpu.nvlink-received", "gpu.nvlink-sent" },
	};
	bool any = g->lock_high_mhz > 0;

	look_add_word(p, STYLE_MUTED, "   ");
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
			      *u->command ? u->command : "not seen from here");
		look_end_line(p);
	}
	if (users->n + users->left_out > shown) {
		look_addf(p, STYLE_MUTED, "        and %zu more",
			  users->n + users->left_out - shown);
		look_end_line(p);
	}
	look_end_line(p);
}

static void gpu_lines(struct look_page *p, const struct monitor_gpu *g, size_t columns)
{
	char target[24];
	double busy, warm, gen, width;

	snprintf(target, sizeof(target), "gpu%u", g->index);
	busy = look_of(p, "gpu.busy", target);
	warm = look_of(p, "gpu.temperature", target);
	gen = look_of(p, "gpu.link-generation", target);
	width = look_of(p, "gpu.link-width", target);
	look_addf(p, STYLE_STRONG, "%3u ", g->index);
	name_cell(p, g->name ? g->name : "GPU", columns);
	clock_cell(p, g, target);
	look_addf(p, STYLE_PLAIN, isnan(busy) ? "   -  " : "%4.0f%% ", busy);
	power_cell(p, g, target);
	look_addf(p, g->slowdown_c > 0 && warm >= g->slowdown_c - 3 ? STYLE_BAD : STYLE_PLAIN,
		  isnan(warm) ? "   -  " : "%4.0f  ", warm);
	memory_cell(p, g, target);
	if (!g->integrated && gen > 0)
		look_addf(p, STYLE_MUTED, "  gen%.0f x%.0f", gen, width);
	look_end_line(p);
	reasons_line(p, target);
	details_line(p, g, target);
}

void look_gpu_lines(struct look_page *p)
{
	const struct monitor_machine *m = &p->f->mon->machine;
	size_t columns = name_columns(p);

	if (!m->n_gpus)
		return;
	look_addf(p, STYLE_MUTED, "%-*s%10s%6s%9s%6s%11s  PCIe", (int)(NUMBER_COLUMNS + columns),
		  "GPU", "clock MHz", "busy", "power W", "C", "memory GiB");
	look_end_line(p);
	for (size_t i = 0; i < m->n_gpus; i++)
		gpu_lines(p, &m->gpus[i], columns);
	look_end_line(p);
	user_lines(p);
}
