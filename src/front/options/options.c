/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a command line by the tables of verbs.c. */
#include <ctype.h>
#include <getopt.h>
#include <string.h>

#include "base/idset.h"
#include "base/text.h"
#include "front/session.h"

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < verb_count; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static bool in_words(enum word_kind k, const char *word)
{
	const char *const *w = words_of(k);

	for (; w && *w; w++)
		if (strcmp(*w, word) == 0)
			return true;
	return false;
}

static const char *word_list(struct arena *a, enum word_kind k)
{
	TEXT_AUTO t = { 0 };

	for (const char *const *w = words_of(k); *w; w++)
		text_printf(&t, "%s%s", w == words_of(k) ? "" : ", ", *w);
	return arena_strdup(a, t.s);
}

/* Verbs know the bounds; that it is a number at all holds whatever a verb makes of it. */
static int check_number(const struct option_row *o, const char *arg)
{
	unsigned long long whole;
	const char *end;
	double v;

	if (o->arg == WORD_NUMBER &&
	    (!isdigit((unsigned char)arg[*arg == '.']) || parse_decimal(arg, &v, &end)))
		return complain_text(EXIT_USAGE, "--%s takes a number, not \"%s\"", o->name, arg);
	if (o->arg == WORD_COUNT && (arg[strspn(arg, "0123456789")] || parse_u64(arg, &whole)))
		return complain_text(EXIT_USAGE, "--%s takes a whole number, not \"%s\"", o->name,
				     arg);
	if (o->arg == WORD_TIME &&
	    (!isdigit((unsigned char)arg[*arg == '.']) || parse_seconds(arg, &v)))
		return complain_text(
			EXIT_USAGE,
			"--%s takes a time like 10s, 500ms or 2m, up to 24h, not \"%s\"", o->name,
			arg);
	return 0;
}

/* Indices, ranges of them and (the beginnings of) UUIDs: whether there is such a GPU is the bench's
 * to say, and a bench without GPUs never asks. */
static int check_gpus(struct run *r, const char *list)
{
	struct idset set;
	bool some = false, bad = false;

	for (const char *at = list; *at;) {
		size_t n = strcspn(at, ",");
		const char *word = arena_strndup(&r->arena, at, n);

		some = some || n;
		bad = bad || (isdigit((unsigned char)*word) && n < 8
				      ? idset_parse(&r->arena, word, &set) != 0
				      : n && (n < 8 || word[strcspn(word, " \t")]));
		at += n + (at[n] == ',');
	}
	if (some && !bad)
		return 0;
	return complain_text(EXIT_USAGE, "--gpus takes indices or UUIDs like 0-3, not \"%s\"",
			     list);
}

/* From a script whose variable is not set: to take it for "all", or for the default, would change,
 * undo or measure something else. */
static int check_something(const struct option_row *o, const char *arg)
{
	if (o->id == OPT_ONLY && !arg[strspn(arg, ", \t")])
		return complain_text(EXIT_USAGE, "--only needs ids, and \"%s\" names none", arg);
	if (o->arg != WORD_NONE && !*arg && o->id != OPT_SKIP && o->id != OPT_ALLOW &&
	    o->id != OPT_REASON)
		return complain_text(EXIT_USAGE, "--%s is empty; it needs %s", o->name,
				     o->arg_name);
	return 0;
}

static int option_options_store(struct run *r, const struct option_row *o, const char *arg)
{
	if (check_number(o, arg))
		return EXIT_USAGE;
	if (o->id == OPT_FORMAT && !in_words(o->arg, arg))
		return complain_text(EXIT_USAGE, "--format takes %s, not \"%s\"",
				     option_help(r->verb, o->id), arg);
	/* A profile may also be a file, so it is not checked here. */
	if ((o->arg == WORD_DRAWING || o->arg == WORD_POLICY || o->arg == WORD_BETTER ||
	     o->arg == WORD_GOAL) &&
	    !in_words(o->arg, arg))
		return complain_text(EXIT_USAGE, "--%s takes one of %s, not \"%s\"", o->name,
				     word_list(&r->arena, o->arg), arg);
	if (check_something(o, arg) || (o->id == OPT_GPUS && check_gpus(r, arg)))
		return EXIT_USAGE;
	if ((o->id == OPT_ENV || o->id == OPT_ONLY || o->id == OPT_SKIP || o->id == OPT_ALLOW) &&
	    r->value[o->id])
		arg = arena_printf(&r->arena, "%s,%s", r->value[o->id], arg);
	else if (o->id == OPT_NODE && r->value[o->id]) /* paths may hold commas */
		arg = arena_printf(&r->arena, "%s\n%s", r->value[o->id], arg);
	if ((o->id == OPT_LOG || o->id == OPT_RUN_FILES) &&
	    r->value[o->id]) /* names may hold commas */
		arg = arena_printf(&r->arena, "%s\n%s", r->value[o->id], arg);
	r->value[o->id] = arg ? arg : "";
	return 0;
}

static int check_args(struct run *r)
{
	const struct verb *v = r->verb;

	if (r->n_args < v->min_args && words_of(v->word))
		return complain_text(EXIT_USAGE,
				     "%s needs %s, one of %s; \"gputune %s --help\" tells more",
				     v->name, v->args, word_list(&r->arena, v->word), v->name);
	if (r->n_args < v->min_args)
		return complain_text(EXIT_USAGE, "%s needs %s; \"gputune %s --help\" tells more",
				     v->name, v->args, v->name);
	if (r->n_args > v->max_args)
		return complain_text(EXIT_USAGE, "%s takes no argument \"%s\"", v->name,
				     r->args[v->max_args]);
	for (int i = 0; i < r->n_before; i++)
		if (!*r->args[i])
			return complain_text(EXIT_USAGE, "%s: argument %d is empty", v->name,
					     i + 1);
	if (r->n_args && v->word == WORD_SUBJECT && !in_words(WORD_SUBJECT, r->args[0]))
		return complain_text(EXIT_USAGE, "%s knows no subject \"%s\"; it knows %s", v->name,
				     r->args[0], word_list(&r->arena, WORD_SUBJECT));
	return 0;
}

/* The verb's options whose names begin as a word of the command line does, or the one that looks
 * most like it: "--force or --format"; NULL: none does. */
static const char *near_option(struct run *r, const char *word)
{
	size_t n = strcspn(word, "="), best = n < 6 ? n / 2 : 3;
	const struct verb *v = r->verb;
	const char *near = NULL;
	TEXT_AUTO begun = { 0 };
	char name[32];

	if (n >= sizeof(name))
		return NULL;
	memcpy(name, word, n);
	name[n] = '\0';
	for (size_t i = 0; i < v->n_options; i++) {
		const char *own = option_rows[v->options[i]].name;
		size_t d = str_distance(own, name, best);

		if (n && strncmp(own, name, n) == 0)
			text_printf(&begun, "%s--%s", begun.len ? " or " : "", own);
		if (d < best) {
			best = d;
			near = own;
		}
	}
	return begun.len ? arena_strdup(&r->arena, begun.s)
	       : near	 ? arena_printf(&r->arena, "--%s", near)
			 : NULL;
}

/* What getopt_long refused, or took for another; word is the one that it looked at last. */
static int no_option(struct run *r, const char *word, int why)
{
	const struct verb *v = r->verb;
	const char *near = NULL;

	if (why >= 256)
		return complain_text(EXIT_USAGE, "--%s takes no value: %s",
				     option_rows[why - 256].name, word);
	/* Of several letters behind one sign the word may not be over. */
	if (why)
		return complain_text(EXIT_USAGE, "%s takes no option -%c", v->name, why);
	near = near_option(r, word + 2);
	if (near)
		return complain_text(EXIT_USAGE, "%s takes no option %s; did you mean %s?", v->name,
				     word, near);
	return complain_text(EXIT_USAGE, "%s takes no option %s; \"gputune %s --help\" lists them",
			     v->name, word, v->name);
}

/*
 * getopt_long takes the beginning of a name for the name. --fo for --force is what nobody meant,
 * and what is one option's beginning today is two options' tomorrow: a name is written in full.
 */
static bool is_shortened(int option, const char *word)
{
	size_t n;

	if (option < 256 || !str_starts(word, "--"))
		return false;
	n = strcspn(word + 2, "=");
	return n != strlen(option_rows[option - 256].name);
}

/* "-o -" is what goes nowhere else: no file of that name. */
static int check_output(struct run *r)
{
	const char *path = r->value[OPT_OUTPUT];

	if (!path || strcmp(path, "-") != 0)
		return 0;
	if (r->verb->output == OUTPUT_MADE || r->value[OPT_EDIT])
		return complain_text(EXIT_USAGE, "--output needs a file here, not \"-\"");
	r->value[OPT_OUTPUT] = NULL;
	return 0;
}

/* --compact and --fields are of JSON, and ask for it. */
static int check_json_only(struct run *r)
{
	if (!r->value[OPT_COMPACT] && !r->value[OPT_FIELDS])
		return 0;
	if (!r->value[OPT_FORMAT])
		r->value[OPT_FORMAT] = "json";
	if (!run_wants_json(r))
		return complain_text(EXIT_USAGE, "--%s goes with --format json, not %s",
				     r->value[OPT_COMPACT] ? "compact" : "fields",
				     r->value[OPT_FORMAT]);
	return run_check_fields(r);
}

int options_parse(struct run *r, int argc, char **argv)
{
	struct option longs[OPTIONS + 1] = { 0 };
	char shorts[2 * OPTIONS + 3] = "+:";
	size_t n = 0, k = 2;
	int c, at, code;

	for (size_t i = 0; i < r->verb->n_options; i++) {
		const struct option_row *o = &option_rows[r->verb->options[i]];

		longs[n++] = (struct option){ o->name,
					      o->arg == WORD_NONE ? no_argument : required_argument,
					      NULL, 256 + (int)o->id };
		if (o->letter) {
			shorts[k++] = o->letter;
			if (o->arg != WORD_NONE)
				shorts[k++] = ':';
		}
	}
	shorts[k] = '\0';
	shorts[0] = '-'; /* arguments and options in any order */
	r->args = arena_array(&r->arena, (size_t)argc + 1, sizeof(char *));
	optind = 1;
	opterr = 0;
	while ((at = optind, c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct option_row *o = NULL;
		bool refused = c == '?' || c == ':';

		if (c != 1 && is_shortened(refused ? optopt : c, argv[at]))
			return no_option(r, argv[at], 0);

		if (c == 1) {
			r->args[r->n_args++] = optarg;
			continue;
		}
		if (c == ':')
			return complain_text(EXIT_USAGE, "%s needs a value", argv[optind - 1]);
		if (c == '?')
			return no_option(r, argv[optind - 1], optopt);
		for (size_t i = 0; i < OPTIONS; i++)
			if (c == 256 + (int)i || c == option_rows[i].letter)
				o = &option_rows[i];
		code = o ? option_options_store(r, o, optarg) : EXIT_USAGE;
		if (code)
			return code;
	}
	r->n_before = r->n_args;
	while (optind < argc)
		r->args[r->n_args++] = argv[optind++];
	if (r->value[OPT_HELP])
		return 0;
	code = check_output(r);
	code = code ? code : check_json_only(r);
	return code ? code : check_args(r);
}

/* The words that options and arguments can be. */

static const char *const formats[] = { "term",	  "json",	 "md",	  "html",   "junit",
				       "prom",	  "openmetrics", "shell", "nagios", "npd",
				       "systemd", "compose",	 NULL };
static const char *const subjects[] = { "cpu",	"memory", "gpu",      "pci",	  "nic",
					"disk", "kernel", "software", "topology", NULL };
static const char *const policies[] = { "report", "re-apply", "back-off", NULL };
static const char *const drawings[] = { "matrix", "tree", "svg", "svg-tall", NULL };
static const char *const actions[] = { "install", "status", "diff", "remove", NULL };
static const char *const journal_actions[] = { "check", "repair", "compact", "export", NULL };
static const char *const betters[] = { "higher", "lower", NULL };
static const char *const modes[] = { "healthcheck", "prolog", NULL };
static const char *const profiles[] = { "default",  "published", "max-performance", "low-latency",
					"balanced", "inference", "training",	    NULL };

static const char *const measurements[] = { "all",
					    "list",
					    "show",
					    "serve",
					    "memory-bandwidth",
					    "memory-latency",
					    "disk",
					    "model-load",
					    "timer-wake-up",
					    "idle-wake-up",
					    "cpu-frequency",
					    "hand-over",
					    "tcp",
					    "tcp-latency",
					    "tcp-connect",
					    "tcp-idle",
					    "rdma",
					    "rdma-latency",
					    "gpu-memory",
					    "gpu-latency",
					    "copy",
					    "launch",
					    "gemm",
					    "gpu-load",
					    "collectives",
					    "gds",
					    NULL };

static const char *const stack_parts[] = { "arch",	 "check",      "compare", "env",
					   "build-plan", "wheelhouse", NULL };

static const char *const kinds[] = { "nccl",	   "vllm-env", "torchrun",	"mpi",
				     "sbatch",	   "hostfile", "deepspeed_env", "vllm",
				     "sglang",	   "llamacpp", "trtllm",	"deepspeed",
				     "accelerate", "fsdp",     "nccl-env",	NULL };

static const char *const diagnoses[] = { "training", NULL };

static const char *const goals[] = { "latency", "first-token", "throughput", "users", NULL };

static const char *const cluster_parts[] = { "discover", "check",     "plan", "undo",
					     "node",	 "take-back", NULL };

static const char *const predictions[] = { "inference", "training", NULL };
static const char *const parallels[] = {
	"ddp", "zero-1", "zero-2", "zero-3", "fsdp", "hsdp", NULL
};
static const char *const precisions[] = { "fp32", "tf32", "bf16", "fp16", "fp8", NULL };
static const char *const checkpointings[] = { "none", "selective", "full", NULL };
static const char *const optimizers[] = { "adamw", "adamw-bf16", "adamw-8bit", "adafactor",
					  "lion",  "sgd",	 "muon",       NULL };
static const char *const attentions[] = { "eager", "flash", "flash3", NULL };

static const char *const shells[] = { "bash", "zsh", "fish", "man", NULL };

const char *const *words_of(enum word_kind k)
{
	switch (k) {
	case WORD_FORMAT:
		return formats;
	case WORD_SUBJECT:
		return subjects;
	case WORD_DRAWING:
		return drawings;
	case WORD_POLICY:
		return policies;
	case WORD_PERSIST:
		return actions;
	case WORD_JOURNAL:
		return journal_actions;
	case WORD_SLURM:
		return modes;
	case WORD_PROFILE:
		return profiles;
	case WORD_BENCH:
		return measurements;
	case WORD_BETTER:
		return betters;
	case WORD_STACK:
		return stack_parts;
	case WORD_CLUSTER:
		return cluster_parts;
	case WORD_DIAGNOSE:
		return diagnoses;
	case WORD_GOAL:
		return goals;
	case WORD_KIND:
		return kinds;
	case WORD_PREDICT:
		return predictions;
	case WORD_PARALLEL:
		return parallels;
	case WORD_PRECISION:
		return precisions;
	case WORD_CHECKPOINTING:
		return checkpointings;
	case WORD_OPTIMIZER:
		return optimizers;
	case WORD_ATTENTION:
		return attentions;
	case WORD_SHELL:
		return shells;
	default:
		return NULL;
	}
}

bool word_is_free(enum word_kind k)
{
	return k == WORD_TEXT || k == WORD_NUMBER || k == WORD_COUNT || k == WORD_TIME;
}
