/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia-smi --query-gpu=... --format=csv[,nounits] -l: a row a GPU and look. The head names the
 * questions; a GPU is told by index, else by its place on the bus or its UUID in order of sight.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/text.h"
#include "models/diagnose/read.h"

enum { COLUMNS_MAX = 64, GPUS_MAX = 1024, ID_MOST = 64 };

static const struct question {
	const char *name;
	enum figure_kind kind;
	double factor;
	const char *text;
} questions[] = {
	{ "utilization.gpu", FIGURE_GPU_UTIL, 0.01, NULL },
	{ "power.draw", FIGURE_GPU_POWER_W, 1, NULL },
	{ "power.draw.average", FIGURE_GPU_POWER_W, 1, NULL },
	{ "power.draw.instant", FIGURE_GPU_POWER_W, 1, "instant" },
	{ "power.limit", FIGURE_GPU_POWER_LIMIT_W, 1, NULL },
	{ "enforced.power.limit", FIGURE_GPU_POWER_LIMIT_W, 1, NULL },
	{ "clocks.sm", FIGURE_SM_MHZ, 1, NULL },
	{ "clocks.current.sm", FIGURE_SM_MHZ, 1, NULL },
	{ "clocks.max.sm", FIGURE_SM_MAX_MHZ, 1, NULL },
	{ "temperature.gpu", FIGURE_GPU_C, 1, NULL },
	{ "memory.used", FIGURE_GPU_MEMORY, 1048576.0, NULL },
	{ "memory.total", FIGURE_GPU_MEMORY_TOTAL, 1048576.0, NULL },
};

/* Reasons say "Active" or "Not Active"; two names in two generations of drivers. */
static const struct {
	const char *ends, *text;
} reasons[] = {
	{ ".sw_power_cap", "power cap" },
	{ ".hw_slowdown", "hardware slowdown" },
	{ ".hw_thermal_slowdown", "too warm (hardware)" },
	{ ".sw_thermal_slowdown", "too warm (driver)" },
	{ ".hw_power_brake_slowdown", "power brake" },
	{ ".sync_boost", "sync boost" },
};

struct walk {
	struct read_place at;
	char head[COLUMNS_MAX][64];
	size_t n, told;
	int index, id, stamp, name;
	char ids[GPUS_MAX][ID_MOST];
	bool named[GPUS_MAX];
	size_t gpus;
	double first_s;
};

static bool looks(const char *head, size_t n, const char *path)
{
	static const char *const words[] = { "utilization.gpu",	  "power.draw",	 "clocks.sm",
					     "clocks.current.sm", "memory.used", "pci.bus_id",
					     "temperature.gpu" };
	char first[4096];
	size_t len = strcspn(head, "\n");

	(void)n;
	(void)path;
	if (len >= sizeof(first) || *head == '#')
		return false;
	memcpy(first, head, len);
	first[len] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(first, words[i]) && strchr(first, ','))
			return true;
	return false;
}

/* Without blanks at both ends and without the unit behind a name. */
static void take(char *to, size_t most, const char *s, bool unit)
{
	size_t n;

	s = str_trim(s, strlen(s), &n);
	if (!unit && memchr(s, '[', n) && memchr(s, '[', n) > (const void *)s)
		n = (size_t)((const char *)memchr(s, '[', n) - s);
	while (n && s[n - 1] == ' ')
		n--;
	n = n < most ? n : most - 1;
	memcpy(to, s, n);
	to[n] = '\0';
}

static void begin(struct walk *w, const char **cell, size_t n)
{
	w->n = n;
	w->index = w->id = w->stamp = w->name = -1;
	for (size_t i = 0; i < n; i++) {
		take(w->head[i], sizeof(w->head[i]), cell[i], false);
		if (strcmp(w->head[i], "index") == 0)
			w->index = (int)i;
		else if (strcmp(w->head[i], "timestamp") == 0)
			w->stamp = (int)i;
		else if (strcmp(w->head[i], "name") == 0 || strcmp(w->head[i], "gpu_name") == 0)
			w->name = (int)i;
		else if (w->id < 0 && (strstr(w->head[i], "bus_id") || strstr(w->head[i], "uuid")))
			w->id = (int)i;
	}
}

static int gpu_of(struct walk *w, const char **cell)
{
	char id[ID_MOST];
	size_t i;

	if (w->index >= 0)
		return read_rank(read_number(cell[w->index], NULL), -1);
	if (w->id < 0)
		return -1;
	take(id, sizeof(id), cell[w->id], true);
	for (i = 0; i < w->gpus && strcmp(w->ids[i], id) != 0; i++)
		;
	if (i == w->gpus && i < GPUS_MAX)
		memcpy(w->ids[w->gpus++], id, sizeof(id));
	return i < GPUS_MAX ? (int)i : -1;
}

/* "2025/01/31 12:00:01.234": seconds of the month; a look more than a month long has none. */
static double seconds_of(const char *s)
{
	int year, month, day, hour, minute;
	double second;

	if (sscanf(s, " %4d/%2d/%2d %2d:%2d:%6lf", &year, &month, &day, &hour, &minute, &second) !=
	    6)
		return (double)NAN;
	return 86400.0 * day + 3600.0 * hour + 60.0 * minute + second;
}

static bool reason(struct walk *w, const char *head, const char *cell, double at)
{
	bool active = strstr(cell, "Active") && !strstr(cell, "Not");

	if (!str_starts(head, "clocks_throttle_reasons") &&
	    !str_starts(head, "clocks_event_reasons"))
		return false;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (str_ends(head, reasons[i].ends) && strstr(cell, "Active")) {
			struct figure_seen f = read_seen(&w->at, FIGURE_THROTTLED, active);

			f.at = at;
			f.text = reasons[i].text;
			evidence_figure(w->at.ev, f);
			return true;
		}
	return false;
}

static void row(struct walk *w, const char **cell, size_t n)
{
	double at = w->stamp >= 0 ? seconds_of(cell[w->stamp]) : (double)NAN;

	w->first_s = isnan(w->first_s) ? at : w->first_s;
	at -= w->first_s;
	w->at.rank = gpu_of(w, cell);
	if (w->name >= 0 && w->at.rank >= 0 && w->at.rank < GPUS_MAX && !w->named[w->at.rank]) {
		char name[128];

		take(name, sizeof(name), cell[w->name], true);
		w->named[w->at.rank] = true;
		read_trait(&w->at, TRAIT_GPU, name, (double)NAN);
	}
	for (size_t i = 0; i < n && i < w->n; i++) {
		if (reason(w, w->head[i], cell[i], at)) {
			w->told++;
			continue;
		}
		for (size_t k = 0; k < sizeof(questions) / sizeof(questions[0]); k++) {
			const struct question *q = &questions[k];
			struct figure_seen f;

			if (strcmp(q->name, w->head[i]) != 0)
				continue;
			f = read_seen(&w->at, q->kind, q->factor * read_number(cell[i], NULL));
			f.at = at;
			f.text = q->text;
			if (read_sane(f.value)) {
				evidence_figure(w->at.ev, f);
				w->told++;
			}
		}
	}
}

static int walk_all(struct walk *w, const char *text, size_t size, const char *path, struct err *e)
{
	const char *cell[COLUMNS_MAX], *next;
	struct arena scratch = { 0 };
	size_t n, count = 0;

	for (const char *s = text; *s && s < text + size; s = next) {
		next = csv_record(&scratch, s, cell, COLUMNS_MAX, &n);
		if (!next) {
			arena_free(&scratch);
			return err_set(e, -EBADMSG, "%s:%zu: a quote that is not closed", path,
				       w->at.line);
		}
		if (!w->n || (n == w->n && strstr(cell[0], w->head[0]) && *w->head[0] &&
			      !isdigit((unsigned char)*w->head[0])))
			begin(w, cell, n);
		else if (n == w->n)
			row(w, cell, n);
		w->at.line += (size_t)csv_lines(s, next);
		if (++count % 1024 == 0)
			arena_free(&scratch);
	}
	arena_free(&scratch);
	return 0;
}

static int read_all(struct evidence *ev, size_t file, const char *text, size_t size, struct err *e)
{
	struct arena own = { 0 };
	struct walk *w = ARENA_NEW(&own, struct walk);
	int code;

	w->at = (struct read_place){ .ev = ev, .file = file, .line = 1, .rank = -1, .step = -1 };
	w->first_s = (double)NAN;
	code = walk_all(w, text, size, ev->files[file].path, e);
	ev->files[file].used = w->told;
	if (!code && !w->told)
		code = err_set(e, -ENOTSUP, "%s: no column in it is known here",
			       ev->files[file].path);
	arena_free(&own);
	return code;
}

const struct evidence_format evidence_smi_csv = { .name = "nvidia-smi CSV",
						  .looks = looks,
						  .read = read_all };
