/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a script, an nccl.conf, a hostfile: looked through to its end, with findings on lines
 * that it has; and each word of it, quoted as scripts are written, is read as that word again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/generate/lint.h"
#include "machine/knob/knob.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void same_again(struct arena *a, const struct lint_on *on, const struct lint_word *w)
{
	struct lint l = { .a = a, .on = on };
	const char *quoted = shell_quote(a, w->text);
	struct lint_word *back;
	size_t n;

	back = lint_split(&l, quoted, strlen(quoted), &n);
	if (n != 1 || strcmp(back[0].text, w->text) != 0 || back[0].open)
		abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const char *const names[] = { "job.sh", "nccl.conf", "hostfile" };
	struct gen_port port = { .device = "mlx5_1",
				 .number = 1,
				 .netdev = "ib0",
				 .pci = "",
				 .cage = "p0",
				 .up = true,
				 .address = "" };
	struct gen_node node = { .name = "n",
				 .address = "",
				 .control = "",
				 .from = "f",
				 .platform = "dgx-spark",
				 .gpu = "NVIDIA GB10",
				 .gpus = 1,
				 .unified = true,
				 .total_bytes = 130LL << 30,
				 .ports = &port,
				 .n_ports = 1 };
	struct lint_on on = { .node = &node, .nccl = "2.28.9", .nccl_from = "x" };
	struct arena a = { 0 };
	struct lint l = { .a = &a, .on = &on };
	struct lint_word *w;
	size_t n, lines = 1;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		lint_text(&l, names[i], (const char *)data, size);
	lint_sort(&l);
	for (size_t i = 0; i < l.n; i++)
		if (l.findings[i].line > lines || !l.findings[i].says[0])
			abort();
	w = lint_split(&l, (const char *)data, size, &n);
	for (size_t i = 0; i < n && i < 200; i++)
		same_again(&a, &on, &w[i]);
	arena_free(&a);
	return 0;
}
