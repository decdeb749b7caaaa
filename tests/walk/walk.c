/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random walks over what people, crashes and boots do to a machine that gputune changes. After each
 * everything is taken back, and the machine has to be what its untouched twin is. A walk that fails
 * is made as short as it still fails, and printed as a line that tests/walk/regressions can keep.
 *
 *   walk [--walks N] [--seed N] [--machine FOLDER] [--keep N]
 *        [FILE...]
 *
 * FILE: walks of earlier faults, each played again. --keep: ends after so many faults.
 */
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "sim.h"

enum { BATCH = 50, LONGEST_WALK = 9 };

static const char *machine = MACHINES "/igx-orin";
static FILE *said; /* where we speak: the verbs write into nothing */
static unsigned long long played;

/* --- chance: splitmix64 ----------------------------------------------------------------------- */

static unsigned next_number(void *ctx)
{
	unsigned long long *state = ctx, z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (unsigned)((z ^ (z >> 31)) >> 33);
}

static void choose_walk(unsigned long long seed, struct walk *w)
{
	unsigned long long state = seed * 0x2545f4914f6cdd1dull + 1;

	w->n = 1 + next_number(&state) % LONGEST_WALK;
	for (size_t i = 0; i < w->n; i++)
		sim_choose(w->moves[i], next_number, &state);
	if (next_number(&state) % 2)
		strcpy(w->moves[w->n++], "end remove");
}

/* --- shortening ------------------------------------------------------------------------------- */

/* In a process of its own: what a killed run leaves in memory goes with it. */
static bool fails(const struct walk *w)
{
	char why[WHY_MAX];
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(!sim_walk(machine, w, why));
	return pid > 0 && waitpid(pid, &status, 0) == pid && status != 0;
}

/* Without move i, or without what happens in it. */
static bool try_without(struct walk *w, size_t i)
{
	struct walk less = *w;
	char *at;

	memmove(&less.moves[i], &less.moves[i + 1], (less.n - i - 1) * sizeof(less.moves[0]));
	less.n--;
	if (fails(&less)) {
		*w = less;
		return true;
	}
	less = *w;
	at = strstr(less.moves[i], " @");
	if (!at)
		return false;
	*at = '\0';
	if (!fails(&less))
		return false;
	*w = less;
	return true;
}

static void shorten(struct walk *w)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = w->n; i-- > 0;)
			again = try_without(w, i) || again;
	}
}

static void print_walk(const struct walk *w)
{
	for (size_t i = 0; i < w->n; i++)
		fprintf(said, "%s%s", i ? "; " : "", w->moves[i]);
	fprintf(said, "\n");
	fflush(said);
}

static void report(unsigned long long seed, struct walk *w)
{
	char why[WHY_MAX] = "";

	shorten(w);
	sim_walk(machine, w, why);
	fprintf(said, "seed %llu: %s\n", seed,
		*why ? why : "the program crashed, or it is not the same twice");
	print_walk(w);
}

/* --- many ------------------------------------------------------------------------------------- */

static void be_silent(void)
{
	int null = open("/dev/null", O_WRONLY), out = dup(STDOUT_FILENO);

	said = fdopen(out, "w");
	if (null < 0 || !said)
		exit(2);
	if (getenv("WALK_LOUD"))
		return;
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
}

/* A batch in a process of its own, which ends with the number of those that failed. */
static void begin_batch(unsigned long long from, unsigned long long to, int keep)
{
	int bad = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		exit(2);
	if (pid > 0)
		return;
	for (unsigned long long seed = from; seed < to && bad < keep; seed++) {
		char why[WHY_MAX];
		struct walk w;

		choose_walk(seed, &w);
		if (sim_walk(machine, &w, why))
			continue;
		bad++;
		report(seed, &w);
	}
	_exit(bad);
}

static int end_batch(void)
{
	int status;

	if (wait(&status) < 0)
		exit(2);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(said, "the program crashed: one of the walks, each by itself, tells which\n");
	return 1;
}

/* As many batches at once as there are processors. */
static int many(unsigned long long seed, unsigned long long walks, int keep)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), running = 0;
	int bad = 0;

	for (unsigned long long at = 0; at < walks && bad < keep; at += BATCH) {
		unsigned long long to = at + BATCH < walks ? at + BATCH : walks;

		begin_batch(seed + at, seed + to, keep - bad);
		if (++running < cpus)
			continue;
		bad += end_batch();
		running--;
	}
	for (; running > 0; running--)
		bad += end_batch();
	return bad;
}

/* --- earlier faults --------------------------------------------------------------------------- */

static void parse(char *line, struct walk *w)
{
	char *save = NULL;

	w->n = 0;
	for (char *m = strtok_r(line, ";\n", &save); m && w->n < MOVES_MAX;
	     m = strtok_r(NULL, ";\n", &save))
		snprintf(w->moves[w->n++], MOVE_MAX, "%s", m + strspn(m, " "));
}

static int replay(const char *path)
{
	char line[MOVES_MAX * MOVE_MAX], why[WHY_MAX];
	FILE *f = fopen(path, "r");
	struct walk w;
	int bad = 0;

	if (!f) {
		fprintf(said, "%s cannot be read\n", path);
		return 1;
	}
	while (fgets(line, sizeof(line), f)) {
		if (*line == '#' || *line == '\n')
			continue;
		parse(line, &w);
		played++;
		if (!fails(&w))
			continue;
		bad++;
		sim_walk(machine, &w, why);
		fprintf(said, "%s: %s\n", path, why);
		print_walk(&w);
	}
	fclose(f);
	return bad;
}

int main(int argc, char **argv)
{
	unsigned long long walks = 0, seed = 1;
	int bad = 0, keep = 10;

	/* Arenas come and go by the thousand: what the C library has it keeps. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	be_silent();
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--walks") == 0 && i + 1 < argc)
			walks = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--keep") == 0 && i + 1 < argc)
			keep = atoi(argv[++i]);
		else if (strcmp(argv[i], "--machine") == 0 && i + 1 < argc)
			machine = argv[++i];
		else
			bad += replay(argv[i]);
	}
	bad += many(seed, walks, keep);
	fprintf(said, "%llu passed, %d failed\n", walks + played - (unsigned)bad, bad);
	fclose(said);
	return bad != 0;
}
