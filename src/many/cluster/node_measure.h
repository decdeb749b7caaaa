/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node does while the cluster is checked: echoes, servers for the network benches, being the
 * measuring side of one, and reading counters of errors. The group "measure" of ask.h; the requests
 * are described where they are answered.
 */
#ifndef CLUSTER_NODE_MEASURE_H
#define CLUSTER_NODE_MEASURE_H

#include "measure/bench/net/handshake.h"
#include "many/cluster/ask.h"

enum {
	MEASURE_PATHS_MAX = 8,
	MEASURE_WINDOWS_MAX = 50,
	MEASURE_SERVERS_MAX = 64,
	MEASURE_TARGETS_MAX = 256,
	MEASURE_OPERATIONS_MAX = 32,
	MEASURE_COUNTERS_MAX = 8192
};

/*
 * The secret of a request: "token", hexadecimal digits of TOKEN_MIN to TOKEN_MAX bytes. It came
 * over the program's standard input and goes into no file on a disk. -EINVAL and *e.
 */
int measure_token(const json_t *with, struct token *out, struct err *e);
/* The same as a file that exists in memory alone, for benches that take one; its name stands in
 * path. The descriptor is the caller's to close. -errno and *e. */
int measure_token_file(const struct token *t, char path[64], struct err *e);
/* Environment of a bench on this node. */
struct bench_env;
void measure_env(struct ask_node *n, struct bench_env *out);

/* --- answers, one file each --- */
int answer_ping(struct ask_node *n, void **state, const json_t *with, json_t **out, struct err *e);
int answer_measure(struct ask_node *n, void **state, const json_t *with, json_t **out,
		   struct err *e);
int answer_counters(struct ask_node *n, void **state, const json_t *with, json_t **out,
		    struct err *e);
int answer_collective(struct ask_node *n, void **state, const json_t *with, json_t **out,
		      struct err *e);

extern const struct ask_group ask_measure;

#endif
