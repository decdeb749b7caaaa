/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target where there is no libFuzzer. A file that is named is run as it is and with
 * changes, always the same; with -d every file of a tar as it is; with -r
 * PREFIX every file whose path begins so, as it is: what once went wrong. -c N: so many changes of
 * a file; -b N: so many inputs without a beginning; -e N: of each tar every Nth file only.
 */
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 22, CHANGED = 4000, BLIND = 2000, PATH = 4096 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct driver {
	unsigned char *seed, *b;
	size_t runs, changed, blind, every;
	uint64_t s;
};

/* xorshift64 */
static uint64_t next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static size_t load(const char *path, unsigned char *out)
{
	FILE *f = fopen(path, "rb");
	size_t n = 0;

	if (!f) {
		perror(path);
		exit(1);
	}
	n = fread(out, 1, LONGEST, f);
	fclose(f);
	return n;
}

/* Some bytes other, some all ones, and now and then cut short. */
static size_t change(unsigned char *b, size_t n, uint64_t *s)
{
	for (uint64_t k = 1 + next(s) % 8; n && k; k--) {
		size_t at = next(s) % n;

		b[at] = next(s) % 4 ? (unsigned char)next(s) : 0xff;
	}
	return n && next(s) % 8 == 0 ? next(s) % n : n;
}

/* In memory of its own size: a byte too far is seen. */
static void run(struct driver *d, const unsigned char *data, size_t n)
{
	unsigned char *copy = malloc(n ? n : 1);

	if (!copy)
		exit(1);
	memcpy(copy, data, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
	d->runs++;
}

static void run_file(struct driver *d, const char *path, size_t changed)
{
	size_t n = load(path, d->seed);

	/* When it ends here, the last line of standard error names the input. */
	fprintf(stderr, "%s\n", path);
	run(d, d->seed, n);
	for (size_t k = 0; k < changed; k++) {
		memcpy(d->b, d->seed, n);
		run(d, d->b, change(d->b, n, &d->s));
	}
}

enum { BLOCK = 512, SIZE_AT = 124, SIZE_DIGITS = 11, TYPE_AT = 156 };

/* As GNU tar writes names below 100 characters; of our own repository, so that it is trusted. */
static void run_archive(struct driver *d, const char *path)
{
	char head[BLOCK], digits[SIZE_DIGITS + 1] = "";
	FILE *f = fopen(path, "rb");
	size_t seen = 0;

	if (!f) {
		perror(path);
		exit(1);
	}
	while (fread(head, 1, BLOCK, f) == BLOCK && *head) {
		size_t n, whole;

		memcpy(digits, head + SIZE_AT, SIZE_DIGITS);
		n = strtoul(digits, NULL, 8);
		whole = (n + BLOCK - 1) / BLOCK * BLOCK;
		if (whole > LONGEST || fread(d->seed, 1, whole, f) != whole) {
			fprintf(stderr, "%s ends within %.100s\n", path, head);
			exit(1);
		}
		/* When it ends here, the last line of standard error names the input. */
		fprintf(stderr, "%s: %.100s\n", path, head);
		if (head[TYPE_AT] == '0' && seen++ % d->every == 0)
			run(d, d->seed, n);
	}
	fclose(f);
}

static void run_known(struct driver *d, const char *prefix)
{
	char pattern[PATH];
	glob_t found = { 0 };

	snprintf(pattern, sizeof(pattern), "%s*", prefix);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			run_file(d, found.gl_pathv[i], 0);
	globfree(&found);
}

int main(int argc, char **argv)
{
	struct driver d = { .seed = malloc(LONGEST),
			    .b = malloc(LONGEST),
			    .changed = CHANGED,
			    .blind = BLIND,
			    .every = 1,
			    .s = 0x9e3779b97f4a7c15u };

	if (!d.seed || !d.b)
		return 1;
	for (int i = 1; i < argc; i++)
		if (i + 1 < argc && strcmp(argv[i], "-c") == 0)
			d.changed = strtoul(argv[++i], NULL, 10);
		else if (i + 1 < argc && strcmp(argv[i], "-b") == 0)
			d.blind = strtoul(argv[++i], NULL, 10);
		else if (i + 1 < argc && strcmp(argv[i], "-e") == 0)
			d.every = strtoul(argv[++i], NULL, 10);
		else if (i + 1 < argc && strcmp(argv[i], "-r") == 0)
			run_known(&d, argv[++i]);
		else if (i + 1 < argc && strcmp(argv[i], "-d") == 0)
			run_archive(&d, argv[++i]);
		else
			run_file(&d, argv[i], d.changed);
	for (size_t k = 0; k < d.blind; k++) {
		size_t n = next(&d.s) % 4200;

		for (size_t i = 0; i < n; i++)
			d.b[i] = (unsigned char)next(&d.s);
		run(&d, d.b, n);
	}
	printf("%zu runs\n", d.runs);
	free(d.seed);
	free(d.b);
	return 0;
}
