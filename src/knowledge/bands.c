/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of bands.rows, cluster_bands.rows and memory_limits.rows. */
#include "knowledge/bands.h"

#define B struct band
#define L struct limit_row

static const struct row_column band_columns[] = {
	ROW_NAME(B, hardware,
		 .meaning = "a platform, a part of the processor's model name, or a GPU's name as "
			    "NVML tells it"),
	ROW_TEXT(B, bench, "bench", .required = true, .meaning = "a bench or a test of clusters"),
	ROW_TEXT(B, name, "case", .required = true,
		 .meaning = "its name; * and ? as in file names"),
	ROW_TEXT(B, figure, "figure", .required = true, .meaning = "its key"),
	ROW_TEXT(B, unit, "unit", .required = true, .meaning = "its suffix"),
	ROW_COUNT(B, sockets, "sockets",
		  .meaning = "so many, with all their CPUs; not told: whatever their number"),
	ROW_REAL(B, low, "low", .required = true, .meaning = "the least that is usual"),
	ROW_REAL(B, high, "high", .required = true, .meaning = "the most that is usual"),
	ROW_TEXT(B, source, "source", .required = true, .meaning = "who measured it, and what"),
	ROW_DATE(B, date, "date", .required = true, .meaning = "of the source"),
};

static const char *finish_band(void *row)
{
	const B *b = row;

	return b->low < b->high ? NULL : "low is not less than high";
}

const struct row_table band_table = ROW_TABLE("bands", struct band, bands, "knowledge/bands.h",
					      band_columns, .repeats = true, .finish = finish_band);
const struct row_table cluster_band_table =
	ROW_TABLE("cluster_bands", struct band, cluster_bands, "knowledge/bands.h", band_columns,
		  .repeats = true, .finish = finish_band);

static const struct row_column limit_columns[] = {
	ROW_NAME(L, part, .meaning = "a part of the processor's model name, or a platform"),
	ROW_FLAG(L, platform, "platform", .meaning = "the name is a platform"),
	ROW_REAL(L, gb_s, "gb_s", .min = 1, .required = true, .unit = "GB/s",
		 .meaning = "of one socket, all channels filled"),
	ROW_TEXT(L, what, "what", .required = true, .meaning = "channels and rate"),
	ROW_TEXT(L, source, "source", .required = true, .meaning = "where it stands"),
	ROW_DATE(L, date, "date", .required = true, .meaning = "of the source"),
};

const struct row_table memory_limit_table =
	ROW_TABLE("memory_limits", struct limit_row, memory_limits, "knowledge/bands.h",
		  limit_columns, .finish = NULL);
