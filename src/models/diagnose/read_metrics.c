/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as comma-separated values, a row a step: Lightning's CSVLogger, or a program's own. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "base/text.h"
#include "models/diagnose/read.h"

enum { COLUMNS_MAX = 256, NAME_MOST = 96 };

static bool column(const char *head, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = head; (p = strstr(p, name)); p += n)
		if ((p == head || p[-1] == ',' || p[-1] == '"') && strchr(",\"\r\n", p[n]))
			return true;
	return false;
}

/* Some column is a figure's that is known. Cuts head. */
static bool known(char *head)
{
	char *save = NULL;

	for (char *w = strtok_r(head, ",\"\r", &save); w; w = strtok_r(NULL, ",\"\r", &save))
		if (strcmp(w, "loss") != 0 && read_own_name(w))
			return true;
	return false;
}

static bool looks(const char *head, size_t n, const char *path)
{
	char first[4096];
	size_t len = strcspn(head, "\n");

	(void)n;
	(void)path;
	if (len >= sizeof(first))
		return false;
	memcpy(first, head, len);
	first[len] = '\0';
	return strchr(first, ',') && !strchr(first, '{') &&
	       (column(first, "step") || column(first, "iter") || column(first, "iteration")) &&
	       (column(first, "epoch") || column(first, "train_loss") || known(first));
}

static size_t one(struct read_place *p, const char **head, size_t columns, const char **cell,
		  size_t n)
{
	size_t told = 0;

	p->step = -1;
	p->rank = -1;
	for (size_t i = 0; i < n && i < columns; i++) {
		if (strcmp(head[i], "step") == 0 || strcmp(head[i], "iter") == 0 ||
		    strcmp(head[i], "iteration") == 0)
			p->step = read_whole(read_number(cell[i], NULL), -1);
		if (strcmp(head[i], "rank") == 0)
			p->rank = read_rank(read_number(cell[i], NULL), -1);
	}
	for (size_t i = 0; i < n && i < columns; i++) {
		double v = read_number(cell[i], NULL);

		told += !isnan(v) &&
			(read_metric_key(p, head[i], v) || read_own_key(p, head[i], v));
	}
	return told;
}

static int read_all(struct evidence *ev, size_t file, const char *text, size_t size, struct err *e)
{
	struct read_place p = { .ev = ev, .file = file, .line = 1, .rank = -1, .step = -1 };
	const char *cell[COLUMNS_MAX], *head[COLUMNS_MAX], *s = text, *next = NULL;
	struct arena scratch = { 0 }, heads = { 0 };
	size_t n, columns = 0, told = 0, rows = 0;

	for (; *s && s < text + size; s = next) {
		next = csv_record(&scratch, s, cell, COLUMNS_MAX, &n);
		if (!next)
			break;
		n = n < COLUMNS_MAX ? n : COLUMNS_MAX;
		if (!columns) {
			for (columns = 0; columns < n; columns++)
				head[columns] = arena_strndup(&heads, cell[columns],
							      strnlen(cell[columns], NAME_MOST));
		} else {
			told += one(&p, head, columns, cell, n) > 0;
		}
		p.line += (size_t)csv_lines(s, next);
		if (++rows % 1024 == 0)
			arena_free(&scratch);
	}
	arena_free(&scratch);
	arena_free(&heads);
	ev->files[file].used = told;
	if (!next && *s)
		return err_set(e, -EBADMSG, "%s:%zu: a quote that is not closed",
			       ev->files[file].path, p.line);
	return told ? 0
		    : err_set(e, -ENOTSUP, "%s: no column in it is known here; %s",
			      ev->files[file].path, read_names_said);
}

const struct evidence_format evidence_metrics = { .name = "metrics CSV",
						  .looks = looks,
						  .read = read_all };
