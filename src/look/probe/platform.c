/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the kinds of machine that our sources speak of this is, and by what evidence. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "look/probe/probe.h"
#include "base/text.h"
#include "machine/host/boot_menu.h"

/* Firmware's words: DMI, or the device tree's model. */
static void platform_firmware(struct probe *p)
{
	static const char dmi[] = "/sys/class/dmi/id/";
	struct platform *f = &p->m->platform;

	f->product = probe_str(p, dmi, "product_name");
	f->family = probe_str(p, dmi, "product_family");
	f->version = probe_str(p, dmi, "product_version");
	f->vendor = probe_str(p, dmi, "sys_vendor");
	f->board = probe_str(p, dmi, "board_name");
	f->bios_version = probe_str(p, dmi, "bios_version");
	f->bios_date = probe_str(p, dmi, "bios_date");
	if (!seen_ok(&f->product.f)) {
		struct fact_str model = probe_str(p, "/proc/device-tree/", "model");

		if (seen_ok(&model.f))
			f->product = model;
	}
}

static void decide(struct probe *p, const char *kind, const char *why)
{
	p->m->platform.kind = fact_str_of(kind, "", "gputune");
	p->m->platform.why = fact_str_of(why, "", "gputune");
}

static const struct gpu *gpu_named(const struct machine *m, const char *word)
{
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus)
		if (seen_ok(&g->name.f) && strstr(g->name.v, word))
			return g;
	return NULL;
}

/*
 * What firmware calls the machines that we know. Where a word stands: the product's family, its
 * name, its version, or the board's name. A word that ends in "*" begins a longer one.
 * Sources: DMI of such machines in public reports of 2025 and 2026; for NVIDIA's own, DGX OS.
 */
enum dmi { FAMILY = 1, PRODUCT = 2, VERSION = 4, BOARD = 8 };
static const struct product {
	unsigned in;
	const char *words, *kind, *model;
} products[] = {
	{ PRODUCT, "igx thor", "generic", "NVIDIA IGX Thor" },
	{ PRODUCT, "igx orin", "igx-orin", "NVIDIA IGX Orin" },
	{ PRODUCT, "igx", "igx-orin", "NVIDIA IGX" },
	{ PRODUCT, "dgx spark", "dgx-spark", "NVIDIA DGX Spark" },
	{ PRODUCT, "ai top atom", "dgx-spark", "Gigabyte AI TOP ATOM" },
	{ PRODUCT | BOARD, "gx10*", "dgx-spark", "ASUS Ascent GX10" },
	{ PRODUCT, "fcm1253", "dgx-spark", "Dell Pro Max with GB10" },
	{ PRODUCT | VERSION, "pro max with gb10", "dgx-spark", "Dell Pro Max with GB10" },
	{ PRODUCT | BOARD, "ms c931", "dgx-spark", "MSI EdgeXpert" },
	{ PRODUCT | BOARD, "edgexpert", "dgx-spark", "MSI EdgeXpert" },
	{ VERSION, "thinkstation pgx", "dgx-spark", "Lenovo ThinkStation PGX" },
	{ PRODUCT, "30kl*", "dgx-spark", "Lenovo ThinkStation PGX" },
	{ PRODUCT, "zgx nano", "dgx-spark", "HP ZGX Nano G1n" },
	{ PRODUCT | BOARD, "gn100", "dgx-spark", "Acer Veriton GN100" },
	/* Every maker of these says so, whatever else it calls them. */
	{ FAMILY, "dgx spark", "dgx-spark", "DGX Spark design from another vendor" },
};

/* Lower-case words with one blank between them: firmware has "NVIDIA_DGX_Spark", "MS-C931" and
 * fields that are filled up with blanks. */
static const char *plain_words(struct arena *a, const char *text)
{
	char *out = arena_alloc(a, strlen(text) + 2), *to = out;

	for (const char *s = text; *s; s++)
		if (isalnum((unsigned char)*s))
			*to++ = (char)tolower((unsigned char)*s);
		else if (to > out && to[-1] != ' ')
			*to++ = ' ';
	while (to > out && to[-1] == ' ')
		to--;
	*to = '\0';
	return out;
}

static bool has_words(const char *text, const char *words)
{
	size_t n = strlen(words);
	bool open = words[n - 1] == '*';

	n -= open;
	for (const char *s = text; (s = strchr(s, words[0])); s++)
		if ((s == text || s[-1] == ' ') && strncmp(s, words, n) == 0 &&
		    (open || s[n] == ' ' || !s[n]))
			return true;
	return false;
}

/* The field of firmware that has the product's words; NULL: none has. */
static const struct fact_str *firmware_names(struct probe *p, const struct product *x)
{
	const struct platform *f = &p->m->platform;
	const struct fact_str *const fields[] = { &f->family, &f->product, &f->version, &f->board };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if ((x->in >> i & 1) && seen_ok(&fields[i]->f) &&
		    has_words(plain_words(p->a, fields[i]->v), x->words))
			return fields[i];
	return NULL;
}

/* Firmware has the say, also over a board whose GPU is another. */
static void kind_twice(struct probe *p, const char *kind, const struct fact_str *f)
{
	const struct gpu *gb10 = gpu_named(p->m, "GB10"), *g = gb10 ? gb10 : machine_gpu(p->m, 0);
	struct fact_str taken = { .f = f->f, .v = kind }, other;

	if (!g || (gb10 != NULL) == (strcmp(kind, "dgx-spark") == 0))
		return;
	other = (struct fact_str){ .f = g->name.f, .v = gb10 ? "dgx-spark" : g->name.v };
	probe_differ(p, "", "platform.kind", &taken, &other);
}

static bool by_firmware(struct probe *p)
{
	for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
		const struct fact_str *f = firmware_names(p, &products[i]);

		if (!f)
			continue;
		decide(p, products[i].kind,
		       arena_printf(p->a, "firmware names the %s \"%s\"%s",
				    f == &p->m->platform.board	   ? "board"
				    : f == &p->m->platform.version ? "version"
				    : f == &p->m->platform.family  ? "family"
								   : "product",
				    f->v,
				    strcmp(products[i].kind, "generic") == 0
					    ? ", which has no rules in gputune"
					    : ""));
		p->m->platform.model = fact_str_of(products[i].model, f->f.dir, f->f.leaf);
		kind_twice(p, products[i].kind, f);
		return true;
	}
	return false;
}

/* Firmware that nobody knows, with the chip that makes the machine. */
static bool by_chip(struct probe *p)
{
	if (gpu_named(p->m, "GB10")) {
		decide(p, "dgx-spark", "the GPU is a GB10");
		return true;
	}
	LIST_FOR_EACH (struct pci_function, fn, &p->m->pci) {
		const char *name = gb10_name(fn);

		if (!name)
			continue;
		if (strcmp(name, "GB10") == 0) {
			decide(p, "dgx-spark",
			       arena_printf(p->a, "PCI function %s is a GB10 (10de:%04llx)",
					    fn->name, fn->device.v));
		} else {
			decide(p, "generic",
			       arena_printf(p->a,
					    "PCI function %s is an %s (10de:%04llx), which has no "
					    "rules in gputune",
					    fn->name, name, fn->device.v));
			p->m->platform.model = fact_str_of(name, "", fn->name);
		}
		return true;
	}
	return false;
}

/* SXM parts: NVML names them plainly ("NVIDIA H200") or with their HBM ("NVIDIA H100 80GB HBM3");
 * the PCIe cards say PCIe or NVL. */
static bool is_sxm(const struct gpu *g)
{
	/* A Grace Hopper is a chip of its own, on no baseboard. */
	if (!seen_ok(&g->name.f) || strstr(g->name.v, "PCIe") || strstr(g->name.v, "NVL") ||
	    strstr(g->name.v, "GH200"))
		return false;
	return str_has_any("H100|H200|B200|B300|GB200|GB300|A100-SXM|H800|H20", g->name.v);
}

static bool is_hgx(struct probe *p)
{
	size_t sxm = 0, switches = 0;
	const char *name = NULL, *what = "NVSwitch";

	LIST_FOR_EACH (struct gpu, g, &p->m->gpu.gpus)
		if (is_sxm(g)) {
			sxm++;
			name = g->name.v;
		}
	LIST_FOR_EACH (struct pci_function, fn, &p->m->pci)
		switches += is_nvswitch(fn);
	if (!switches) {
		what = "NVSwitch management";
		LIST_FOR_EACH (struct pci_function, fn, &p->m->pci)
			switches += is_switch_management(fn);
	}
	if (!sxm)
		return false;
	decide(p, "hgx",
	       switches ? arena_printf(p->a, "%zu x %s and %zu %s functions", sxm, name, switches,
				       what)
			: arena_printf(p->a, "%zu x %s, an SXM part of an HGX board%s", sxm, name,
				       fact_or(&p->m->platform.virtual_, 0)
					       ? ", in a virtual machine"
					       : ""));
	return true;
}

/* x86 says so in its CPU flags; elsewhere firmware names the hypervisor. */
static struct fact_int virtual_machine(struct probe *p)
{
	static const char *const vendors[] = { "QEMU", "KVM",	     "VMware", "innotek",
					       "Xen",  "Amazon EC2", "Google", "Firecracker" };
	const struct platform *f = &p->m->platform;

	if (seen_ok(&p->m->cpu.hypervisor.f) && p->m->cpu.hypervisor.v)
		return p->m->cpu.hypervisor;
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if ((seen_ok(&f->vendor.f) && strstr(f->vendor.v, vendors[i])) ||
		    (seen_ok(&f->product.f) && strstr(f->product.v, vendors[i]))) {
			struct fact_int yes = fact_int_of(1, "/sys/class/dmi/id/", "sys_vendor");

			/* Only x86 has a flag that would have to be there. */
			if (seen_ok(&p->m->cpu.vendor.f))
				probe_differ_int(p, "", "platform.virtual", &yes,
						 &p->m->cpu.hypervisor);
			return yes;
		}
	return p->m->cpu.hypervisor;
}

void probe_platform(struct probe *p)
{
	platform_firmware(p);
	p->m->platform.virtual_ = virtual_machine(p);
	if (by_firmware(p) || by_chip(p) || is_hgx(p))
		return;
	decide(p, "generic",
	       p->m->gpu.gpus.n
		       ? "unknown product"
		       : arena_printf(p->a, "%s; unknown product", machine_no_gpu(p->a, p->m)));
}

/* Who the machine is, its kernel, the command line it was booted with, and what boot security
 * blocks. */

enum { GROUPS_MAX = 64 };

static struct fact_str boot_mode(struct probe *p)
{
	if (host_exists(p->h, "/sys/firmware/efi"))
		return fact_str_of("uefi", "", "/sys/firmware/efi");
	if (host_exists(p->h, "/sys/firmware/devicetree/base/compatible"))
		return fact_str_of("device-tree", "", "/sys/firmware/devicetree");
	if (host_exists(p->h, "/sys/firmware"))
		return fact_str_of("bios", "", "/sys/firmware");
	return (struct fact_str){ .f = fact_unseen(-ENOENT, "", "/sys/firmware") };
}

/* Four bytes of attributes, then the value. */
static struct fact_int platform_secure_boot(struct probe *p)
{
	static const char path[] =
		"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
	size_t len = 0;
	char *data;
	int r = host_read(p->h, path, 64, p->a, &data, &len);

	if (r == 0 && len != 5)
		r = -EPROTO;
	if (r)
		return (struct fact_int){ .f = fact_unseen(r, "", path) };
	return fact_int_of(data[4] == 1, "", path);
}

static struct fact_str preempt(const struct host_identity *id)
{
	static const struct {
		const char *mark, *name;
	} marks[] = { { "PREEMPT_RT", "rt" },
		      { "PREEMPT_DYNAMIC", "dynamic" },
		      { "PREEMPT", "full" } };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(id->version, marks[i].mark))
			return fact_str_of(marks[i].name, "", "uname -v");
	return fact_str_of("none or voluntary", "", "uname -v");
}

/* The one type that all groups share, or "mixed". */
static struct fact_str platform_iommu(struct probe *p)
{
	static const char dir[] = "/sys/kernel/iommu_groups";
	const char *common = NULL;
	char **groups;
	size_t n;
	int r = host_list(p->h, dir, p->a, &groups, &n);

	if (r)
		return (struct fact_str){ .f = fact_unseen(r, "", dir) };
	for (size_t i = 0; i < n && i < GROUPS_MAX; i++) {
		char type[64];

		if (host_read_line(p->h, arena_printf(p->a, "%s/%s/type", dir, groups[i]), type,
				   sizeof(type)))
			continue;
		if (common && strcmp(common, type) != 0)
			return fact_str_of("mixed", "", "/sys/kernel/iommu_groups/*/type");
		if (!common)
			common = arena_strdup(p->a, type);
	}
	return fact_str_of(common ? common : "off", "", "/sys/kernel/iommu_groups/*/type");
}

static struct fact_int module_count(struct probe *p)
{
	long long lines = 0;
	char *text;
	int r = host_read(p->h, "/proc/modules", HOST_READ_MAX, p->a, &text, NULL);

	if (r)
		return (struct fact_int){ .f = fact_unseen(r, "", "/proc/modules") };
	for (; *text; text++)
		lines += *text == '\n';
	return fact_int_of(lines, "", "/proc/modules");
}

void probe_kernel(struct probe *p)
{
	const struct host_identity *id = &p->h->id;
	struct kernel *k = &p->m->kernel;
	enum boot_menu menu;
	const char *why;

	p->m->nodename = fact_str_of(arena_strdup(p->a, id->nodename), "", "uname -n");
	p->m->euid = fact_int_of(id->euid, "", "geteuid");
	p->m->partial = id->partial;
	p->m->captured = fact_int_of(id->captured, "", "gputune");
	p->m->time_s = fact_int_of(id->time_s, "", "time");
	k->release = fact_str_of(arena_strdup(p->a, id->release), "", "uname -r");
	k->version = fact_str_of(arena_strdup(p->a, id->version), "", "uname -v");
	k->arch = fact_str_of(arena_strdup(p->a, id->machine), "", "uname -m");
	k->cmdline = probe_str(p, "/proc/", "cmdline");
	if (seen_ok(&k->cmdline.f))
		kernel_args_parse(p->a, k->cmdline.v, &k->args);
	k->boot_mode = boot_mode(p);
	menu = host_boot_menu_why(p->h, &why);
	k->boot_menu = fact_str_of(arena_printf(p->a, "%s (%s)", boot_menu_name(menu), why), "",
				   "files of the boot loaders");
	k->secure_boot = platform_secure_boot(p);
	k->lockdown = probe_choice(p, "/sys/kernel/security/", "lockdown", NULL);
	k->clocksource = probe_str(p, "/sys/devices/system/clocksource/clocksource0/",
				   "current_clocksource");
	k->preempt = preempt(id);
	k->modules = module_count(p);
	k->tainted = probe_int(p, "/proc/sys/kernel/", "tainted");
	k->iommu = platform_iommu(p);
}

/* The distribution and the libraries that GPU programs load, by version. No file larger than a page
 * is read. */

/* Value of KEY= in an os-release style file, without quotes. */
static struct fact_str release_value(struct probe *p, const char *text, int r, const char *path,
				     const char *key)
{
	char *v = r ? NULL : str_value(p->a, text, key, '=');
	size_t n = v ? strlen(v) : 0;

	if (!v)
		return (struct fact_str){ .f = fact_unseen(r ? r : -ENOENT, "", path) };
	if (n >= 2 && (v[0] == '"' || v[0] == '\'') && v[n - 1] == v[0]) {
		v[n - 1] = '\0';
		v++;
	}
	return fact_str_of(v, "", path);
}

static void distribution(struct probe *p)
{
	static const char os[] = "/etc/os-release", dgx[] = "/etc/dgx-release";
	struct software *s = &p->m->software;
	char *text = NULL;
	int r = host_read(p->h, os, HOST_READ_MAX, p->a, &text, NULL);

	s->os_id = release_value(p, text, r, os, "ID");
	s->os_version = release_value(p, text, r, os, "VERSION_ID");
	s->os_name = release_value(p, text, r, os, "PRETTY_NAME");
	r = host_read(p->h, dgx, HOST_READ_MAX, p->a, &text, NULL);
	s->dgx_release = release_value(p, text, r, dgx, "DGX_SWBUILD_VERSION");
}

/* "{"cuda": {"name": "CUDA SDK", "version": "13.0.1"}, ...": the version of the first member is the
 * toolkit's. */
static struct fact_str platform_toolkit(struct probe *p)
{
	static const char path[] = "/usr/local/cuda/version.json";
	struct fact_str out = { 0 };
	json_auto_t *j = NULL;
	const char *version = NULL;
	char *text;
	int r = host_read(p->h, path, HOST_READ_MAX, p->a, &text, NULL);

	if (r) {
		out.f = fact_unseen(r, "", path);
		return out;
	}
	j = json_loads(text, 0, NULL);
	if (j && json_unpack(j, "{s:{s:s}}", "cuda", "version", &version) == 0)
		out = fact_str_of(arena_strdup(p->a, version), "", path);
	else
		out.f = fact_unseen(-EPROTO, "", path);
	return out;
}

/* "libnccl.so.2.28.9" -> "2.28.9"; NULL when the name says no more than the soname. */
static const char *version_in(const char *file, const char *soname)
{
	const char *so = strstr(file, ".so.");

	return so && strcmp(file, soname) != 0 ? so + 4 : NULL;
}

static const char *library_dir(struct probe *p)
{
	return strcmp(p->h->id.machine, "aarch64") == 0 ? "/usr/lib/aarch64-linux-gnu/"
							: "/usr/lib/x86_64-linux-gnu/";
}

static void platform_add_library(struct probe *p, const char *dir, const char *soname)
{
	char target[HOST_PATH_MAX];
	const char *path = arena_printf(p->a, "%s%s", dir, soname), *base, *version;
	struct library *l;
	int r = host_link(p->h, path, target, sizeof(target));

	enum seen seen = seen_from_errno(r);

	if (seen == SEEN_ABSENT || seen == SEEN_UNASKED)
		return;
	l = list_add(p->a, &p->m->software.libraries, sizeof(*l));
	l->name = soname;
	/* -EINVAL: there, but no link. Anything else is not absence, and must not read like it. */
	if (r && r != -EINVAL) {
		l->path = (struct fact_str){ .f = fact_unseen(r, "", path) };
		l->version = l->path;
		return;
	}
	l->path = fact_str_of(path, "", path);
	base = r ? soname : path_name(target);
	version = version_in(base, soname);
	/* A file that is no link says nothing of its version without being opened. */
	l->version = version ? fact_str_of(arena_strdup(p->a, version), "", path)
			     : (struct fact_str){ .f = fact_unseen(-EOPNOTSUPP, "", path) };
}

static void libraries(struct probe *p)
{
	static const char *const system[] = {
		"libcuda.so.1",	 "libnvidia-ml.so.1",  "libnccl.so.2",
		"libcudnn.so.9", "libibverbs.so.1",    "libmlx5.so.1",
		"libnuma.so.1",	 "libcusparseLt.so.0", "libnvshmem_host.so.3",
		"libmpi.so.40",	 "libopenblas.so.0",
	};
	static const char *const cuda[] = {
		"libcudart.so.13", "libcudart.so.12",	"libcublas.so.13",
		"libcublas.so.12", "libcublasLt.so.13", "libcublasLt.so.12",
		"libcufile.so.0",  "libnvrtc.so.13",	"libnvrtc.so.12",
	};
	const char *cuda_dir = "/usr/local/cuda/lib64/";

	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
		platform_add_library(p, library_dir(p), system[i]);
	if (!host_exists(p->h, "/usr/local/cuda"))
		return;
	for (size_t i = 0; i < sizeof(cuda) / sizeof(cuda[0]); i++)
		platform_add_library(p, cuda_dir, cuda[i]);
}

/* The path when it exists. */
static struct fact_str present(struct probe *p, const char *path)
{
	return probe_there(p, path, path);
}

static struct fact_str platform_container(struct probe *p)
{
	struct fact_str f = present(p, "/.dockerenv");

	if (seen_ok(&f.f)) {
		f.v = "docker";
		return f;
	}
	f = present(p, "/run/.containerenv");
	if (seen_ok(&f.f))
		f.v = "podman";
	return f;
}

static struct fact_str glibc(struct probe *p)
{
	struct fact_str f = probe_link_name(p, library_dir(p), "libc.so.6");

	/* Up to 2.33 libc.so.6 was a link to libc-2.33.so. Since then it is the file itself, which
	 * does not say its version without being opened. */
	if (seen_ok(&f.f) && str_starts(f.v, "libc-") && str_ends(f.v, ".so")) {
		f.v = arena_strndup(p->a, f.v + 5, strlen(f.v + 5) - 3);
		return f;
	}
	return probe_ask_str(p, "libc", "", "version");
}

/* Its settings without remarks, in the order of the file; each is one word. */
static struct fact_str nccl_conf(struct probe *p)
{
	static const char path[] = "/etc/nccl.conf";
	char *text, *line;
	TEXT_AUTO t = { 0 };
	int r = host_read(p->h, path, 1 << 12, p->a, &text, NULL);

	if (r)
		return (struct fact_str){ .f = fact_unseen(r, "", path) };
	while ((line = strsep(&text, "\n"))) {
		size_t n = strcspn(line, "#\r");
		const char *s = str_trim(line, n, &n);

		if (str_starts(s, "NCCL_"))
			text_printf(&t, "%s%.*s", t.len ? " " : "", (int)n, s);
	}
	return fact_str_of(arena_strdup(p->a, t.len ? t.s : "empty"), "", path);
}

void probe_software(struct probe *p)
{
	struct software *s = &p->m->software;

	distribution(p);
	s->glibc = glibc(p);
	s->init = host_exists(p->h, "/run/systemd/system")
			  ? fact_str_of("systemd", "", "/run/systemd/system")
			  : fact_str_of("other", "", "/run/systemd/system");
	s->cuda_toolkit = platform_toolkit(p);
	s->nvcc = present(p, "/usr/local/cuda/bin/nvcc");
	s->nsys = present(p, "/usr/local/cuda/bin/nsys");
	s->ncu = present(p, "/usr/local/cuda/bin/ncu");
	s->perftest = present(p, "/usr/bin/ib_write_bw");
	s->mlnx_tools = present(p, "/var/lib/dpkg/info/nvidia-mlnx-tools.list");
	s->nccl_conf = nccl_conf(p);
	s->container = platform_container(p);
	s->container_runtime = present(p, "/usr/bin/nvidia-container-runtime");
	libraries(p);
	probe_services(p);
}
