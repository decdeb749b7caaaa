/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How other programs print what they measured, and what is usual for it: rows of outputs.rows,
 * normal_figures.rows and normals.rows. Bands of our own benches (bands.h) are used too.
 */
#ifndef KNOWLEDGE_NORMALS_H
#define KNOWLEDGE_NORMALS_H

#include "base/rows.h"

/* A line that a program prints. JSON is read as lines "path[0].key=value". */
struct output_line {
	const char *tool;
	bool sign;	  /* only this program prints it: the lines after it are its own */
	const char *has;  /* a part of it, without which line is not tried; NULL: none */
	const char *line; /* POSIX extended expression */
	const char
		*set;	/* "KEY=TEXT ...": kept for later lines; $1 to $9: groups; "+1": one more */
	const char *is; /* the figure that it holds; NULL: none */
	const char *value;  /* of it: a number, with groups */
	const char *unit;   /* as printed, with groups and {KEY} */
	const char *size;   /* bytes, with groups; NULL: none */
	const char *divide; /* {KEY}: by what value is divided; NULL: 1 */
};

enum figure_limit {
	FIGURE_LIMIT_NONE,
	FIGURE_LIMIT_MEMORY,
	FIGURE_LIMIT_LINK,
	FIGURE_LIMIT_FP64,
	FIGURE_LIMIT_FP32,
	FIGURE_LIMIT_TF32,
	FIGURE_LIMIT_HALF,
	FIGURE_LIMIT_FP8,
	FIGURE_LIMIT_FP4,
	FIGURE_LIMIT_INT8,
};

/* A figure that is judged. */
struct normal_figure {
	const char *name, *title, *unit;
	bool lower;		   /* less is better */
	const char *bench, *which; /* case; with {KEY} and {size}; bands are looked for by both */
	enum figure_limit limit;   /* of the GPU's data sheet */
	double times;		   /* that limit times so much; 0: 1 */
	const char *bound;	   /* what limits it, in words */
	const char *test;	   /* command that tells why it is slow */
};

/* What is usual. */
struct normal_band {
	const char *hardware; /* GPU as NVML names it, with '*', platform.kind, "drive:NAME", or
			       * "link:RATE", of whose Gbit/s low, high and most are parts */
	const char *bench, *which; /* as of the figure; '*', '?' and @(A|B) as in file names */
	unsigned gpus, nodes;	   /* so many; 0: any number */
	double from;		   /* bytes; smaller sizes are not judged by it */
	double low, high; /* in the figure's unit; high 0: only what is too little is known */
	double most;	  /* more cannot be; 0: the data sheet alone says so */
	unsigned n;	  /* results behind it */
	const char *source, *date;
};

extern const struct row_table output_line_table, normal_figure_table, normal_band_table;
extern const struct output_line output_lines[];
extern const size_t n_output_lines;
extern const struct normal_figure normal_figures[];
extern const size_t n_normal_figures;
extern const struct normal_band normal_bands[];
extern const size_t n_normal_bands;

#endif
