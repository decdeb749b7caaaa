/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch Lightning (0.7 to 2.6): reports of the simple profiler, a table of actions with times of
 * the whole run. An optimizer step of versions since 1.2 holds the passes too, because they run in
 * its closure.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

static const struct {
	const char *ends; /* the action's name ends so */
	enum figure_kind kind;
} actions[] = {
	{ "train_dataloader_next", FIGURE_DATA_S },
	{ "get_train_batch", FIGURE_DATA_S },
	{ ".batch_to_device", FIGURE_COPY_S },
	{ "model_forward", FIGURE_FORWARD_S },
	{ "Strategy.training_step", FIGURE_FORWARD_S },
	{ "model_backward", FIGURE_BACKWARD_S },
	{ "Strategy.backward", FIGURE_BACKWARD_S },
	{ "Strategy.save_checkpoint", FIGURE_CHECKPOINT_S },
};

static enum figure_kind kind_of(const char *action)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (str_ends(action, actions[i].ends))
			return actions[i].kind;
	return FIGURE_KINDS;
}

/* The step is a plain update only where passes have rows of their own beside it. */
static bool is_step(const char *action)
{
	return strstr(action, "optimizer_step_and_closure") ||
	       strstr(action, "optimizer_step_with_closure") ||
	       (strstr(action, "[LightningModule]") && str_ends(action, ".optimizer_step"));
}

/* --- the simple profiler ---------------------------------------------------------------------- */

static size_t cells_of(char *s, char **cells)
{
	size_t n = read_cells(s, "|", cells, LOG_CELLS);

	/* Tables since 1.5 have a line at both ends. */
	if (n && !*cells[0]) {
		memmove(cells, cells + 1, (n - 1) * sizeof(*cells));
		n--;
	}
	return n;
}

static bool lightning_head(struct log *l, char **cells, size_t n)
{
	log_table(l, &log_lightning);
	l->table.action = l->table.mean = l->table.calls = l->table.total = -1;
	for (size_t i = 0; i < n; i++)
		if (strcmp(cells[i], "Action") == 0)
			l->table.action = (int)i;
		else if (str_starts(cells[i], "Mean duration"))
			l->table.mean = (int)i;
		else if (str_starts(cells[i], "Num calls"))
			l->table.calls = (int)i;
		else if (str_starts(cells[i], "Total time"))
			l->table.total = (int)i;
	if (l->table.action < 0 || l->table.mean < 0 || l->table.total < 0)
		l->open = NULL;
	return l->open != NULL;
}

static void action(struct log *l, const char *name, double mean, double total)
{
	enum figure_kind kind =
		strcmp(name, "save_checkpoint") == 0 ? FIGURE_CHECKPOINT_S : kind_of(name);

	if (strcmp(name, "Total") == 0) {
		l->table.over_s = total;
	} else if (strcmp(name, "run_training_epoch") == 0) {
		/* The loop itself; the table's total counts from when the profiler was made, with
		 * all that is set up before. It stands above what it holds. */
		l->table.over_s = total;
	} else if (strcmp(name, "run_training_batch") == 0) {
		struct metric_sample f = read_seen(&l->at, FIGURE_STEP_S, mean);

		f.over_s = total;
		f.step = -1;
		f.text = name;
		evidence_figure(l->at.ev, f);
	} else if (is_step(name)) {
		l->table.step = total;
		l->table.step_line = l->at.line;
	} else if (strcmp(name, "optimizer_step") == 0) {
		read_total(&l->at, FIGURE_OPTIMIZER_S, total, l->table.over_s, name);
	} else if (kind != FIGURE_KINDS) {
		if (kind == FIGURE_FORWARD_S)
			l->table.forward = total;
		if (kind == FIGURE_BACKWARD_S)
			l->table.backward = total;
		read_total(&l->at, kind, total, l->table.over_s, name);
	}
}

/* What the step's closure did not take is the update. */
static void lightning_finish(struct log *l)
{
	struct read_place p = l->at;

	p.line = l->table.step_line;
	if (l->table.step > 0 && l->table.forward > 0 && l->table.backward > 0 &&
	    l->table.step > l->table.forward + l->table.backward)
		read_total(&p, FIGURE_OPTIMIZER_S,
			   l->table.step - l->table.forward - l->table.backward, l->table.over_s,
			   "optimizer_step without training_step and backward");
	l->table.step = 0;
}

static enum log_row lightning_table_row(struct log *l, const char *s)
{
	char copy[4096], *cells[LOG_CELLS];
	size_t n, most;
	double mean, total;

	if (strspn(s, "-= \t") == strlen(s) && l->at.line - l->open_line < 2000 && *s)
		return LOG_ROW;
	if (!strchr(s, '|') || strlen(s) >= sizeof(copy)) {
		lightning_finish(l);
		return LOG_END;
	}
	strcpy(copy, s);
	n = cells_of(copy, cells);
	most = (size_t)(l->table.total > l->table.mean ? l->table.total : l->table.mean);
	if (n <= most || n <= (size_t)l->table.action)
		return LOG_OTHER;
	mean = read_number(cells[l->table.mean], NULL);
	total = read_number(cells[l->table.total], NULL);
	if (isnan(total))
		return LOG_OTHER;
	action(l, cells[l->table.action], mean, total);
	return LOG_ROW;
}

static bool lightning_line(struct log *l, const char *s)
{
	char copy[4096], *cells[LOG_CELLS];

	if (!strchr(s, '|') || strlen(s) >= sizeof(copy))
		return false;
	strcpy(copy, s);
	return lightning_head(l, cells, cells_of(copy, cells));
}

static void end(struct log *l)
{
	if (l->open == &log_lightning)
		lightning_finish(l);
}

static const char *const marks[] = { "Mean duration (s)", NULL };
const struct log_reader log_lightning = { .framework = "lightning",
					  .format = "Lightning profiler report",
					  .marks = marks,
					  .line = lightning_line,
					  .row = lightning_table_row,
					  .end = end };

/* Metrics as comma-separated values, a row a step: Lightning's CSVLogger, or a program's own. */

enum { COLUMNS_MAX = 256, NAME_MOST = 96 };

static bool lightning_column(const char *head, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = head; (p = strstr(p, name)); p += n)
		if ((p == head || p[-1] == ',' || p[-1] == '"') && strchr(",\"\r\n", p[n]))
			return true;
	return false;
}

/* Some column is a figure's that is known. Cuts head. */
static bool lightning_known(char *head)
{
	char *save = NULL;

	for (char *w = strtok_r(head, ",\"\r", &save); w; w = strtok_r(NULL, ",\"\r", &save))
		if (strcmp(w, "loss") != 0 && read_own_name(w))
			return true;
	return false;
}

static bool lightning_looks(const char *head, size_t n, const char *path)
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
	       (lightning_column(first, "step") || lightning_column(first, "iter") ||
		lightning_column(first, "iteration")) &&
	       (lightning_column(first, "epoch") || lightning_column(first, "train_loss") ||
		lightning_known(first));
}

static size_t lightning_one(struct read_place *p, const char **head, size_t columns,
			    const char **cell, size_t n)
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

static int lightning_read_all(struct run_evidence *ev, size_t file, const char *text, size_t size,
			      struct err *e)
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
			told += lightning_one(&p, head, columns, cell, n) > 0;
		}
		p.line += (size_t)csv_lines(s, next);
		if (++rows % 1024 == 0)
			arena_free(&scratch);
	}
	arena_free(&scratch);
	arena_free(&heads);
	ev->files[file].used = told;
	if (!next && *s)
		return err_set(e, -EBADMSG, "%s:%zu: unclosed quote", ev->files[file].path, p.line);
	return told ? 0
		    : err_set(e, -ENOTSUP, "%s: no known column; %s", ev->files[file].path,
			      read_names_said);
}

const struct evidence_format evidence_metrics = { .name = "metrics CSV",
						  .looks = lightning_looks,
						  .read = lightning_read_all };
