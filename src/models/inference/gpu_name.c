/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which card a name means. People write more than a table's key, "NVIDIA H200 141GB", and another
 * card's name is often a longer one, "RTX 4090 Laptop GPU": every word beside the key has to be one
 * that is understood.
 */
#include "models/inference/gpu_name.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Words that tell nothing that the key does not tell; a longer one before its own beginning. */
static const char *const plain_words[] = {
	"nvidia",   "tesla",   "geforce",   "generation", "tensorcore", "superchip", "workstation",
	"edition",  "founder", "blackwell", "hopper",	  "grace",	"ampere",    "gpus",
	"gpu",	    "cards",   "card",	    "sxm2",	  "sxm4",	"sxm5",	     "sxm6",
	"sxm",	    "hbm2e",   "hbm2",	    "hbm3e",	  "hbm3",	"gddr6",     "gddr7",
	"machines", "machine", "nodes",	    "node",	  "servers",	"dgx",	     "hgx",
	"ac",	    "s",       "developer", "kit",
};

void gpu_name_squeeze(char *to, size_t size, const char *s, size_t len)
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
static const struct gpu_kind *longest(const char *name, bool whatever)
{
	const struct gpu_kind *best = NULL;
	size_t most = whatever ? 2 : 1;

	for (size_t i = 0; i < gpu_kind_count; i++)
		for (const char *k = gpu_kinds[i].keys; *k;) {
			size_t len = strcspn(k, " ");

			for (const char *s = name; *s && len > most; s++)
				if (strncmp(s, k, len) == 0 &&
				    (whatever ||
				     (understood(&gpu_kinds[i], name, (size_t)(s - name)) &&
				      understood(&gpu_kinds[i], s + len, strlen(s + len)))))
					most = len, best = &gpu_kinds[i];
			k += len + (k[len] == ' ');
		}
	return best;
}

const struct gpu_kind *gpu_name_means(const char *text)
{
	char name[128];

	gpu_name_squeeze(name, sizeof(name), text, strlen(text));
	return strlen(text) < sizeof(name) ? longest(name, false) : NULL;
}

const struct gpu_kind *gpu_name_near(const char *text)
{
	char name[128];

	gpu_name_squeeze(name, sizeof(name), text, strlen(text));
	return longest(name, true);
}

const struct gpu_kind *gpu_kind_of(const char *nvml_name)
{
	for (size_t i = 0; i < gpu_kind_count; i++)
		if (strcmp(gpu_kinds[i].name, nvml_name) == 0)
			return &gpu_kinds[i];
	return gpu_name_means(nvml_name);
}
