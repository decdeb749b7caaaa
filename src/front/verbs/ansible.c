/* SPDX-License-Identifier: Apache-2.0 */
/* Running the verbs for Ansible: what they print is caught, and one JSON object comes out, last. */
#include "front/verbs/ansible.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json_print.h"
#include "base/text.h"
#include "base/utf8.h"
#include "front/verbs/cmd.h"

enum { ERRORS_MAX = 16384 };

/* What the verb complained of since the file was empty. */
static const char *complaints(struct arena *a, int fd)
{
	char *text = arena_alloc(a, ERRORS_MAX + 1);
	ssize_t n;

	fflush(stderr);
	n = pread(fd, text, ERRORS_MAX, 0);
	text[n > 0 ? n : 0] = '\0';
	return utf8_clean(a, text);
}

static json_t *parsed(const char *text, size_t len)
{
	json_error_t why;

	return len ? json_loadb(text, len, JSON_REJECT_DUPLICATES, &why) : NULL;
}

/* One verb as if its words stood on a command line. */
static struct module_ran run_verb(struct arena *a, char **words, int errors)
{
	struct module_ran out = { .code = EXIT_USAGE };
	struct run r = { .verb = verb_find(words[0]) };
	char *text = NULL;
	size_t len = 0;
	int argc = 0;

	while (words[argc])
		argc++;
	if (ftruncate(errors, 0) || lseek(errors, 0, SEEK_SET) < 0)
		return out;
	r.out = open_memstream(&text, &len);
	if (!r.verb)
		complain_text(EXIT_USAGE, "this gputune has no verb \"%s\"", words[0]);
	else if (r.out && options_parse(&r, argc, words) == 0)
		out.code = r.verb->run(&r);
	if (r.out)
		fclose(r.out);
	out.result = parsed(text, len);
	out.errors = complaints(a, errors);
	free(text);
	arena_free(&r.arena);
	return out;
}

/* Looks first; writes only when there is something to write. */
static json_t *work(struct arena *a, const struct module_args *m, int errors)
{
	struct module_ran look = run_verb(a, module_words(a, m, false), errors), did = { 0 };
	bool go = m->state < MODULE_CHECK && !m->check && look.result && module_needed(m, &look);
	json_t *j;

	/* Settings that are refused are a failure before anything is written, when asked for. */
	if (go && m->strict) {
		j = module_result(a, m, &look, NULL);
		go = !json_is_true(json_object_get(j, "failed"));
		json_decref(j);
	}
	if (go)
		did = run_verb(a, module_words(a, m, true), errors);
	j = module_result(a, m, &look, go ? &did : NULL);
	/* Nothing was written, so nothing has changed, whatever would have been. */
	if (!go && !m->check)
		json_object_set_new(j, "changed", json_false());
	json_decref(look.result);
	json_decref(did.result);
	return j;
}

static json_t *failure(struct arena *a, const struct err *e)
{
	return json_pack("{s:b, s:b, s:i, s:s}", "changed", 0, "failed", 1, "rc", EXIT_USAGE, "msg",
			 utf8_clean(a, e->text));
}

int module_main(const char *path)
{
	struct module_args m;
	struct arena a = { 0 };
	struct err e = { 0 };
	int errors = memfd_create("errors", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
	bool failed;
	json_t *j;

	if (errors < 0 || dup2(errors, STDERR_FILENO) < 0) {
		err_set(&e, -errno, "no memory for messages: %s", strerror(errno));
		j = failure(&a, &e);
	} else if (module_args_read(&a, path, &m, &e)) {
		j = failure(&a, &e);
	} else {
		j = work(&a, &m, errors);
	}
	fflush(stderr);
	if (kept >= 0)
		dup2(kept, STDERR_FILENO);
	failed = json_is_true(json_object_get(j, "failed"));
	/* Whatever comes after this line, or instead of it, would be taken for part of the result.
	 */
	json_print(stdout, j, JSON_COMPACT);
	fputc('\n', stdout);
	failed = fflush(stdout) || failed;
	json_decref(j);
	arena_free(&a);
	return failed;
}
