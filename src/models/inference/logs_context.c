/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands before a result: the command that was typed, or the arguments as the program printed
 * them ("--model X", "Namespace(model='X', ...)", "{'model': 'X', ...}").
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/inference/logs_parts.h"

enum { VALUE_MAX = 512 };

static const struct {
	const char *name; /* '-' stands for '_', too */
	size_t to;
	bool text;
} keys[] = {
	{ "model", offsetof(struct log_context, model), true },
	{ "model-path", offsetof(struct log_context, model), true },
	{ "quantization", offsetof(struct log_context, weights), true },
	{ "kv-cache-dtype", offsetof(struct log_context, cache), true },
	{ "input-len", offsetof(struct log_context, input), false },
	{ "random-input-len", offsetof(struct log_context, input), false },
	{ "output-len", offsetof(struct log_context, output), false },
	{ "random-output-len", offsetof(struct log_context, output), false },
	{ "batch-size", offsetof(struct log_context, batch), false },
	{ "max-concurrency", offsetof(struct log_context, concurrency), false },
	{ "request-rate", offsetof(struct log_context, rate), false },
	{ "num-prompts", offsetof(struct log_context, requests), false },
	{ "max-num-seqs", offsetof(struct log_context, sequences), false },
	{ "tensor-parallel-size", offsetof(struct log_context, tp), false },
	{ "tp-size", offsetof(struct log_context, tp), false },
	{ "tp", offsetof(struct log_context, tp), false },
	{ "pipeline-parallel-size", offsetof(struct log_context, pp), false },
	{ "pp-size", offsetof(struct log_context, pp), false },
};

static bool same(char a, char b)
{
	return a == b || (a == '_' && b == '-');
}

/* A key begins behind two dashes, or as a name of its own. */
static bool begins(const char *line, const char *at)
{
	if (at == line)
		return true;
	if (at[-1] == '-')
		return at - line >= 2 && at[-2] == '-' && (at - line == 2 || at[-3] == ' ');
	return strchr(" '\"({,", at[-1]) != NULL;
}

/* Where the value of the key at s begins; NULL: it is another word, or has none. */
static const char *value_at(const char *line, const char *s, const char *key)
{
	size_t n = 0;

	while (key[n] && s[n] && same(s[n], key[n]))
		n++;
	if (key[n] || !begins(line, s) || !s[n] || !strchr("= :'\"", s[n]))
		return NULL;
	s += n + strspn(s + n, "= :'\"");
	return *s && *s != '-' && *s != ',' ? s : NULL;
}

static void take(struct log_walk *w, size_t k, const char *value)
{
	size_t len = strcspn(value, " ,'\")}]\\");
	char *to = (char *)&w->ctx + keys[k].to;
	bool none = len == 4 && (strncmp(value, "None", 4) == 0 || strncmp(value, "null", 4) == 0);

	if (!len || len > VALUE_MAX || none)
		return;
	if (keys[k].text)
		*(const char **)(void *)to = arena_strndup(w->a, value, len);
	else if (strncmp(value, "inf", 3) == 0)
		*(double *)(void *)to = HUGE_VAL;
	else
		*(double *)(void *)to = log_number(value, NULL);
}

/* "llama_model_loader: loaded meta data ... from /models/x.gguf (version GGUF V3 (latest))" */
static void gguf_path(struct log_walk *w, const char *line)
{
	const char *end = strstr(line, ".gguf"), *s = end;

	if (!end || !(strstr(line, "from ") || strstr(line, "-m ")))
		return;
	while (s > line && s[-1] != '/' && s[-1] != ' ' && s[-1] != '\'' && s[-1] != '=')
		s--;
	if (end - s > 0 && end - s < VALUE_MAX)
		w->ctx.model = arena_strndup(w->a, s, (size_t)(end - s) + 5);
}

void log_context_line(struct log_walk *w, const char *line)
{
	static const char *const begin[] = { "vllm bench",	 "bench_serving", "bench_one_batch",
					     "trtllm-bench",	 "Namespace(",	  "bench_latency",
					     "benchmark_serving" };

	if (strlen(line) > 65536)
		return;
	gguf_path(w, line);
	if (!strstr(line, "--") && !strstr(line, "Namespace(") && !strstr(line, "Args(") &&
	    !strstr(line, "args:"))
		return;
	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (strstr(line, begin[i])) {
			w->ctx = (struct log_context){ 0 };
			break;
		}
	for (const char *s = line; *s; s++)
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			const char *v =
				same(*s, *keys[k].name) ? value_at(line, s, keys[k].name) : NULL;

			if (v)
				take(w, k, v);
		}
}
