/* SPDX-License-Identifier: Apache-2.0 */
/* The live page: plain lines, so that a slow line needs to carry only those that changed. */
#include <math.h>
#include <string.h>

#include "machine/model/gpu.h"
#include "render/glyph.h"
#include "look/monitor/page_monitor_inside.h"
#include "render/term.h"

/* --- lines ---------------------------------------------------------------------------------------
 */

void look_add_word(struct look_page *p, enum style s, const char *text)
{
	const char *colour = p->how->colour && s != STYLE_PLAIN ? term_colour(s) : NULL;
	TEXT_AUTO clean = { 0 };
	size_t w;

	glyph_clean(&clean, text, p->how->ascii);
	w = glyph_width(clean.s ? clean.s : "");
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

void look_end_line(struct look_page *p)
{
	if (p->line.len)
		text_add(p->out, p->line.s);
	text_addc(p->out, '\n');
	text_clear(&p->line);
	p->used = 0;
	p->full = false;
}

/* --- figures -------------------------------------------------------------------------------------
 */

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
static void rate(struct text *t, double v, const char *unit)
{
	static const char *const prefix[] = { "", "k", "M", "G", "T" };
	size_t i = 0;

	for (; v >= 1000 && i < 4; i++)
		v /= 1000;
	text_printf(t, v < 10 && i ? "%.2f %s%s" : "%.0f %s%s", v, prefix[i], unit);
}

void look_add_rate(struct look_page *p, const char *what, double v, double factor, const char *unit)
{
	TEXT_AUTO t = { 0 };

	if (isnan(v))
		return;
	rate(&t, v * factor, unit);
	look_addf(p, STYLE_MUTED, "  %s ", what);
	look_addf(p, STYLE_PLAIN, "%11s", t.s);
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

/* --- values -------------------------------------------------------------------------------------
 */

double look_of(const struct look_page *p, const char *type, const char *target)
{
	return instant_value(p->f, type, target);
}

/* --- the rest ------------------------------------------------------------------------------------
 */

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
		look_addf(p, STYLE_MUTED, isnan(busy) ? "%u, use not told" : " of %u in use",
			  m->cpus);
	share(p, "busiest", look_of(p, "cpu.busiest", ""), 95);
	share(p, "I/O wait", 100 * look_of(p, "cpu.waiting", "") / fmax(m->cpus, 1), 20);
	share(p, "stolen", 100 * look_of(p, "cpu.stolen", "") / fmax(m->cpus, 1), 1);
	if (!isnan(runnable))
		look_addf(p, STYLE_MUTED, "  %.0f runnable", runnable);
	look_end_line(p);
}

static void memory_line(struct look_page *p)
{
	static const char *const rows[][2] = { { "memory.cached", "cache" },
					       { "memory.dirty", "to be written" },
					       { "memory.swap-used", "swap" } };
	double available = look_of(p, "memory.available", ""),
	       total = p->f->mon->machine.memory_bytes;
	TEXT_AUTO t = { 0 };

	look_add_word(p, STYLE_STRONG, "Memory");
	if (!isnan(available)) {
		look_bytes(&t, available);
		look_addf(p, total > 0 && available < total / 20 ? STYLE_BAD : STYLE_PLAIN, " %s",
			  t.s);
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
	share(p, "for a CPU", 100 * cpu, 20);
	share(p, "for disks", 100 * io, 20);
	share(p, "for memory", 100 * memory, 1);
	look_add_word(p, STYLE_MUTED, "  of the time, some task");
	look_end_line(p);
}

/* A line for each target of the type, in the order of the columns. */
static void traffic(struct look_page *p, const char *title, const char *in, const char *out,
		    double factor, const char *unit)
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

void monitor_page(const struct instant *f, const struct instant *first,
		  const struct monitor_head *h, const struct term_style *how, struct text *out)
{
	struct look_page p = { .f = f, .first = first, .how = how, .out = out };
	const struct monitor_machine *m = &f->mon->machine;

	look_add_word(&p, STYLE_STRONG, m->name);
	if (m->platform)
		look_addf(&p, STYLE_PLAIN, "  %s", m->platform);
	if (m->driver)
		look_addf(&p, STYLE_MUTED, "  driver %s", m->driver);
	look_addf(&p, STYLE_PLAIN, "  %s", h->when);
	if (h->note)
		look_addf(&p, STYLE_MUTED, "  %s", h->note);
	look_end_line(&p);
	if (h->bad_note) {
		look_add_word(&p, STYLE_BAD, h->bad_note);
		look_end_line(&p);
	}
	look_end_line(&p);
	look_gpu_lines(&p);
	cpu_line(&p);
	memory_line(&p);
	pressure_line(&p);
	traffic(&p, "Net", "net.received", "net.sent", 8, "bit/s");
	traffic(&p, "RDMA", "rdma.received", "rdma.sent", 8, "bit/s");
	traffic(&p, "Disk", "disk.read", "disk.written", 1, "B/s");
	if (p.cut) {
		look_addf(&p, STYLE_MUTED, "left out: %zu cell%s beyond %d columns", p.cut,
			  p.cut == 1 ? "" : "s", how->width);
		look_end_line(&p);
	}
	text_free(&p.line);
}
