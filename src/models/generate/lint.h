/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking through what people wrote for NCCL, launchers and engines: variables and command lines,
 * in shell scripts, files of environments, compose files, manifests of Kubernetes, Dockerfiles,
 * hostfiles, or given as words. Text is read with the quoting rules of a shell, and no shell ever
 * sees it. Pure.
 */
#ifndef GENERATE_LINT_H
#define GENERATE_LINT_H

#include <jansson.h>

#include "base/arena.h"
#include "knowledge/value_rules.h"
#include "models/generate/nodes.h"
#include "models/inference/predict.h"

enum {
	LINT_TEXT_MAX = 1 << 20,
	LINT_WORDS_MAX = 1 << 16,
	LINT_FINDINGS_MAX = 2000,
};

enum lint_level {
	LINT_ERROR,   /* it fails, or does something else than was meant */
	LINT_WARNING, /* it costs speed or safety */
	LINT_NOTE,
	LINT_LEVELS,
};
extern const char *const lint_level_names[LINT_LEVELS];

struct lint_finding {
	enum lint_level level;
	const char *code;		 /* "unknown-variable": never renamed */
	const char *file;		 /* "command line" for words */
	unsigned line;			 /* 0: of no line */
	const char *subject;		 /* the variable, option or host */
	const char *says, *fix, *source; /* fix, source NULL: none */
};

/* Codes that say something of a fact of the machine, and who judges it, as of struct cause of
 * measure/doctor/doctor.h. */
struct lint_code {
	const char *code, *setting, *judges, *given;
};
extern const struct lint_code lint_codes[]; /* the last has a NULL code */

/* What it is judged on; all may be unknown. */
struct lint_on {
	const struct gen_node *node; /* NULL: no machine is looked at */
	const char *nccl;	     /* version; NULL: not known */
	const char *nccl_from;	     /* in words */
	bool image; /* files are those of a container's image: devices may have other names */
	const struct knowledge *known; /* models and GPUs; NULL: what is compiled in */
	const struct fits *fits; /* for engines' command lines; NULL: these are not predicted */
	/* A model's files, read by whoever knows how; NULL: by name alone. Returns NULL for names.
	 */
	const struct model_file *(*model)(void *ctx, const char *name);
	void *model_ctx;
};

struct lint {
	struct arena *a;
	const struct lint_on *on;
	struct lint_finding *findings;
	size_t n;
	size_t variables, commands, hosts; /* that were looked at */
	size_t configs;			   /* files and commands of trainings */
	const char *file;		   /* that is being looked at */
	bool conf;			   /* it is an nccl.conf */
	bool fsdp;			   /* it speaks of FSDP */
	bool zero;			   /* it speaks of DeepSpeed */
	bool megatron;			   /* its tensor parallelism is Megatron's */
	bool slurm;			   /* it is a job of Slurm's */
	struct map set; /* variables of this text: name to struct lint_word of the value */
	/* Where they are objects and an array: variables with their values, the same with "file"
	 * and "line", and commands; of all texts. */
	json_t *env, *env_at, *started;
};

/* A variable that is set somewhere, for judging it. */
struct lint_var {
	const char *name, *value;
	unsigned line;
	bool open; /* the value has $ or ` in it: it is not known */
	bool once; /* it is set for one command: what stands behind it in a script does not see it
		    */
};

/* A word as a shell would make it. */
struct lint_word {
	const char *text;
	unsigned line;
	bool open;			  /* holds an expansion, which is left as it stands */
	bool quoted;			  /* some of it stood in quotes */
	bool quoted_first, quoted_inside; /* the quotes began it; they stood further in */
	size_t begin, end_at;		  /* bytes of the text that it is made of */
	bool end;			  /* a command ends before it: ";", "&&", "|", a new line */
};

void lint_add(struct lint *l, enum lint_level level, const char *code, unsigned line,
	      const char *subject, const char *fix, const char *source, const char *fmt, ...)
	__attribute__((format(printf, 8, 9)));
/* Worst first, then by file and line; and without what is said twice. */
void lint_sort(struct lint *l);

/* The text of a file. name decides what it is: "nccl.conf", "hostfile", anything else is
 * shell-like. */
void lint_text(struct lint *l, const char *name, const char *text, size_t len);
/* One file that may be anything: of one that is no text, that alone is said. */
void lint_file(struct lint *l, const char *name, const char *text, size_t len);
/* A command line as words. */
void lint_words(struct lint *l, const char *const *words, size_t n);

/* --- parts ------------------------------------------------------------------------------------ */
/* lint.c: the words of a text, in the arena; complains about quotes that do not end. */
struct lint_word *lint_split(struct lint *l, const char *text, size_t len, size_t *n);
/* lint_vars.c */
void lint_var(struct lint *l, const struct lint_var *v);
/* lint_torch.c: NCCL_IB_HCA and interfaces against the machine. */
void lint_hca(struct lint *l, const struct lint_var *v);
void lint_interface(struct lint *l, const struct lint_var *v);
void lint_ucx_devices(struct lint *l, const struct lint_var *v);
/* lint_torch.c: values with an inside. The value is neither empty nor open. */
void lint_allocator(struct lint *l, const struct lint_var *v);
void lint_visible(struct lint *l, const struct lint_var *v);
void lint_workspace(struct lint *l, const struct lint_var *v);
/* lint_engine.c: a command's words; nothing when no engine is started by it. */
void lint_engine(struct lint *l, const struct lint_word *w, size_t n);
/* lint_finding.c: the format of weights for a prediction, by the method that an engine is told
 * (NULL: none); NULL: as the model's files or its name say. file may be NULL. */
const char *lint_weights(const char *model, const char *method, const struct model_file *file);
/*
 * lint_values.c: judges what is there by the rows of value_rules.rows. at gives the value of a name
 * as text and, where line is not NULL, its line; NULL: it is not there; lint_value_open: it is, and
 * what it holds is not known.
 */
struct lint_values {
	struct lint *l;
	enum value_reader in;
	const char *(*at)(void *ctx, const char *name, unsigned *line);
	void *ctx;
};
extern const char lint_value_open[];
void lint_values(const struct lint_values *v);
/* Some row judges this name. */
bool lint_value_named(enum value_reader in, const char *name);
/* lint_torch.c: all words of a script. */
void lint_batch(struct lint *l, const struct lint_word *w, size_t n);
/* lint_train.c: false where it is no file of a training. */
bool lint_train(struct lint *l, const char *name, const char *text, size_t len);
/* lint_train.c: arguments of trainings among all words of a script. */
void lint_train_words(struct lint *l, const struct lint_word *w, size_t n);

#endif
