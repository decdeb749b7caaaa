/* SPDX-License-Identifier: Apache-2.0 */
/* gputune generate vllm and the like: what was asked, for the plan of serving. */
#include <math.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "front/verbs/generate.h"
#include "front/verbs/predict.h"

static int port(struct run *r, enum option_id id, int *out)
{
	long long v;

	if (!r->value[id])
		return 0;
	if (parse_i64(r->value[id], &v) || v < 1 || v > 65535)
		return complain_text(EXIT_USAGE, "--%s takes 1 to 65535, not \"%s\"",
				     option_rows[id].name, r->value[id]);
	*out = (int)v;
	return 0;
}

static int numbers(struct run *r, struct serve_ask *ask)
{
	double users = 0;
	int code = predict_number(r, OPT_CONTEXT, 256, QUESTION_TOKENS, &ask->context);

	if (!code)
		code = predict_number(r, OPT_USERS, 1, 10000, &users);
	if (!code && users != floor(users))
		code = complain_text(EXIT_USAGE, "--users takes a whole number, not \"%s\"",
				     r->value[OPT_USERS]);
	if (!code)
		code = port(r, OPT_PORT, &ask->port);
	ask->users = (int)users;
	ask->context = floor(ask->context);
	/* The defaults are part of what is told. */
	if (ask->context <= 0)
		ask->context = 8192;
	if (!ask->users)
		ask->users = 4;
	return code;
}

/* The shape was read from a file; an engine loads the folder around it. llama.cpp loads GGUF alone.
 */
static int file_to_load(struct run *r, struct serve_ask *ask)
{
	if (str_ends(ask->model, ".gguf"))
		return 0;
	if (ask->engine == ENGINE_LLAMACPP)
		return complain_text(EXIT_USAGE,
				     "llama.cpp loads a GGUF file, or OWNER/NAME of a hub; %s is "
				     "neither",
				     ask->model);
	if (str_ends(ask->model, ".json"))
		ask->model = path_folder(&r->arena, ask->model);
	return 0;
}

int generate_serve(struct run *r, enum engine engine, const struct generate_nodes *nodes,
		   const struct gen_envs *envs, struct serve_ask *ask, struct serve_plan *plan)
{
	struct model_file *file = ARENA_NEW(&r->arena, struct model_file);
	struct err e = { 0 };
	struct fits fits;
	double claim = 0;
	int code;

	*ask = (struct serve_ask){ .engine = engine,
				   .model = r->value[OPT_MODEL],
				   .head = r->value[OPT_HEAD],
				   .listen = r->value[OPT_LISTEN] };
	if (r->n_args > 1)
		return complain_text(EXIT_USAGE, "generate %s takes no argument \"%s\"", r->args[0],
				     r->args[1]);
	if (!ask->model)
		return complain_text(EXIT_USAGE, "generate %s needs --model", r->args[0]);
	if (ask->head && !gen_name_sound(ask->head))
		return complain_text(EXIT_USAGE, "--head \"%s\" is no name or address of a machine",
				     ask->head);
	if (ask->listen && !gen_name_sound(ask->listen))
		return complain_text(EXIT_USAGE, "--listen \"%s\" is no address", ask->listen);
	code = predict_constants(r, &fits);
	if (!code)
		code = predict_words(r, &ask->words, &claim);
	if (!code)
		code = numbers(r, ask);
	if (code)
		return code;
	code = predict_model_file(r, ask->model, file);
	if (code < 0)
		return -code;
	if (code > 0) {
		ask->words.file = file;
		ask->words.weight_bytes = file->bytes;
		code = file_to_load(r, ask);
		if (code)
			return code;
	}
	code = serve_plan_make(&r->arena, ask, envs, nodes->place, &fits, plan, &e);
	return code < 0 ? generate_refused(code, &e) : 0;
}
