/* SPDX-License-Identifier: Apache-2.0 */
/* Expanding a setting over the machine, and naming many targets in few words. */
#include "look/settings/subject.h"

#include <string.h>

#include "base/text.h"

static const struct list *scope_list(const struct machine *m, enum scope s, size_t *size)
{
	static const size_t sizes[SCOPES] = {
		[SCOPE_GPU] = sizeof(struct gpu),
		[SCOPE_POLICY] = sizeof(struct freq_policy),
		[SCOPE_IDLE] = sizeof(struct idle_group),
		[SCOPE_POOL] = sizeof(struct huge_pool),
		[SCOPE_NIC] = sizeof(struct nic),
		[SCOPE_RDMA] = sizeof(struct rdma_port),
		[SCOPE_PCI] = sizeof(struct pci_function),
		[SCOPE_DISK] = sizeof(struct disk),
		[SCOPE_ZPOOL] = sizeof(struct zpool),
	};
	const struct list *const lists[SCOPES] = {
		[SCOPE_GPU] = &m->gpu.gpus,
		[SCOPE_POLICY] = &m->cpu.policies,
		[SCOPE_IDLE] = &m->cpu.idle,
		[SCOPE_POOL] = &m->memory.pools,
		[SCOPE_NIC] = &m->net.nics,
		[SCOPE_RDMA] = &m->net.rdma,
		[SCOPE_PCI] = &m->pci,
		[SCOPE_DISK] = &m->storage.disks,
		[SCOPE_ZPOOL] = &m->storage.pools,
	};

	*size = sizes[s];
	return lists[s];
}

/* Objects that no setting of the scope is about: virtual interfaces, partitions' helpers, ram
 * disks. */
static bool in_scope(enum scope s, const void *object)
{
	if (s == SCOPE_NIC)
		return ((const struct nic *)object)->pci[0] != '\0';
	if (s == SCOPE_DISK)
		return fact_is(&((const struct disk *)object)->role, "disk");
	return true;
}

static const char *object_name(struct arena *a, enum scope s, const void *object)
{
	switch (s) {
	case SCOPE_GPU:
		return arena_printf(a, "gpu%u", ((const struct gpu *)object)->index);
	case SCOPE_POLICY: {
		const struct freq_policy *p = object;

		return seen_ok(&p->cpus.f) ? arena_printf(a, "cpu%s", idset_format(a, &p->cpus.v))
					   : arena_printf(a, "policy%u", p->index);
	}
	case SCOPE_IDLE:
		return arena_printf(a, "cpu%s",
				    idset_format(a, &((const struct idle_group *)object)->cpus.v));
	case SCOPE_POOL:
		return ((const struct huge_pool *)object)->name;
	case SCOPE_NIC:
		return ((const struct nic *)object)->name;
	case SCOPE_RDMA:
		return ((const struct rdma_port *)object)->name;
	case SCOPE_PCI:
		return ((const struct pci_function *)object)->name;
	case SCOPE_DISK:
		return ((const struct disk *)object)->name;
	case SCOPE_ZPOOL:
		return ((const struct zpool *)object)->name;
	default:
		return "";
	}
}

size_t setting_subjects(struct arena *a, const struct machine *m, const struct setting *s,
			void (*each)(const void *object, const char *name, void *ctx), void *ctx)
{
	const struct list *l;
	size_t size, n = 0;

	if (s->scope == SCOPE_HOST) {
		if (s->select && !s->select(m, m))
			return 0;
		each(m, "", ctx);
		return 1;
	}
	l = scope_list(m, s->scope, &size);
	for (size_t i = 0; i < l->n; i++) {
		const void *object = (const char *)l->items + i * size;

		if (!in_scope(s->scope, object) || (s->select && !s->select(m, object)))
			continue;
		each(object, object_name(a, s->scope, object), ctx);
		n++;
	}
	return n;
}

const char *setting_knob_object(struct arena *a, const struct setting *s, const void *object)
{
	switch (s->scope) {
	case SCOPE_HOST:
		return "";
	case SCOPE_GPU:
		return ((const struct gpu *)object)->pci;
	case SCOPE_POLICY:
		return arena_printf(a, "%u", ((const struct freq_policy *)object)->index);
	case SCOPE_RDMA:
		return ((const struct rdma_port *)object)->device;
	default:
		return object_name(a, s->scope, object);
	}
}

/* The union of the CPUs of policies or idle groups, as "cpu0-255". */
static const char *cpus_text(struct arena *a, enum scope scope, const void *const *objects,
			     size_t n)
{
	struct idset all = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct fact_set *set =
			scope == SCOPE_POLICY ? &((const struct freq_policy *)objects[i])->cpus
					      : &((const struct idle_group *)objects[i])->cpus;

		IDSET_FOR_EACH (id, &set->v)
			idset_add(a, &all, id);
	}
	return arena_printf(a, "cpu%s", idset_format(a, &all));
}

const char *targets_text(struct arena *a, const struct setting *s, const void *const *objects,
			 const char *const *names, size_t n)
{
	TEXT_AUTO t = { 0 };
	struct idset gpus = { 0 };

	if (n == 1)
		return names[0];
	if (s->scope == SCOPE_POLICY || s->scope == SCOPE_IDLE)
		return cpus_text(a, s->scope, objects, n);
	if (s->scope == SCOPE_GPU) {
		for (size_t i = 0; i < n; i++)
			idset_add(a, &gpus, ((const struct gpu *)objects[i])->index);
		return arena_printf(a, "gpu%s", idset_format(a, &gpus));
	}
	for (size_t i = 0; i < n; i++)
		text_printf(&t, "%s%s", i ? " " : "", names[i]);
	return arena_strdup(a, t.s ? t.s : "");
}
