/* SPDX-License-Identifier: Apache-2.0 */
/* The section of a report with what the machine did beside a job: recordings that were given. */
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/stamp.h"
#include "front/verbs/report.h"
#include "look/monitor/recording.h"
#include "look/monitor/figures_recording.h"

static const char zstd_magic[] = "\x28\xb5\x2f\xfd";

bool report_is_recording(const char *path)
{
	char head[4];
	int fd = fd_open_input(path);
	bool is = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
		  memcmp(head, zstd_magic, sizeof(head)) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

static const char *command_of(struct arena *a, const struct recording *rec)
{
	const char *s = NULL;

	for (char **w = rec->command; w && *w; w++)
		s = s ? arena_printf(a, "%s %s", s, *w) : *w;
	return s;
}

static void add_pairs(struct doc *d, const struct recording *rec)
{
	struct node *n = doc_pairs(d, NULL);
	const char *command = command_of(d->arena, rec);
	char when[STAMP_SIZE];

	if (command)
		node_pair(d, n, "Command", cell_as(STYLE_CODE, command));
	if (!stamp_format(rec->started_s, when))
		node_pair(d, n, "Begun", cell(arena_strdup(d->arena, when)));
	node_pair(d, n, "Took",
		  cell_printf(d, STYLE_PLAIN, "%.1f s, a look every %.2g s%s",
			      (double)rec->ms / 1e3, rec->interval_ms / 1e3,
			      rec->end.whole ? "" : "; its end is cut off"));
	if (rec->end.whole && rec->end.status >= 0)
		node_pair(d, n, "Ended with",
			  cell_printf(d, rec->end.status ? STYLE_BAD : STYLE_PLAIN, "exit code %d",
				      rec->end.status));
	if (rec->end.whole)
		node_pair(d, n, "Recording cost",
			  cell_printf(d, STYLE_PLAIN, "%.2f s of CPU", rec->end.cpu_s));
}

/* 0, or -errno and *e. */
static int add_one(struct doc *d, const char *path, struct err *e)
{
	struct recording *rec = ARENA_NEW(d->arena, struct recording);
	struct timeline *t = timeline_new(d->arena, &rec->mon);
	int r = recording_read(d->arena, path, rec, timeline_row, t, e);

	if (r)
		return r;
	doc_heading(d, 2, path);
	add_pairs(d, rec);
	timeline_add(d, t);
	return 0;
}

int report_part_recordings(struct reporting *g)
{
	struct doc *d = doc_new(&g->run.arena);
	struct err e = { 0 };

	if (!g->alone || !g->given->n_recordings)
		return 0;
	for (size_t i = 0; i < g->given->n_recordings; i++)
		if (add_one(d, g->given->recordings[i], &e))
			return complain(EXIT_USAGE, &e);
	report_add(g, "recordings", "Beside a job", d,
		   cell_printf(d, STYLE_MUTED, "%zu recording%s", g->given->n_recordings,
			       g->given->n_recordings == 1 ? "" : "s"))
		->open = true;
	return 0;
}
