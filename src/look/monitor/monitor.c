/* SPDX-License-Identifier: Apache-2.0 */
/* The plan, and one look at all of it. */
#include "look/monitor/monitor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "look/monitor/look.h"

/* A wake-up comes a little early or late: what is asked once a second is not left out for it. */
#define EARLY 0.95

static enum monitor_beat beat_of(double every_s)
{
	enum monitor_beat b = BEAT_RARE;

	while (b > BEAT_LOOK && every_s < beat_seconds[b])
		b--;
	return b;
}

void look_column(struct arena *a, struct monitor *mon, const char *type, const char *target)
{
	const struct column_type *t = column_type_find(type);

	if (!t || mon->n == MONITOR_COLUMNS_MAX)
		return;
	mon->columns = arena_grow(a, mon->columns, mon->n, sizeof(*mon->columns));
	/* A column is added right after its look. */
	mon->columns[mon->n++] = (struct column_of){
		t, target, mon->n_looks ? beat_of(mon->looks[mon->n_looks - 1].every_s) : BEAT_LOOK
	};
}

struct look *look_add(struct arena *a, struct monitor *mon)
{
	mon->looks = arena_grow(a, mon->looks, mon->n_looks, sizeof(*mon->looks));
	mon->looks[mon->n_looks] = (struct look){ .first = mon->n };
	return &mon->looks[mon->n_looks++];
}

const char *look_file(struct host *h, const char *path, struct monitor_state *s)
{
	if (!s->file)
		s->file = malloc(HOST_READ_MAX);
	return s->file && host_read_line(h, path, s->file, HOST_READ_MAX) == 0 ? s->file : NULL;
}

static const char *text_of(struct arena *a, const struct fact_str *f)
{
	return f->v ? arena_strdup(a, f->v) : NULL;
}

void monitor_make(struct arena *a, const struct host *h, const struct machine *m,
		  struct monitor *out)
{
	*out = (struct monitor){ 0 };
	out->machine.name = arena_strdup(a, h->id.nodename ? h->id.nodename : "");
	out->machine.kernel = arena_strdup(a, h->id.release ? h->id.release : "");
	out->machine.platform = text_of(a, &m->platform.kind);
	out->machine.driver = text_of(a, &m->gpu.driver);
	out->machine.cpus = (unsigned)idset_count(&m->cpu.online.v);
	out->machine.memory_bytes = 1024.0 * (double)fact_or(&m->memory.total_kb, -1);
	look_gpus(a, m, out);
	look_system(a, out);
	look_net(a, m, out);
	look_disks(a, m, out);
	monitor_index(a, out);
}

/* NULL: no memory, and nothing is remembered. */
static double *row_of_nothing(size_t n)
{
	double *row = malloc((n ? n : 1) * sizeof(*row));

	for (size_t i = 0; row && i < n; i++)
		row[i] = NAN;
	return row;
}

/* True when it is time for a beat; remembers how it was. */
static bool beat_due(struct beat_asked *b, bool all, double every_s, const double *last, size_t n,
		     double now_s)
{
	if (b->at_s > 0 && !all && now_s < b->at_s + EARLY * every_s)
		return false;
	if (b->at_s > 0 && last) {
		if (!b->before)
			b->before = row_of_nothing(n);
		if (b->before)
			memcpy(b->before, last, n * sizeof(*last));
		b->before_s = b->at_s;
	}
	b->at_s = now_s;
	return true;
}

/* True when it is time for this look. due: of the next one; NULL: not remembered. */
static bool look_due(const struct look *l, double *due, const bool beats[], double now_s)
{
	enum monitor_beat b = beat_of(l->every_s);

	if (b != BEAT_LOOK)
		return beats[b];
	if (l->every_s <= 0 || !due)
		return true;
	if (now_s < *due)
		return false;
	*due = now_s + EARLY * l->every_s;
	return true;
}

void monitor_look(const struct monitor *mon, struct host *h, struct monitor_state *s, double now_s,
		  double *values)
{
	bool beats[BEATS] = { true };

	for (size_t b = BEAT_SLOW; b < BEATS; b++)
		beats[b] = beat_due(&s->beats[b], s->all, beat_seconds[b], s->last, mon->n, now_s);
	if (!s->last) {
		s->last = row_of_nothing(mon->n);
		s->due_s = calloc(mon->n_looks + 1, sizeof(*s->due_s));
		s->refused_s = calloc(mon->n + 1, sizeof(*s->refused_s));
	}
	s->now_s = now_s;
	for (size_t i = 0; i < mon->n; i++)
		values[i] = s->last ? s->last[i] : (double)NAN;
	for (size_t i = 0; i < mon->n_looks; i++)
		if (look_due(&mon->looks[i], s->due_s ? &s->due_s[i] : NULL, beats, now_s))
			mon->looks[i].take(&mon->looks[i], h, s, values + mon->looks[i].first);
	if (s->last)
		memcpy(s->last, values, mon->n * sizeof(*values));
}

struct instant instant_of(const struct monitor *mon, const struct monitor_state *s, double at_s,
			  const double *now, double before_s, const double *before)
{
	struct instant out = {
		.mon = mon, .at_s = at_s, .before_s = before_s, .now = now, .before = before
	};

	memcpy(out.beats, s->beats, sizeof(out.beats));
	return out;
}

void monitor_state_free(struct monitor_state *s)
{
	free(s->busy);
	free(s->total);
	free(s->last);
	free(s->due_s);
	free(s->refused_s);
	for (size_t b = 0; b < BEATS; b++)
		free(s->beats[b].before);
	free(s->file);
	*s = (struct monitor_state){ 0 };
}
