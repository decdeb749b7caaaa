/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of train_keys.rows. */
#include "knowledge/train_keys.h"

#define K struct train_key

static const char *const files[] = { "deepspeed", "accelerate", "trainer", "fsdp", NULL };
static const char *const types[] = { "bool", "int", "number", "text",	"words",
				     "list", "any", "object", "strict", NULL };

static const struct row_column key_columns[] = {
	ROW_NAME(K, path, .meaning = "the key with the maps that it is in, dots between"),
	ROW_CHOICE(K, file, "file", .choices = files, .required = true, .meaning = "whose"),
	ROW_CHOICE(K, type, "type", .choices = types, .required = true,
		   .meaning = "words: one of words, in any case; any: not judged, nor what is in "
			      "it; object and strict: a map, of which the reader ignores or "
			      "refuses what it does not know"),
	ROW_TEXT(K, usual, "usual", .meaning = "its usual value; not told: none, or it depends"),
	ROW_TEXT(K, since, "since", .meaning = "the first release that knows it"),
	ROW_TEXT(K, until, "until", .meaning = "the first release that knows it no more"),
	ROW_TEXT(K, instead, "instead", .meaning = "what to write for it: it is old"),
	ROW_TEXT(K, words, "words", .meaning = "its values, with blanks between"),
	ROW_COUNTS(K, stages, "stages", .min = 1, .max = 3,
		   .meaning = "of zero_optimization, the first and the last stage in which it "
			      "does something; not told: all"),
};

static const char *finish_key(void *row)
{
	K *k = row;

	if (!k->usual)
		k->usual = "";
	return (k->type == KEY_WORDS) == (k->words != NULL) ? NULL : "words go with type=words";
}

const struct row_table train_key_table =
	ROW_TABLE("train_keys", struct train_key, train_keys, "knowledge/train_keys.h", key_columns,
		  .repeats = true, .finish = finish_key);
