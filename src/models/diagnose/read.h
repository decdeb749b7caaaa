/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces that reading is made of: formats, and the readers of log lines. Not for the judge. A
 * log is read line by line, by all line readers at once, because people's logs hold several tools'
 * lines; a reader gets only lines with one of its marks in them, and lines of a table that it
 * opened.
 */
#ifndef DIAGNOSE_READ_H
#define DIAGNOSE_READ_H

#include <jansson.h>
#include <stdint.h>

#include "models/diagnose/evidence.h"
#include "models/diagnose/spans.h"
#include "machine/host/sqlite.h"

extern const struct evidence_format evidence_sqlite, evidence_recording, evidence_inject,
	evidence_stacks, evidence_trace, evidence_json, evidence_metrics, evidence_smi_csv,
	evidence_dmon, evidence_log;

/* --- numbers ---------------------------------------------------------------------------------- */
/* The number at s behind blanks, ':', '=' and quotes: decimal, maybe with commas between thousands;
 * NAN: none. *end (may be NULL) is behind it, or where it should begin. */
double read_number(const char *s, const char **end);
/* The number behind the first key in s; NAN: none. */
double read_after(const char *s, const char *key);
/* A whole number of at most 1e15 as it was read, or otherwise. */
long long read_whole(double v, long long otherwise);
/* The next 'key': value of a printed dictionary or a line of JSON; *value NAN: it is no number. *at
 * (may be NULL) is behind the colon. false: there is none. */
bool read_pair(const char **s, char *key, size_t most, double *value, const char **at);
/* The number of a rank or GPU. */
int read_rank(double v, int otherwise);
/* A sum of files' numbers may be anything: bounded. */
bool read_sane(double v);

/* --- JSON that is taken piece by piece -------------------------------------------------------- */
/* Bytes of the value that begins at s; 0: its end is not within n. What is inside is for jansson.
 */
size_t json_cut(const char *s, size_t n);
/* The next member of an object, or element of an array (key NULL then), from *s on, where the first
 * one is behind the bracket. The value's place and size; false: there is no further whole one. */
struct json_piece {
	char key[128]; /* as it stands between the quotes; cut */
	const char *value;
	size_t size;
};
bool json_next(const char **s, const char *end, struct json_piece *p, bool member);
/* Parsed; NULL: it is broken. */
json_t *json_piece_load(const struct json_piece *p);

/* --- a file's place --------------------------------------------------------------------------- */
struct read_place {
	struct run_evidence *ev;
	size_t file, line;
	int rank;
	long long step;
};
/* A figure of one step, or of a summary, at p. */
struct metric_sample read_seen(const struct read_place *p, enum figure_kind kind, double value);
void read_figure(const struct read_place *p, enum figure_kind kind, double value, const char *text);
/* A sum over over_s. */
void read_total(const struct read_place *p, enum figure_kind kind, double value, double over_s,
		const char *text);
void read_trait(const struct read_place *p, enum trait_kind kind, const char *text, double value);
/* A count as text and value. */
void read_trait_count(const struct read_place *p, enum trait_kind kind, double value);

struct monitor;
struct monitor_machine;
/* A row of values of a monitor's columns (rates of totals; NAN: not asked anew) at s seconds.
 * bits: throttling by the driver's bits of that moment, not by its counters. */
void recording_columns(const struct read_place *at, const struct monitor *mon, const double *v,
		       double s, bool bits);
/* What stays the same meanwhile. */
void recording_machine(struct read_place at, const struct monitor_machine *m);

/* --- lines of logs ---------------------------------------------------------------------------- */
struct log;

enum log_row {
	LOG_ROW,   /* of the table */
	LOG_OTHER, /* not of it, and it goes on */
	LOG_END,   /* it is over; the line is still to be read */
};

struct log_reader {
	const char *framework; /* what a log with its lines is of; NULL: says nothing of that */
	const char *format;    /* name of such a log */
	const char *const *marks;
	/* A line with a mark in it. Returns whether it told something. */
	bool (*line)(struct log *l, const char *s);
	/* A line while a table is open; NULL: the reader opens none. */
	enum log_row (*row)(struct log *l, const char *s);
	/* The file is over. May be NULL. */
	void (*end)(struct log *l);
};
extern const struct log_reader log_hf, log_lightning, log_megatron, log_nemo, log_timers,
	log_arguments, log_deepspeed, log_deepspeed_comm, log_titan, log_plain, log_keys, log_nccl,
	log_nccl_tests;

enum { LOG_CELLS = 32 };

/* What stands before all lines of a file, and could be anything else before one. */
struct prefix_kinds {
	bool host;    /* "node01: " */
	bool hydra;   /* "[0] " */
	bool nodes;   /* labels of more than one node or task stand beside each other */
	int per_node; /* ranks on a node, where each task shows the same ones; 0 */
};

/* What stands before one line. */
struct prefix {
	int task, local;  /* by a launcher of tasks; by torchrun, on its node; -1 */
	const char *from; /* host, pod or container; NULL */
	size_t from_n;
	bool host, hydra; /* one of prefix_kinds' is among them */
};

/* What readers keep from line to line. */
/* Tokens and seconds since the training began, told line by line; 0: not yet. */
struct hf_stretch {
	double tokens, seconds, until; /* until: tokens at its end */
	size_t line;
};

struct hf_stretches {
	double tokens, run_s; /* of the line before */
	long long step;	      /* -1: not known */
	size_t line;
	struct hf_stretch *items;
	size_t n;
};
void hf_stretch(struct hf_stretches *h, const struct read_place *p, double tokens, double run_s);
/* Training is over after so many steps: how long each took. NAN: nobody says how many, or lines
 * said their step. */
void hf_stretches_end(struct hf_stretches *h, const struct read_place *p, double steps);

struct log {
	struct read_place at;
	struct map seen; /* texts that are told once a file */
	const struct log_reader *open;
	size_t open_line;
	struct prefix_kinds prefixes;
	unsigned whose;	     /* line this is, by what stands before it */
	unsigned open_whose; /* that of the open table's first line */
	double run_s;	     /* Hugging Face: of the whole training */
	struct hf_stretches hf;
	long long bar_total, bar_told;
	double tp, pp; /* Megatron: as its arguments say */
	struct {       /* an open table */
		int action, mean, calls, total, name;
		double over_s;
		double step, forward, backward; /* totals of rows that others are made of */
		size_t rows, step_line;
		char op[64];
		unsigned columns;
		bool in_place, with_op;
		int time, algbw, busbw, wrong, time2;
	} table;
	char test[64]; /* nccl-tests: which */
	double ranks;
};

/* s without what stands before the line because something passed it on. */
const char *read_prefix(const struct prefix_kinds *k, const char *s, struct prefix *p);
/* The rank that labels say; -1: none, or only one on its node, of several nodes of which not all
 * ranks are seen. */
int prefix_rank(const struct prefix_kinds *k, const struct prefix *p);
/* The same for all lines that one rank wrote. */
unsigned prefix_owner(const struct prefix *p);
/* Which kinds a file's lines begin with. */
void prefix_look(struct prefix_kinds *k, const char *text, size_t size);
void log_figure(struct log *l, enum figure_kind kind, double value, const char *text);
void log_table(struct log *l, const struct log_reader *r);
/* The same text of the same kind is told once a file; true: this is the first time. */
bool log_first(struct log *l, enum trait_kind kind, const char *text);
void log_trait_once(struct log *l, enum trait_kind kind, const char *text, double value);
/* A key of a trainer's results, in a log or in JSON; over_s: of the whole run, NAN. results: among
 * those of the whole training, not of a step. Returns whether it is one. */
bool read_hf_key(const struct read_place *p, const char *key, double value, double over_s,
		 bool results);
/* A key that several loggers share: "throughput/device/tokens_per_sec". */
bool read_metric_key(const struct read_place *p, const char *key, double value);
/* A name of read_names.c: "step_s", "fwd_time_ms". unit_s: seconds that the value's own unit has,
 * NAN: none stands there. A time without any unit is not read. */
bool read_own_key(const struct read_place *p, const char *key, double value);
bool read_own_name(const char *key);
/* What a profiler's range is of, by names that people give ranges ("forward",
 * "PyTorch:optimizer.step"); FIGURE_KINDS: not known. */
enum figure_kind read_range(const char *name);
/* Whether a name is the stem: letters of either size are the same, and so are "-", " ", "." and
 * "_". */
bool read_is_named(const char *name, const char *stem);
/* The names, for who used others. */
extern const char read_names_said[];
/* Words of s between blanks, at most most, cut into buf. */
size_t read_words(char *s, const char *between, char **words, size_t most);
/* The same, of cells: blanks within stay. */
size_t read_cells(char *s, const char *between, char **cells, size_t most);
/* Each whole line of JSON, at at->line; 0 or -EBADMSG and *e. */
int read_json_lines(struct read_place *at, const char *text, size_t size,
		    void (*line)(void *ctx, const json_t *o), void *ctx, struct err *e);

/* --- marks ------------------------------------------------------------------------------------ */
struct marks;
/* Bit i: a mark of readers[i] stands in the text. */
struct marks *marks_make(struct arena *a, const struct log_reader *const *readers, size_t n);
unsigned marks_find(const struct marks *m, const char *s, size_t n);

/* --- times that lie over one another ---------------------------------------------------------- */
/* The parts of one GPU over the time from from to to (in units of unit_s seconds), as totals.
 * lines: where each kind shows best, or NULL. text: NULL for a GPU, or whose time it is. */
void spans_emit(const struct spans *s, const struct read_place *p, double from, double to,
		double unit_s, const size_t *lines, const char *text);
/* What a kernel of matrix products computes in, by its name: "bf16", "format not told"; NULL: it
 * is none. */
const char *span_gemm(const char *kernel);
/* What a function of CUDA does that the host calls; FIGURE_KINDS: none of waiting and launching. */
enum figure_kind span_host_call(const char *name);

/*
 * Ranges of NVTX in an export of nsys: which are steps, and what the host does between and in them.
 * Only for the readers of such exports.
 */

enum { NVTX_NAMES = 32, NVTX_ROWS_MAX = 1000000, NVTX_DEPTH = 64, NVTX_PROCESSES = 256 };

/* Nanoseconds of the export's clock. */
struct nvtx_step {
	int64_t from, to; /* to the next one's begin; of the last one to its own end */
	long long number; /* as it is named; -1 */
};

/* A range that is no step, of none that tells more: in order, one behind the other. */
struct nvtx_phase {
	int64_t from, to;
	size_t name;
};

struct nvtx_name {
	const char *text;      /* without the number at its end */
	enum figure_kind kind; /* FIGURE_KINDS: of the user's own */
};

/* The thread of a process that marks steps, or else most time. */
struct nvtx_process {
	int64_t pid;
	struct nvtx_step *steps;
	size_t n_steps;
	struct nvtx_phase *phases;
	size_t n_phases;
	struct nvtx_name names[NVTX_NAMES];
	size_t n_names;
	int64_t from, to; /* its steps behind warming-up; 0, 0: it has none */
	int64_t weight;
};

struct nvtx {
	struct nvtx_process *items;
	size_t n;
};

void nvtx_read(struct sql *q, struct nvtx *out);
/* The process, or the only one there is; NULL. */
const struct nvtx_process *nvtx_of(const struct nvtx *all, int64_t pid);

/* How long a GPU had nothing to do in each range: told in order of time. */
struct nvtx_idle {
	const struct nvtx_process *p; /* NULL: none */
	size_t next, save;
	int64_t idle[NVTX_NAMES];
};
void nvtx_idle_add(struct nvtx_idle *i, int64_t from, int64_t to);
/* Whether the process saved at that time; asked in order of time. */
bool nvtx_saves(struct nvtx_idle *i, int64_t at);

/* What of each step was communication that nothing hid. */
struct nvtx_rounds {
	const struct nvtx_process *p;
	double *exposed; /* ns, of each of p's steps; NAN: warming-up. NULL: it has none */
	size_t at;
	struct spans now;
	int64_t until[SPAN_KINDS]; /* when the last kernel of each kind ends */
};
void nvtx_rounds_begin(struct arena *a, struct nvtx_rounds *r, const struct nvtx_process *p);
void nvtx_rounds_add(struct nvtx_rounds *r, enum span_kind kind, int64_t from, int64_t to);
void nvtx_rounds_end(struct nvtx_rounds *r);

#endif
