/* SPDX-License-Identifier: Apache-2.0 */
/* The live page: plain lines, so that a slow line needs to carry only those that changed. */
#include "view/page_monitor.h"

#include <math.h>
#include <string.h>

#include "model/gpu.h"
#include "view/glyph.h"
#include "view/term.h"

struct page {
	const struct frame *f, *first;
	const struct term_style *how;
	struct text *out;
	struct text line;
	size_t used; /* columns of the line */
};

/* --- lines ---------------------------------------------------------------------------------------
 */

static void add(struct page *p, enum style s, const char *text)
{
	const char *colour = p->how->colour && s != STYLE_PLAIN ? term_colour(s) : NULL;
	TEXT_AUTO clean = { 0 };
	size_t w;

	glyph_clean(&clean, text, p->how->ascii);
	w = glyph_width(clean.s ? clean.s : "");
	/* A word that does not fit is left out whole: half a figure is a wrong one. */
	if (!clean.len || p->used + w > (size_t)p->how->width)
		return;
	if (colour)
		text_add(&p->line, colour);
	text_add(&p->line, clean.s);
	if (colour)
		text_add(&p->line, "\033[0m");
	p->used += w;
}

static void addf(struct page *p, enum style s, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void addf(struct page *p, enum style s, const char *fmt, ...)
{
	TEXT_AUTO t = { 0 };
	va_list ap;

	va_start(ap, fmt);
	text_vprintf(&t, fmt, ap);
	va_end(ap);
	add(p, s, t.s ? t.s : "");
}

static void end_line(struct page *p)
{
	if (p->line.len)
		text_add(p->out, p->line.s);
	text_addc(p->out, '\n');
	text_clear(&p->line);
	p->used = 0;
}

/* --- figures -------------------------------------------------------------------------------------
 */

static void bytes(struct text *t, double v)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	for (; v >= 1024 && i < 4; i++)
		v /= 1024;
	text_printf(t, v < 10 && i ? "%.1f %s" : "%.0f %s", v, unit[i]);
}

/* Decimal, as networks and disks are sold. */
static void rate(struct text *t, double v, const char *unit)
{
	static const char *const prefix[] = { "", "k", "M", "G", "T" };
	size_t i = 0;

	for (; v >= 1000 && i < 4; i++)
		v /= 1000;
	text_printf(t, v < 10 && i ? "%.2f %s%s" : "%.0f %s%s", v, prefix[i], unit);
}

static void add_rate(struct page *p, const char *what, double v, double factor, const char *unit)
{
	TEXT_AUTO t = { 0 };

	if (isnan(v))
		return;
	rate(&t, v * factor, unit);
	addf(p, STYLE_MUTED, "  %s ", what);
	addf(p, STYLE_PLAIN, "%11s", t.s);
}

void monitor_reasons(double bits, struct text *out)
{
	static const struct {
		long long bit;
		const char *text;
	} rows[] = { { EVENT_HW_THERMAL, "too warm (hardware)" },
		     { EVENT_SW_THERMAL, "too warm" },
		     { EVENT_HW_POWER, "power brake" },
		     { EVENT_SW_POWER, "power cap" },
		     { EVENT_HW_SLOWDOWN, "hardware slowdown" },
		     { EVENT_SYNC_BOOST, "waits for another GPU" },
		     { EVENT_APP_CLOCKS, "clock setting" },
		     { EVENT_DISPLAY, "display setting" } };
	long long b = bits >= 0 && bits < 1e15 ? (long long)bits : 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (b & rows[i].bit)
			text_printf(out, "%s%s", out->len ? ", " : "", rows[i].text);
}

/* --- GPUs ----------------------------------------------------------------------------------------
 */

static double of(const struct page *p, const char *type, const char *target)
{
	return frame_value(p->f, type, target);
}

static void clock_cell(struct page *p, const struct monitor_gpu *g, const char *target)
{
	double mhz = of(p, "gpu.sm-clock", target), busy = of(p, "gpu.busy", target);
	bool slow = busy >= 80 && g->sm_max_mhz > 0 && mhz < 0.6 * g->sm_max_mhz;

	if (isnan(mhz))
		addf(p, STYLE_MUTED, "%10s", "-");
	else
		addf(p, slow ? STYLE_BAD : STYLE_PLAIN, "%5.0f", mhz);
	if (!isnan(mhz) && g->sm_max_mhz > 0)
		addf(p, STYLE_MUTED, "/%-4.0f", g->sm_max_mhz);
	else if (!isnan(mhz))
		add(p, STYLE_MUTED, "     ");
}

static void power_cell(struct page *p, const struct monitor_gpu *g, const char *target)
{
	double w = of(p, "gpu.power", target);

	if (isnan(w))
		addf(p, STYLE_MUTED, "%9s", "-");
	else if (g->power_limit_w > 0)
		addf(p, STYLE_PLAIN, "%4.0f/%-4.0f", w, g->power_limit_w);
	else
		addf(p, STYLE_PLAIN, "%4.0f     ", w);
}

static void memory_cell(struct page *p, const struct monitor_gpu *g, const char *target)
{
	double used = of(p, "gpu.memory-used", target);

	if (g->integrated || isnan(used))
		/* What its driver would tell is not what a program can have. */
		addf(p, STYLE_MUTED, "%11s", g->integrated ? "the host's" : "-");
	else if (g->memory_bytes > 0)
		addf(p, STYLE_PLAIN, "%5.1f/%-5.1f", used / 0x1p30, g->memory_bytes / 0x1p30);
	else
		addf(p, STYLE_PLAIN, "%5.1f      ", used / 0x1p30);
}

/* Seconds since the page began, and the share of the last interval. */
static void held(struct page *p, const char *type, const char *target, const char *name, bool *any)
{
	long i = monitor_find(p->f->mon, type, target);
	double share = of(p, type, target), since;

	if (i < 0 || !p->first)
		return;
	since = p->f->now[i] - p->first->now[i];
	if (!(since > 0.05))
		return;
	add(p, STYLE_PLAIN, *any ? ", " : "");
	addf(p, share > 0.01 ? STYLE_WARN : STYLE_MUTED, "%s %.0f s", name, since);
	if (share > 0.01)
		addf(p, STYLE_WARN, " (%.0f %%)", fmin(100 * share, 100));
	*any = true;
}

static void reasons_line(struct page *p, const char *target)
{
	TEXT_AUTO now = { 0 };
	bool any = false;

	monitor_reasons(of(p, "gpu.reasons", target), &now);
	add(p, STYLE_MUTED, "    held back: ");
	if (now.len) {
		add(p, STYLE_WARN, now.s);
		add(p, STYLE_MUTED, "; in all ");
	}
	held(p, "gpu.capped", target, "power cap", &any);
	held(p, "gpu.warm", target, "too warm", &any);
	held(p, "gpu.brake", target, "power brake", &any);
	if (!any && !now.len) {
		/* Nothing to say: no line. */
		text_clear(&p->line);
		p->used = 0;
		return;
	}
	if (!any)
		add(p, STYLE_MUTED, "under a tenth of a second");
	end_line(p);
}

static void gpu_lines(struct page *p, const struct monitor_gpu *g)
{
	char target[24];
	double busy, warm, gen, width;

	snprintf(target, sizeof(target), "gpu%u", g->index);
	busy = of(p, "gpu.busy", target);
	warm = of(p, "gpu.temperature", target);
	gen = of(p, "gpu.link-generation", target);
	width = of(p, "gpu.link-width", target);
	addf(p, STYLE_STRONG, "%3u ", g->index);
	addf(p, STYLE_PLAIN, "%-20.20s", g->name ? g->name : "GPU");
	clock_cell(p, g, target);
	addf(p, STYLE_PLAIN, isnan(busy) ? "   -  " : "%4.0f%% ", busy);
	power_cell(p, g, target);
	addf(p, g->slowdown_c > 0 && warm >= g->slowdown_c - 3 ? STYLE_BAD : STYLE_PLAIN,
	     isnan(warm) ? "   -  " : "%4.0f  ", warm);
	memory_cell(p, g, target);
	if (!g->integrated && gen > 0)
		addf(p, STYLE_MUTED, "  gen%.0f x%.0f", gen, width);
	end_line(p);
	reasons_line(p, target);
}

static void gpus(struct page *p)
{
	const struct monitor_machine *m = &p->f->mon->machine;

	if (!m->n_gpus)
		return;
	addf(p, STYLE_MUTED, "%-24s%10s%6s%9s%6s%11s  PCIe", "GPU", "clock MHz", "busy", "power W",
	     "C", "memory GiB");
	end_line(p);
	for (size_t i = 0; i < m->n_gpus; i++)
		gpu_lines(p, &m->gpus[i]);
	end_line(p);
}

/* --- the rest ------------------------------------------------------------------------------------
 */

static void share(struct page *p, const char *what, double v, double warn)
{
	if (isnan(v))
		return;
	addf(p, STYLE_MUTED, "  %s ", what);
	addf(p, v > warn ? STYLE_WARN : STYLE_PLAIN, "%.0f %%", fmin(v, 100));
}

static void cpu_line(struct page *p)
{
	const struct monitor_machine *m = &p->f->mon->machine;
	double busy = of(p, "cpu.busy", ""), runnable = of(p, "cpu.runnable", "");

	add(p, STYLE_STRONG, "CPU   ");
	if (!isnan(busy))
		addf(p, STYLE_PLAIN, "%.1f", busy);
	if (m->cpus)
		addf(p, STYLE_MUTED, isnan(busy) ? "%u, use not told" : " of %u in use", m->cpus);
	share(p, "busiest", of(p, "cpu.busiest", ""), 95);
	share(p, "waits for disks", 100 * of(p, "cpu.waiting", "") / fmax(m->cpus, 1), 20);
	share(p, "stolen", 100 * of(p, "cpu.stolen", "") / fmax(m->cpus, 1), 1);
	if (!isnan(runnable))
		addf(p, STYLE_MUTED, "  %.0f runnable", runnable);
	end_line(p);
}

static void memory_line(struct page *p)
{
	static const char *const rows[][2] = { { "memory.cached", "cache" },
					       { "memory.dirty", "to be written" },
					       { "memory.swap-used", "swap" } };
	double available = of(p, "memory.available", ""), total = p->f->mon->machine.memory_bytes;
	TEXT_AUTO t = { 0 };

	add(p, STYLE_STRONG, "Memory");
	if (!isnan(available)) {
		bytes(&t, available);
		addf(p, total > 0 && available < total / 20 ? STYLE_BAD : STYLE_PLAIN, " %s", t.s);
		text_clear(&t);
		if (total > 0) {
			bytes(&t, total);
			addf(p, STYLE_MUTED, " of %s available", t.s);
		}
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double v = of(p, rows[i][0], "");

		if (!(v > 0))
			continue;
		text_clear(&t);
		bytes(&t, v);
		addf(p, STYLE_MUTED, "  %s ", rows[i][1]);
		add(p, STYLE_PLAIN, t.s);
	}
	end_line(p);
}

static void pressure_line(struct page *p)
{
	double cpu = of(p, "pressure.cpu", ""), io = of(p, "pressure.io", ""),
	       memory = of(p, "pressure.memory", "");

	if (isnan(cpu) && isnan(io) && isnan(memory))
		return;
	add(p, STYLE_STRONG, "Waits ");
	share(p, "for a CPU", 100 * cpu, 20);
	share(p, "for disks", 100 * io, 20);
	share(p, "for memory", 100 * memory, 1);
	add(p, STYLE_MUTED, "  of the time, some task");
	end_line(p);
}

/* A line for each target of the type, in the order of the columns. */
static void traffic(struct page *p, const char *title, const char *in, const char *out,
		    double factor, const char *unit)
{
	const struct monitor *mon = p->f->mon;

	for (size_t i = 0; i < mon->n; i++) {
		const char *target = mon->columns[i].target;

		if (strcmp(mon->columns[i].type->name, in) != 0)
			continue;
		addf(p, STYLE_STRONG, "%-6s", title);
		addf(p, STYLE_PLAIN, "%-16.16s", target);
		add_rate(p, strcmp(in, "disk.read") == 0 ? "read" : "in", of(p, in, target), factor,
			 unit);
		add_rate(p, strcmp(in, "disk.read") == 0 ? "written" : "out", of(p, out, target),
			 factor, unit);
		if (strcmp(in, "disk.read") == 0)
			share(p, "busy", 100 * of(p, "disk.busy", target), 90);
		end_line(p);
	}
}

void monitor_page(const struct frame *f, const struct frame *first, const struct monitor_head *h,
		  const struct term_style *how, struct text *out)
{
	struct page p = { .f = f, .first = first, .how = how, .out = out };
	const struct monitor_machine *m = &f->mon->machine;

	add(&p, STYLE_STRONG, m->name);
	if (m->platform)
		addf(&p, STYLE_PLAIN, "  %s", m->platform);
	if (m->driver)
		addf(&p, STYLE_MUTED, "  driver %s", m->driver);
	addf(&p, STYLE_PLAIN, "  %s", h->when);
	if (h->note)
		addf(&p, STYLE_MUTED, "  %s", h->note);
	end_line(&p);
	if (h->bad_note) {
		add(&p, STYLE_BAD, h->bad_note);
		end_line(&p);
	}
	end_line(&p);
	gpus(&p);
	cpu_line(&p);
	memory_line(&p);
	pressure_line(&p);
	traffic(&p, "Net", "net.received", "net.sent", 8, "bit/s");
	traffic(&p, "RDMA", "rdma.received", "rdma.sent", 8, "bit/s");
	traffic(&p, "Disk", "disk.read", "disk.written", 1, "B/s");
	text_free(&p.line);
}
