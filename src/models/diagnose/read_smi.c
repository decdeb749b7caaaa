/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nvidia-smi prints again and again: --query-gpu=... --format=csv[,nounits] -l, and dmon (text
 * or CSV), as dcgmi dmon does: a head of names, then a row a GPU and look. A GPU is told by index,
 * else by its place on the bus or its UUID in order of sight.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/diagnose/read.h"

enum { COLUMNS_MAX = 64, GPUS_MAX = 1024, ID_MOST = 64, LINE_MOST = 4096 };

/* A column of figures of a GPU. dmon's "sm" is not the activity of multiprocessors but the part of
 * the time with a kernel resident. */
static const struct gpu_column {
	const char *name;
	enum figure_kind kind;
	double factor;
	const char *text;
} columns[] = {
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

struct smi {
	struct read_place at;
	char head[COLUMNS_MAX][64];
	size_t n, told;
	int index, id, stamp, name;
	char ids[GPUS_MAX][ID_MOST];
	bool named[GPUS_MAX];
	size_t gpus;
	double first_s;
};

/* Small letters, without the unit behind the name. */
static void smi_begin(struct smi *w, char **words, size_t n)
{
	w->n = n;
	w->index = w->id = w->stamp = w->name = -1;
	for (size_t i = 0; i < n; i++) {
		char *h = w->head[i];
		size_t len = strcspn(words[i], " [");

		len = len < sizeof(w->head[i]) ? len : sizeof(w->head[i]) - 1;
		for (size_t k = 0; k < len; k++)
			h[k] = (char)tolower((unsigned char)words[i][k]);
		h[len] = '\0';
		if (strcmp(h, "index") == 0 || strcmp(h, "gpu") == 0 || strcmp(h, "entity") == 0)
			w->index = (int)i;
		else if (strcmp(h, "timestamp") == 0 || strcmp(h, "time") == 0)
			w->stamp = (int)i;
		else if (strcmp(h, "name") == 0 || strcmp(h, "gpu_name") == 0)
			w->name = (int)i;
		else if (w->id < 0 && (strstr(h, "bus_id") || strstr(h, "uuid")))
			w->id = (int)i;
	}
}

static int smi_gpu_of(struct smi *w, char **words)
{
	size_t i = 0;

	if (w->index >= 0)
		return read_rank(read_number(words[w->index], NULL), -1);
	if (w->id < 0)
		return -1;
	while (i < w->gpus && strncmp(w->ids[i], words[w->id], ID_MOST - 1) != 0)
		i++;
	if (i == w->gpus && i < GPUS_MAX)
		snprintf(w->ids[w->gpus++], ID_MOST, "%s", words[w->id]);
	return i < GPUS_MAX ? (int)i : -1;
}

/* "2025/01/31 12:00:01.234": seconds of the month; "12:00:01": of the day. */
static double smi_seconds_of(const char *s)
{
	int year, month, day = 0, at = 0;
	const char *end;
	double v;

	if (sscanf(s, "%4d/%2d/%2d %n", &year, &month, &day, &at) == 3)
		s += at;
	v = read_number(s, &end);
	for (int i = 0; i < 2 && *end == ':'; i++)
		v = 60 * v + read_number(end + 1, &end);
	return 86400.0 * day + v;
}

static bool smi_reason(struct smi *w, const char *head, const char *cell, double at)
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
static size_t smi_cell(struct smi *w, const char *head, const char *cell, double at)
{
	size_t told = smi_reason(w, head, cell, at);

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		struct metric_sample f;

		if (strcmp(columns[i].name, head) != 0)
			continue;
		f = read_seen(&w->at, columns[i].kind, columns[i].factor * read_number(cell, NULL));
		f.at = at;
		f.text = columns[i].text;
		if (read_sane(f.value)) {
			evidence_figure(w->at.ev, f);
			told++;
		}
	}
	return told;
}

static void smi_row(struct smi *w, char **words)
{
	double at = w->stamp >= 0 ? smi_seconds_of(words[w->stamp]) : (double)NAN;

	w->first_s = isnan(w->first_s) ? at : w->first_s;
	at -= w->first_s;
	at += at < 0 ? 86400 : 0; /* past midnight */
	w->at.rank = smi_gpu_of(w, words);
	if (w->index >= 0 && w->at.rank < 0)
		return;
	if (w->name >= 0 && w->at.rank >= 0 && w->at.rank < GPUS_MAX && !w->named[w->at.rank]) {
		w->named[w->at.rank] = true;
		read_trait(&w->at, TRAIT_GPU, words[w->name], (double)NAN);
	}
	for (size_t i = 0; i < w->n; i++)
		w->told += smi_cell(w, w->head[i], words[i], at);
}

static void smi_line(struct smi *w, char *s, bool csv)
{
	char *words[COLUMNS_MAX], *p = s + strspn(s, " \t");
	bool comment = *p == '#';
	size_t n = csv ? read_cells(p, ",\r", words, COLUMNS_MAX)
		       : read_words(p + comment, " \t,\r", words, COLUMNS_MAX);
	/* dcgmi writes "GPU 0" where the head has one word. */
	size_t skip = !csv && !comment && n == w->n + 1 && strcasecmp(words[0], "gpu") == 0;
	bool head = csv && n && (!w->n || str_starts(words[0], w->head[0]));

	/* The line of units below the head begins alike. */
	for (size_t i = 0; comment && i < n; i++)
		head |= strcasecmp(words[i], "gpu") == 0 || strcasecmp(words[i], "entity") == 0;
	if (head)
		smi_begin(w, words, n);
	else if (!comment && w->n && (csv ? n == w->n : n - skip >= w->n && w->index >= 0))
		smi_row(w, words + skip);
}

static int smi_read_all(struct run_evidence *ev, size_t file, const char *text, size_t size,
			struct err *e)
{
	ARENA_AUTO own = { 0 };
	struct smi *w = ARENA_NEW(&own, struct smi);
	const char *s = text, *end = text + size;
	bool csv = text[strspn(text, " \t\r\n")] != '#';
	char buf[LINE_MOST];

	w->at = (struct read_place){ .ev = ev, .file = file, .rank = -1, .step = -1 };
	w->first_s = (double)NAN;
	while (s < end) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));
		size_t n = (size_t)((stop ? stop : end) - s);

		w->at.line++;
		if (n < sizeof(buf)) {
			memcpy(buf, s, n);
			buf[n] = '\0';
			smi_line(w, buf, csv);
		}
		s = stop ? stop + 1 : end;
	}
	ev->files[file].used = w->told;
	return ev->files[file].used
		       ? 0
		       : err_set(e, -ENOTSUP, "%s: no known column", ev->files[file].path);
}

static bool smi_looks(const char *head, size_t n, const char *path)
{
	static const char words[] = "utilization.gpu|power.draw|clocks.sm|clocks.current.sm|"
				    "memory.used|pci.bus_id|temperature.gpu";
	char first[4096];
	size_t len = strcspn(head, "\n");

	(void)n;
	(void)path;
	if (len >= sizeof(first) || *head == '#')
		return false;
	memcpy(first, head, len);
	first[len] = '\0';
	return str_has_any(words, first) && strchr(first, ',');
}

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

const struct evidence_format evidence_smi_csv = { .name = "nvidia-smi CSV",
						  .looks = smi_looks,
						  .read = smi_read_all };
const struct evidence_format evidence_dmon = { .name = "dmon",
					       .looks = dmon_looks,
					       .read = smi_read_all };
