/* SPDX-License-Identifier: Apache-2.0 */
/* gputune roofline: where kernels, copies and our own benches stand under this machine's roofs. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/bench.h"
#include "front/verbs/page.h"
#include "front/verbs/predict.h"
#include "front/verbs/roofline.h"
#include "models/inference/predict.h"
#include "models/inference/page_roofline.h"

/* The machine under whose roofs things stand; digest NULL: --on names it. */
static int find_machine(struct run *r, struct host *h, struct place *p, const char **digest)
{
	struct record rec = { 0 };
	struct err e = { 0 };
	struct machine *m;

	*digest = NULL;
	if (r->value[OPT_ON])
		return place_parse(&r->arena, r->value[OPT_ON], p, &e) < 0
			       ? complain(EXIT_USAGE, &e)
			       : 0;
	m = run_machine(r, h, false);
	if (!m)
		return EXIT_BLIND;
	if (place_of(&r->arena, m, p, &e) < 0)
		return complain(EXIT_BLIND, &e);
	record_fingerprint(&r->arena, h, m, &rec);
	*digest = rec.machine;
	return 0;
}

/* The first bytes tell an SQLite file and nsys's own format. */
static int kind_of(const char *path, bool *sqlite)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char head[16] = "";
	ssize_t n = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = read(fd, head, sizeof(head));
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return complain_text(EXIT_USAGE, "%s cannot be read: %s", path,
				     fd < 0 ? strerror(errno) : "it is no file, or empty");
	*sqlite = n == sizeof(head) && memcmp(head, "SQLite format 3", 16) == 0;
	return 0;
}

static int read_nsys(struct run *r, const char *path, struct roof_profile *p)
{
	struct err e = { 0 };
	bool sqlite = false;
	size_t len;
	char *text;
	int code = kind_of(path, &sqlite);

	if (code)
		return code;
	if (sqlite)
		return roof_read_sqlite(&r->arena, path, p, &e) < 0 ? complain(EXIT_USAGE, &e) : 0;
	text = predict_file(r, path, ROOF_BYTES_MAX, &len, NULL);
	if (!text)
		return EXIT_USAGE;
	if (memchr(text, '\0', len))
		return complain_text(
			EXIT_USAGE,
			"%s is neither text nor SQLite; of a .nsys-rep file \"nsys export "
			"--type sqlite\" makes what is read here",
			path);
	return roof_read_nsys(&r->arena, path, text, p, &e) < 0 ? complain(EXIT_USAGE, &e) : 0;
}

static int read_ncu(struct run *r, const char *path, struct roof_profile *p)
{
	struct err e = { 0 };
	size_t len;
	char *text = predict_file(r, path, ROOF_BYTES_MAX, &len, NULL);

	if (!text)
		return EXIT_USAGE;
	if (memchr(text, '\0', len))
		return complain_text(
			EXIT_USAGE,
			"%s is no text; of a .ncu-rep file \"ncu --import FILE --csv --page "
			"raw\" makes what is read here",
			path);
	return roof_read_ncu(&r->arena, path, text, p, &e) < 0 ? complain(EXIT_USAGE, &e) : 0;
}

static int read_points(struct run *r, const struct bench_facts *f, const struct place *place,
		       struct roof_profile *p, const char **source)
{
	const char *nsys = r->value[OPT_NSYS], *ncu = r->value[OPT_NCU];

	if ((nsys != NULL) + (ncu != NULL) + (r->value[OPT_FROM_BENCH] != NULL) > 1)
		return complain_text(EXIT_USAGE, "--nsys, --ncu and --from-bench go one at a time");
	*source = nsys ? nsys : ncu ? ncu : "kept results of gputune bench";
	if (nsys)
		return read_nsys(r, nsys, p);
	if (ncu)
		return read_ncu(r, ncu, p);
	roof_bench_points(r, f, p);
	if (p->n)
		return 0;
	return complain_text(
		EXIT_BLIND,
		"no kept result of %s speaks of a roofline; gputune bench gpu-memory gemm "
		"copy measures some, --nsys and --ncu read profiles",
		place->taken);
}

static int tell(struct run *r, const struct roofline_page *p)
{
	int failed;

	if (r->value[OPT_QUIET])
		return p->code;
	if (run_wants_json(r)) {
		run_print_json(r, roofline_json(p));
		return p->code;
	}
	failed = run_print_doc(r, page_roofline(&r->arena, p), "gputune roofline");
	return failed ? failed : p->code;
}

int verb_roofline(struct run *r)
{
	struct host *h = run_live(r);
	struct roof_profile profile = { 0 };
	struct bench_facts facts;
	struct roof roof;
	struct place place;
	struct roofline_page p = { .roof = &roof,
				   .profile = &profile,
				   .verbose = r->value[OPT_VERBOSE] != NULL,
				   .now = (long long)time(NULL) };
	const char *digest;
	int code = find_machine(r, h, &place, &digest);

	if (!code) {
		bench_facts_of(r, h, digest, place.gpu->name, &facts);
		code = read_points(r, &facts, &place, &profile, &p.source);
		/* What benches measured is no limit of itself. */
		if (profile.separate)
			facts.n = 0;
		roof_of(r, &facts, &place, &roof);
	}
	host_close(h);
	if (code)
		return code;
	roof_judge(&r->arena, &roof, &profile);
	return tell(r, &p);
}
