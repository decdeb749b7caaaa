/* SPDX-License-Identifier: Apache-2.0 */
/* Where a setting's value stands: a field of the model, a boot argument, or a knob that is read. */
#include "look/settings/current.h"

#include <string.h>

#include "look/settings/subject.h"

struct knob setting_knob(struct arena *a, const struct setting *s, const void *object)
{
	return knob_make(a, s->knob, s->name, setting_knob_object(a, s, object));
}

struct knob setting_place(struct arena *a, const struct setting *s, const void *object)
{
	struct knob k = setting_knob(a, s, object);

	if (k.kind != KNOB_NVML && k.kind != KNOB_PCI && k.kind != KNOB_LINK &&
	    k.kind != KNOB_ZPROP && k.kind != KNOB_HELPER)
		k.object = "";
	return k;
}

static const struct field *field_of(const struct setting *s)
{
	for (size_t i = 0; i < s->of->n; i++)
		if (strcmp(s->of->fields[i].key, s->fact) == 0)
			return &s->of->fields[i];
	return NULL;
}

static struct fact_str from_fact(struct arena *a, const struct setting *s, const void *object)
{
	const struct field *f = field_of(s);
	struct fact_str out = { 0 };

	if (!f)
		return out;
	switch (f->kind) {
	case FIELD_STR:
		return *(const struct fact_str *)field_at(object, f);
	case FIELD_INT:
	case FIELD_BOOL:
	case FIELD_HEX: {
		const struct fact_int *i = field_at(object, f);

		out.f = i->f;
		out.v = seen_ok(&i->f) ? arena_printf(a, "%lld", i->v) : NULL;
		return out;
	}
	case FIELD_SET: {
		const struct fact_set *set = field_at(object, f);

		out.f = set->f;
		out.v = seen_ok(&set->f) ? idset_format(a, &set->v) : NULL;
		return out;
	}
	default:
		return out;
	}
}

/* For scope host the fact's struct is a part of the machine, found by its schema. */
static const void *part_of(const struct machine *m, const struct schema *of)
{
	for (size_t i = 0; i < schema_machine.n; i++)
		if (schema_machine.fields[i].kind == FIELD_PART &&
		    schema_machine.fields[i].sub == of)
			return field_at(m, &schema_machine.fields[i]);
	return of == &schema_machine ? m : NULL;
}

static struct fact_str from_boot_argument(const struct machine *m, const char *name)
{
	struct fact_str out = { .f = m->kernel.cmdline.f };

	if (!seen_ok(&out.f))
		return out;
	/* A missing argument is a value, not an unseen one: the command line was read. */
	out.v = kernel_arg_value(&m->kernel, name);
	if (!out.v)
		out.v = "not set";
	return out;
}

struct fact_str setting_current(struct arena *a, const struct setting *s, const struct machine *m,
				const void *object, bool wished, knob_reader *read, void *ctx)
{
	struct knob k;

	if (s->of) {
		if (s->scope == SCOPE_HOST)
			object = part_of(m, s->of);
		return object ? from_fact(a, s, object) : (struct fact_str){ 0 };
	}
	if (s->knob == KNOB_BOOTARG)
		return from_boot_argument(m, s->name);
	if (s->knob == KNOB_NONE || !read)
		return (struct fact_str){ 0 };
	/* The vendor's program costs a process and a second: only for a profile that has a wish. */
	if (s->knob == KNOB_HELPER && !wished)
		return (struct fact_str){ 0 };
	k = setting_knob(a, s, object);
	return read(ctx, a, &k);
}
