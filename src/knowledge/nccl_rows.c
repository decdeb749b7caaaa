/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of known_vars.rows and nccl_releases.rows. */
#include "knowledge/nccl_vars.h"

#define V struct known_var
#define R struct nccl_release

static const char *const flags[] = { "watched", "forces", "off", "set", NULL };
static const char *const values[] = { "any", "int", "bool", "words", "list", NULL };

static const struct row_column var_columns[] = {
	ROW_NAME(V, name, .meaning = "the variable"),
	ROW_TEXT(V, library, "library", .required = true, .meaning = "who reads it"),
	ROW_SET(V, flags, "flags", .choices = flags,
		.meaning = "watched: read out of this shell's and GPU processes' environments; "
			   "forces: for finding faults, forces an algorithm or a path; off: takes "
			   "the fast way away when it is neither empty nor 0; set: whenever it is "
			   "set"),
	ROW_CHOICE(V, values, "values", .choices = values,
		   .meaning = "int: digits, maybe with a sign; bool: 0 or 1; words: one of words, "
			      "in any case; list: some of them with commas between, or all but "
			      "those behind ^"),
	ROW_TEXT(V, words, "words", .meaning = "of values=words and list, with blanks between"),
	ROW_TEXT(V, does, "does", .required = true, .meaning = "what it sets"),
	ROW_TEXT(V, harm, "harm", .meaning = "when it does harm, a sentence"),
	ROW_TEXT(V, instead, "instead", .meaning = "what to do instead"),
	ROW_TEXT(V, source, "source", .required = true, .meaning = "where that stands"),
	ROW_COUNT(V, least, "least", .meaning = "of values=int"),
	ROW_COUNT(V, most, "most", .meaning = "of values=int; not told: no bounds are known"),
};

static const char *finish_var(void *row)
{
	const V *v = row;
	bool worded = v->values == VALUES_WORDS || v->values == VALUES_LIST;

	return worded == (v->words != NULL) ? NULL : "words go with values=words and values=list";
}

const struct row_table known_var_table =
	ROW_TABLE("known_vars", struct known_var, known_vars, "knowledge/nccl_vars.h", var_columns,
		  .finish = finish_var);

static const struct row_column release_columns[] = {
	ROW_NAME(R, version, .meaning = "the first release that has the names"),
	ROW_TEXT(R, until, "until", .meaning = "the first release that has them no more"),
	ROW_TEXT(R, names, "names", .required = true,
		 .meaning = "variables without NCCL_, with blanks between"),
};

const struct row_table nccl_release_table =
	ROW_TABLE("nccl_releases", struct nccl_release, nccl_releases, "knowledge/nccl_vars.h",
		  release_columns, .repeats = true);
