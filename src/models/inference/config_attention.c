/* SPDX-License-Identifier: Apache-2.0 */
/* Heads in a config.json: how many there are, how many are kept, and latent attention. */
#include "models/inference/config_parts.h"

#define NUM(o, fallback, ...)                                                                      \
	config_num(r, (o), (fallback), (const char *const[]){ __VA_ARGS__, NULL })

/* Falcon and those after it: one head for all unless the newer kind of layer is told, or told
 * otherwise. */
static int falcon_heads(struct config_reading *r, int told)
{
	if (config_true(r, "new_decoder_architecture"))
		return told ? told : r->s->heads;
	return config_false(r, "multi_query") ? r->s->heads : 1;
}

static int kv_heads(struct config_reading *r)
{
	const json_t *c = r->c;
	int told = NUM(c, 0, "num_key_value_heads", "num_kv_heads", "n_head_kv",
		       "num_key_value_heads_per_layer", "num_attention_groups");

	if (config_is(r, TYPE_FALCON))
		return falcon_heads(r, told);
	if (config_true(r, "multi_query"))
		return 1;
	if (!told)
		told = NUM(config_get(r, "attn_config"), 0, "kv_n_heads");
	if (!told && !config_false(r, "multi_query_attention"))
		told = NUM(c, 0, "multi_query_group_num");
	if (!told && r->known)
		told = r->known->kv_heads;
	return told ? told : r->s->heads;
}

static int head_dim(struct config_reading *r)
{
	int dim = r->known ? r->known->head_dim : 0;

	if (!dim && r->s->heads)
		dim = r->s->hidden / r->s->heads;
	return NUM(r->c, dim, "head_dim", "attention_head_dim", "kv_channels");
}

static void latent(struct config_reading *r)
{
	struct arch *a = r->s;
	const json_t *c = r->c;
	int v = NUM(c, a->head_dim, "v_head_dim");

	a->kv_lora = NUM(c, 0, "kv_lora_rank");
	a->index_top = NUM(c, 0, "index_topk");
	if (!a->kv_lora) { /* keys and values of different widths: as if both had their mean */
		a->head_dim = (a->head_dim + v) / 2;
		a->q_lora = NUM(c, 0, "share_q_dim");
		return;
	}
	a->q_lora = NUM(c, 0, "q_lora_rank");
	a->rope_dim = NUM(c, 0, "qk_rope_head_dim");
	a->nope_dim = NUM(c, 0, "qk_nope_head_dim");
	a->v_dim = v;
}

void config_attention(struct config_reading *r)
{
	struct arch *a = r->s;
	int heads = r->known ? r->known->heads : 0;

	a->heads = NUM(r->c, heads, "num_attention_heads", "n_head", "n_heads");
	a->kv_heads = kv_heads(r);
	a->head_dim = head_dim(r);
	a->gated_attention =
		config_true(r, "attn_output_gate") || config_true(r, "use_attn_output_gate");
	latent(r);
}
