/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options, keys and variables that cost speed or correctness: rows of value_rules.rows.
 * lint reads them; it knows no value by itself. */
#ifndef KNOWLEDGE_VALUE_RULES_H
#define KNOWLEDGE_VALUE_RULES_H

#include "base/rows.h"

/* Who reads the value; a bit each in value_rule.in. */
enum value_reader {
	VALUE_DEEPSPEED,
	VALUE_ACCELERATE,
	VALUE_TRAINER,
	VALUE_FSDP,
	VALUE_VLLM,
	VALUE_SGLANG,
	VALUE_LLAMACPP,
	VALUE_TRTLLM,
	VALUE_VARIABLE,
	VALUE_READERS,
};

enum value_level { VALUE_ERROR, VALUE_WARNING, VALUE_NOTE };

struct value_rule {
	const char *name; /* the key with the maps that it is in, the option, or the variable */
	unsigned in;	  /* set of value_reader */
	/*
	 * Terms with blanks between, all of which have to hold: NAME OP VALUE,VALUE. OP is one of
	 * = != < <= > >= and, with one VALUE that is a part of the text, ~ !~. NAME is "it" (the
	 * value of name), another key or option ("a|b": the first that is there), $VARIABLE of the
	 * same file, a figure of the machine: @cc (compute capability, 12.1), @gpus, @unified (yes
	 * or no), or .file: what the keys stand in. VALUE "-" stands for a name that is not there.
	 * What is not known (another machine, "auto", an expansion) makes a term false, but "!=-".
	 * NULL: wherever the name is there.
	 */
	const char *when;
	const char *known; /* words with blanks between: its values; NULL: any */
	bool exact;	   /* capitals count in known */
	enum value_level level;
	const char *code; /* of the finding: "fp32" */
	const char *says; /* a sentence; {} is the value */
	const char *fix;  /* NULL: none */
	const char *source, *date;
};

extern const struct row_table value_rule_table;
extern const struct value_rule value_rules[];
extern const size_t n_value_rules;

#endif
