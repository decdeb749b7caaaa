/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia-smi dmon (text or --format csv) and dcgmi dmon: a head of short names, then a row a GPU
 * and look. "sm" of nvidia-smi is not the activity of multiprocessors but the part of the time with
 * a kernel resident.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/diagnose/read.h"

enum { COLUMNS_MAX = 64 };

static const struct {
	const char *name;
	enum figure_kind kind;
	double factor;
	const char *text;
} columns[] = {
	{ "pwr", FIGURE_GPU_POWER_W, 1, NULL },
	{ "gtemp", FIGURE_GPU_C, 1, NULL },
	{ "sm", FIGURE_GPU_UTIL, 0.01, NULL },
	{ "pclk", FIGURE_SM_MHZ, 1, NULL },
	{ "fb", FIGURE_GPU_MEMORY, 1048576.0, NULL },
	{ "pviol", FIGURE_THROTTLED, 0.01, "power cap" },
	{ "tviol", FIGURE_THROTTLED, 1, "too warm" },
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

struct walk {
	struct read_place at;
	char head[COLUMNS_MAX][24];
	size_t n, told;
	int gpu, clock;
	double first_s;
};

static bool looks(const char *head, size_t n, const char *path)
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

static void begin(struct walk *w, char **words, size_t n)
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

static double seconds_of(const char *s)
{
	const char *end;
	double v = read_number(s, &end);

	for (int i = 0; i < 2 && *end == ':'; i++)
		v = 60 * v + read_number(end + 1, &end);
	return v;
}

static void row(struct walk *w, char **words, size_t n)
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
		at = seconds_of(words[w->clock]);
		w->first_s = isnan(w->first_s) ? at : w->first_s;
		at -= w->first_s;
		at += at < 0 ? 86400 : 0; /* past midnight */
	}
	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++) {
			struct figure_seen f;

			if (strcmp(columns[k].name, w->head[i]) != 0)
				continue;
			f = read_seen(&w->at, columns[k].kind,
				      columns[k].factor * read_number(words[i], NULL));
			f.at = at;
			f.text = columns[k].text;
			if (read_sane(f.value)) {
				evidence_figure(w->at.ev, f);
				w->told++;
			}
		}
}

static void line(struct walk *w, char *s)
{
	char *words[COLUMNS_MAX], *p = s + strspn(s, " \t");
	bool comment = *p == '#';
	size_t n;

	p += comment;
	n = read_words(p, " \t,\r", words, COLUMNS_MAX);
	if (!n)
		return;
	if (!comment) {
		row(w, words, n);
		return;
	}
	/* The line of units below the head begins alike. */
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(words[i], "gpu") == 0 || strcasecmp(words[i], "entity") == 0)
			begin(w, words, n);
}

static int read_all(struct evidence *ev, size_t file, const char *text, size_t size, struct err *e)
{
	struct walk w = { .at = { .ev = ev, .file = file, .rank = -1, .step = -1 },
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
			line(&w, buf);
		}
		s = stop ? stop + 1 : end;
	}
	ev->files[file].used = w.told;
	return w.told ? 0
		      : err_set(e, -ENOTSUP, "%s: no row in it is known here",
				ev->files[file].path);
}

const struct evidence_format evidence_dmon = { .name = "dmon", .looks = looks, .read = read_all };
