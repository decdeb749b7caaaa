/* SPDX-License-Identifier: Apache-2.0 */
/* Any text, or any archive, as what somebody posted of a machine: what becomes of it has plain
 * paths, and answers that are answers. */
#include <stdint.h>
#include <sys/mman.h>

#include "machine/host/api_book.h"
#include "machine/host/posted.h"
#include "tar_seal.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void look(const struct host *record)
{
	const struct map *places = record_places(record), *pages = record_pages(record);
	struct err e = { 0 };

	for (size_t i = 0; i < places->cap; i++) {
		const char *path = places->slots[i].key;

		if (path && (*path != '/' || strstr(path, "/../") || strstr(path, "//")))
			abort();
	}
	for (size_t i = 0; i < pages->cap; i++)
		if (pages->slots[i].key && api_page_check(pages->slots[i].value, "page", &e))
			abort();
}

static void from_file(struct posted *p, const unsigned char *data, size_t size)
{
	unsigned char *copy = malloc(size);
	int fd = memfd_create("posted", 0);
	char name[32];
	struct err e = { 0 };

	if (!copy || fd < 0)
		abort();
	memcpy(copy, data, size);
	fuzz_seal_all(copy, size);
	if (write(fd, copy, size) != (ssize_t)size)
		abort();
	free(copy);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (posted_add(p, name, &e) && !e.text[0])
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct arena a = { 0 };
	struct posted *p = posted_open(&a);
	struct host *record = NULL;
	struct err e = { 0 };
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	posted_text(p, text, size, false);
	free(text);
	/* What is packed needs a program; a text was just read. */
	if (size > 512 && memcmp(data + 257, "ustar", 5) == 0)
		from_file(p, data, size);
	if (posted_finish(p, &record, &e) && !e.text[0])
		abort();
	if (record)
		look(record);
	posted_close(p);
	arena_free(&a);
	return 0;
}
