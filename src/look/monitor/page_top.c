/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of top: GPUs with history and what holds them back, who uses them, findings. */
#include "look/monitor/page_top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { BAR_COLUMNS = 20, LEAST_COLUMNS = 40, LEAST_LINES = 8, REST_LINES = 12 };

/* Words, as many a line as fit. */
static void paragraph(struct look_page *p, const char *text)
{
	size_t room = p->how->width > 0 ? (size_t)p->how->width : 80;

	while (*text) {
		size_t n = strcspn(text, " ");
		TEXT_AUTO word = { 0 };

		text_addn(&word, text, n);
		if (p->used && p->used + 1 + n > room)
			look_end_line(p);
		look_addf(p, STYLE_PLAIN, "%s%s", p->used ? " " : "", word.s);
		text += n + (text[n] == ' ');
	}
	look_end_line(p);
}

/* How busy it was, the latest to the right. */
static void history_cell(struct look_page *p, const double *busy)
{
	static const char *const wide[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char narrow[] = "_.-:=+*#";
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < TOP_HISTORY; i++) {
		double v = fmin(fmax(busy[i], 0), 100);
		size_t level = (size_t)(v * 7.99 / 100);

		if (isnan(busy[i]))
			text_addc(&t, ' ');
		else if (p->how->ascii)
			text_addc(&t, narrow[level]);
		else
			text_add(&t, wide[level]);
	}
	look_addf(p, STYLE_GOOD, "    %s", t.s);
}

/* Shares of the last interval by reason: a letter each, so that it needs no colours. */
static void held_bar(struct look_page *p, const char *target)
{
	static const struct {
		const char *type;
		char letter;
		enum style style;
	} parts[] = { { "gpu.capped", 'P', STYLE_WARN },
		      { "gpu.warm", 'W', STYLE_BAD },
		      { "gpu.brake", 'B', STYLE_BAD } };
	TEXT_AUTO now = { 0 };
	size_t used = 0;

	look_add_word(p, STYLE_MUTED, "  held [");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double share = look_of(p, parts[i].type, target);
		size_t n = isnan(share) ? 0 : (size_t)lround(fmin(share, 1) * BAR_COLUMNS);
		char bar[BAR_COLUMNS + 1] = "";

		n = n < BAR_COLUMNS - used ? n : BAR_COLUMNS - used;
		memset(bar, parts[i].letter, n);
		look_add_word(p, parts[i].style, bar);
		used += n;
	}
	look_addf(p, STYLE_MUTED, "%.*s]", (int)(BAR_COLUMNS - used), "....................");
	monitor_reasons(look_of(p, "gpu.reasons", target), &now);
	if (now.len)
		look_addf(p, STYLE_WARN, " %s", now.s);
}

static void gpus(struct look_page *p, const struct top_view *v)
{
	const struct monitor_machine *m = &p->f->mon->machine;
	/* On a low screen a GPU has one line. */
	bool bars = 2 * (int)m->n_gpus + REST_LINES <= v->lines;
	bool links = 3 * (int)m->n_gpus + REST_LINES <= v->lines;

	look_gpu_head(p);
	for (size_t i = 0; i < m->n_gpus; i++) {
		char target[24];

		snprintf(target, sizeof(target), "gpu%u", m->gpus[i].index);
		look_gpu_line(p, &m->gpus[i]);
		if (bars) {
			history_cell(p, v->busy + i * TOP_HISTORY);
			held_bar(p, target);
			look_end_line(p);
		}
		if (links)
			look_gpu_details(p, &m->gpus[i], target);
		if (m->gpus[i].integrated && bars) {
			look_add_word(p, STYLE_MUTED, "    GPU in system memory: see Memory below");
			look_end_line(p);
		}
	}
}

static enum top_sort sorted_by;

static int by_sort(const void *a, const void *b)
{
	const struct monitor_process *x = a, *y = b;
	double m = isnan(x->memory) ? -1 : x->memory, n = isnan(y->memory) ? -1 : y->memory;
	int name = strcmp(x->command, y->command);

	if (sorted_by == TOP_BY_MEMORY && (m > n || m < n))
		return m > n ? -1 : 1;
	if (sorted_by == TOP_BY_NAME && name)
		return name;
	if (sorted_by == TOP_BY_GPU && x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static const char *top_sort_name(enum top_sort s)
{
	static const char *const names[] = { "memory", "GPU", "name", "pid" };

	return names[s % TOP_SORTS];
}

static void users(struct look_page *p, const struct top_view *v)
{
	struct monitor_processes all;
	size_t shown = 0, fit = v->lines > 30 ? 16 : 4;

	if (!p->f->users || !p->f->users->n)
		return;
	all = *p->f->users;
	sorted_by = v->sort;
	qsort(all.items, all.n, sizeof(*all.items), by_sort);
	look_addf(p, STYLE_MUTED, "GPU    process  memory GiB  %-16s%s", "command", "container");
	look_end_line(p);
	for (size_t i = 0; i < all.n && shown < fit; i++) {
		const struct monitor_process *u = &all.items[i];

		if (*v->filter && !strstr(u->command, v->filter) && !strstr(u->group, v->filter))
			continue;
		shown++;
		look_addf(p, STYLE_PLAIN, "%3u %10d  ", u->gpu, u->pid);
		if (isnan(u->memory))
			look_addf(p, STYLE_MUTED, "%10s  ", "-");
		else
			look_addf(p, STYLE_PLAIN, "%10.1f  ", u->memory / 0x1p30);
		look_addf(p, STYLE_PLAIN, "%-15.15s ", *u->command ? u->command : "not visible");
		look_addf(p, STYLE_MUTED, "%.24s", u->group);
		look_end_line(p);
	}
	look_addf(p, STYLE_MUTED, "%zu of %zu processes by %s%s%s", shown, all.n + all.left_out,
		  top_sort_name(v->sort), *v->filter ? " with " : "", v->filter);
	look_end_line(p);
}

/* The failed one of that number, or NULL; *n of them. */
static const struct finding *top_finding(const struct findings *all, size_t chosen, size_t *n)
{
	const struct finding *out = NULL;

	*n = 0;
	for (size_t i = 0; i < all->n; i++)
		if (all->items[i].v.kind == VERDICT_FAIL && (*n)++ == chosen)
			out = &all->items[i];
	return out;
}

static void findings(struct look_page *p, const struct top_view *v)
{
	size_t n;

	top_finding(&p->judged, 0, &n);
	for (size_t i = 0; i < n; i++) {
		size_t unused;
		const struct finding *f = top_finding(&p->judged, i, &unused);

		look_addf(p, f->severity >= SEVERITY_HIGH ? STYLE_BAD : STYLE_WARN, "%c %s ",
			  i == v->chosen % n ? '>' : ' ', severity_name(f->severity));
		look_addf(p, STYLE_STRONG, "%s  ", f->s->id);
		look_addf(p, STYLE_PLAIN, "%s  %s", f->target, f->v.reason);
		look_end_line(p);
	}
}

/* What stands in place of the page: help, or one finding. */
static bool overlay(struct look_page *p, const struct top_view *v)
{
	static const char *const keys[] = {
		"space     pause or continue",
		"+ -       interval, or speed of a replay",
		"s         sort processes by memory, GPU, name or pid",
		"/         show only processes and containers that contain this text",
		"n         next finding",
		"e         explain the selected finding",
		"f         plan the fix of the selected finding",
		"r         record to a file, and end the recording",
		"< >       10 s back and forward in a replay (or arrow keys)",
		"q         quit",
		"",
		"held: clock reduced by power cap (P), heat (W), power brake (B)",
	};
	size_t n;
	const struct finding *f;

	if (v->over == TOP_PAGE)
		return false;
	f = top_finding(&p->judged, 0, &n);
	if (n)
		f = top_finding(&p->judged, v->chosen % n, &n);
	for (size_t i = 0; v->over == TOP_HELP && i < sizeof(keys) / sizeof(keys[0]); i++) {
		look_add_word(p, STYLE_PLAIN, keys[i]);
		look_end_line(p);
	}
	if (v->over == TOP_HELP)
		return true;
	if (!f) {
		paragraph(p, "No findings in the figures shown here. \"gputune check\" judges all "
			     "settings.");
		return true;
	}
	look_addf(p, STYLE_STRONG, "%s: ", f->s->id);
	paragraph(p, f->s->title);
	paragraph(p, f->v.reason);
	look_end_line(p);
	if (v->over == TOP_EXPLAIN) {
		paragraph(p, f->s->why);
		look_add_word(p, STYLE_MUTED, "Source: ");
		paragraph(p, f->s->source);
	}
	look_addf(p, STYLE_PLAIN,
		  v->over == TOP_FIX ? "gputune plan --only %s" : "gputune explain %s", f->s->id);
	look_end_line(p);
	return true;
}

/* As many lines as there is room for, then the last two. */
static void fit(const struct text *page, int lines, const char *foot, struct text *out)
{
	const char *s = page->s ? page->s : "";
	int at = 0;

	for (; *s && at < lines - 2; at++) {
		size_t n = strcspn(s, "\n") + 1;

		text_addn(out, s, n);
		s += n;
	}
	for (; at < lines - 2; at++)
		text_addc(out, '\n');
	text_printf(out, "%s", foot);
}

void top_page(const struct instant *f, const struct instant *first, const struct monitor_head *h,
	      const struct term_style *how, const struct top_view *v, struct text *out)
{
	TEXT_AUTO page = { 0 };
	ARENA_AUTO a = { 0 };
	struct look_page p = { .f = f, .first = first, .how = how, .out = &page };

	if (how->width < LEAST_COLUMNS || v->lines < LEAST_LINES) {
		text_add(out, "too small: 40x8 at least\nq quits\n");
		return;
	}
	look_begin(&p, &a, h);
	if (!overlay(&p, v)) {
		findings(&p, v);
		gpus(&p, v);
		users(&p, v);
		look_system(&p);
	}
	fit(&page, v->lines, v->foot, out);
	text_free(&p.line);
}
