/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, and what of it is judged by whom; keeping findings in order. */
#include <string.h>

#include "models/generate/lint.h"
#include "base/arena.h"
#include "base/text.h"
#include "knowledge/nccl_vars.h"

static bool name_char(char c, bool first)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

/* Length of a variable's name at the beginning of s; 0: none. */
static size_t name_length(const char *s)
{
	size_t n = 0;

	while (name_char(s[n], n == 0))
		n++;
	return n;
}

/* from: the word that the value stands in. */
static void set_var(struct lint *l, const char *name, size_t n, const char *value,
		    const struct lint_word *from, bool once)
{
	struct lint_var v = { arena_strndup(l->a, name, n), value, from->line, from->open, once };
	struct lint_word *set = ARENA_NEW(l->a, struct lint_word);

	*set = (struct lint_word){ .text = value, .line = from->line, .open = from->open };
	*map_at(l->a, &l->set, v.name) = set;

	l->variables++;
	lint_var(l, &v);
}

/* A program stands behind it on the same command line: "A=1 B=2 program", "env A=1 program". */
static bool before_program(const struct lint_word *w, size_t left)
{
	enum {
		FAR = 64
	}; /* words: nobody sets more, and a long line is not walked again and again */

	for (size_t i = 1; i < left && i < FAR && !w[i].end; i++) {
		size_t n = name_length(w[i].text);

		if (!n || w[i].text[n] != '=')
			return true;
	}
	return false;
}

/* "NAME=VALUE", or YAML's "NAME:" with the value in the next word of that line. */
static void judge_one(struct lint *l, const char *s, const struct lint_word *w, size_t left)
{
	const struct lint_word *next = left > 1 ? w + 1 : NULL;
	size_t n = name_length(s);

	if (!n)
		return;
	if (s[n] == '=')
		set_var(l, s, n, s + n + 1, w, s != w->text || before_program(w, left));
	else if (s[n] == ':' && !s[n + 1] && next && next->line == w->line && !next->end &&
		 (str_starts(s, "NCCL_") || known_var(arena_strndup(l->a, s, n))))
		set_var(l, s, n, next->text, next, false);
}

/* Names and values of manifests, "name: NCCL_DEBUG" and "value: INFO" on lines of their own, and of
 * Dockerfiles without "=": "ENV NCCL_DEBUG INFO". */
static void judge_apart(struct lint *l, const struct lint_word *w, size_t n)
{
	bool manifest = n > 3 && strcmp(w[0].text, "name:") == 0 && w[1].line == w[0].line &&
			strcmp(w[2].text, "value:") == 0 && w[3].line == w[2].line;
	bool docker = n > 2 && w[0].end && strcmp(w[0].text, "ENV") == 0 &&
		      w[2].line == w[0].line && !w[2].end && (n == 3 || w[3].end);
	size_t len = manifest || docker ? name_length(w[1].text) : 0;
	const struct lint_word *value = manifest ? &w[3] : &w[2];

	if (len && !w[1].text[len] && (str_starts(w[1].text, "NCCL_") || known_var(w[1].text)))
		set_var(l, w[1].text, len, value->text, value, false);
}

/* What docker, units and srun write in front of it; srun's are several with commas between. */
static void judge_word(struct lint *l, const struct lint_word *w, size_t left)
{
	static const char *const fronts[] = { "--env=", "-e=", "Environment=", "-x=" };
	char *list, *one;

	if (str_starts(w->text, "--export=")) {
		list = arena_strdup(l->a, w->text + strlen("--export="));
		while ((one = strsep(&list, ",")) != NULL)
			judge_one(l, one, w, 1);
		return;
	}
	for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++)
		if (str_starts(w->text, fronts[i])) {
			judge_one(l, w->text + strlen(fronts[i]), w, 1);
			return;
		}
	judge_one(l, w->text, w, left);
}

/* The same variable twice in one file, with another value. */
static void judge_twice(struct lint *l, const struct lint_word *w, size_t n)
{
	struct map seen = { 0 };

	for (size_t i = 0; i < n; i++) {
		size_t len = name_length(w[i].text);
		const struct lint_word *before;
		const char *name;
		void **place;

		if (!str_starts(w[i].text, "NCCL_") || w[i].text[len] != '=')
			continue;
		name = arena_strndup(l->a, w[i].text, len);
		place = map_at(l->a, &seen, name);
		before = *place;
		if (before && strcmp(before->text, w[i].text) != 0)
			lint_add(l, LINT_NOTE, "set-twice", w[i].line, name, NULL, NULL,
				 "line %u also sets %.80s: the later line wins, unless they belong "
				 "to different commands",
				 before->line, before->text);
		*place = (void *)(uintptr_t)&w[i];
	}
}

/* "vllm serve x", without the variables before it. */
static void command_take(struct lint *l, const struct lint_word *w, size_t n)
{
	TEXT_AUTO t = { 0 };
	size_t i = 0;

	while (i < n && strchr(w[i].text, '='))
		i++;
	for (size_t k = i; k < n; k++)
		text_printf(&t, "%s%s", k > i ? " " : "", w[k].text);
	if (l->started && i < n && json_array_size(l->started) < LINT_FINDINGS_MAX)
		json_array_append_new(l->started, json_string(t.s));
}

static void judge_words(struct lint *l, const struct lint_word *w, size_t n)
{
	l->fsdp = l->zero = l->megatron = l->slurm = false;
	l->set = (struct map){ 0 };
	for (size_t i = 0; i < n; i++) {
		l->fsdp = l->fsdp || strcasestr(w[i].text, "fsdp");
		l->zero = l->zero || strcasestr(w[i].text, "deepspeed");
		l->megatron = l->megatron || strstr(w[i].text, "tensor-model-parallel-size");
		l->slurm = l->slurm || strcmp(w[i].text, "#SBATCH") == 0;
	}
	for (size_t i = 0; i < n; i++) {
		judge_word(l, &w[i], n - i);
		judge_apart(l, &w[i], n - i);
	}
	judge_twice(l, w, n);
	lint_batch(l, w, n);
	lint_train_words(l, w, n);
	for (size_t i = 0; i < n;) {
		size_t k = i + 1;

		while (k < n && !w[k].end)
			k++;
		lint_engine(l, w + i, k - i);
		command_take(l, w + i, k - i);
		i = k;
	}
}

/* NAME=VALUE a line, the value up to its end; "#" begins a comment. */
static void judge_conf(struct lint *l, const char *text, size_t len)
{
	unsigned line = 1;

	for (size_t at = 0; at < len; line++) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - (text + at)) : len - at, trimmed;
		const char *s = str_trim(text + at, n, &trimmed);
		const char *own = arena_strndup(l->a, s, trimmed);
		size_t name = name_length(own);

		at += n + 1;
		if (!*own || *own == '#')
			continue;
		if (!name || own[name] != '=') {
			lint_add(l, LINT_ERROR, "no-assignment", line, own,
				 "use NAME=VALUE, without \"export\" and quotes", NULL,
				 "\"%.60s\" sets nothing: this file is not read by a shell; each "
				 "line must be NAME=VALUE",
				 own);
			continue;
		}
		if (own[name + 1] == '"' || own[name + 1] == '\'')
			lint_add(l, LINT_ERROR, "quotes-in-conf", line,
				 arena_strndup(l->a, own, name), "remove the quotes", NULL,
				 "quotes in this file are part of the value");
		set_var(l, own, name, own + name + 1, &(struct lint_word){ .line = line }, false);
	}
}

/* Every line is "HOST slots=N", with comments: it is a hostfile, whatever its name. */
static bool looks_like_hosts(const char *text, size_t len)
{
	bool any = false;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - (text + at)) : len - at, trimmed;
		const char *s = str_trim(text + at, n, &trimmed);

		at += n + 1;
		if (!trimmed || *s == '#')
			continue;
		if (!memmem(s, trimmed, "slots=", 6))
			return false;
		any = true;
	}
	return any;
}

/* Hostfiles of Open MPI and DeepSpeed: "HOST slots=N". */

static void judge_slots(struct lint *l, const char *host, const char *line_text, unsigned line)
{
	const char *slots = strstr(line_text, "slots=");
	unsigned long long n;
	const char *digits;

	if (!slots) {
		lint_add(l, LINT_WARNING, "hostfile-slots", line, host, "HOST slots=GPUS", NULL,
			 "without slots= Open MPI counts cores, and DeepSpeed refuses the line");
		return;
	}
	digits = arena_strndup(l->a, slots + 6, strcspn(slots + 6, " \t#"));
	if (parse_u64(digits, &n) || n == 0 || n > 1024)
		lint_add(l, LINT_ERROR, "hostfile-slots", line, host, "slots=GPUS", NULL,
			 "slots=%.20s: not a number of processes", digits);
	else if (l->on->node && l->on->node->gpus && n != l->on->node->gpus)
		lint_add(l, LINT_WARNING, "hostfile-slots", line, host, NULL, NULL,
			 "slots=%llu, but a machine like this one has %zu GPU%s", n,
			 l->on->node->gpus, PLURAL(l->on->node->gpus));
}

/* lint.c */
static void lint_hostfile(struct lint *l, const char *text, size_t len)
{
	struct map seen = { 0 };
	unsigned line = 1;

	for (size_t at = 0; at < len; line++) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - (text + at)) : len - at, trimmed;
		const char *s = str_trim(text + at, n, &trimmed), *own, *host;
		void **place;

		at += n + 1;
		own = arena_strndup(l->a, s, trimmed);
		if (!*own || *own == '#')
			continue;
		host = arena_strndup(l->a, own, strcspn(own, " \t#"));
		l->hosts++;
		if (!gen_name_valid(host))
			lint_add(l, LINT_ERROR, "hostfile-name", line, host, NULL, NULL,
				 "\"%.60s\": not a machine name", host);
		place = map_at(l->a, &seen, host);
		if (*place)
			lint_add(l, LINT_ERROR, "hostfile-twice", line, host,
				 "one line per machine", NULL,
				 "%.60s is listed twice: ranks would share GPUs", host);
		*place = l;
		judge_slots(l, host, own, line);
	}
}

void lint_text(struct lint *l, const char *name, const char *text, size_t len)
{
	const char *base = path_name(name);
	size_t n;

	l->file = name;
	l->conf = str_ends(base, "nccl.conf");
	if (len > LINT_TEXT_MAX) {
		lint_add(l, LINT_NOTE, "too-long", 0, name, NULL, NULL,
			 "only the first %d bytes were checked", LINT_TEXT_MAX);
		len = LINT_TEXT_MAX;
	}
	if (l->conf || strcmp(base, ".deepspeed_env") == 0) {
		judge_conf(l, text, len);
	} else if (strstr(base, "hostfile") || looks_like_hosts(text, len)) {
		lint_hostfile(l, text, len);
	} else if (!lint_train(l, name, text, len)) {
		struct lint_word *w = lint_split(l, text, len, &n);

		judge_words(l, w, n);
	}
	l->file = NULL;
	l->conf = false;
}

/*
 * By how it begins: a script may carry an archive behind it. Bytes beyond ASCII are text in some
 * encoding; a byte of zero is in none but UTF-16 and UTF-32, which no shell reads.
 */
static bool gen_lint_is_text(const char *s, size_t len)
{
	enum { LOOKED_AT = 8192, ODD_IN = 20 };
	size_t odd = 0, n = len < LOOKED_AT ? len : LOOKED_AT;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (!c)
			return false;
		odd += c < 0x20 && !strchr("\t\n\v\f\r\b\033", c);
	}
	return odd * ODD_IN <= n;
}

void lint_file(struct lint *l, const char *name, const char *text, size_t len)
{
	if (gen_lint_is_text(text, len)) {
		lint_text(l, name, text, len);
		return;
	}
	l->file = name;
	lint_add(l, LINT_WARNING, "no-text", 0, name, NULL, NULL, "not a text file: not checked");
	l->file = NULL;
}

void lint_words(struct lint *l, const char *const *words, size_t n)
{
	struct lint_word *w = arena_array(l->a, n ? n : 1, sizeof(*w));

	for (size_t i = 0; i < n; i++)
		w[i] = (struct lint_word){ .text = words[i], .quoted = true, .end = i == 0 };
	judge_words(l, w, n);
}

/*
 * From text to words by the rules of a POSIX shell: quotes, backslashes, comments, continued lines.
 * Expansions stay as they stand and mark their word. It accepts what is no shell at all (YAML,
 * INI): then words are what blanks separate.
 */

struct reader {
	struct lint *l;
	const char *s;
	size_t len, at;
	unsigned line;
	struct lint_word *words;
	size_t n;
	bool end; /* before the next word */
};

static char peek(const struct reader *r)
{
	return r->at < r->len ? r->s[r->at] : '\0';
}

static char take(struct reader *r)
{
	char c = r->s[r->at++];

	r->line += c == '\n';
	return c;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* What ends a command, or begins one inside: these stand between words. */
static bool separator(char c)
{
	return c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' || c == '<' ||
	       c == '>' || c == '\0';
}

/* Typographic marks that editors and web pages put in place of what a program reads. */
static const struct {
	const char *bytes, *means;
	bool anywhere; /* else only where a name or value begins */
} typographic[] = {
	{ "\xe2\x80\x93", "a typographic dash where a hyphen (-) is required", false },
	{ "\xe2\x80\x94", "a long dash where two hyphens (--) are required", false },
	{ "\xe2\x80\x9c", "a curly quote instead of \"", false },
	{ "\xe2\x80\x98", "a curly quote instead of '", false },
	{ "\xc2\xa0", "a non-breaking space instead of a space", true },
};

static void look_for_marks(struct reader *r, const char *word, unsigned line)
{
	const char *is = strchr(word, '=');

	for (size_t i = 0; i < sizeof(typographic) / sizeof(typographic[0]); i++) {
		const char *at = strstr(word, typographic[i].bytes);

		if (!at || !(typographic[i].anywhere || at == word || (is && at == is + 1)))
			continue;
		lint_add(r->l, LINT_ERROR, "typography", line, word, "retype it", NULL,
			 "\"%.60s\" has %s; it becomes part of the name or value", word,
			 typographic[i].means);
	}
}

/* Up to the closing quote; complains when there is none. */
static void gen_lint_quoted(struct reader *r, struct text *t, char quote, struct lint_word *w)
{
	unsigned line = r->line;

	w->quoted = true;
	while (r->at < r->len) {
		char c = take(r);

		if (c == quote)
			return;
		if (quote == '"' && c == '\\' && strchr("$`\"\\\n", peek(r)) && peek(r)) {
			c = take(r);
			if (c == '\n')
				continue;
		} else if (quote == '"' && (c == '$' || c == '`')) {
			w->open = true;
		}
		if (c)
			text_addc(t, c);
	}
	lint_add(r->l, LINT_ERROR, "quoting", line, "", "close it", NULL,
		 "unclosed %s quote: everything after it is one word",
		 quote == '"' ? "double" : "single");
}

static void gen_lint_add_word(struct reader *r)
{
	struct lint_word w = { .line = r->line, .end = r->end, .begin = r->at };
	TEXT_AUTO t = { 0 };

	while (r->at < r->len && !blank(peek(r)) && !separator(peek(r))) {
		char c = take(r);

		if (c == '\'' || c == '"') {
			w.quoted_first = w.quoted_first || !t.len;
			w.quoted_inside = w.quoted_inside || t.len;
			gen_lint_quoted(r, &t, c, &w);
		} else if (c == '\\' && r->at < r->len) {
			c = take(r);
			if (c != '\n' && c)
				text_addc(&t, c);
		} else {
			w.open = w.open || c == '$' || c == '`';
			if (c)
				text_addc(&t, c);
		}
	}
	if (!t.s && !w.quoted)
		return;
	w.text = arena_strdup(r->l->a, t.s ? t.s : "");
	w.end_at = r->at;
	look_for_marks(r, w.text, w.line);
	r->end = false;
	if (r->n >= LINT_WORDS_MAX)
		return;
	ARENA_ADD(r->l->a, r->words, r->n) = w;
}

/* A backslash with something invisible behind it does not continue the line. */
static void continuation(struct reader *r)
{
	size_t k = r->at + 1;

	while (k < r->len && blank(r->s[k]))
		k++;
	if (k > r->at + 1 && k < r->len && r->s[k] == '\n')
		lint_add(r->l, LINT_ERROR, "continuation", r->line, "\\",
			 "remove the spaces after the backslash", NULL,
			 "spaces after the backslash at the end of this line: the command ends "
			 "here, and the next line is a separate command");
}

struct lint_word *lint_split(struct lint *l, const char *text, size_t len, size_t *n)
{
	struct reader r = { .l = l, .s = text, .len = len, .line = 1, .end = true };

	while (r.at < r.len) {
		char c = peek(&r);

		if (c == '\\' && r.at + 1 < r.len && r.s[r.at + 1] == '\n') {
			take(&r);
			take(&r);
		} else if (blank(c)) {
			take(&r);
		} else if (separator(c)) {
			take(&r);
			r.end = true;
		} else if (c == '#') {
			static const char mark[] = "#SBATCH";
			size_t k = sizeof(mark) - 1;
			bool directive =
				len - r.at >= k && memcmp(r.s + r.at, mark, k) == 0 && r.end;

			while (r.at < r.len && peek(&r) != '\n' && !directive)
				take(&r);
			if (directive)
				gen_lint_add_word(&r);
		} else {
			if (c == '\\')
				continuation(&r);
			gen_lint_add_word(&r);
		}
	}
	*n = r.n;
	return r.words;
}
