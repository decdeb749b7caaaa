/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of a 64-bit little-endian ELF file: what it is, and its sections one by one. */
#ifndef STACK_ELF_H
#define STACK_ELF_H

#include "look/stack/input.h"

enum { ELF_CUDA = 190, ELF_X86_64 = 62, ELF_AARCH64 = 183, ELF_NAME_MAX = 32 };

struct elf {
	uint16_t machine; /* EM_* */
	uint16_t type;	  /* ET_* */
	uint8_t abi;	  /* EI_ABIVERSION */
	uint32_t flags;	  /* e_flags */
	uint64_t sections_at;
	uint64_t n_sections;
	uint64_t names_at, names_size; /* the section name table */
};

struct elf_section {
	char name[ELF_NAME_MAX]; /* cut when longer */
	uint32_t type;		 /* SHT_*; 8: takes no room in the file */
	uint64_t flags;		 /* SHF_* */
	uint64_t at, size;
};

/* -EPROTONOSUPPORT for 32-bit or big-endian files, -EBADMSG for what is broken; *e says which. */
int elf_open(struct input *in, struct elf *out, struct err *e);
/* Calls each for every section that lies within the file; what it returns ends the walk. */
int elf_each(struct input *in, const struct elf *elf,
	     int (*each)(void *ctx, const struct elf_section *s), void *ctx, struct err *e);

/* /etc/ld.so.cache: which file a program gets that asks the loader for a library by its name. */
enum { LD_CACHE_MAX = 1 << 24 };

/*
 * Calls each for every 64-bit library in the order of the cache; what it returns ends the walk.
 * -EBADMSG when it is none of glibc 2.32 or newer's, or broken.
 */
int ld_cache_each(const char *data, size_t size,
		  int (*each)(void *ctx, const char *name, const char *path), void *ctx);

#endif
