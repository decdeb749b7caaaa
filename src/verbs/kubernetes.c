/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputune kubernetes node: this machine's health as a condition of its node. It rests with next to
 * nothing in memory: a look is a process of its own, a request is curl in another, and both end.
 * The API server is asked for nothing while nothing changes.
 */
#include <errno.h>
#include <jansson.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "look/settings/findings.h"
#include "machine/host/apart.h"
#include "machine/host/command.h"
#include "machine/write/write.h"
#include "many/fleet/node.h"
#include "render/doc.h"
#include "verbs/door.h"

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"
#define CONDITION "GpuUnhealthy"
#define TAINT "gputune/unhealthy"

enum {
	LOOK_MS = 120000,
	REQUEST_S = 20,
	ANSWER_MAX = 4 << 20,
	MESSAGE_MAX = 1024,
	TRIES = 5, /* where another wrote the node meanwhile */
	BACK_OFF_S = 300,
	ECONFLICTS = 409,
};

struct kubernetes_ask {
	const char *node, *server, *token, *ca, *only, *features, *ready;
	double interval_s;
	unsigned taint;
	bool once;
};

static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute" };

static const struct ask_row kubernetes_ask_rows[] = {
	{ "node", "this node's name (default: NODE_NAME of the environment)",
	  ASK_TEXT(kubernetes_ask, node), .arg = "NAME" },
	{ "interval", "interval between samples", ASK_TIME(kubernetes_ask, interval_s),
	  .fallback = "30s", .min = 0.1, .max = 86400 },
	{ "once", "check once, then exit with the result", ASK_FLAG(kubernetes_ask, once) },
	{ "only", "only these settings: ids, or groups like gpu", ASK_TEXT(kubernetes_ask, only) },
	{ "taint", "also taint the unhealthy node with this effect",
	  ASK_CHOICE(kubernetes_ask, taint, effects), .arg = "EFFECT" },
	{ "features", "also write labels for Node Feature Discovery into this file",
	  ASK_TEXT(kubernetes_ask, features), .arg = "FILE", .files = true },
	{ "ready", "file that exists only while the API server has the latest report",
	  ASK_TEXT(kubernetes_ask, ready), .arg = "FILE", .files = true },
	{ "server", "the API server (default: KUBERNETES_SERVICE_HOST and _PORT)",
	  ASK_TEXT(kubernetes_ask, server), .arg = "URL" },
	{ "token", "file of the token (default: the pod's service account)",
	  ASK_TEXT(kubernetes_ask, token), .arg = "FILE", .files = true },
	{ "ca", "file of the certificate authority (default: the pod's service account)",
	  ASK_TEXT(kubernetes_ask, ca), .arg = "FILE", .files = true },
};

struct kubernetes_answer {
	const char *node, *status, *message;
	size_t looks, writes, failures;
};

/* clang-format off */
static const struct shape kubernetes_shape = SHAPE_OF(kubernetes_answer, kubernetes,
	{ "node", NULL, SHAPE_TEXT(kubernetes_answer, node) },
	{ "status", "Status of the condition " CONDITION ": True, False or Unknown.",
	  SHAPE_TEXT(kubernetes_answer, status) },
	{ "message", NULL, SHAPE_TEXT(kubernetes_answer, message) },
	{ "looks", NULL, SHAPE_COUNT(kubernetes_answer, looks) },
	{ "writes", "Number of requests that changed something.", SHAPE_COUNT(kubernetes_answer, writes) },
	{ "failures", "Number of failed requests.", SHAPE_COUNT(kubernetes_answer, failures) });

static const struct result_shape kubernetes_result = {
	.name = "kubernetes", .title = "gputune kubernetes node",
	.meaning = "Health of this machine, and writes to its Kubernetes node.",
	.shape = &kubernetes_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
/* clang-format on */

struct agent {
	struct door *d;
	const struct kubernetes_ask *ask;
	struct kubernetes_answer *out;
	struct arena *a; /* of this look */
	const char *server;
	char status[8], message[MESSAGE_MAX]; /* as the API server knows them */
	bool known, tainted;
	pid_t stuck; /* a look that a driver holds; 0: none */
	double back_off_s;
};

/* --- requests --------------------------------------------------------------------------------- */

/* Secrets and bodies reach curl as files in memory that it opens by our descriptor. */
static const char *memory_file(struct agent *g, const char *text, int *fd)
{
	*fd = fd_nameless(text, strlen(text));
	return *fd < 0 ? NULL : arena_printf(g->a, "@/proc/%d/fd/%d", (int)getpid(), *fd);
}

static char *small_file(struct agent *g, const char *path)
{
	HOST_AUTO *h = g->d->live(g->d->ctx);
	char *text = NULL;
	size_t len;

	if (host_read(h, path, 1 << 16, g->a, &text, &len))
		text = NULL;
	if (text)
		text[strcspn(text, "\r\n")] = '\0';
	return text;
}

/* The status of HTTP, and the body; 0: no answer. */
static int request(struct agent *g, const char *method, const char *path, const char *type,
		   const char *body, const char **answer)
{
	const char *token = small_file(g, g->ask->token ? g->ask->token : ACCOUNT "token");
	int secret, data = -1;
	const char *header =
		memory_file(g,
			    arena_printf(g->a, "Authorization: Bearer %s\nContent-Type: %s\n",
					 token ? token : "", type ? type : "*/*"),
			    &secret);
	const char *words[] = { "curl",
				"--silent",
				"--request",
				method,
				"--max-time",
				arena_printf(g->a, "%d", REQUEST_S),
				"--cacert",
				g->ask->ca ? g->ask->ca : ACCOUNT "ca.crt",
				"--header",
				header,
				"--write-out",
				"\n%{http_code}",
				"--url",
				arena_printf(g->a, "%s%s", g->server, path),
				body ? "--data-binary" : NULL,
				body ? memory_file(g, body, &data) : NULL,
				NULL };
	struct command_of_user how = { .limit_ms = 1000 * (REQUEST_S + 5), .max = ANSWER_MAX };
	struct command_result r = { 0 };
	char *argv[20], *last;
	long long status = 0;
	int code;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		argv[i] = words[i] ? arena_strdup(g->a, words[i]) : NULL;
	code = header ? command_run_own(g->a, argv, &how, &r) : secret;
	close(secret);
	if (data >= 0)
		close(data);
	if (code == -ENOENT)
		door_note(g->d, "curl is not installed: nothing can be reported");
	if (code || !r.output)
		return 0;
	last = strrchr(r.output, '\n');
	if (!last || parse_i64(last + 1, &status) || status < 100)
		return 0;
	*answer = arena_strndup(g->a, r.output, (size_t)(last - r.output));
	return (int)status;
}

static bool ok(struct agent *g, int status, const char *what)
{
	if (status >= 200 && status < 300)
		return true;
	g->out->failures++;
	if (status)
		door_note(g->d, "%s: the API server answers %d", what, status);
	else
		door_note(g->d, "%s: no answer from %s", what, g->server);
	return false;
}

static const char *node_path(struct agent *g, const char *rest)
{
	return arena_printf(g->a, "/api/v1/nodes/%s%s", g->out->node, rest);
}

/* One write; j is given away. */
static int write_json(struct agent *g, const char *method, const char *path, const char *type,
		      json_t *j)
{
	const char *text = json_take_text(g->a, j, JSON_COMPACT), *answer;
	int status;

	if (!text)
		out_of_memory(0);
	status = request(g, method, path, type, text, &answer);
	g->out->writes += status >= 200 && status < 300;
	return status;
}

static json_t *node_get(struct agent *g)
{
	const char *answer = "";
	int status = request(g, "GET", node_path(g, ""), NULL, NULL, &answer);

	return ok(g, status, "node") ? json_loads(answer, 0, NULL) : NULL;
}

/* --- what the node says ----------------------------------------------------------------------- */

/* Before the first write: a pod that was started anew changes nothing. */
static bool learn(struct agent *g)
{
	json_t *node = node_get(g), *it;
	size_t i;

	if (!node)
		return false;
	json_array_foreach(json_object_get(json_object_get(node, "status"), "conditions"), i, it)
	{
		const char *type = json_string_value(json_object_get(it, "type"));
		const char *status = json_string_value(json_object_get(it, "status"));
		const char *message = json_string_value(json_object_get(it, "message"));

		if (!type || strcmp(type, CONDITION) != 0 || !status || !message)
			continue;
		snprintf(g->status, sizeof(g->status), "%s", status);
		snprintf(g->message, sizeof(g->message), "%s", message);
	}
	json_array_foreach(json_object_get(json_object_get(node, "spec"), "taints"), i, it)
	{
		const char *key = json_string_value(json_object_get(it, "key"));

		g->tainted |= key && strcmp(key, TAINT) == 0;
	}
	json_decref(node);
	return g->known = true;
}

static bool write_condition(struct agent *g, const char *status, const char *message,
			    const char *now)
{
	const char *reason = strcmp(status, "True") == 0    ? "HealthCheckFailed"
			     : strcmp(status, "False") == 0 ? "Healthy"
							    : "NotReadable";
	json_t *condition = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "type", CONDITION, "status",
				      status, "reason", reason, "message", message,
				      "lastHeartbeatTime", now, "lastTransitionTime", now);

	return ok(g,
		  write_json(g, "PATCH", node_path(g, "/status"),
			     "application/strategic-merge-patch+json",
			     json_pack("{s:{s:[o]}}", "status", "conditions", condition)),
		  "condition");
}

/* One that is lost is no reason to write the condition again. */
static void write_event(struct agent *g, const char *status, const char *message, const char *now)
{
	bool bad = strcmp(status, "True") == 0;
	json_t *event =
		json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s}, s:s, s:s, s:s, s:{s:s, "
			  "s:s}, s:s, "
			  "s:s, s:i}",
			  "apiVersion", "v1", "kind", "Event", "metadata", "generateName",
			  "gputune-", "namespace", "default", "involvedObject", "apiVersion", "v1",
			  "kind", "Node", "name", g->out->node, "uid", g->out->node, "reason",
			  bad ? CONDITION : "GpuHealthy", "message", message, "type",
			  bad ? "Warning" : "Normal", "source", "component", "gputune", "host",
			  g->out->node, "firstTimestamp", now, "lastTimestamp", now, "count", 1);

	(void)ok(g,
		 write_json(g, "POST", "/api/v1/namespaces/default/events", "application/json",
			    event),
		 "event");
}

/* A patch of spec.taints replaces all of them: the others are read first, and nobody may have
 * written the node meanwhile. */
static bool write_taint(struct agent *g, bool want)
{
	for (int i = 0; i < TRIES; i++) {
		json_t *node = node_get(g), *taints = json_array(), *it;
		const json_t *version;
		size_t k;
		int status;

		if (!node) {
			json_decref(taints);
			return false;
		}
		json_array_foreach(json_object_get(json_object_get(node, "spec"), "taints"), k, it)
		{
			const char *key = json_string_value(json_object_get(it, "key"));

			if (!key || strcmp(key, TAINT) != 0)
				json_array_append(taints, it);
		}
		if (want)
			json_array_append_new(taints,
					      json_pack("{s:s, s:s, s:s}", "key", TAINT, "value",
							"true", "effect", effects[g->ask->taint]));
		version = json_object_get(json_object_get(node, "metadata"), "resourceVersion");
		status = write_json(g, "PATCH", node_path(g, ""), "application/json-patch+json",
				    json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:o}]", "op", "test",
					      "path", "/metadata/resourceVersion", "value",
					      version ? json_string_value(version) : "", "op",
					      "add", "path", "/spec/taints", "value", taints));
		json_decref(node);
		if (status != ECONFLICTS && status != 422)
			return ok(g, status, "taint");
	}
	return ok(g, ECONFLICTS, "taint");
}

/* --- one look --------------------------------------------------------------------------------- */

/* In a process of its own: 'F' and what is wrong, or 'P', or 'U' where not everything was seen. */
static void examine(void *ctx, struct text *reply)
{
	struct agent *g = ctx;
	struct profile p;
	struct host *h = g->d->live(g->d->ctx);
	struct machine *m = door_machine(g->d, h, &(struct door_look){ .lean = true });
	struct findings f;
	const char *wrong = NULL, *said = "U some checks are unreadable";

	if (door_profile(g->d, &(struct profile_ask){ .only = g->ask->only }, &p) == 0) {
		settings_check(g->d->arena, m, &p, door_read_knob, h, &f);
		/* Who names settings means them; else it is the machine's health that counts. */
		wrong = findings_unfit(g->d->arena, &f, g->ask->only != NULL);
		if (wrong)
			said = arena_printf(g->d->arena, "F %.*s", MESSAGE_MAX - 8, wrong);
		else if (f.n > 0 && f.count[VERDICT_UNKNOWN] == 0)
			said = "P no failed health check";
	}
	text_add(reply, said);
}

/* True: unhealthy. What the look takes, the driver's library above all, goes with its process. */
static const char *agent_look(struct agent *g, const char **message)
{
	TEXT_AUTO said = { 0 };
	int r = apart_run(examine, g, LOOK_MS, &said, &g->stuck, NULL);

	g->out->looks++;
	*message = r == -ETIME ? "the check did not end in time" : "the check failed";
	if (r || said.len < 2)
		return "Unknown";
	*message = arena_strdup(g->a, said.s + 2);
	return *said.s == 'F' ? "True" : *said.s == 'P' ? "False" : "Unknown";
}

static void agent_file(struct agent *g, const char *path, const char *text)
{
	HOST_AUTO *h = g->d->live(g->d->ctx);
	int code = host_put(h, path, text, strlen(text), 0644);

	if (code)
		door_note(g->d, "%s: cannot be written: %s", path, strerror(-code));
}

/* True: the API server knows this look. */
static bool agent_report(struct agent *g, const char *status, const char *message)
{
	bool unhealthy = strcmp(status, "True") == 0;
	/* What could not be seen changes no taint. */
	bool want = strcmp(status, "Unknown") == 0 ? g->tainted : unhealthy;
	char now[STAMP_SIZE];

	if (!g->known && !learn(g))
		return false;
	if (stamp_format((long long)time(NULL), now))
		return false;
	if (strcmp(g->status, status) != 0 || strcmp(g->message, message) != 0) {
		if (!write_condition(g, status, message, now))
			return false;
		if (strcmp(g->status, status) != 0)
			write_event(g, status, message, now);
		if (g->ask->features)
			agent_file(g, g->ask->features,
				   arena_printf(g->a, "gputune.healthy=%s\n",
						unhealthy		       ? "false"
						: strcmp(status, "False") == 0 ? "true"
									       : "unknown"));
		snprintf(g->status, sizeof(g->status), "%s", status);
		snprintf(g->message, sizeof(g->message), "%s", message);
	}
	if (want != g->tainted && g->ask->taint < sizeof(effects) / sizeof(effects[0])) {
		if (!write_taint(g, want))
			return false;
		g->tainted = want;
	}
	return true;
}

static bool agent_round(struct agent *g)
{
	struct arena a = { 0 };
	const char *message, *status;
	bool done;

	g->a = &a;
	status = agent_look(g, &message);
	done = agent_report(g, status, message);
	if (g->ask->ready && done)
		agent_file(g, g->ask->ready, "");
	else if (g->ask->ready)
		(void)unlink(g->ask->ready);
	arena_free(&a);
	(void)malloc_trim(0);
	/* Twice as long each time, by chance so that a thousand nodes do not come at once. */
	if (done)
		g->back_off_s = 0;
	else
		g->back_off_s = g->back_off_s < 1 ? 1 : 2 * g->back_off_s;
	if (g->back_off_s > BACK_OFF_S)
		g->back_off_s = BACK_OFF_S;
	return done;
}

static int agent_prepare(struct agent *g)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST"),
		   *port = getenv("KUBERNETES_SERVICE_PORT"), *node = getenv("NODE_NAME");

	g->out->node = g->ask->node ? g->ask->node : node;
	if (!g->out->node || !node_name_ok(g->out->node))
		return door_refuse(g->d, EXIT_USAGE,
				   "node name unknown: give --node or set NODE_NAME");
	g->server = g->ask->server ? g->ask->server
		    : host	   ? arena_printf(g->d->arena,
					  strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s",
						  host, port ? port : "443")
				   : NULL;
	return g->server ? 0
			 : door_refuse(g->d, EXIT_USAGE,
				       "API server unknown: give --server, or run it in a pod");
}

static int node_answer(struct door *d, const struct kubernetes_ask *ask,
		       struct kubernetes_answer *out)
{
	struct agent g = { .d = d, .ask = ask, .out = out };
	int code = agent_prepare(&g);
	bool done = false;

	while (code == 0) {
		double wait_s;

		done = agent_round(&g);
		wait_s = done ? ask->interval_s
			      : g.back_off_s * (0.5 + (double)(order_seed() % 1000) / 2000);
		if (ask->once)
			break;
		code = door_wait(d, clock_mono_ms() + (long long)(1e3 * wait_s));
	}
	if (code < 0)
		return code;
	out->status = *g.status ? arena_strdup(d->arena, g.status) : "Unknown";
	out->message = arena_strdup(d->arena, g.message);
	return !done ? EXIT_BLIND : strcmp(out->status, "True") == 0 ? EXIT_FINDINGS : EXIT_CLEAN;
}

static struct doc *kubernetes_page(struct arena *a, const struct kubernetes_answer *k)
{
	struct doc *d = doc_new(a);

	doc_text(d, "node %s: %s=%s (%s); %zu checks, %zu writes, %zu failures", k->node, CONDITION,
		 k->status, k->message, k->looks, k->writes, k->failures);
	return d;
}

VERB_ANSWER(node_any, node_answer, kubernetes_ask, kubernetes_answer)
VERB_PAGE_OF(node_page, kubernetes_page, kubernetes_answer)

static const struct verb node_verb = {
	.name = "node",
	.summary = "update this node's condition, event and taint after health checks",
	.about = "Checks the node's health at each --interval. When the health has changed, writes "
		 "the node condition " CONDITION " and an event. --taint also taints an unhealthy "
		 "node. Requests go through curl; failed requests are retried with growing "
		 "delays.",
	.exits = "1: unhealthy; 5: no report to the API server",
	.examples = EXAMPLES({ "kubernetes node --taint NoSchedule", "in a pod, until SIGTERM" },
			     { "kubernetes node --once --only gpu", "check the GPUs once" }),
	.ask = ASK_OF(kubernetes_ask, NULL, kubernetes_ask_rows),
	.answer = node_any,
	.result = &kubernetes_result,
	.page = node_page,
	.own_process = true,
};

static const struct verb *const kubernetes_subs[] = { &node_verb, NULL };

const struct verb kubernetes_verb = {
	.name = "kubernetes",
	.group = VERB_MANY,
	.summary = "set a Kubernetes node's condition and taint after health checks",
	.about = "Reports health to Kubernetes. The DaemonSet of contrib/kubernetes runs it on "
		 "each node.",
	.words = "k8s daemonset condition taint nfd",
	.examples = EXAMPLES({ "kubernetes node --once", "check and report once" },
			     { "kubernetes node --taint NoSchedule", "run as an agent" }),
	.subs = kubernetes_subs,
};
