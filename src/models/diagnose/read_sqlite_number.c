/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU a row of an export of nsys is of: each process counts from 0 those that it sees. */
#include "models/diagnose/read_sqlite.h"

static const struct numbering numberings[] = {
	{ "coalesce(d.gpuId, t.deviceId)",
	  "LEFT JOIN (SELECT cudaId, pid, min(gpuId) AS gpuId FROM TARGET_INFO_CUDA_DEVICE GROUP "
	  "BY 1, 2) d ON d.cudaId = t.deviceId AND d.pid = t.globalPid / 16777216 % 16777216",
	  "t.globalPid" },
	{ "t.deviceId", "", "t.globalPid" },
	{ "t.deviceId", "", "0" },
};

/* Exports without TARGET_INFO_CUDA_DEVICE do not say which GPU a process's first one is (2024.2 has
 * none). Where processes all count theirs alike and are no more than there are GPUs, each has its
 * own: numbered in the order of processes. NULL: it is not so. */
static const char *by_process(struct sql *q)
{
	struct sqlite3_stmt *s = sql_ask(
		q, "SELECT count(DISTINCT globalPid), count(DISTINCT deviceId), "
		   "(SELECT count(*) FROM TARGET_INFO_GPU) FROM CUPTI_ACTIVITY_KIND_KERNEL");
	const char *text = "CASE t.globalPid";
	int64_t processes = 0;
	bool own = false;

	if (s && sql_row(q, s)) {
		processes = sql_integer(q, s, 0);
		own = processes > 1 && processes <= SQLITE_GPUS_MAX && sql_integer(q, s, 1) == 1 &&
		      sql_integer(q, s, 2) >= processes;
	}
	sql_end(q, s);
	if (!own)
		return NULL;
	s = sql_ask(q, "SELECT DISTINCT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY 1");
	for (int64_t i = 0; s && i < processes && sql_row(q, s); i++)
		text = arena_printf(q->a, "%s WHEN %lld THEN %lld", text,
				    (long long)sql_integer(q, s, 0), (long long)i);
	sql_end(q, s);
	return arena_printf(q->a, "%s END", text);
}

size_t sqlite_numberings(struct sql *q, struct numbering *out)
{
	const char *own = sql_has(q, "TARGET_INFO_CUDA_DEVICE") ? NULL : by_process(q);
	size_t n = 0;

	if (own)
		out[n++] = (struct numbering){ own, "", "t.globalPid" };
	for (size_t i = 0; i < sizeof(numberings) / sizeof(numberings[0]); i++)
		out[n++] = numberings[i];
	return n;
}
