/* SPDX-License-Identifier: Apache-2.0 */
/* gputune diagnose serving: what holds an engine back, by its metrics and its log. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "measure/bench/net/socket.h"
#include "models/serving/serving.h"
#include "verbs/hang.h"
#include "verbs/model_files.h"

struct serving_ask {
	struct ask_texts files;
	double for_s;
};

static const struct ask_row serving_ask_rows[] = {
	{ "URL|FILE",
	  "the engine's metrics (http://HOST:PORT/metrics, or one or two files of them) and its "
	  "logs",
	  ASK_TEXTS(serving_ask, files), .argument = true, .files = true },
	{ "for", "time between two readings of a URL", ASK_TIME(serving_ask, for_s), .min = 0.1,
	  .max = 3600, .fallback = "10s" },
};

/* --- an end point ----------------------------------------------------------------------------- */

/* The body of an answer; NULL: *e says why there is none. */
static char *fetched(struct arena *a, const char *url, struct err *e)
{
	const char *host = url + strlen("http://"), *path = strchr(host, '/');
	const char *name = arena_strndup(a, host, path ? (size_t)(path - host) : strlen(host));
	const char *ask = arena_printf(a, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n",
				       path ? path : "/metrics", name);
	char *answer = net_exchange(a, name, 80, ask, SERVING_BYTES_MAX, e), *body;

	if (!answer)
		return NULL;
	body = strstr(answer, "\r\n\r\n");
	if (!body || strncmp(answer, "HTTP/1.", 7) != 0 || strncmp(answer + 8, " 200", 4) != 0) {
		err_set(e, -EIO, "%s: %s", url,
			body ? utf8_clean(a, arena_strndup(a, answer, strcspn(answer, "\r\n")))
			     : "no HTTP answer");
		return NULL;
	}
	return body + 4;
}

/* --- what there is to read -------------------------------------------------------------------- */

struct serving_texts {
	const char *metrics, *later;
	char **logs;
	size_t n_logs;
	double seconds;
};

static int from_url(struct door *d, const struct serving_ask *ask, const char *url,
		    struct serving_texts *out)
{
	long long began = clock_mono_ms();
	struct err e = { 0 };
	int code;

	out->metrics = fetched(d->arena, url, &e);
	if (!out->metrics)
		return door_fail(d, EXIT_USAGE, &e);
	code = door_wait(d, began + (long long)(1e3 * ask->for_s));
	if (code < 0)
		return code;
	out->later = fetched(d->arena, url, &e);
	out->seconds = (double)(clock_mono_ms() - began) / 1e3;
	return out->later ? 0 : door_fail(d, EXIT_USAGE, &e);
}

static int from_file(struct door *d, const char *path, struct serving_texts *out)
{
	size_t len;
	char *text = door_file(d, path, SERVING_BYTES_MAX, &len, NULL);

	if (!text)
		return -EXIT_USAGE;
	if (memchr(text, '\0', len))
		return door_refuse(d, EXIT_USAGE, "%s: not text: contains NUL bytes", path);
	if (!serving_is_metrics(text)) {
		ARENA_ADD(d->arena, out->logs, out->n_logs) = text;
	} else if (!out->metrics) {
		out->metrics = text;
	} else if (!out->later) {
		out->later = text;
	} else {
		return door_refuse(d, EXIT_USAGE, "%s: more than two files of metrics", path);
	}
	return 0;
}

static int serving_answer(struct door *d, const struct serving_ask *ask, struct serving_view *out)
{
	struct serving_texts texts = { 0 };
	int code = 0;

	if (!ask->files.n)
		return door_refuse(d, EXIT_USAGE,
				   "diagnose serving needs a URL or FILE of metrics, or a log");
	for (size_t i = 0; i < ask->files.n && !code; i++) {
		const char *word = ask->files.items[i];

		if (str_starts(word, "https://"))
			code = door_refuse(d, EXIT_USAGE,
					   "%s: TLS is not supported; save the page with curl and "
					   "give the file",
					   word);
		else
			code = str_starts(word, "http://") ? from_url(d, ask, word, &texts)
							   : from_file(d, word, &texts);
	}
	if (code)
		return code;
	if (texts.metrics)
		serving_metrics(d->arena, texts.metrics, texts.later, out);
	for (size_t i = 0; i < texts.n_logs; i++)
		serving_log_read(d->arena, texts.logs[i], out);
	out->seconds = texts.seconds;
	serving_judge(d->arena, out);
	return !out->n_causes ? EXIT_BLIND : out->healthy ? EXIT_CLEAN : EXIT_FINDINGS;
}

VERB_ANSWER(serving_ask_any, serving_answer, serving_ask, serving_view)
VERB_PAGE_OF(serving_page_any, page_serving, serving_view)

const struct verb diagnose_serving_verb = {
	.name = "serving",
	.summary = "find what slows down an engine, from its metrics and log",
	.about = "Reads metrics of vLLM, SGLang or TensorRT-LLM from a URL twice, --for apart, or "
		 "from files, and reads logs. Judges queue, KV cache, preemption, prefill, prefix "
		 "cache, speculative tokens, CUDA graphs and kernels.",
	.exits = "0: no bottleneck; 1: a cause was found; 5: undecided",
	.examples =
		EXAMPLES({ "diagnose serving http://localhost:8000/metrics", "a running engine" },
			 { "diagnose serving before.prom after.prom vllm.log",
			   "two saved readings, and the log" }),
	.ask = ASK_OF(serving_ask, NULL, serving_ask_rows),
	.answer = serving_ask_any,
	.result = &serving_result,
	.page = serving_page_any,
	.own_process = true,
};
