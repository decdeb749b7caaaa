/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters and state of one layer of a kind that is no attention, from a config.json. */
#include "models/inference/config_parts.h"

#define NUM(o, fallback, ...)                                                                      \
	config_num(r, (o), (fallback), (const char *const[]){ __VA_ARGS__, NULL })

/* The first kind of Mamba: an inner width and a small state. */
static void first_kind(struct config_reading *r, int state)
{
	struct arch *a = r->s;
	double inner = (double)NUM(r->c, 2, "mamba_expand") * a->hidden;
	int rank = NUM(r->c, (a->hidden + 15) / 16, "mamba_dt_rank");

	a->linear_params = a->hidden * inner * 3 + inner * (rank * 2.0 + 2.0 * state);
	a->linear_state = inner * state * 4;
}

void config_mamba(struct config_reading *r)
{
	struct arch *a = r->s;
	int heads = NUM(r->c, 0, "mamba_num_heads", "mamba_n_heads"),
	    groups = NUM(r->c, 1, "n_groups", "mamba_n_groups");
	int state = NUM(r->c, heads ? 128 : 16, "ssm_state_size", "mamba_d_state");
	double inner = NUM(r->c, 0, "mamba_d_ssm");

	if (!heads) {
		first_kind(r, state);
		return;
	}
	if (inner <= 0)
		inner = (double)heads * NUM(r->c, 0, "mamba_head_dim", "mamba_d_head");
	if (inner <= 0)
		inner = (double)NUM(r->c, 2, "mamba_expand", "expand") * a->hidden;
	a->linear_params =
		a->hidden * (2 * inner + 2.0 * groups * state + heads) + inner * a->hidden;
	a->linear_state = inner * state * 4;
}

/* Kimi's delta attention: four square projections, two gates of low rank, a step for each head. */
void config_kimi(struct config_reading *r, const json_t *linear)
{
	struct arch *a = r->s;
	int heads = NUM(linear, a->heads, "num_heads"), dim = NUM(linear, 128, "head_dim");
	double inner = (double)heads * dim, h = a->hidden;
	int full = config_count(json_object_get(linear, "full_attn_layers"), NULL),
	    delta = config_count(json_object_get(linear, "kda_layers"), NULL);

	if (full + delta != a->layers)
		config_doubt(r, "linear_attn_config tells of %d layers of %d", full + delta,
			     a->layers);
	a->linear_layers = full >= 0 && full <= a->layers ? a->layers - full : 0;
	a->linear_params = 4 * h * inner + 2 * (h * dim + dim * inner) + h * heads;
	a->linear_state = inner * dim * 4;
}

/*
 * Every second layer is a Mamba, the others attention. Behind one with full attention, just past
 * the middle, no layer keeps anything: a gate over the last Mamba's values, two square matrices of
 * twice the width, and attention over the one cache.
 */
void config_sambay(struct config_reading *r)
{
	struct arch *a = r->s;
	int each = NUM(r->c, 2, "mb_per_layer"), mixers = a->layers / 2, mamba = a->layers / 4 + 1,
	    attention = a->layers - mixers - a->layers / 4;
	double part = (double)mamba / mixers, gate = 4.0 * a->hidden * a->hidden;

	if (each != 2 || a->layers % 4 || a->layers < 4) {
		config_doubt(r,
			     "%d layers of which one in %d is a Mamba are no SambaY that is "
			     "known here, and counted as attention",
			     a->layers, each);
		return;
	}
	config_mamba(r);
	a->linear_layers = mixers;
	a->linear_params = part * a->linear_params + (1 - part) * gate;
	a->linear_state *= part;
	a->attention_layers = attention;
	a->cross_layers = attention - 1;
}
