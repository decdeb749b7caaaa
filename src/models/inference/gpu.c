/* SPDX-License-Identifier: Apache-2.0 */
/* Reading how people name a machine, and what follows from its data sheet. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/inference/gpu.h"

/* What the kernel shows of unified memory: 121.7 GiB of the 128 GB of a GB10. */
#define UNIFIED_SHOWN 1.0205
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

static const struct gpu_kind *kind_named(const char *word)
{
	for (size_t i = 0; i < gpu_kind_count; i++)
		if (has_key(gpu_kinds[i].keys, word))
			return &gpu_kinds[i];
	return NULL;
}

/*
 * A count in one word: "2x", "x2", "2", "8xh200", "h200x8". *from and *to become what remains of
 * the word. 0: there is none.
 */
static long count_in(const char **from, const char **to, bool first)
{
	const char *s = *from, *last = *to, *digits = last;
	char key[64], *end;
	long v;

	gpu_name_squeeze(key, sizeof(key), s, (size_t)(last - s));
	if (kind_named(key)) /* "gx10" */
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
static long take_count(const char *text, char *rest, size_t size)
{
	long count = 0;
	size_t n = 0;
	bool times = false;

	for (const char *s = text; *s;) {
		size_t len = strcspn(s, " ,\t");
		const char *from = s, *to = s + len;

		/* "h100 x 8": what stands behind a lonely x counts as well. */
		if (!count && len)
			count = count_in(&from, &to, s == text || times);
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
static bool names_card(const char *text, const char *token, size_t n)
{
	char whole[128], without[128];

	gpu_name_squeeze(whole, sizeof(whole), token, n);
	if (kind_named(whole))
		return true;
	gpu_name_squeeze(whole, sizeof(whole), text, strlen(text));
	snprintf(without, sizeof(without), "%.*s%s", (int)(token - text), text, token + n);
	return kind_named(whole) || gpu_name_near(text) != gpu_name_near(without);
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
static bool count_is_odd(const char *text)
{
	bool times = false;
	int counts = 0;

	for (const char *s = text; *s;) {
		size_t n = 0;

		while (isalnum((unsigned char)s[n]))
			n++;
		if (!n) {
			/* "8.5", "+8", "/8" */
			if (strchr(".+*/", *s) && isdigit((unsigned char)s[1]))
				return true;
			s++;
			continue;
		}
		for (size_t i = 1; i + 1 < n; i++)
			if ((s[i - 1] | 32) == 'x' && (s[i] | 32) == 'x')
				return true;
		if (strspn(s, "0123456789xX") >= n && strcspn(s, "0123456789") < n &&
		    !names_card(text, s, n) && (!is_count(text, s, n, times) || ++counts > 1))
			return true;
		times = n == 1 && (*s | 32) == 'x';
		s += n;
	}
	return false;
}

double place_unified_bytes(const struct place *p)
{
	return p->memory > 0 ? p->memory : p->gpu->memory * 1e9 * UNIFIED_SHOWN;
}

double place_memory_bytes(const struct place *p)
{
	const struct gpu_kind *g = p->gpu;

	if (g->unified)
		return place_unified_bytes(p);
	if (p->memory > 0)
		return p->memory;
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
	if (near) {
		err_set(e, -ENOENT, "\"%.80s\" names no machine of the list: it says more than %s",
			text, near->name);
		err_hint(e, "the nearest one there is: %s", near->name);
		return -ENOENT;
	}
	err_set(e, -ENOENT, "\"%.80s\" names no machine of the list", text);
	err_hint(e, "for example: dgx-spark, \"2x dgx-spark\", \"h100-sxm x8\", h200, b200, "
		    "a100, l40s, \"rtx pro 6000\"");
	return -ENOENT;
}

int place_parse(struct arena *a, const char *text, struct place *out, struct err *e)
{
	char rest[128], word[128];
	long count = take_count(text, rest, sizeof(rest));
	const struct gpu_kind *k = NULL;
	bool longer = strlen(text) >= sizeof(rest), machines;

	gpu_name_squeeze(word, sizeof(word), rest, strlen(rest));
	if (!longer && !(k = kind_named(word)))
		k = gpu_name_means(rest);
	/* Digits of a card that is not known are no count. */
	if (!longer && (k || gpu_name_near(text)) && count_is_odd(text))
		return err_set(
			e, -EINVAL,
			"\"%.80s\": how many is told once, from 1 to 4096: \"2x dgx-spark\", "
			"\"h100 x8\"",
			text);
	if (!k || count < 0 || count > 4096)
		return no_such(text, longer ? NULL : gpu_name_near(rest), e);
	machines = names_machine(word, k);
	*out = (struct place){ .gpu = k, .gpus = count ? (int)count : 1 };
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

/* Data sheets of GPUs as machines for inference. GeForce cards: multiplications that add in FP32.
 */

const struct gpu_kind gpu_kinds[] = {
	{ "gb10 dgxspark spark gx10 ascentgx10 asusascentgx10 dellpromaxgb10 zgxnano hpzgxnano",
	  "NVIDIA GB10", 128, 273, 125, 250, 500, 250, 0, 1, true, false, true, 0, 0,
	  "NVIDIA, DGX Spark: one petaflop of sparse FP4, 256 bits of LPDDR5X-8533", "2025" },
	{ "h200nvl", "NVIDIA H200 NVL", 141, 4800, 835, 1671, 0, 1671, 450, 8, false, true, false,
	  143771, 4, "NVIDIA, H200 NVL data sheet", "2024" },
	{ "h200 h200sxm hgxh200 dgxh200", "NVIDIA H200", 141, 4800, 989, 1979, 0, 1979, 450, 8,
	  false, true, true, 143771, 0, "NVIDIA, H200 data sheet", "2024" },
	{ "h100nvl", "NVIDIA H100 NVL", 94, 3900, 835, 1671, 0, 1671, 300, 8, false, true, false,
	  95830, 2, "NVIDIA, H100 NVL data sheet", "2024" },
	{ "h100pcie", "NVIDIA H100 PCIe", 80, 2000, 756, 1513, 0, 1513, 55, 8, false, true, false,
	  81559, 0, "NVIDIA, H100 data sheet", "2023" },
	{ "h100 h100sxm hgxh100 dgxh100", "NVIDIA H100 80GB HBM3", 80, 3350, 989, 1979, 0, 1979,
	  450, 8, false, true, true, 81559, 0, "NVIDIA, H100 data sheet", "2023" },
	{ "h800 h800sxm hgxh800", "NVIDIA H800", 80, 3350, 989, 1979, 0, 1979, 200, 8, false, true,
	  false, 0, 0, "NVIDIA, H100 data sheet, with NVLink of 400 GB/s both ways", "2023" },
	{ "h20 h20sxm hgxh20", "NVIDIA H20", 96, 4000, 148, 296, 0, 296, 450, 8, false, true, false,
	  0, 0, "as sellers list it: no data sheet of NVIDIA's is public", "2024" },
	{ "gh200144gb gh200144g gh200nvl2", "NVIDIA GH200 144G HBM3e", 144, 4900, 989, 1979, 0,
	  1979, 450, 1, false, true, false, 145920, 0, "NVIDIA, GH200 data sheet, with HBM3e",
	  "2024" },
	{ "gh200 gh200480gb gh200120gb gh20096gb", "NVIDIA GH200 480GB", 96, 4000, 989, 1979, 0,
	  1979, 450, 1, false, true, false, 97871, 0, "NVIDIA, GH200 data sheet", "2024" },
	{ "b300 hgxb300 dgxb300", "NVIDIA B300", 270, 8000, 2250, 4500, 13500, 150, 900, 8, false,
	  true, false, 275040, 0, "NVIDIA, HGX B300 data sheet", "2025" },
	/* A rack is one NVLink domain of 18 trays: what joins them is no network. */
	{ "gb300 gb300nvl72", "NVIDIA GB300", 279, 8000, 2500, 5000, 15000, 167, 900, 72, false,
	  true, false, 284208, 0,
	  "NVIDIA, GB300 NVL72 data sheet: 72 GPUs, half where it counts sparsity", "2025" },
	{ "gb200 gb200nvl72", "NVIDIA GB200", 186, 8000, 2500, 5000, 10000, 5000, 900, 72, false,
	  true, false, 189471, 0,
	  "NVIDIA, GB200 NVL72 data sheet: 72 GPUs, half where it counts sparsity", "2025" },
	{ "b200 hgxb200 dgxb200", "NVIDIA B200", 180, 7700, 2250, 4500, 9000, 4500, 900, 8, false,
	  true, false, 183359, 0, "NVIDIA, HGX B200 data sheet", "2025" },
	{ "a10040gb a10040 a100sxm40gb a100sxm440gb", "NVIDIA A100-SXM4-40GB", 40, 1555, 312, 0, 0,
	  624, 300, 8, false, true, false, 40960, 0, "NVIDIA, A100 data sheet", "2021" },
	{ "a100pcie40gb a100pcie40 a10040gbpcie", "NVIDIA A100-PCIE-40GB", 40, 1555, 312, 0, 0, 624,
	  25, 8, false, true, false, 40960, 0, "NVIDIA, A100 data sheet", "2021" },
	{ "a100pcie a100pcie80gb a10080gbpcie", "NVIDIA A100 80GB PCIe", 80, 1935, 312, 0, 0, 624,
	  25, 8, false, true, false, 81920, 0, "NVIDIA, A100 data sheet", "2021" },
	{ "a100 a10080gb a100sxm hgxa100 dgxa100 a100sxm80gb", "NVIDIA A100-SXM4-80GB", 80, 2039,
	  312, 0, 0, 624, 300, 8, false, true, false, 81920, 0, "NVIDIA, A100 data sheet", "2021" },
	{ "l40s", "NVIDIA L40S", 48, 864, 362, 733, 0, 733, 25, 8, false, false, false, 46068, 0,
	  "NVIDIA, L40S data sheet", "2023" },
	{ "l40", "NVIDIA L40", 48, 864, 181, 362, 0, 362, 25, 8, false, false, false, 46068, 0,
	  "NVIDIA, L40 data sheet", "2022" },
	{ "l4", "NVIDIA L4", 24, 300, 121, 242, 0, 242, 25, 8, false, false, false, 23034, 0,
	  "NVIDIA, L4 data sheet, without sparsity", "2023" },
	{ "a10g", "NVIDIA A10G", 24, 600, 70, 0, 0, 140, 25, 8, false, false, false, 23028, 0,
	  "NVIDIA, A10G data sheet, without sparsity", "2021" },
	{ "a10", "NVIDIA A10", 24, 600, 125, 0, 0, 250, 25, 4, false, false, false, 23028, 0,
	  "NVIDIA, A10 data sheet", "2021" },
	{ "t4 teslat4", "Tesla T4", 16, 320, 65, 0, 0, 130, 13, 8, false, false, false, 15360, 0,
	  "NVIDIA, T4 data sheet", "2019" },
	{ "a40", "NVIDIA A40", 48, 696, 149.7, 0, 0, 299.3, 25, 8, false, false, false, 46068, 0,
	  "NVIDIA, A40 data sheet, without sparsity", "2021" },
	{ "a30", "NVIDIA A30", 24, 933, 165, 0, 0, 330, 25, 8, false, true, false, 24576, 0,
	  "NVIDIA, A30 data sheet, without sparsity", "2022" },
	{ "v10016gb v10016 v100sxm216gb", "Tesla V100-SXM2-16GB", 16, 900, 125, 0, 0, 0, 150, 8,
	  false, true, false, 16384, 0, "NVIDIA, V100 data sheet", "2018" },
	{ "v100pcie v100pcie32gb", "Tesla V100-PCIE-32GB", 32, 900, 112, 0, 0, 0, 13, 8, false,
	  true, false, 32768, 0, "NVIDIA, V100 data sheet", "2018" },
	{ "v100pcie16gb", "Tesla V100-PCIE-16GB", 16, 900, 112, 0, 0, 0, 13, 8, false, true, false,
	  16384, 0, "NVIDIA, V100 data sheet", "2018" },
	{ "v100 v10032gb v10032 v100sxm2 v100sxm232gb v100sxm", "Tesla V100-SXM2-32GB", 32, 900,
	  125, 0, 0, 0, 150, 8, false, true, false, 32768, 0, "NVIDIA, V100 data sheet", "2018" },
	{ "rtx6000ada 6000ada igxorin igx igxrtx6000ada", "NVIDIA RTX 6000 Ada Generation", 48, 960,
	  364.2, 728.5, 0, 728.5, 25, 1, false, false, false, 49140, 0,
	  "NVIDIA, RTX 6000 Ada data sheet, without sparsity", "2023" },
	{ "rtx5000ada 5000ada", "NVIDIA RTX 5000 Ada Generation", 32, 576, 261.1, 522.2, 0, 522.2,
	  25, 1, false, false, false, 32760, 0, "NVIDIA, RTX 5000 Ada data sheet, without sparsity",
	  "2023" },
	{ "rtx4500ada 4500ada", "NVIDIA RTX 4500 Ada Generation", 24, 432, 158.5, 317, 0, 317, 25,
	  1, false, false, false, 0, 0, "NVIDIA, RTX 4500 Ada data sheet, without sparsity",
	  "2023" },
	{ "rtx4000ada 4000ada", "NVIDIA RTX 4000 Ada Generation", 20, 360, 106.9, 213.8, 0, 213.8,
	  25, 1, false, false, false, 20475, 0, "NVIDIA, RTX 4000 Ada data sheet, without sparsity",
	  "2023" },
	{ "rtxpro6000server rtxpro6000blackwellserver rtxpro6000blackwelldc pro6000server "
	  "rtx6000proserver rtx6000problackwellserver",
	  "NVIDIA RTX PRO 6000 Blackwell Server Edition", 96, 1597, 504, 1008, 2015, 1008, 50, 8,
	  false, false, false, 97887, 0,
	  "NVIDIA, RTX PRO 6000 Blackwell Server Edition, product page and data sheet: 1597 GB/s, "
	  "4 petaflop of sparse FP4; the others follow by halves",
	  "2025" },
	{ "rtxpro6000maxq pro6000maxq rtx6000promaxq 6000promaxq rtxpro6000blackwellmaxq "
	  "rtx6000problackwellmaxq",
	  "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 96, 1792, 439, 878, 1755.5,
	  878, 50, 8, false, false, false, 97887, 0,
	  "NVIDIA, RTX PRO 6000 Blackwell Max-Q data sheet (300 W): 3511 teraflops of sparse FP4; "
	  "the others follow by halves",
	  "2025" },
	{ "rtxpro6000 pro6000 rtx6000pro rtx6000problackwell 6000pro rtxpro6000blackwell",
	  "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 96, 1792, 504, 1008, 2015, 1008, 50,
	  8, false, false, false, 97887, 0,
	  "NVIDIA, RTX PRO 6000 Blackwell: 4 petaflop of sparse FP4; the others follow by halves",
	  "2025" },
	{ "rtxpro5000 pro5000 rtx5000pro rtxpro5000blackwell", "NVIDIA RTX PRO 5000 Blackwell", 48,
	  1344, 258, 516, 1032, 516, 50, 1, false, false, false, 0, 0,
	  "NVIDIA, RTX PRO 5000 Blackwell with 48 GB: 2064 teraflops of sparse FP4; the others "
	  "follow "
	  "by halves",
	  "2025" },
	{ "rtxa6000 a6000", "NVIDIA RTX A6000", 48, 768, 155, 0, 0, 310, 25, 1, false, false, false,
	  49140, 0, "NVIDIA, RTX A6000 data sheet", "2020" },
	{ "rtxa5000 a5000", "NVIDIA RTX A5000", 24, 768, 111.1, 0, 0, 222.2, 25, 1, false, false,
	  false, 24564, 0, "NVIDIA, RTX A5000 data sheet, without sparsity", "2021" },
	{ "rtxa4000 a4000", "NVIDIA RTX A4000", 16, 448, 76.7, 0, 0, 153.4, 25, 1, false, false,
	  false, 16376, 0, "NVIDIA, RTX A4000 data sheet, without sparsity", "2021" },
	{ "rtx5090 5090", "NVIDIA GeForce RTX 5090", 32, 1792, 210, 419, 1676, 838, 50, 1, false,
	  false, false, 32607, 0, "NVIDIA, RTX Blackwell architecture paper", "2025" },
	{ "rtx5080 5080", "NVIDIA GeForce RTX 5080", 16, 960, 112.6, 225.1, 900.4, 450.2, 50, 1,
	  false, false, false, 16303, 0, "NVIDIA, RTX Blackwell architecture paper", "2025" },
	{ "rtx5070ti 5070ti", "NVIDIA GeForce RTX 5070 Ti", 16, 896, 87.9, 175.8, 703, 351.5, 50, 1,
	  false, false, false, 16303, 0, "NVIDIA, RTX Blackwell architecture paper", "2025" },
	{ "rtx5070 5070", "NVIDIA GeForce RTX 5070", 12, 672, 61.7, 123.5, 493.9, 246.9, 50, 1,
	  false, false, false, 12227, 0, "NVIDIA, RTX Blackwell architecture paper", "2025" },
	{ "rtx4090 4090", "NVIDIA GeForce RTX 4090", 24, 1008, 165, 330, 0, 661, 25, 1, false,
	  false, false, 24564, 0, "NVIDIA, Ada architecture paper", "2022" },
	{ "rtx4080super 4080super", "NVIDIA GeForce RTX 4080 SUPER", 16, 736, 104.4, 208.9, 0,
	  417.8, 25, 1, false, false, false, 16376, 0,
	  "NVIDIA, GeForce RTX 4080 SUPER: 52.2 teraflops of FP32; the others in the proportions "
	  "of "
	  "the Ada architecture paper",
	  "2024" },
	{ "rtx4080 4080", "NVIDIA GeForce RTX 4080", 16, 717, 97.5, 194.9, 0, 389.9, 25, 1, false,
	  false, false, 16376, 0, "NVIDIA, Ada architecture paper", "2022" },
	{ "rtx4070 4070", "NVIDIA GeForce RTX 4070", 12, 504, 58.3, 116.6, 0, 233.2, 25, 1, false,
	  false, false, 12282, 0,
	  "NVIDIA, GeForce RTX 4070: 29.15 teraflops of FP32; the others in the proportions of the "
	  "Ada architecture paper",
	  "2023" },
	{ "rtx3090 3090", "NVIDIA GeForce RTX 3090", 24, 936, 71, 0, 0, 284, 25, 1, false, false,
	  false, 24576, 0, "NVIDIA, Ampere architecture paper", "2020" },
	{ "rtx3080 3080", "NVIDIA GeForce RTX 3080", 10, 760, 59.5, 0, 0, 238, 25, 1, false, false,
	  false, 10240, 0, "NVIDIA, Ampere architecture paper", "2020" },
	{ "rtx3060 3060", "NVIDIA GeForce RTX 3060", 12, 360, 25.5, 0, 0, 101.9, 25, 1, false,
	  false, false, 12288, 0,
	  "NVIDIA, GeForce RTX 3060 with 12 GB: 12.74 teraflops of FP32; the others in the "
	  "proportions of the Ampere architecture paper",
	  "2021" },
	{ "agxorin jetsonorin jetsonagxorin", "Orin (nvgpu)", 64, 204.8, 42, 0, 0, 85, 0, 1, true,
	  false, false, 0, 0, "NVIDIA, Jetson AGX Orin technical brief, without sparsity", "2022" },
	{ "jetsonthor jetsonagxthor agxthor thor igxthor", "NVIDIA Thor", 128, 273, 259, 517, 1035,
	  517, 0, 1, true, false, false, 0, 0,
	  "NVIDIA, Jetson Thor: 2070 teraflops of sparse FP4; the others follow by halves",
	  "2025" },
};
const size_t gpu_kind_count = sizeof(gpu_kinds) / sizeof(gpu_kinds[0]);
