/* SPDX-License-Identifier: Apache-2.0 */
/* Reading knobs that are files, and the one that needs a vendor's program. */
#include "knob/io.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { VALUE_MAX = 4096 };

/* Blanks folded in place, the bracketed word alone if there is one. */
static void normalise(char *s)
{
	char *open = strchr(s, '['), *close = open ? strchr(open, ']') : NULL, *out = s;

	if (close) {
		memmove(s, open + 1, (size_t)(close - open - 1));
		s[close - open - 1] = '\0';
		return;
	}
	for (const char *c = s; *c; c++) {
		if (!isspace((unsigned char)*c))
			*out++ = *c;
		else if (out > s && out[-1] != ' ')
			*out++ = ' ';
	}
	while (out > s && out[-1] == ' ')
		out--;
	*out = '\0';
}

static struct fact_str unseen(int r, const char *from)
{
	return (struct fact_str){
		.f = { .seen = seen_from_errno(r), .err = abs(r), .leaf = from }
	};
}

/* The boost slider has no call in NVML; the vendor's program prints a table row "vboost  4  0". */
static struct fact_str read_vboost(struct host *h, struct arena *a)
{
	static const char command[] = "nvidia-smi boost-slider -l";
	struct answer out;
	const char *row;
	unsigned level, max;
	int r = host_ask(h, "exec", command, "stdout", &out);

	if (r)
		return unseen(r, command);
	if (out.kind != ANSWER_TEXT)
		return unseen(-EPROTO, command);
	row = strstr(out.text, "vboost");
	if (!row)
		return unseen(-EOPNOTSUPP, command);
	row += strcspn(row, "0123456789\n");
	if (sscanf(row, "%u%*[ |]%u", &max, &level) != 2)
		return unseen(-EPROTO, command);
	return (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = command },
				  .v = arena_printf(a, "%u", level) };
}

struct fact_str knob_read(struct host *h, struct arena *a, const struct knob *k)
{
	const char *path = knob_path(a, k);
	char buf[VALUE_MAX];
	int r;

	if (k->kind == KNOB_HELPER && strcmp(k->name, "vboost") == 0)
		return read_vboost(h, a);
	if (!path)
		return (struct fact_str){ 0 };
	r = host_read_line(h, path, buf, sizeof(buf));
	if (r)
		return unseen(r, path);
	normalise(buf);
	return (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = path },
				  .v = arena_strdup(a, buf) };
}
