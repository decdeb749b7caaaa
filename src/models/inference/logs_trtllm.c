/* SPDX-License-Identifier: Apache-2.0 */
/* The report of trtllm-bench as a page: names, tabs or blanks, values, under headings. */
#include <string.h>

#include "base/text.h"
#include "models/inference/logs_parts.h"

enum field {
	T_MODEL,
	T_DTYPE,
	T_CACHE,
	T_QUANT,
	T_TP,
	T_PP,
	T_REQUESTS,
	T_AT_ONCE,
	T_INPUT,
	T_OUTPUT,
	T_THROUGHPUT,
	T_TTFT,
	T_TPOT
};

static const struct {
	const char *name;
	enum field field;
} fields[] = {
	{ "Model:", T_MODEL },
	{ "Dtype:", T_DTYPE },
	{ "KV Cache Dtype:", T_CACHE },
	{ "Quantization:", T_QUANT },
	{ "TP Size:", T_TP },
	{ "PP Size:", T_PP },
	{ "Number of requests:", T_REQUESTS },
	{ "Number of concurrent requests:", T_AT_ONCE },
	{ "Average Input Length (tokens):", T_INPUT },
	{ "Average Output Length (tokens):", T_OUTPUT },
	{ "Total Output Throughput (tokens/sec):", T_THROUGHPUT },
	{ "Average time-to-first-token [TTFT] (ms):", T_TTFT },
	{ "Average time-per-output-token [TPOT] (ms):", T_TPOT },
};

static const char *word(struct log_walk *w, const char *value)
{
	size_t len = strcspn(value, " \t");

	if (!len || len > 256 || str_starts(value, "None"))
		return NULL;
	return arena_strndup(w->a, value, len);
}

static void take(struct log_walk *w, struct log_run *r, enum field f, const char *value)
{
	double v = log_number(value, NULL);

	switch (f) {
	case T_MODEL:
		r->model = word(w, value);
		break;
	case T_DTYPE:
		r->weights = r->weights ? r->weights : word(w, value);
		break;
	case T_QUANT:
		r->weights = word(w, value) ? word(w, value) : r->weights;
		break;
	case T_CACHE:
		r->cache = word(w, value);
		break;
	case T_TP:
		r->tp = log_whole(v);
		break;
	case T_PP:
		r->pp = log_whole(v);
		break;
	case T_REQUESTS:
		w->completed = v;
		break;
	case T_AT_ONCE:
		w->ctx.concurrency = v;
		break;
	case T_INPUT:
		w->total_in = v;
		break;
	case T_OUTPUT:
		w->total_out = v;
		break;
	case T_THROUGHPUT:
		r->figure[LOG_THROUGHPUT] = v;
		break;
	case T_TTFT:
		r->figure[LOG_TTFT] = v;
		break;
	case T_TPOT:
		r->figure[LOG_TPOT] = v;
		break;
	}
}

bool log_trtllm_line(struct log_walk *w, const char *line)
{
	struct log_run *r = log_open(w);

	if (str_starts(line, "= PYTORCH BACKEND") || str_starts(line, "= ENGINE DETAILS")) {
		log_close(w);
		w->ctx = (struct log_context){ 0 };
		if (log_add(w, LOG_TRTLLM, "tensorrt-llm", 0))
			w->open = w->out->n;
		return true;
	}
	if (!r || r->tool != LOG_TRTLLM)
		return false;
	if (str_starts(line, "= DECODING STATISTICS"))
		r->speculative = true;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (str_starts(line, fields[i].name)) {
			const char *value = line + strlen(fields[i].name);

			take(w, r, fields[i].field, value + strspn(value, " \t"));
			break;
		}
	return true;
}
