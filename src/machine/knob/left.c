/* SPDX-License-Identifier: Apache-2.0 */
/* What host_put leaves next to a knob's files when it is cut off. The names follow from the knob's;
 * no folder is searched. */
#include <string.h>

#include "machine/write/write.h"
#include "machine/knob/kinds.h"

enum { SAVED_MAX = 4 << 20 };

bool knob_left_is_ours(struct host *h, const char *path)
{
	struct host_stat st;

	return host_stat(h, path, &st) == 0 && st.kind == HOST_FILE && st.links == 1 &&
	       (st.uid == h->id.euid || st.uid == 0);
}

static bool is_same_text(struct host *h, struct arena *a, const char *x, const char *y)
{
	char *text[2];
	size_t n[2];

	return host_read(h, x, SAVED_MAX, a, &text[0], &n[0]) == 0 &&
	       host_read(h, y, SAVED_MAX, a, &text[1], &n[1]) == 0 && n[0] == n[1] &&
	       memcmp(text[0], text[1], n[0]) == 0;
}

struct knob_left *knob_left_over(struct host *h, struct arena *a, const struct knob *k, size_t *n)
{
	static const char *const endings[] = { HOST_NEW, HOST_OLD, HOST_OLD HOST_PART };
	const struct knob_ops *ops = knob_ops_of(k->kind);
	const char *files[KNOB_FILES_MAX];
	struct knob_left *out = NULL;
	size_t n_files = ops && ops->files && knob_sound(k, NULL, NULL) ? ops->files(k, files) : 0;

	*n = 0;
	for (size_t i = 0; i < n_files * 3; i++) {
		const char *of = files[i / 3], *path = arena_printf(a, "%s%s", of, endings[i % 3]);

		if (!host_exists(h, path))
			continue;
		out = arena_grow(a, out, *n, sizeof(*out));
		out[(*n)++] =
			(struct knob_left){ .path = path,
					    .of = of,
					    .saved = i % 3 == 1,
					    .spare = i % 3 != 1 || is_same_text(h, a, path, of),
					    .ours = knob_left_is_ours(h, path) };
	}
	return out;
}
