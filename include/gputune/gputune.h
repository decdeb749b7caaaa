/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgputune: what a GPU machine is, what holds it back, and what would be changed; as JSON.
 *
 * A machine that gputune_open gives is only looked at: nothing is written but files that a question
 * names and results of measurements that are kept, and no setting is changed. One that
 * gputune_open_to_change gives may be changed as the program does it: a lock is held, and every
 * write goes through the journal, from which it can be taken back.
 *
 * Results are JSON texts (UTF-8, NUL-terminated), the same as the program prints with --format
 * json, down to the byte. Each begins with "schema", "gputune.check/1" and so on; JSON Schemas are
 * in DATADIR/gputune/schemas. Keys are only ever added to a schema; what takes one away gets
 * another number. "exit_code" is what the program would end with: 0 clean, 1 findings, 5 not all
 * could be seen.
 *
 * Options are a JSON object as text, or NULL for none: a question as of gputune_ask. Unknown keys
 * are an error. The most used:
 *
 *   "profile"  text: a built-in profile or one of /etc/gputune/profiles by name, or a file's path;
 *              "default" when not given                                    (list, check, explain,
 *              plan)
 *   "only"     list of ids or prefixes of them, or a text: judge these alone; not empty
 *                                                                          (list, check, plan)
 *   "skip"     list of ids or prefixes: judge all but these                (list, check, plan)
 *   "deep"     true: ask also what costs time, with the CUDA driver loaded (facts, check)
 *   "allow"    list of ids or prefixes: plan also changes that need to be asked for (plan)
 *   "facts"    true: list the paths of facts instead of settings           (list)
 *
 * Errors: a function that returns a pointer returns NULL and, when error is not NULL, fills it in.
 * What could not be seen of the machine is no error: it stands in the result.
 *
 * Ownership: results belong to the caller and are given back with gputune_free; a machine is given
 * back with gputune_close. What gputune_version returns is the library's.
 *
 * Threads: every function may be called from any thread at any time. A machine does not change
 * after it was opened, so threads may share one; every call looks at the machine anew. Closing it
 * while a call is using it is the caller's mistake.
 *
 * Manners: the library keeps no state between calls (but libmnl, once it is open), prints nothing,
 * ends no process, installs no signal handler, and does not change the locale, the environment or
 * the working directory. It starts the machine's own read-only tools (by fixed paths, never by a
 * shell) and opens vendors' libraries (NVML, with "deep" CUDA) during a call. Being out of memory
 * ends the process with status 71 and one line on standard error: the one exception. Verbs that
 * load the machine or start the program again (bench, prove, doctor, "stack compare", "persist
 * install", "cluster check" ...) are refused with ENOTSUP: the program runs them.
 */
#ifndef GPUTUNE_GPUTUNE_H
#define GPUTUNE_GPUTUNE_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GPUTUNE_API __attribute__((visibility("default")))
#else
#define GPUTUNE_API
#endif

/* Why something could not be done. Texts are UTF-8 and NUL-terminated. */
struct gputune_error {
	int code;	/* an errno value: EINVAL, ENOENT, EACCES, ... */
	char text[512]; /* one sentence that names the object */
	char hint[256]; /* what to do next; "" when there is nothing to say */
};

/* A machine to look at: this one, or a captured one. */
struct gputune_machine;

/* Version of the library, "0.1.0". Never fails. */
GPUTUNE_API const char *gputune_version(void);

/*
 * capture: path of a capture (a folder or a tar of "gputune capture"), which is looked into once;
 * NULL: this machine. A capture is untrusted input: it is checked, and nothing outside of it is
 * read. ENOENT, EINVAL and what opening a file can fail with.
 */
GPUTUNE_API struct gputune_machine *gputune_open(const char *capture, struct gputune_error *error);
/* NULL does nothing. */
GPUTUNE_API void gputune_close(struct gputune_machine *machine);

/* Every fact, and the narrow spots between devices; schema gputune.show/1. Each fact that was not
 * seen says so. EINVAL: options. */
GPUTUNE_API char *gputune_facts(const struct gputune_machine *machine, const char *options,
				struct gputune_error *error);
/* Each setting judged; schema gputune.check/1. EINVAL: options; ENOENT: no such profile. */
GPUTUNE_API char *gputune_check(const struct gputune_machine *machine, const char *options,
				struct gputune_error *error);
/* One setting by id: why, when, how, and its findings here; schema gputune.explain/1. EINVAL: no
 * such setting (the hint names the nearest), or options. */
GPUTUNE_API char *gputune_explain(const struct gputune_machine *machine, const char *id,
				  const char *options, struct gputune_error *error);
/* What would be written, in which order, what is refused and why; schema gputune.plan/1. As a file
 * it is what "gputune apply FILE" takes, which judges all of it again. EINVAL: options. */
GPUTUNE_API char *gputune_plan(const struct gputune_machine *machine, const char *options,
			       struct gputune_error *error);
/* All settings, or all facts, that this version knows; schema gputune.list/1. EINVAL: options. */
GPUTUNE_API char *gputune_list(const char *options, struct gputune_error *error);

/*
 * Any verb that answers, as the program prints it with --format json: "lint", "predict training".
 * question: its options and arguments as a JSON object, or NULL for none; keys are the options'
 * names with '_' for '-', arguments in small letters: {"only": ["gpu"], "min_effect": "1%"}. Which
 * there are: docs/AGENTS.md, and "gputune VERB --help". The machine is that of the handle.
 *
 * EINVAL: no such verb, or the question, with the key named; EPERM: the verb can change the
 * machine, and the handle may not, or all was refused; EUCLEAN: a change could not be taken back;
 * EIO: too little could be seen.
 */
GPUTUNE_API char *gputune_ask(const struct gputune_machine *machine, const char *verb,
			      const char *question, struct gputune_error *error);
/* Those verbs: {"schema": "gputune.verbs/1", "verbs": [{"name", "summary", "changes", "question": a
 * JSON Schema, "result": "gputune.lint/1"}]}. */
GPUTUNE_API char *gputune_verbs(struct gputune_error *error);
/*
 * As gputune_open, of a machine that verbs may change, by the program's own gates: the lock, the
 * journal, what is refused. Opening it is the agreement that a person gives to the program. A
 * capture takes its changes into the folder overlay; both or neither are given.
 */
GPUTUNE_API struct gputune_machine *gputune_open_to_change(const char *capture, const char *overlay,
							   struct gputune_error *error);

/* Gives a result back. NULL does nothing. */
GPUTUNE_API void gputune_free(char *json);

#ifdef __cplusplus
}
#endif

#endif
