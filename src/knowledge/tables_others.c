/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of tables about what other programs print and show: their outputs, stacks, metrics.
 */
#include "knowledge/normals.h"
#include "knowledge/serving.h"
#include "knowledge/software_places.h"
#include "knowledge/waits.h"

/* The columns of outputs.rows, normal_figures.rows and normals.rows. */

#define OL struct output_line
#define NF struct normal_figure
#define NB struct normal_band

static const struct row_column output_columns[] = {
	ROW_NAME(OL, tool, .meaning = "program that prints the line"),
	ROW_FLAG(OL, sign, "sign", .meaning = "true: only this program prints such a line"),
	ROW_TEXT(OL, has, "has", .meaning = "text that the line contains"),
	ROW_TEXT(OL, line, "line", .required = true,
		 .meaning = "POSIX extended regular expression; JSON is read as lines "
			    "path[0].key=value"),
	ROW_TEXT(OL, set, "set",
		 .meaning = "KEY=TEXT, separated by spaces, kept for later lines; $1 to $9: "
			    "capture groups; +1: the number grows by one"),
	ROW_TEXT(OL, is, "is", .meaning = "figure of normal_figures.rows in this line"),
	ROW_TEXT(OL, value, "value", .meaning = "capture group that has the value"),
	ROW_TEXT(OL, unit, "unit", .meaning = "unit as printed; {KEY}: a kept text"),
	ROW_TEXT(OL, size, "size", .meaning = "message or block size, bytes"),
	ROW_TEXT(OL, divide, "divide", .meaning = "number to divide the value by"),
};

const struct row_table output_line_table =
	ROW_TABLE("outputs", struct output_line, output_lines, "knowledge/normals.h",
		  output_columns, .repeats = true);

static const char *const figure_limits[] = { "none", "memory", "link", "fp64", "fp32", "tf32",
					     "half", "fp8",    "fp4",  "int8", NULL };

static const struct row_column figure_columns[] = {
	ROW_NAME(NF, name, .meaning = "id of the figure"),
	ROW_TEXT(NF, title, "title", .required = true, .meaning = "display name"),
	ROW_TEXT(NF, unit, "unit", .required = true, .meaning = "GB/s, Gbit/s, TFLOP/s or us"),
	ROW_FLAG(NF, lower, "lower", .meaning = "lower is better"),
	ROW_TEXT(NF, bench, "bench", .required = true, .meaning = "bench that measures the figure"),
	ROW_TEXT(NF, which, "case", .required = true, .meaning = "case of that bench"),
	ROW_CHOICE(NF, limit, "limit", .choices = figure_limits,
		   .meaning = "data sheet figure that this figure cannot exceed"),
	ROW_REAL(NF, times, "times", .max = 100, .meaning = "multiple of that figure"),
	ROW_TEXT(NF, bound, "bound", .required = true, .meaning = "what limits it"),
	ROW_TEXT(NF, test, "test", .required = true, .meaning = "command that finds the cause"),
};

const struct row_table normal_figure_table =
	ROW_TABLE("normal_figures", struct normal_figure, normal_figures, "knowledge/normals.h",
		  figure_columns, .finish = NULL);

static const struct row_column normal_columns[] = {
	ROW_NAME(NB, hardware,
		 .meaning = "GPU name as reported by NVML, a platform, drive:NAME, or link:RATE"),
	ROW_TEXT(NB, bench, "bench", .required = true, .meaning = "bench"),
	ROW_TEXT(NB, which, "case", .required = true,
		 .meaning = "case; *, ? and @(A|B) as in file names"),
	ROW_COUNT(NB, gpus, "gpus", .max = 1 << 20, .meaning = "number of GPUs; not given: any"),
	ROW_COUNT(NB, nodes, "nodes", .max = 1 << 20, .meaning = "number of nodes; not given: any"),
	ROW_REAL(NB, from, "from", .max = 1e15, .unit = "bytes",
		 .meaning = "smallest message size for which the band is valid"),
	ROW_REAL(NB, low, "low", .min = 1e-9, .required = true, .meaning = "lowest usual value"),
	ROW_REAL(NB, high, "high", .meaning = "highest usual value; 0: unknown"),
	ROW_REAL(NB, most, "most", .meaning = "highest possible value"),
	ROW_COUNT(NB, n, "n", .required = true, .meaning = "number of results behind it"),
	ROW_TEXT(NB, source, "source", .required = true, .meaning = "who measured, and what"),
	ROW_DATE(NB, date, "date", .required = true, .meaning = "date of the source"),
};

static const char *finish_normal(void *row)
{
	const NB *b = row;

	return !(b->high > 0) || b->low < b->high ? NULL : "low must be less than high";
}

const struct row_table normal_band_table =
	ROW_TABLE("normals", struct normal_band, normal_bands, "knowledge/normals.h",
		  normal_columns, .repeats = true, .finish = finish_normal);

/* The columns of waits.rows. */

#define WS struct wait_sign

static const struct row_column wait_columns[] = {
	ROW_NAME(WS, kind, .meaning = "function or call that the thread is in"),
	ROW_TEXT(WS, function, "function", .meaning = "Python function of a frame"),
	ROW_TEXT(WS, file, "file", .meaning = "part of that frame's file name"),
	ROW_TEXT(WS, source, "source", .meaning = "part of that frame's line"),
	ROW_TEXT(WS, library, "library", .meaning = "library that made the system call"),
	ROW_TEXT(WS, syscall, "syscall", .meaning = "system call"),
	ROW_TEXT(WS, kernel, "kernel",
		 .meaning = "part of the kernel function in which the thread sleeps"),
	ROW_TEXT(WS, native, "native", .meaning = "part of LIBRARY:FUNCTION of a running C frame"),
	ROW_FLAG(WS, top, "top", .meaning = "true: compare only with the innermost frame"),
	ROW_TEXT(WS, says, "says", .required = true, .meaning = "what the thread does"),
	ROW_TEXT(WS, next, "next", .required = true, .meaning = "what to check next"),
};

const struct row_table wait_sign_table = ROW_TABLE(
	"waits", struct wait_sign, wait_signs, "knowledge/waits.h", wait_columns, .repeats = true);

/* The columns of serving_figures.rows, serving_logs.rows and serving_causes.rows. */

#define SF struct serving_figure
#define SL struct serving_log
#define SC struct serving_cause

static const char *const serving_takes[] = { "gauge", "mean", "count", "largest", "ratio", NULL };

static const struct row_column serving_figure_columns[] = {
	ROW_NAME(SF, name, .meaning = "id of the figure"),
	ROW_TEXT(SF, title, "title", .required = true, .meaning = "display name"),
	ROW_TEXT(SF, unit, "unit", .meaning = "unit"),
	ROW_CHOICE(SF, take, "take", .choices = serving_takes, .required = true,
		   .meaning = "how the metric is read"),
	ROW_TEXT(SF, metrics, "metrics", .required = true,
		 .meaning = "names of the metric, separated by |; a ratio is written a/b"),
	ROW_REAL(SF, times, "times", .max = 1e6, .meaning = "factor; default: 1"),
};
const struct row_table serving_figure_table =
	ROW_TABLE("serving_figures", struct serving_figure, serving_figures, "knowledge/serving.h",
		  serving_figure_columns, .finish = NULL);

static const struct row_column serving_log_columns[] = {
	ROW_NAME(SL, name, .meaning = "figure that becomes 1 if the log has this line"),
	ROW_TEXT(SL, line, "line", .required = true,
		 .meaning = "POSIX extended regular expression"),
	ROW_TEXT(SL, title, "title", .required = true, .meaning = "meaning of the line"),
};
const struct row_table serving_log_table =
	ROW_TABLE("serving_logs", struct serving_log, serving_logs, "knowledge/serving.h",
		  serving_log_columns, .finish = NULL);

static const struct row_column serving_cause_columns[] = {
	ROW_NAME(SC, name, .meaning = "id of the cause"),
	ROW_TEXT(SC, title, "title", .required = true, .meaning = "the cause"),
	ROW_TEXT(SC, when, "when", .required = true,
		 .meaning = "conditions, all required: FIGURE>=NUMBER or FIGURE<NUMBER"),
	ROW_TEXT(SC, share, "share", .meaning = "figure with the cost in percent"),
	ROW_TEXT(SC, says, "says", .required = true,
		 .meaning = "a sentence with values as {figure}"),
	ROW_TEXT(SC, fix, "fix", .required = true, .meaning = "what to change"),
	ROW_TEXT(SC, source, "source", .required = true, .meaning = "source"),
	ROW_DATE(SC, date, "date", .required = true, .meaning = "date of the source"),
	ROW_FLAG(SC, healthy, "healthy", .meaning = "no bottleneck"),
};
const struct row_table serving_cause_table =
	ROW_TABLE("serving_causes", struct serving_cause, serving_causes, "knowledge/serving.h",
		  serving_cause_columns, .finish = NULL);

/* The columns of src/knowledge/software_places.rows. */

#define SP struct software_place

static const char *const place_kinds[] = { "software",	"prefix", "environment",
					   "libraries", "store",  "container",
					   "binary",	"text",	  NULL };

static const struct row_column place_columns[] = {
	ROW_NAME(SP, path, .meaning = "path or file name; * in a part; ~/ is every home"),
	ROW_CHOICE(SP, kind, "kind", .choices = place_kinds, .required = true,
		   .meaning = "what the path is"),
	ROW_TEXT(SP, package, "package", .meaning = "package that has the file's version"),
	ROW_TEXT(SP, program, "program", .meaning = "program that has the file's version"),
	ROW_TEXT(SP, unless, "unless", .meaning = "installed packages that decide instead"),
	ROW_TEXT(SP, below, "below", .meaning = "what below an environment may be one as well"),
	ROW_TEXT(SP, what, "what", .meaning = "what is stored there"),
	ROW_TEXT(SP, label, "label", .meaning = "keys of JSON that lead to a container's name"),
	ROW_TEXT(SP, image, "image", .meaning = "keys of JSON that lead to its image"),
	ROW_TEXT(SP, before, "before", .meaning = "text before the version"),
	ROW_TEXT(SP, form, "form",
		 .meaning = "beginning of a version that is a whole text; "
			    "# is a digit"),
};

const struct row_table software_place_table =
	ROW_TABLE("software_places", struct software_place, software_places,
		  "knowledge/software_places.h", place_columns, .repeats = true);
