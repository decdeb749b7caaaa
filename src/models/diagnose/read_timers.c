/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of Megatron-LM and DeepSpeed: "time (ms) | fwd: 1.0 | bwd: 2.0" on a line, or a list below
 * a title with the least and the greatest of all ranks, or with each rank's.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "models/diagnose/read.h"

static const struct {
	const char *name;
	enum figure_kind kind;
} timers[] = {
	{ "forward-compute", FIGURE_FORWARD_S },
	{ "backward-compute", FIGURE_BACKWARD_S },
	{ "batch-generator", FIGURE_DATA_S },
	{ "optimizer", FIGURE_OPTIMIZER_S },
	{ "all-grads-sync", FIGURE_COMM_S },
	{ "grads-all-reduce", FIGURE_COMM_S },
	{ "grads-reduce-scatter", FIGURE_COMM_S },
	{ "params-all-gather", FIGURE_COMM_S },
	{ "layernorm-grads-all-reduce", FIGURE_COMM_S },
	{ "embedding-grads-all-reduce", FIGURE_COMM_S },
	{ "backward-params-all-reduce", FIGURE_COMM_S },
	{ "backward-embedding-all-reduce", FIGURE_COMM_S },
	{ "backward-gather-model-params", FIGURE_COMM_S },
	{ "forward-recv", FIGURE_COMM_S },
	{ "forward-send", FIGURE_COMM_S },
	{ "backward-recv", FIGURE_COMM_S },
	{ "backward-send", FIGURE_COMM_S },
	{ "forward-send-forward-recv", FIGURE_COMM_S },
	{ "forward-send-backward-recv", FIGURE_COMM_S },
	{ "backward-send-forward-recv", FIGURE_COMM_S },
	{ "backward-send-backward-recv", FIGURE_COMM_S },
	{ "save-checkpoint", FIGURE_CHECKPOINT_S },
	/* DeepSpeed, before and since 0.10. Its backward holds the all-reduce. */
	{ "forward", FIGURE_FORWARD_S },
	{ "fwd", FIGURE_FORWARD_S },
	{ "backward_inner", FIGURE_BACKWARD_S },
	{ "bwd_inner", FIGURE_BACKWARD_S },
	{ "backward_allreduce", FIGURE_COMM_S },
	{ "bwd_allreduce", FIGURE_COMM_S },
	{ "step", FIGURE_OPTIMIZER_S },
	{ "batch_input", FIGURE_DATA_S },
	{ "pipe_send_output", FIGURE_COMM_S },
	{ "pipe_send_grad", FIGURE_COMM_S },
	{ "pipe_recv_input", FIGURE_COMM_S },
	{ "pipe_recv_grad", FIGURE_COMM_S },
};

/* A timer by the name that Megatron-LM or DeepSpeed has for it; ending is added to the text. */
static bool log_timer(struct log *l, const char *name, size_t n, double ms, const char *ending)
{
	char text[80];

	for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++) {
		size_t len = strlen(timers[i].name), more = strlen(ending);

		if (len != n || memcmp(timers[i].name, name, n) != 0)
			continue;
		if (len + more >= sizeof(text) || isnan(ms))
			return false;
		memcpy(text, name, n);
		memcpy(text + n, ending, more + 1);
		log_figure(l, timers[i].kind, 1e-3 * ms, text);
		return true;
	}
	return false;
}

static bool is_rank(struct log *l, const char *s)
{
	double r = read_after(s, "rank=");

	if (r >= 0 && r < 1e6)
		l->at.rank = (int)r;
	return r >= 0;
}

/* "... time (ms) | name: 1.0 | name: 2.0" */
static bool in_line(struct log *l, const char *s)
{
	const char *p = strstr(s, "time (ms) |");
	bool told = false;

	is_rank(l, s);
	for (p = strchr(p, '|'); p; p = strchr(p, '|')) {
		const char *colon;

		p += 1 + strspn(p + 1, " ");
		colon = strchr(p, ':');
		if (!colon || (strchr(p, '|') && strchr(p, '|') < colon))
			continue;
		told |= log_timer(l, p, (size_t)(colon - p), read_number(colon, NULL), "");
	}
	return told;
}

/* "    forward-compute ......: (1.0, 2.0)", "...: 2.0", or a name and then "rank  0: 1.0". */
static enum log_row row(struct log *l, const char *s)
{
	const char *name = s + strspn(s, " \t"), *colon, *end;
	size_t n = strcspn(name, " :");
	double least, most;

	if (strncmp(name, "rank", n) == 0 && n == 4) {
		double r = read_number(name + n, &end);

		if (!(r >= 0 && r < 1e6) || *end != ':')
			return LOG_END;
		l->at.rank = (int)r;
		log_timer(l, l->table.op, strlen(l->table.op), read_number(end, NULL), "");
		return LOG_ROW;
	}
	colon = strchr(name, ':');
	if (name == s || !n || !colon || strspn(name + n, " .") != (size_t)(colon - name) - n)
		return LOG_END;
	if (n < sizeof(l->table.op)) {
		memcpy(l->table.op, name, n);
		l->table.op[n] = '\0';
	}
	end = colon + 1 + strspn(colon + 1, " ");
	if (*end == '(') {
		least = read_number(end + 1, &end);
		if (isnan(least) || *end != ',')
			return LOG_END;
		most = read_number(end + 1, NULL);
		log_timer(l, name, n, least, " (min)");
		log_timer(l, name, n, most, " (max)");
	} else if (*end) {
		log_timer(l, name, n, read_number(end, NULL), "");
	}
	return LOG_ROW;
}

static bool line(struct log *l, const char *s)
{
	const char *rest;

	if (strstr(s, "time (ms) |"))
		return in_line(l, s);
	log_table(l, &log_timers);
	/* Some loggers put the first timer behind the title. */
	rest = strstr(s, "(ms):");
	return rest && rest[5] == ' ' ? row(l, rest + 5) == LOG_ROW : true;
}

static const char *const marks[] = { "time (ms) |", "time across ranks (ms):",
				     "times across ranks (ms):", "time (ms):", NULL };
const struct log_reader log_timers = { .marks = marks, .line = line, .row = row };
