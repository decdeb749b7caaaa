/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of engine_options.rows. */
#include "knowledge/engine_options.h"

#define O struct engine_option

static const char *const engines[] = { "vllm", "sglang", "trtllm", "llamacpp", NULL };
static const char *const meanings[] = { "model", "host",      "port",	   "tp",     "pp",
					"ep",	 "context",   "users",	   "memory", "kv-bytes",
					"kv",	 "kv-values", "weights",   "chunk",  "nodes",
					"rank",	 "head",      "head-port", "layers", "flash",
					"eager", "workers",   "other",	   NULL };

static const struct row_column option_columns[] = {
	ROW_NAME(O, name, .meaning = "as the engine spells it"),
	ROW_CHOICE(O, engine, "engine", .choices = engines, .required = true, .meaning = "whose"),
	ROW_TEXT(O, also, "also", .meaning = "other spellings, with blanks between"),
	ROW_CHOICE(O, means, "means", .choices = meanings, .required = true,
		   .meaning = "by which engines are compared"),
	ROW_FLAG(O, flag, "flag", .meaning = "takes no value"),
	ROW_TEXT(O, note, "note", .meaning = "what people get wrong"),
};

const struct row_table engine_option_table =
	ROW_TABLE("engine_options", struct engine_option, engine_options,
		  "knowledge/engine_options.h", option_columns, .repeats = true);
