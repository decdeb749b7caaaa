/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording of our own: columns become figures of the time of their row. A long one is thinned to
 * rows at equal distances (rates stay exact: they are differences of counters), never averaged.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"
#include "look/monitor/recording.h"

enum { FIGURES_TOLD = 200000 };

static const unsigned char zstd_magic[] = { 0x28, 0xb5, 0x2f, 0xfd };

struct walk {
	struct read_place at;
	struct recording rec, again; /* again: as it was when it was read for the second time */
	struct recording_rates rates;
	double *v; /* gauges and rates of this row; NAN: not asked anew */
	size_t row, every;
};

/* What a column is; the rate of a total. */
static const struct {
	const char *column;
	enum figure_kind kind;
	double factor;
	const char *text;
} gauges[] = {
	{ "gpu.busy", FIGURE_GPU_UTIL, 0.01, NULL },
	{ "gpu.sm-activity", FIGURE_SM_ACTIVITY, 0.01, NULL },
	{ "gpu.memory-busy", FIGURE_GPU_MEMORY_BUSY, 0.01, NULL },
	{ "memory.dirty", FIGURE_DIRTY, 1, NULL },
	{ "disk.written", FIGURE_WRITTEN, 1e-9, NULL },
	{ "gpu.power", FIGURE_GPU_POWER_W, 1, NULL },
	{ "gpu.sm-clock", FIGURE_SM_MHZ, 1, NULL },
	{ "gpu.temperature", FIGURE_GPU_C, 1, NULL },
	{ "gpu.memory-used", FIGURE_GPU_MEMORY, 1, NULL },
	{ "gpu.capped", FIGURE_THROTTLED, 1, "power cap" },
	{ "gpu.warm", FIGURE_THROTTLED, 1, "thermal" },
	{ "gpu.brake", FIGURE_THROTTLED, 1, "power brake" },
	{ "pressure.io", FIGURE_WAITING_IO, 1, NULL },
	{ "cpu.busiest", FIGURE_CPU_ONE_MAX, 0.01, NULL },
	{ "gpu.nvlink-received", FIGURE_NVLINK_GBS, 1e-9, "received" },
	{ "gpu.nvlink-sent", FIGURE_NVLINK_GBS, 1e-9, "sent" },
	{ "gpu.pcie-received", FIGURE_PCIE_GBS, 1e-9, "received" },
	{ "gpu.pcie-sent", FIGURE_PCIE_GBS, 1e-9, "sent" },
};

/* The driver's bits of why the clock is not higher. */
static const struct {
	unsigned long long bits;
	const char *text;
} reasons[] = {
	{ 0x04, "power cap" },
	{ 0x20 | 0x40, "thermal" },
	{ 0x80, "power brake" },
};

static void recording_emit(const struct read_place *at, enum figure_kind kind, double v, double s,
			   int rank, const char *text)
{
	struct metric_sample f;

	/* The driver's totals and our clock are not read at one moment: a share a little above all
	 * of the time is all of it. Ticks make CPUs a little busier than all. */
	if (kind == FIGURE_THROTTLED || kind == FIGURE_WAITING_IO || kind == FIGURE_CPU_BUSY)
		v = v > 1 ? 1 : v;
	f = read_seen(at, kind, v);
	f.at = s;
	f.rank = rank;
	f.text = text;
	if (read_sane(v))
		evidence_figure(at->ev, f);
}

static double pair_rate(const struct monitor *mon, const double *v, size_t i, const char *other)
{
	long k = monitor_find(mon, other, mon->columns[i].target);
	double b = k < 0 ? 0 : v[k];

	return v[i] + (isnan(b) ? 0 : b);
}

static void recording_reasons(const struct read_place *at, double bits, double s, int rank)
{
	if (!(bits >= 0 && bits < 0x1p64))
		return;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		recording_emit(at, FIGURE_THROTTLED,
			       ((unsigned long long)bits & reasons[i].bits) != 0, s, rank,
			       reasons[i].text);
}

void recording_columns(const struct read_place *at, const struct monitor *mon, const double *v,
		       double s, bool bits)
{
	double net = (double)NAN, disk = (double)NAN;

	for (size_t i = 0; i < mon->n; i++) {
		const char *name = mon->columns[i].type->name, *target = mon->columns[i].target;
		int rank = str_starts(target, "gpu") ? read_rank(read_number(target + 3, NULL), -1)
						     : -1;

		for (size_t k = 0; k < sizeof(gauges) / sizeof(gauges[0]); k++)
			if (strcmp(gauges[k].column, name) == 0 &&
			    !(bits && gauges[k].kind == FIGURE_THROTTLED))
				recording_emit(at, gauges[k].kind, gauges[k].factor * v[i], s, rank,
					       gauges[k].text);
		if (bits && strcmp(name, "gpu.reasons") == 0)
			recording_reasons(at, v[i], s, rank);
		if (strcmp(name, "cpu.busy") == 0 && mon->machine.cpus)
			recording_emit(at, FIGURE_CPU_BUSY, v[i] / mon->machine.cpus, s, -1, NULL);
		if (strcmp(name, "net.received") == 0)
			net = fmax(net, pair_rate(mon, v, i, "net.sent"));
		if (strcmp(name, "rdma.received") == 0)
			net = fmax(net, pair_rate(mon, v, i, "rdma.sent"));
		if (strcmp(name, "disk.read") == 0)
			disk = fmax(disk, pair_rate(mon, v, i, "disk.written"));
	}
	recording_emit(at, FIGURE_NET_GBS, 1e-9 * net, s, -1, NULL);
	recording_emit(at, FIGURE_DISK_GBS, 1e-9 * disk, s, -1, NULL);
}

static bool recording_count_row(void *ctx, int64_t ms, const double *values)
{
	struct walk *w = ctx;

	(void)ms;
	(void)values;
	w->row++;
	return true;
}

static bool recording_take_row_one(void *ctx, int64_t ms, const double *values)
{
	struct walk *w = ctx;
	double s = 1e-3 * (double)ms;

	if (!recording_alike(&w->rec, &w->again))
		return false;
	w->at.line = w->row + 2; /* behind the line of the columns */
	if (w->row++ % w->every)
		return true;
	recording_rates(w->at.ev->arena, &w->rates, &w->rec.mon, s, values, w->v);
	recording_columns(&w->at, &w->rec.mon, w->v, s, false);
	return true;
}

void recording_machine(struct read_place at, const struct monitor_machine *m)
{
	if (m->cpus)
		read_figure(&at, FIGURE_CPUS, m->cpus, NULL);
	for (size_t i = 0; i < m->n_gpus; i++) {
		const struct monitor_gpu *g = &m->gpus[i];

		at.rank = (int)g->index;
		if (g->name)
			read_trait(&at, TRAIT_GPU, g->name, (double)NAN);
		read_figure(&at, FIGURE_GPU_POWER_LIMIT_W, g->power_limit_w, NULL);
		read_figure(&at, FIGURE_SM_MAX_MHZ, g->sm_max_mhz, NULL);
		read_figure(&at, FIGURE_GPU_MEMORY_TOTAL, g->memory_bytes, NULL);
	}
}

/* What the first line says of the command and the machine. */
static void recording_head(struct walk *w)
{
	TEXT_AUTO t = { 0 };

	w->at.line = 1;
	for (char **s = w->rec.command; s && *s; s++) {
		if (t.len)
			text_addc(&t, ' ');
		text_add(&t, *s);
	}
	if (t.len)
		read_trait(&w->at, TRAIT_COMMAND, t.s, (double)NAN);
	recording_machine(w->at, &w->rec.mon.machine);
}

static int open_recording(struct run_evidence *ev, size_t file, const char *path, struct err *e)
{
	struct walk w = { .at = { .ev = ev, .file = file, .rank = -1, .step = -1 }, .every = 1 };
	int code = recording_read(ev->arena, path, &w.rec, recording_count_row, &w, e);

	if (code)
		return code;
	ev->files[file].lines = w.row + 1 + w.rec.end.whole;
	ev->files[file].used = w.row;
	ev->files[file].begins_s = (double)w.rec.started_s;
	w.every = 1 + w.row * w.rec.mon.n / FIGURES_TOLD;
	w.v = arena_array(ev->arena, w.rec.mon.n, sizeof(*w.v));
	recording_head(&w);
	w.row = 0;
	code = recording_read(ev->arena, path, &w.again, recording_take_row_one, &w, e);
	if (!code && !recording_alike(&w.rec, &w.again))
		return err_set(e, -ESTALE, "%s was replaced while being read", path);
	/* Of the last line: of the command and all that it waited for. */
	if (!code && w.rec.end.whole && w.rec.end.command_cpu_s >= 0 && w.rec.ms > 0) {
		struct metric_sample f =
			read_seen(&w.at, FIGURE_PROCESS_CPUS,
				  w.rec.end.command_cpu_s / (1e-3 * (double)w.rec.ms));

		f.line = ev->files[file].lines;
		f.over_s = 1e-3 * (double)w.rec.ms;
		evidence_figure(ev, f);
	}
	return code;
}

static bool looks(const char *head_of, size_t n, const char *path)
{
	(void)path;
	return n > sizeof(zstd_magic) && memcmp(head_of, zstd_magic, sizeof(zstd_magic)) == 0;
}

const struct evidence_format evidence_recording = { .name = "gputune recording",
						    .looks = looks,
						    .open = open_recording };

/*
 * What Hugging Face Trainer leaves beside a checkpoint: trainer_state.json with its history, and
 * all_results.json or train_results.json with the rates of the whole training.
 */

static bool results_looks(const char *head, size_t n, const char *path)
{
	const char *s = head + strspn(head, " \t\r\n");

	(void)path;
	size_t first = json_cut(s, n - (size_t)(s - head));

	/* Lines of JSON are a log. */
	if (first && s[first] && s[first + strspn(s + first, " \t\r\n")] == '{')
		return false;
	return *s == '{' && !strstr(head, "\"traceEvents\"") &&
	       (strstr(head, "\"log_history\"") || strstr(head, "\"train_runtime\"") ||
		strstr(head, "\"train_samples_per_second\""));
}

static double number(const json_t *j)
{
	return json_is_number(j) ? json_number_value(j) : (double)NAN;
}

/* An entry of the history: a step's loss, or at the end the rates of all. */
static bool recording_entry(struct read_place *p, const json_t *o, struct hf_stretches *h)
{
	double run_s = number(json_object_get(o, "train_runtime")),
	       tokens = number(json_object_get(o, "num_input_tokens_seen"));
	const char *key;
	json_t *v;
	bool told = false, results = json_object_get(o, "train_samples_per_second") != NULL, since;

	p->step = read_whole(number(json_object_get(o, "step")), -1);
	since = !results && run_s > 0 && tokens > 0;
	if (since)
		hf_stretch(h, p, tokens, run_s);
	json_object_foreach((json_t *)o, key, v) told |=
		!isnan(number(v)) && ((since && strcmp(key, "train_tokens_per_second") == 0) ||
				      read_hf_key(p, key, number(v), run_s, results) ||
				      read_metric_key(p, key, number(v)));
	return told;
}

static size_t history(struct read_place *p, const struct json_piece *list, const char *text)
{
	const char *s = list->value + 1, *end = list->value + list->size, *counted = text;
	struct json_piece item;
	struct hf_stretches stretches = { 0 };
	size_t told = 0;

	p->line = 1;
	while (*list->value == '[' && json_next(&s, end, &item, false)) {
		json_auto_t *o = *item.value == '{' ? json_piece_load(&item) : NULL;

		p->line += (size_t)csv_lines(counted, item.value);
		counted = item.value;
		told += o && recording_entry(p, o, &stretches);
	}
	hf_stretches_end(&stretches, p, (double)NAN);
	return told;
}

static int recording_read_all(struct run_evidence *ev, size_t file, const char *text, size_t size,
			      struct err *e)
{
	struct read_place p = { .ev = ev, .file = file, .line = 1, .rank = -1, .step = -1 };
	const char *s = strchr(text, '{') + 1, *end = text + size, *counted = text;
	struct json_piece m;
	double run_s = (double)NAN;
	size_t told = 0;

	for (const char *t = s; json_next(&t, end, &m, true);)
		if (strcmp(m.key, "train_runtime") == 0)
			run_s = read_number(m.value, NULL);
	while (json_next(&s, end, &m, true)) {
		double v = *m.value == '{' || *m.value == '[' ? (double)NAN
							      : read_number(m.value, NULL);
		struct read_place at = p;

		p.line += (size_t)csv_lines(counted, m.value);
		counted = m.value;
		at.line = p.line;
		if (strcmp(m.key, "log_history") == 0)
			told += history(&at, &m, text);
		else if (strcmp(m.key, "train_batch_size") == 0)
			read_trait_count(&at, TRAIT_MICRO_BATCH, v);
		else if (!isnan(v))
			told += read_hf_key(&at, m.key, v, run_s, true);
	}
	/* What stands before the end of a file that was cut off. */
	if (strcmp(m.key, "log_history") == 0 && !m.size) {
		m.size = (size_t)(end - m.value);
		told += history(&p, &m, text);
	}
	while (s < end && isspace((unsigned char)*s))
		s++;
	ev->files[file].used = told;
	p.line = 0;
	read_trait(&p, TRAIT_FRAMEWORK, "hf-trainer", (double)NAN);
	if (s >= end || *s != '}')
		return err_set(e, -EBADMSG, "%s:%zu: invalid or truncated JSON after this line",
			       ev->files[file].path,
			       1 + (size_t)csv_lines(text, s < end ? s : end));
	return told ? 0
		    : err_set(e, -ENOTSUP, "%s: neither step times nor rates",
			      ev->files[file].path);
}

const struct evidence_format evidence_json = { .name = "Hugging Face Trainer results",
					       .looks = results_looks,
					       .read = recording_read_all };
