/* SPDX-License-Identifier: Apache-2.0 */
/* Reading how people name a machine, and what follows from its data sheet. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/inference/gpu.h"

/* What every kernel shows at least of the 128 GB of a GB10: 119.63 GiB (a Lenovo), where others
 * show up to 121.7. What is predicted without a machine has to hold on any of them. */
#define UNIFIED_SHOWN 1.0035
#define MIB 1048576.0
#define GIB 1073741824.0
/* Of a card whose driver nobody has looked at: sheets count GiB, and a part of them is kept. */
#define SHOWN 0.99
/* GB/s one way of PCIe 5.0 with 16 lanes, between cards that no bridge joins. */
#define PCIE 55

static bool has_key(const char *keys, const char *word)
{
	size_t n = strlen(word);

	for (const char *k = keys; *k;) {
		size_t len = strcspn(k, " ");

		if (len == n && strncmp(k, word, n) == 0)
			return true;
		k += len + (k[len] == ' ');
	}
	return false;
}

static const struct gpu_kind *kind_named(const struct knowledge *known, const char *word)
{
	for (const struct gpu_kind *g = known->gpus; g->name; g++)
		if (has_key(g->keys, word))
			return g;
	return NULL;
}

/*
 * Which card a name means. People write more than a table's key, "NVIDIA H200 141GB", and another
 * card's name is often a longer one, "RTX 4090 Laptop GPU": every word beside the key has to be one
 * that is understood.
 */

/* Words that tell nothing that the key does not tell; a longer one before its own beginning. */
static const char *const plain_words[] = {
	"nvidia",   "tesla",   "geforce",   "generation", "tensorcore", "superchip", "workstation",
	"edition",  "founder", "blackwell", "hopper",	  "grace",	"ampere",    "gpus",
	"gpu",	    "cards",   "card",	    "sxm2",	  "sxm4",	"sxm5",	     "sxm6",
	"sxm",	    "hbm2e",   "hbm2",	    "hbm3e",	  "hbm3",	"gddr6",     "gddr7",
	"machines", "machine", "nodes",	    "node",	  "servers",	"dgx",	     "hgx",
	"ac",	    "s",       "developer", "kit",
};

/* Letters and digits alone, in small letters. */
static void gpu_name_squeeze(char *to, size_t size, const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < size; i++)
		if (isalnum((unsigned char)s[i]))
			to[n++] = (char)tolower((unsigned char)s[i]);
	to[n] = '\0';
}

/* "141gb", "96q", "1tb" of a computer's disk: how much of a name is its memory. */
static size_t size_word(const struct gpu_kind *k, const char *s, size_t len)
{
	size_t digits = strspn(s, "0123456789"), n;
	double v;

	if (!digits || digits > 4 || digits >= len)
		return 0;
	v = strtod(s, NULL);
	n = digits;
	if (s[n] == 't' && n + 1 < len && s[n + 1] == 'b' && k->unified)
		return n + 2;
	/* Sheets of one card say 180 and 192. */
	if ((s[n] != 'g' && s[n] != 'q') || fabs(v / k->memory - 1) > 0.1)
		return 0;
	n++;
	if (n < len && s[n - 1] == 'g' && s[n] == 'b')
		n++;
	return n;
}

/* Whether len letters are words that say nothing more of a card of this kind. */
static bool understood(const struct gpu_kind *k, const char *s, size_t len)
{
	while (len) {
		size_t n = size_word(k, s, len);

		for (size_t i = 0; !n && i < sizeof(plain_words) / sizeof(plain_words[0]); i++)
			if (strlen(plain_words[i]) <= len &&
			    strncmp(s, plain_words[i], strlen(plain_words[i])) == 0)
				n = strlen(plain_words[i]);
		if (!n)
			return false;
		s += n;
		len -= n;
	}
	return true;
}

/* The longest key in a squeezed name; with all that stands beside it understood, or whatever. */
static const struct gpu_kind *infer_gpu_longest(const struct knowledge *known, const char *name,
						bool whatever)
{
	const struct gpu_kind *best = NULL;
	size_t most = whatever ? 2 : 1;

	for (const struct gpu_kind *g = known->gpus; g->name; g++)
		for (const char *k = g->keys; *k;) {
			size_t len = strcspn(k, " ");

			for (const char *s = name; *s && len > most; s++)
				if (strncmp(s, k, len) == 0 &&
				    (whatever || (understood(g, name, (size_t)(s - name)) &&
						  understood(g, s + len, strlen(s + len)))))
					most = len, best = g;
			k += len + (k[len] == ' ');
		}
	return best;
}

/* NULL: none, or a name that says more than is understood. */
static const struct gpu_kind *gpu_name_means(const struct knowledge *known, const char *text)
{
	char name[128];

	gpu_name_squeeze(name, sizeof(name), text, strlen(text));
	return strlen(text) < sizeof(name) ? infer_gpu_longest(known, name, false) : NULL;
}

/* The card whose name is a part of this one: not it, but the nearest. NULL: none. */
static const struct gpu_kind *gpu_name_near(const struct knowledge *known, const char *text)
{
	char name[128];

	gpu_name_squeeze(name, sizeof(name), text, strlen(text));
	return infer_gpu_longest(known, name, true);
}

/* A count in one word: "2x", "x2", "2", "8xh200", "h200x8". *from, *to: what remains. 0: none. */
static long count_in(const struct knowledge *known, const char **from, const char **to, bool first)
{
	const char *s = *from, *last = *to, *digits = last;
	char key[64], *end;
	long v;

	gpu_name_squeeze(key, sizeof(key), s, (size_t)(last - s));
	if (kind_named(known, key)) /* "gx10" */
		return 0;
	if (isdigit((unsigned char)*s)) {
		v = strtol(s, &end, 10);
		/* "2" at the beginning; in the middle it is a model's number. */
		if ((end == last && first && v <= 4096) || (end < last && (*end | 32) == 'x')) {
			*from = end == last ? last : end + 1;
			return v;
		}
		return 0;
	}
	while (digits > s && isdigit((unsigned char)digits[-1]))
		digits--;
	if (digits == last || digits == s || (digits[-1] | 32) != 'x')
		return 0;
	*to = digits - 1;
	return strtol(digits, NULL, 10);
}

/* Takes the count out of the words; 0: there is none. */
static long take_count(const struct knowledge *known, const char *text, char *rest, size_t size)
{
	long count = 0;
	size_t n = 0;
	bool times = false;

	for (const char *s = text; *s;) {
		size_t len = strcspn(s, " ,\t");
		const char *from = s, *to = s + len;

		/* "h100 x 8": what stands behind a lonely x counts as well. */
		if (!count && len)
			count = count_in(known, &from, &to, s == text || times);
		times = len == 1 && (*s | 32) == 'x';
		if (times)
			from = to;
		for (; from < to && n + 1 < size; from++)
			rest[n++] = *from;
		if (n + 1 < size)
			rest[n++] = ' ';
		s += len;
		s += strspn(s, " ,\t");
	}
	rest[n] = '\0';
	return count;
}

/* Whether digits belong to a card's name: without them it is another one, or none. */
static bool names_card(const struct knowledge *known, const char *text, const char *token, size_t n)
{
	char whole[128], without[128];

	gpu_name_squeeze(whole, sizeof(whole), token, n);
	if (kind_named(known, whole))
		return true;
	gpu_name_squeeze(whole, sizeof(whole), text, strlen(text));
	snprintf(without, sizeof(without), "%.*s%s", (int)(token - text), text, token + n);
	return kind_named(known, whole) ||
	       gpu_name_near(known, text) != gpu_name_near(known, without);
}

static bool blank_or_end(char c)
{
	return !c || strchr(" ,\t", c);
}

/* "8", "8x", "x8", as a word of its own or at the edge of one where count_in takes it. */
static bool is_count(const char *text, const char *token, size_t n, bool times)
{
	size_t behind = (*token | 32) == 'x', digits = strspn(token + behind, "0123456789");
	bool begins = token == text || blank_or_end(token[-1]), ends = blank_or_end(token[n]);
	long v = digits && digits < 6 ? strtol(token + behind, NULL, 10) : 0;

	if (v < 1 || v > 4096)
		return false;
	if (behind)
		return digits + 1 == n && ends;
	if (digits + 1 == n)
		return begins;
	return digits == n && begins && ends && (token == text || times);
}

/*
 * "0x h200", "-1x h200", "5000 x h200", "2x h200 x8", "h100 x-3", "h100 8.5", "h100 xx8": digits
 * that neither say how many nor belong to a card's name.
 */
static bool count_is_odd(const struct knowledge *known, const char *text)
{
	bool times = false;
	int counts = 0;

	for (const char *s = text; *s;) {
		size_t n = 0;

		while (isalnum((unsigned char)s[n]))
			n++;
		if (!n) {
			/* "8.5", "+8", "/8"; "1g.10gb" is a slice of MIG. */
			if (strchr(".+*/", *s) && isdigit((unsigned char)s[1]) &&
			    !(*s == '.' && s > text && s[-1] == 'g'))
				return true;
			s++;
			continue;
		}
		for (size_t i = 1; i + 1 < n; i++)
			if ((s[i - 1] | 32) == 'x' && (s[i] | 32) == 'x')
				return true;
		if (strspn(s, "0123456789xX") >= n && strcspn(s, "0123456789") < n &&
		    !names_card(known, text, s, n) &&
		    (!is_count(text, s, n, times) || ++counts > 1))
			return true;
		times = n == 1 && (*s | 32) == 'x';
		s += n;
	}
	return false;
}

double place_memory_bytes(const struct target_hw *p)
{
	const struct gpu_kind *g = p->gpu;

	if (p->memory > 0)
		return p->memory;
	if (g->unified) /* what the kernel shows, the system's share included */
		return g->memory * 1e9 * UNIFIED_SHOWN;
	return g->shown > 0 ? g->shown * MIB : g->memory * GIB * SHOWN;
}

double gpu_link_gbs(const struct gpu_kind *g, int gpus)
{
	return g->joined && gpus > g->joined ? PCIE : g->link;
}

/* "hgx", "dgx", "nvl72": whole machines are meant, or racks. */
static bool names_machine(const char *word, const struct gpu_kind *k)
{
	return k->per_node > 1 &&
	       (strstr(word, "hgx") || strstr(word, "dgx") || strstr(word, "nvl72") ||
		strstr(word, "node") || strstr(word, "machine") || strstr(word, "servers"));
}

static int no_such(const char *text, const struct gpu_kind *near, struct err *e)
{
	if (strncmp(text, "demo:", 5) == 0)
		return err_set(e, -ENOENT, "%.80s is a captured machine: give it as --host", text);
	if (near) {
		err_set(e, -ENOENT, "unknown machine \"%.80s\": only %s was recognized", text,
			near->name);
		err_hint(e, "nearest match: %s", near->name);
		return -ENOENT;
	}
	err_set(e, -ENOENT, "unknown machine \"%.80s\"", text);
	err_hint(e, "for example: dgx-spark, \"2x dgx-spark\", \"h100-sxm x8\", h200, b200, "
		    "a100, l40s, \"rtx pro 6000\"");
	return -ENOENT;
}

int place_parse(struct arena *a, const struct knowledge *known, const char *text,
		struct target_hw *out, struct err *e)
{
	char rest[128], word[128];
	const struct gpu_kind *k = NULL;
	bool longer = strlen(text) >= sizeof(rest), machines;
	long count;

	known = knowledge_or_built_in(known);
	count = take_count(known, text, rest, sizeof(rest));
	gpu_name_squeeze(word, sizeof(word), rest, strlen(rest));
	if (!longer && !(k = kind_named(known, word)))
		k = gpu_name_means(known, rest);
	/* Digits of a card that is not known are no count. */
	if (!longer && (k || gpu_name_near(known, text)) && count_is_odd(known, text))
		return err_set(
			e, -EINVAL,
			"\"%.80s\": give one count from 1 to 4096: \"2x dgx-spark\", \"h100 x8\"",
			text);
	if (!k || count < 0 || count > 4096)
		return no_such(text, longer ? NULL : gpu_name_near(known, rest), e);
	machines = names_machine(word, k);
	*out = (struct target_hw){ .gpu = k, .gpus = count ? (int)count : 1 };
	if (machines) {
		out->nodes = out->gpus;
		out->gpus *= k->per_node;
	} else {
		out->nodes = (out->gpus + k->per_node - 1) / k->per_node;
	}
	if (k->per_node == 1 &&
	    k->link > 0) /* cards in one machine, unless it is a computer by itself */
		out->nodes = 1;
	out->taken = machines && out->nodes > 1 ? arena_printf(a, "%d machines of %d x %s",
							       out->nodes, k->per_node, k->name)
						: arena_printf(a, "%d x %s", out->gpus, k->name);
	return 0;
}

const struct gpu_kind *gpu_kind_of(const struct knowledge *known, const char *nvml_name)
{
	known = knowledge_or_built_in(known);
	for (const struct gpu_kind *g = known->gpus; g->name; g++)
		if (strcmp(g->name, nvml_name) == 0)
			return g;
	return gpu_name_means(known, nvml_name);
}
