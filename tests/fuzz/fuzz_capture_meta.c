/* SPDX-License-Identifier: Apache-2.0 */
/* Any texts as meta.json, answers.tsv and a page of api, one behind the other with a line "----"
 * between. */
#include <stdint.h>

#include "tar_seal.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct archive {
	unsigned char *s;
	size_t n;
};

static void member(struct archive *a, const char *name, char type, const void *data, size_t len)
{
	size_t padded = (len + FUZZ_RECORD - 1) / FUZZ_RECORD * FUZZ_RECORD;
	unsigned char *h;

	a->s = realloc(a->s, a->n + FUZZ_RECORD + padded);
	if (!a->s)
		abort();
	h = a->s + a->n;
	memset(h, 0, FUZZ_RECORD + padded);
	snprintf((char *)h, 100, "%s", name);
	snprintf((char *)h + 124, 12, "%011zo", len);
	h[156] = (unsigned char)type;
	if (type == '2')
		memcpy(h + 157, data, len);
	else if (len)
		memcpy(h + FUZZ_RECORD, data, len);
	if (type == '2')
		snprintf((char *)h + 124, 12, "%011o", 0);
	fuzz_seal(h);
	a->n += FUZZ_RECORD + (type == '2' ? 0 : padded);
}

/* Cuts the next part off; the last one takes what is left. */
static size_t part(const unsigned char **data, size_t *size, const unsigned char **out)
{
	static const char mark[] = "----\n";
	const unsigned char *at = memmem(*data, *size, mark, sizeof(mark) - 1);
	size_t n = at ? (size_t)(at - *data) : *size, skip = at ? n + sizeof(mark) - 1 : n;

	*out = *data;
	*data += skip;
	*size -= skip;
	return n;
}

static void ask(struct host *h)
{
	static const char *const questions[][2] = {
		{ "", "n" }, { "0", "text" }, { "1", "x" }, { "\xe9", "\xff" }
	};
	struct answer said;

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		if (host_ask(h, "nvml", questions[i][0], questions[i][1], &said) == 0 &&
		    said.kind == ANSWER_TEXT && !said.text)
			abort();
	fuzz_visit(h, "/", 3);
	fuzz_visit(h, "/a/never/x", 1);
	fuzz_visit(h, "/gone/x", 1);
	if (!h->id.nodename || !h->id.release || !h->id.version || !h->id.machine ||
	    !h->id.captured)
		abort();
	host_close(h);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const char *const names[] = { "meta.json", "answers.tsv", "api/nvml.json" };
	struct archive a = { 0 };
	const unsigned char *piece;
	struct host *h;

	for (size_t i = 0; i < 3; i++) {
		size_t n = part(&data, &size, &piece);

		member(&a, names[i], '0', piece, n);
	}
	member(&a, "root/a/file", '0', "x", 1);
	member(&a, "root/a/never", '0', "", 0);
	member(&a, "root/a/l", '2', "../a", 4);
	a.s = realloc(a.s, a.n + 2 * FUZZ_RECORD);
	if (!a.s)
		abort();
	memset(a.s + a.n, 0, 2 * FUZZ_RECORD);
	h = fuzz_open(a.s, a.n + 2 * FUZZ_RECORD);
	free(a.s);
	if (h)
		ask(h);
	return 0;
}
