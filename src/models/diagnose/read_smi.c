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
#include <strings.h>

#include "base/text.h"
#include "models/diagnose/read.h"

enum { COLUMNS_MAX = 64, GPUS_MAX = 1024, ID_MOST = 64 };

/* A column of figures of a GPU. */
struct gpu_column {
	const char *name;
	enum figure_kind kind;
	double factor;
	const char *text;
};

static const struct gpu_column questions[] = {
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
	{ ".hw_thermal_slowdown", "thermal (hardware)" },
	{ ".sw_thermal_slowdown", "thermal (driver)" },
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

static bool smi_looks(const char *head, size_t n, const char *path)
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
static void smi_take(char *to, size_t most, const char *s, bool unit)
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

static void smi_begin(struct walk *w, const char **cell, size_t n)
{
	w->n = n;
	w->index = w->id = w->stamp = w->name = -1;
	for (size_t i = 0; i < n; i++) {
		smi_take(w->head[i], sizeof(w->head[i]), cell[i], false);
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

static int smi_gpu_of(struct walk *w, const char **cell)
{
	char id[ID_MOST];
	size_t i;

	if (w->index >= 0)
		return read_rank(read_number(cell[w->index], NULL), -1);
	if (w->id < 0)
		return -1;
	smi_take(id, sizeof(id), cell[w->id], true);
	for (i = 0; i < w->gpus && strcmp(w->ids[i], id) != 0; i++)
		;
	if (i == w->gpus && i < GPUS_MAX)
		memcpy(w->ids[w->gpus++], id, sizeof(id));
	return i < GPUS_MAX ? (int)i : -1;
}

/* "2025/01/31 12:00:01.234": seconds of the month; a look more than a month long has none. */
static double smi_seconds_of(const char *s)
{
	int year, month, day, hour, minute;
	double second;

	if (sscanf(s, " %4d/%2d/%2d %2d:%2d:%6lf", &year, &month, &day, &hour, &minute, &second) !=
	    6)
		return (double)NAN;
	return 86400.0 * day + 3600.0 * hour + 60.0 * minute + second;
}

static bool smi_reason(struct walk *w, const char *head, const char *cell, double at)
{
	bool active = strstr(cell, "Active") && !strstr(cell, "Not");

	if (!str_starts(head, "clocks_throttle_reasons") &&
	    !str_starts(head, "clocks_event_reasons"))
		return false;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (str_ends(head, reasons[i].ends) && strstr(cell, "Active")) {
			struct metric_sample f = read_seen(&w->at, FIGURE_THROTTLED, active);

			f.at = at;
			f.text = reasons[i].text;
			evidence_figure(w->at.ev, f);
			return true;
		}
	return false;
}

/* Figures that a cell below this head tells; at: seconds. How many. */
static size_t smi_add_cell(const struct read_place *p, const struct gpu_column *known, size_t n,
			   const char *head, const char *cell, double at)
{
	size_t told = 0;

	for (size_t i = 0; i < n; i++) {
		struct metric_sample f;

		if (strcmp(known[i].name, head) != 0)
			continue;
		f = read_seen(p, known[i].kind, known[i].factor * read_number(cell, NULL));
		f.at = at;
		f.text = known[i].text;
		if (read_sane(f.value)) {
			evidence_figure(p->ev, f);
			told++;
		}
	}
	return told;
}

static void smi_row(struct walk *w, const char **cell, size_t n)
{
	double at = w->stamp >= 0 ? smi_seconds_of(cell[w->stamp]) : (double)NAN;

	w->first_s = isnan(w->first_s) ? at : w->first_s;
	at -= w->first_s;
	w->at.rank = smi_gpu_of(w, cell);
	if (w->name >= 0 && w->at.rank >= 0 && w->at.rank < GPUS_MAX && !w->named[w->at.rank]) {
		char name[128];

		smi_take(name, sizeof(name), cell[w->name], true);
		w->named[w->at.rank] = true;
		read_trait(&w->at, TRAIT_GPU, name, (double)NAN);
	}
	for (size_t i = 0; i < n && i < w->n; i++) {
		if (smi_reason(w, w->head[i], cell[i], at)) {
			w->told++;
			continue;
		}
		w->told += smi_add_cell(&w->at, questions, sizeof(questions) / sizeof(questions[0]),
					w->head[i], cell[i], at);
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
			return err_set(e, -EBADMSG, "%s:%zu: unclosed quote", path, w->at.line);
		}
		if (!w->n || (n == w->n && strstr(cell[0], w->head[0]) && *w->head[0] &&
			      !isdigit((unsigned char)*w->head[0])))
			smi_begin(w, cell, n);
		else if (n == w->n)
			smi_row(w, cell, n);
		w->at.line += (size_t)csv_lines(s, next);
		if (++count % 1024 == 0)
			arena_free(&scratch);
	}
	arena_free(&scratch);
	return 0;
}

static int smi_read_all(struct run_evidence *ev, size_t file, const char *text, size_t size,
			struct err *e)
{
	struct arena own = { 0 };
	struct walk *w = ARENA_NEW(&own, struct walk);
	int code;

	w->at = (struct read_place){ .ev = ev, .file = file, .line = 1, .rank = -1, .step = -1 };
	w->first_s = (double)NAN;
	code = walk_all(w, text, size, ev->files[file].path, e);
	ev->files[file].used = w->told;
	if (!code && !w->told)
		code = err_set(e, -ENOTSUP, "%s: no known column", ev->files[file].path);
	arena_free(&own);
	return code;
}

const struct evidence_format evidence_smi_csv = { .name = "nvidia-smi CSV",
						  .looks = smi_looks,
						  .read = smi_read_all };

/*
 * nvidia-smi dmon (text or --format csv) and dcgmi dmon: a head of short names, then a row a GPU
 * and look. "sm" of nvidia-smi is not the activity of multiprocessors but the part of the time with
 * a kernel resident.
 */

enum { DMON_COLUMNS_MAX = 64 };

static const struct gpu_column columns[] = {
	{ "pwr", FIGURE_GPU_POWER_W, 1, NULL },
	{ "gtemp", FIGURE_GPU_C, 1, NULL },
	{ "sm", FIGURE_GPU_UTIL, 0.01, NULL },
	{ "pclk", FIGURE_SM_MHZ, 1, NULL },
	{ "fb", FIGURE_GPU_MEMORY, 1048576.0, NULL },
	{ "pviol", FIGURE_THROTTLED, 0.01, "power cap" },
	{ "tviol", FIGURE_THROTTLED, 1, "thermal" },
	{ "rxpci", FIGURE_PCIE_GBS, 0.001, "received" },
	{ "txpci", FIGURE_PCIE_GBS, 0.001, "sent" },
	{ "smutil", FIGURE_SM_ACTIVITY, 0.01, NULL },
	{ "smact", FIGURE_SM_ACTIVITY, 1, NULL },
	{ "gract", FIGURE_GPU_UTIL, 1, "graphics engine" },
	{ "gputl", FIGURE_GPU_UTIL, 0.01, NULL },
	{ "smclk", FIGURE_SM_MHZ, 1, NULL },
	{ "power", FIGURE_GPU_POWER_W, 1, NULL },
	{ "tmptr", FIGURE_GPU_C, 1, NULL },
};

struct dmon_walk {
	struct read_place at;
	char head[DMON_COLUMNS_MAX][24];
	size_t n, told;
	int gpu, clock;
	double first_s;
};

static bool dmon_looks(const char *head, size_t n, const char *path)
{
	size_t skip = strspn(head, " \t\r\n"), len = strcspn(head + skip, "\n");
	char first[1024];

	(void)n;
	(void)path;
	if (head[skip] != '#' || len >= sizeof(first))
		return false;
	memcpy(first, head + skip, len);
	first[len] = '\0';
	return (strcasestr(first, "gpu") && (strstr(first, "pwr") || strstr(first, " sm") ||
					     strstr(first, "pclk") || strstr(first, " fb"))) ||
	       (strcasestr(first, "entity") &&
		(strstr(first, "SMACT") || strstr(first, "GRACT") || strstr(first, "GPUTL")));
}

static void dmon_begin(struct dmon_walk *w, char **words, size_t n)
{
	w->n = n;
	w->gpu = w->clock = -1;
	for (size_t i = 0; i < n; i++) {
		size_t len = strnlen(words[i], sizeof(w->head[i]) - 1);

		for (size_t k = 0; k < len; k++)
			w->head[i][k] = (char)tolower((unsigned char)words[i][k]);
		w->head[i][len] = '\0';
		if (strcmp(w->head[i], "gpu") == 0 || strcmp(w->head[i], "entity") == 0)
			w->gpu = (int)i;
		if (strcmp(w->head[i], "time") == 0)
			w->clock = (int)i;
	}
}

static double dmon_seconds_of(const char *s)
{
	const char *end;
	double v = read_number(s, &end);

	for (int i = 0; i < 2 && *end == ':'; i++)
		v = 60 * v + read_number(end + 1, &end);
	return v;
}

static void dmon_row(struct dmon_walk *w, char **words, size_t n)
{
	double at = (double)NAN;

	/* dcgmi writes "GPU 0" where the head has one word. */
	if (n == w->n + 1 && strcasecmp(words[0], "gpu") == 0) {
		words++;
		n--;
	}
	if (n < w->n || w->gpu < 0)
		return;
	w->at.rank = read_rank(read_number(words[w->gpu], NULL), -1);
	if (w->at.rank < 0)
		return;
	if (w->clock >= 0) {
		at = dmon_seconds_of(words[w->clock]);
		w->first_s = isnan(w->first_s) ? at : w->first_s;
		at -= w->first_s;
		at += at < 0 ? 86400 : 0; /* past midnight */
	}
	for (size_t i = 0; i < w->n; i++)
		w->told += smi_add_cell(&w->at, columns, sizeof(columns) / sizeof(columns[0]),
					w->head[i], words[i], at);
}

static void smi_line(struct dmon_walk *w, char *s)
{
	char *words[DMON_COLUMNS_MAX], *p = s + strspn(s, " \t");
	bool comment = *p == '#';
	size_t n;

	p += comment;
	n = read_words(p, " \t,\r", words, DMON_COLUMNS_MAX);
	if (!n)
		return;
	if (!comment) {
		dmon_row(w, words, n);
		return;
	}
	/* The line of units below the head begins alike. */
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(words[i], "gpu") == 0 || strcasecmp(words[i], "entity") == 0)
			dmon_begin(w, words, n);
}

static int dmon_read_all(struct run_evidence *ev, size_t file, const char *text, size_t size,
			 struct err *e)
{
	struct dmon_walk w = { .at = { .ev = ev, .file = file, .rank = -1, .step = -1 },
			       .first_s = (double)NAN,
			       .gpu = -1 };
	const char *s = text, *end = text + size;
	char buf[2048];

	while (s < end) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));
		size_t n = (size_t)((stop ? stop : end) - s);

		w.at.line++;
		if (n < sizeof(buf)) {
			memcpy(buf, s, n);
			buf[n] = '\0';
			smi_line(&w, buf);
		}
		s = stop ? stop + 1 : end;
	}
	ev->files[file].used = w.told;
	return w.told ? 0 : err_set(e, -ENOTSUP, "%s: no known row", ev->files[file].path);
}

const struct evidence_format evidence_dmon = { .name = "dmon",
					       .looks = dmon_looks,
					       .read = dmon_read_all };
