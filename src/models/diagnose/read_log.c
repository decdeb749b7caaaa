/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log of a job, line by line: colours and progress bars that overwrite themselves, and which
 * readers are asked.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

/*
 * Progress bars: of tqdm ("12/345 [00:07<06:50,  1.23s/it]"), which Hugging Face Trainer (without a
 * word before) and Lightning ("Epoch 0:") use, and Lightning's rich one. Other bars (downloads,
 * shards, data sets) have other words before them and are no steps.
 */

/* The "12/345" before at: where the digits begin. */
static const char *fraction(const char *s, const char *at, long long *done, long long *all)
{
	const char *slash = at;

	while (slash > s && *slash != '/')
		slash--;
	if (*slash != '/' || !isdigit((unsigned char)slash[1]))
		return NULL;
	*all = strtoll(slash + 1, NULL, 10);
	at = slash;
	while (at > s && isdigit((unsigned char)at[-1]))
		at--;
	if (at == slash || slash - at > 12)
		return NULL;
	*done = strtoll(at, NULL, 10);
	return at;
}

/* The number that ends where unit begins. */
static double rate_before(const char *s, const char *unit)
{
	const char *p = unit;

	while (p > s && (isdigit((unsigned char)p[-1]) || p[-1] == '.'))
		p--;
	return p < unit ? read_number(p, NULL) : (double)NAN;
}

/* A bar of a million states would leave no room for what else the log says. */
enum { STATES_TOLD = 20000 };

static bool bar_line(struct log *l, const char *s)
{
	const char *per = strstr(s, "it/s"), *unit = per ? per : strstr(s, "s/it"), *open, *start;
	struct read_place at = l->at;
	long long done = 0, all = 0;
	double rate = unit ? rate_before(s, unit) : (double)NAN;
	bool epoch;

	if (!(rate > 0))
		return false;
	s += strspn(s, " ");
	epoch = str_starts(s, "Epoch ");
	open = strchr(s, '[');
	/* Rich writes "12/345 0:00:07 • 0:06:50 1.23it/s". */
	start = open && open < unit ? fraction(s, open, &done, &all)
		: epoch		    ? strstr(s + 6, " ")
				    : NULL;
	if (open && open < unit && (!start || done < 1 || all < 1))
		return false;
	/* Nothing but a percentage and the bar itself stands before the steps of the Trainer. */
	if (!epoch && (!isdigit((unsigned char)*s) || !strchr(s, '%') || strchr(s, '%') - s > 3))
		return false;
	if (!epoch) {
		/* Evaluations have bars of other lengths. */
		l->bar_total = l->bar_total ? l->bar_total : all;
		if (all != l->bar_total)
			return false;
		at.step = done;
		if (done > l->bar_told && done - l->bar_told < all / STATES_TOLD)
			return true;
		l->bar_told = done;
	}
	read_figure(&at, FIGURE_STEP_S, per ? 1 / rate : rate, "progress bar");
	return true;
}

static const char *const marks[] = { "it/s", "s/it", NULL };
static const struct log_reader log_lightning_bar = { .marks = marks, .line = bar_line };

/* Longer lines are cut: nothing that is read stands so far back. */
enum { LINE_MOST = 16384 };

static const struct log_reader *const readers[] = {
	&log_hf,	&log_lightning, &log_lightning_bar,  &log_megatron, &log_timers,
	&log_arguments, &log_deepspeed, &log_deepspeed_comm, &log_titan,    &log_plain,
	&log_keys,	&log_nccl,	&log_nccl_tests,     &log_nemo,
};

enum { READERS = sizeof(readers) / sizeof(readers[0]) };

struct walk {
	struct log l;
	struct marks *marks;
	size_t used[READERS], used_lines;
	char *buf;
};

/* --- a line ----------------------------------------------------------------------------------- */

static bool log_ask_one(struct walk *w, const char *s, unsigned found)
{
	struct log *l = &w->l;
	bool told = false;

	/* Lines of other ranks may stand between the rows of a table. */
	if (l->open && l->open_whose == l->whose) {
		const struct log_reader *r = l->open;
		enum log_row row = r->row(l, s);

		if (row == LOG_ROW)
			return true;
		if (row == LOG_END && l->open == r)
			l->open = NULL;
	}
	for (size_t i = 0; i < READERS; i++)
		if (found >> i & 1 && readers[i]->line(l, s)) {
			told = true;
			if (!w->used[i]++ && readers[i]->framework)
				log_trait_once(l, TRAIT_FRAMEWORK, readers[i]->framework,
					       (double)NAN);
		}
	return told;
}

static void log_line_one(struct walk *w, const char *s, size_t n)
{
	unsigned found = marks_find(w->marks, s, n);
	const char *end = s + n;
	struct prefix prefix, first = { .task = -1, .local = -1 };
	bool told = false, begun = false;

	if (!found && !w->l.open)
		return;
	/* A bar overwrites itself: each state of it is a line, of whom the first one says. */
	while (s <= end) {
		const char *stop = memchr(s, '\r', (size_t)(end - s));
		size_t part = (size_t)((stop ? stop : end) - s);
		const char *bare;

		if (part) {
			text_plain(w->buf, s, part < LINE_MOST ? part : LINE_MOST - 1);
			bare = read_prefix(&w->l.prefixes, w->buf, &prefix);
			if (!begun || prefix.task >= 0 || prefix.local >= 0) {
				first = prefix;
				w->l.whose = prefix_owner(&first);
			}
			begun = true;
			w->l.at.rank = prefix_rank(&w->l.prefixes, &first);
			told = log_ask_one(w, bare, found) || told;
		}
		if (!stop)
			break;
		s = stop + 1;
	}
	w->used_lines += told;
}

/* --- a file ----------------------------------------------------------------------------------- */

static bool looks(const char *head, size_t n, const char *path)
{
	(void)path;
	return n && !memchr(head, '\0', n);
}

/* A framework's name says more than that of what it prints besides. */
static const char *log_format_of(const struct walk *w)
{
	const char *name = evidence_log.name;
	size_t most = 0;

	for (int besides = 0; besides < 2 && !most; besides++)
		for (size_t i = 0; i < READERS; i++)
			if (readers[i]->format && (besides || readers[i]->framework) &&
			    w->used[i] > most) {
				most = w->used[i];
				name = readers[i]->format;
			}
	return name;
}

static int log_read_all(struct run_evidence *ev, size_t file, const char *text, size_t size,
			struct err *e)
{
	struct walk *w = heap_array(1, sizeof(*w));
	const char *s = text, *end = text + size;
	int code = 0;

	w->buf = heap_array(LINE_MOST, 1);
	w->l.at = (struct read_place){ .ev = ev, .file = file, .rank = -1, .step = -1 };
	w->l.run_s = (double)NAN;
	w->l.tp = w->l.pp = (double)NAN;
	prefix_look(&w->l.prefixes, text, size);
	w->marks = marks_make(ev->arena, readers, READERS);
	while (s < end) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));

		w->l.at.line++;
		log_line_one(w, s, (size_t)((stop ? stop : end) - s));
		s = stop ? stop + 1 : end;
	}
	for (size_t i = 0; i < READERS; i++)
		if (readers[i]->end)
			readers[i]->end(&w->l);
	ev->files[file].used = w->used_lines;
	ev->files[file].format = log_format_of(w);
	if (!w->used_lines)
		code = err_set(e, -ENOTSUP, "%s: no line has a known format; %s",
			       ev->files[file].path, read_names_said);
	free(w->buf);
	free(w);
	return code;
}

const struct evidence_format evidence_log = { .name = "log", .looks = looks, .read = log_read_all };
