/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the PTX of the streaming kernels, one entry a shape. A block takes pieces of
 * threads x unroll x 16 bytes; all loads of a piece come before its stores, so that many are under
 * way.
 */
#include "machine/cuda/kernels.h"

#include <stdio.h>

/*
 * Copies gain when few bytes lie between the first and the last block under way (small pieces, in
 * order), and when what was read stays in the cache longer than what is to be written: then writes
 * leave it early and in order. On an H200: 4346 GB/s against 4185; reading alone reaches 4680 and
 * writing alone 4700, the rest goes where memory turns from one to the other. Tried there, and not
 * better: the multiprocessors' bulk copies (4123), asking for 256 bytes (4090), fetching ahead into
 * the cache (4316), fewer blocks (4208), all reading and then all writing (3482), writing through
 * and any other number of threads from 128 to 384 (4345 to 4349).
 */
const struct cuda_shape cuda_shapes[] = {
	{ CUDA_OP_READ, 512, 4, 4, false, false },  { CUDA_OP_READ, 1024, 4, 2, false, false },
	{ CUDA_OP_READ, 512, 8, 4, false, false },  { CUDA_OP_READ, 256, 8, 8, false, false },
	{ CUDA_OP_WRITE, 1024, 1, 0, true, false }, { CUDA_OP_WRITE, 512, 1, 0, true, false },
	{ CUDA_OP_WRITE, 512, 4, 0, true, false },  { CUDA_OP_WRITE, 512, 4, 4, false, false },
	{ CUDA_OP_COPY, 512, 4, 0, false, false },  { CUDA_OP_COPY, 256, 1, 0, false, true },
	{ CUDA_OP_COPY, 128, 1, 0, false, true },   { CUDA_OP_COPY, 1024, 2, 0, false, true },
	{ CUDA_OP_COPY, 512, 1, 0, true, false },   { CUDA_OP_COPY, 512, 4, 2, false, false },
	{ CUDA_OP_TRIAD, 1024, 1, 0, false, true }, { CUDA_OP_TRIAD, 256, 1, 0, false, true },
	{ CUDA_OP_TRIAD, 512, 2, 0, false, false }, { CUDA_OP_TRIAD, 512, 4, 2, true, false },
};
const size_t cuda_shape_count = sizeof(cuda_shapes) / sizeof(cuda_shapes[0]);

static const char *const op_names[CUDA_OPS] = { "read", "write", "copy", "triad" };

void cuda_shape_name(const struct cuda_shape *s, char *out, size_t size)
{
	char stay[16] = "";

	if (s->per_sm)
		snprintf(stay, sizeof(stay), "_p%u", s->per_sm);
	snprintf(out, size, "%s_%ux%u%s%s%s", op_names[s->op], s->threads, s->unroll, stay,
		 s->once ? "_once" : "", s->keep ? "_keep" : "");
}

size_t cuda_shape_piece(const struct cuda_shape *s)
{
	return (size_t)s->threads * s->unroll * 16;
}

bool cuda_shape_runs(const struct cuda_shape *s, int cc_major)
{
	return !s->keep || cc_major >= 8;
}

unsigned cuda_op_factor(enum cuda_op op)
{
	return op == CUDA_OP_TRIAD ? 3 : op == CUDA_OP_COPY ? 2 : 1;
}

static void kernels_load(struct text *t, const struct cuda_shape *s, const char *reg,
			 const char *from)
{
	/* Reading alone goes past the first cache, so that it cannot serve what the second should.
	 */
	const char *op = s->keep		 ? "ld.global.L2::cache_hint"
			 : s->op == CUDA_OP_READ ? "ld.global.cg"
						 : "ld.global";

	for (unsigned u = 0; u < s->unroll; u++)
		text_printf(t, "%s.v4.b32 {%%%s%u_0, %%%s%u_1, %%%s%u_2, %%%s%u_3}, [%%%s+%u]%s;\n",
			    op, reg, u, reg, u, reg, u, reg, u, from, u * s->threads * 16,
			    s->keep ? ", %policy" : "");
}

static void store(struct text *t, const struct cuda_shape *s, unsigned u, const char *reg)
{
	text_printf(t, "st.global%s.v4.b32 [%%to+%u], {%%%s%u_0, %%%s%u_1, %%%s%u_2, %%%s%u_3};\n",
		    s->once ? ".cs" : "", u * s->threads * 16, reg, u, reg, u, reg, u, reg, u);
}

/* The words of write: index and seed, and what follows from them. Twin: check_write. */
static void write_words(struct text *t, const struct cuda_shape *s)
{
	text_add(t, "shr.u64 %w, %at, 4; cvt.u32.u64 %r1, %w;\n");
	for (unsigned u = 0; u < s->unroll; u++) {
		text_printf(t, "add.u32 %%x%u_0, %%r1, %u; xor.b32 %%x%u_0, %%x%u_0, %%r4;\n", u,
			    u * s->threads, u, u);
		text_printf(t,
			    "add.u32 %%x%u_1, %%x%u_0, 0x9e3779b9; not.b32 %%x%u_2, %%x%u_0; "
			    "xor.b32 %%x%u_3, %%x%u_0, 0x85ebca6b;\n",
			    u, u, u, u, u, u);
	}
}

static void sum_words(struct text *t, const struct cuda_shape *s)
{
	for (unsigned u = 0; u < s->unroll; u++)
		text_printf(t,
			    "mov.b64 %%w, {%%x%u_0, %%x%u_1}; add.u64 %%sum, %%sum, %%w;\n"
			    "mov.b64 %%w, {%%x%u_2, %%x%u_3}; add.u64 %%sum, %%sum, %%w;\n",
			    u, u, u, u);
}

static void triad_words(struct text *t, const struct cuda_shape *s)
{
	for (unsigned u = 0; u < s->unroll; u++)
		for (unsigned k = 0; k < 4; k++)
			text_printf(t, "fma.rn.f32 %%x%u_%u, %%y%u_%u, 0f40400000, %%x%u_%u;\n", u,
				    k, u, k, u, k);
}

/* The warp's sums together, and one addition to memory. */
static void kernels_add_up(struct text *t)
{
	for (unsigned lanes = 16; lanes; lanes /= 2)
		text_printf(t,
			    "mov.b64 {%%r1, %%r2}, %%sum;\n"
			    "shfl.sync.bfly.b32 %%r1, %%r1, %u, 31, 0xffffffff;\n"
			    "shfl.sync.bfly.b32 %%r2, %%r2, %u, 31, 0xffffffff;\n"
			    "mov.b64 %%w, {%%r1, %%r2}; add.u64 %%sum, %%sum, %%w;\n",
			    lanes, lanes);
	text_add(t, "mov.u32 %r1, %laneid; setp.eq.u32 %p, %r1, 0;\n"
		    "@%p red.global.add.u64 [%slot], %sum;\n");
}

static void body(struct text *t, const struct cuda_shape *s)
{
	if (s->op == CUDA_OP_WRITE)
		write_words(t, s);
	else
		kernels_load(t, s, "x", "from");
	if (s->op == CUDA_OP_TRIAD) {
		kernels_load(t, s, "y", "other");
		triad_words(t, s);
	}
	if (s->op == CUDA_OP_READ)
		sum_words(t, s);
	for (unsigned u = 0; s->op != CUDA_OP_READ && u < s->unroll; u++)
		store(t, s, u, "x");
}

static void kernels_head(struct text *t, const struct cuda_shape *s)
{
	char name[64];

	cuda_shape_name(s, name, sizeof(name));
	text_printf(t,
		    ".visible .entry %s(.param .u64 to_, .param .u64 from_, .param .u64 other_,"
		    " .param .u64 bytes_, .param .u64 seed_, .param .u64 sum_,"
		    " .param .u32 passes_)\n.reqntid %u, 1, 1\n{\n",
		    name, s->threads);
}

/* One entry: passes over all pieces that are this block's; the next pass begins with another
 * block's pieces, so that the first cache cannot serve it. */
static void kernels_entry(struct text *t, const struct cuda_shape *s)
{
	const char *type = s->op == CUDA_OP_TRIAD ? "f32" : "b32";

	kernels_head(t, s);
	text_add(t, ".reg .pred %p;\n.reg .b32 %r<8>;\n"
		    ".reg .b64 %to, %from, %other, %end, %sum, %slot, %step, %at, %w, %policy;\n");
	for (unsigned u = 0; u < s->unroll; u++)
		text_printf(t, ".reg .%s %%x%u_<4>, %%y%u_<4>;\n", type, u, u);
	text_printf(t,
		    "ld.param.u64 %%end, [bytes_]; ld.param.u64 %%w, [seed_]; cvt.u32.u64 %%r4, "
		    "%%w;\nld.param.u64 %%slot, [sum_]; ld.param.u32 %%r5, [passes_];\n"
		    "mov.u32 %%r6, %%ctaid.x; mov.u32 %%r7, %%nctaid.x; mov.u32 %%r2, %%tid.x;\n"
		    "mul.wide.u32 %%step, %%r7, %zu; mov.b64 %%sum, 0;\n"
		    "pass:\nmul.wide.u32 %%at, %%r6, %zu; mul.wide.u32 %%w, %%r2, 16;\n"
		    "add.u64 %%at, %%at, %%w;\n",
		    cuda_shape_piece(s), cuda_shape_piece(s));
	text_add(t, s->keep ? "createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;\n" : "");
	text_add(t, "loop:\nsetp.ge.u64 %p, %at, %end;\n@%p bra over;\n"
		    "ld.param.u64 %to, [to_]; add.u64 %to, %to, %at;\n"
		    "ld.param.u64 %from, [from_]; add.u64 %from, %from, %at;\n"
		    "ld.param.u64 %other, [other_]; add.u64 %other, %other, %at;\n");
	body(t, s);
	text_add(t, "add.u64 %at, %at, %step;\nbra loop;\nover:\n"
		    "add.u32 %r6, %r6, 1; setp.ge.u32 %p, %r6, %r7;\n@%p mov.u32 %r6, 0;\n"
		    "sub.u32 %r5, %r5, 1; setp.gt.u32 %p, %r5, 0;\n@%p bra pass;\n");
	if (s->op == CUDA_OP_READ)
		kernels_add_up(t);
	text_add(t, "ret;\n}\n");
}

void cuda_stream_text(struct text *out, enum cuda_op op, int cc_major)
{
	text_printf(out, ".version 7.4\n.target sm_%d0\n.address_size 64\n", cc_major >= 8 ? 8 : 7);
	for (size_t i = 0; i < cuda_shape_count; i++)
		if (cuda_shapes[i].op == op && cuda_shape_runs(&cuda_shapes[i], cc_major))
			kernels_entry(out, &cuda_shapes[i]);
}

/*
 * The kernels around the measured ones, in PTX: making and checking data, pointer chains, gates and
 * signals. Loops are over 64-bit words, a grid's stride at a time.
 */

/* %i from this thread's place in the grid, %step the grid's threads; the loop runs while %i < %n.
 */
#define INDEX                                                                                      \
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"                      \
	"mul.wide.u32 %i, %r1, %r2; cvt.u64.u32 %t, %r3; add.u64 %i, %i, %t;\n"                    \
	"mov.u32 %r1, %nctaid.x; mul.wide.u32 %step, %r1, %r2;\n"
#define REGISTERS                                                                                  \
	".reg .pred %p, %q;\n.reg .b32 %r<8>;\n.reg .f32 %f<5>;\n"                                 \
	".reg .b64 %i, %n, %step, %t, %to, %seed, %and, %or, %v, %w, %a, %result, %sum;\n"
#define LOOP "loop:\nsetp.ge.u64 %p, %i, %n;\n@%p bra done;\n"
#define NEXT "add.u64 %i, %i, %step;\nbra loop;\ndone:\n"
/* %v = cuda_random(%seed, %i), spoils %t. */
#define RANDOM                                                                                     \
	"add.u64 %v, %seed, %i; mul.lo.u64 %v, %v, 0x9e3779b97f4a7c15;\n"                          \
	"shr.u64 %t, %v, 30; xor.b64 %v, %v, %t; mul.lo.u64 %v, %v, 0xbf58476d1ce4e5b9;\n"         \
	"shr.u64 %t, %v, 27; xor.b64 %v, %v, %t; mul.lo.u64 %v, %v, 0x94d049bb133111eb;\n"         \
	"shr.u64 %t, %v, 31; xor.b64 %v, %v, %t;\n"
#define MASK "and.b64 %v, %v, %and; or.b64 %v, %v, %or;\n"
#define ADDRESS "shl.b64 %t, %i, 3; add.u64 %a, %to, %t;\n"
/* Compares %v with the word at %a. */
#define COMPARE                                                                                    \
	"ld.global.u64 %w, [%a]; setp.eq.u64 %q, %v, %w;\n@%q bra right;\n"                        \
	"mov.b64 %t, 1; red.global.add.u64 [%result], %t; red.global.min.u64 [%result+8], %i;\n"   \
	"right:\n"
/* %v = the place of step %v in a chain of %r4 bits; %and is its mask, %r5 its shift. */
#define PLACE                                                                                      \
	"mul.lo.u64 %v, %v, 0x9e3779b97f4a7c15; add.u64 %v, %v, %seed; and.b64 %v, %v, %and;\n"    \
	"shr.u64 %t, %v, %r5; xor.b64 %v, %v, %t;\n"                                               \
	"mul.lo.u64 %v, %v, 0xd1342543de82ef95; and.b64 %v, %v, %and;\n"                           \
	"shr.u64 %t, %v, %r5; xor.b64 %v, %v, %t;\n"                                               \
	"mul.lo.u64 %v, %v, 0xaf251af3b0f025b5; and.b64 %v, %v, %and;\n"                           \
	"shr.u64 %t, %v, %r5; xor.b64 %v, %v, %t;\n"
#define STEP8(load)                                                                                \
	load " %a, [%a];\n" load " %a, [%a];\n" load " %a, [%a];\n" load " %a, [%a];\n" load       \
	     " %a, [%a];\n" load " %a, [%a];\n" load " %a, [%a];\n" load " %a, [%a];\n"
#define CHASE(name, load)                                                                          \
	".visible .entry " name "(.param .u64 from, .param .u64 steps, .param .u64 out)\n{\n"      \
	".reg .pred %p;\n.reg .b64 %a, %n, %o, %c0, %c1, %g0, %g1;\n"                              \
	"ld.param.u64 %a, [from]; ld.param.u64 %n, [steps]; ld.param.u64 %o, [out];\n"             \
	"mov.u64 %g0, %globaltimer; mov.u64 %c0, %clock64;\n"                                      \
	"loop:\n" STEP8(                                                                           \
		load) "sub.s64 %n, %n, 8; setp.gt.s64 %p, %n, 0;\n@%p bra loop;\n" /* What was     \
										      loaded last  \
										      must be      \
										      there before \
										      the clock is \
										      read. */     \
		      "setp.eq.u64 %p, %a, 0;\n@%p bra done;\n"                                    \
		      "mov.u64 %c1, %clock64; mov.u64 %g1, %globaltimer;\n"                        \
		      "sub.u64 %c1, %c1, %c0; sub.u64 %g1, %g1, %g0;\n"                            \
		      "st.global.u64 [%o], %a; st.global.u64 [%o+8], %c1; st.global.u64 [%o+16], " \
		      "%g1;\n"                                                                     \
		      "done:\nret;\n}\n"
/* %a: the word looked at; leaves the loop when it reached %r1, or after two seconds at "late". */
#define POLL(name)                                                                                 \
	name ":\nld.acquire.sys.global.u32 %r2, [%a]; setp.ge.u32 %p, %r2, %r1;\n@%p bra " name    \
	     "_over;\nmov.u64 %g1, %globaltimer; sub.u64 %g1, %g1, %g0;\n"                         \
	     "setp.gt.u64 %p, %g1, 2000000000;\n@%p bra late;\nbra " name ";\n" name "_over:\n"

static const char *const tools[] = {
	".version 7.4\n.target sm_70\n.address_size 64\n",

	".visible .entry fill(.param .u64 to, .param .u64 n, .param .u64 seed, .param .u64 and_,"
	" .param .u64 or_)\n{\n" REGISTERS
	"ld.param.u64 %to, [to]; ld.param.u64 %n, [n]; ld.param.u64 %seed, [seed];\n"
	"ld.param.u64 %and, [and_]; ld.param.u64 %or, [or_];\n" INDEX LOOP RANDOM MASK ADDRESS
	"st.global.u64 [%a], %v;\n" NEXT "ret;\n}\n",

	".visible .entry check(.param .u64 to, .param .u64 n, .param .u64 seed, .param .u64 and_,"
	" .param .u64 or_, .param .u64 result)\n{\n" REGISTERS
	"ld.param.u64 %to, [to]; ld.param.u64 %n, [n]; ld.param.u64 %seed, [seed];\n"
	"ld.param.u64 %and, [and_]; ld.param.u64 %or, [or_]; ld.param.u64 %result, "
	"[result];\n" INDEX LOOP RANDOM MASK ADDRESS COMPARE NEXT "ret;\n}\n",

	".visible .entry check_triad(.param .u64 to, .param .u64 n, .param .u64 seed_b,"
	" .param .u64 seed_c, .param .u64 result)\n{\n" REGISTERS
	"ld.param.u64 %to, [to]; ld.param.u64 %n, [n]; ld.param.u64 %result, [result];\n"
	"mov.b64 %and, 0x007fffff007fffff; mov.b64 %or, 0x3f8000003f800000;\n" INDEX LOOP
	"ld.param.u64 %seed, [seed_c];\n" RANDOM MASK "mov.b64 {%f1, %f2}, %v;\n"
	"ld.param.u64 %seed, [seed_b];\n" RANDOM MASK "mov.b64 {%f3, %f4}, %v;\n"
	"fma.rn.f32 %f1, %f1, 0f40400000, %f3; fma.rn.f32 %f2, %f2, 0f40400000, %f4;\n"
	"mov.b64 %v, {%f1, %f2};\n" ADDRESS COMPARE NEXT "ret;\n}\n",

	".visible .entry check_write(.param .u64 to, .param .u64 n, .param .u64 seed,"
	" .param .u64 result)\n{\n" REGISTERS
	"ld.param.u64 %to, [to]; ld.param.u64 %n, [n]; ld.param.u64 %seed, [seed];\n"
	"ld.param.u64 %result, [result]; cvt.u32.u64 %r4, %seed;\n" INDEX LOOP
	"shr.u64 %t, %i, 1; cvt.u32.u64 %r5, %t; xor.b32 %r5, %r5, %r4;\n"
	"and.b64 %t, %i, 1; setp.eq.u64 %q, %t, 0;\n"
	"add.u32 %r6, %r5, 0x9e3779b9; xor.b32 %r7, %r5, 0x85ebca6b; not.b32 %r3, %r5;\n"
	"selp.b32 %r5, %r5, %r3, %q; selp.b32 %r6, %r6, %r7, %q;\n"
	"mov.b64 %v, {%r5, %r6};\n" ADDRESS COMPARE NEXT "ret;\n}\n",

	".visible .entry add(.param .u64 n, .param .u64 seed, .param .u64 and_, .param .u64 or_,"
	" .param .u64 sum)\n{\n" REGISTERS "ld.param.u64 %n, [n]; ld.param.u64 %seed, [seed];\n"
	"ld.param.u64 %and, [and_]; ld.param.u64 %or, [or_]; ld.param.u64 %result, [sum];\n"
	"mov.b64 %sum, 0;\n" INDEX LOOP RANDOM MASK "add.u64 %sum, %sum, %v;\n" NEXT
	"red.global.add.u64 [%result], %sum;\nret;\n}\n",

	".visible .entry chain(.param .u64 to, .param .u32 bits, .param .u64 stride,"
	" .param .u64 seed)\n{\n" REGISTERS
	"ld.param.u64 %to, [to]; ld.param.u32 %r4, [bits]; ld.param.u64 %w, [stride];\n"
	"ld.param.u64 %seed, [seed]; mov.b64 %n, 1; shl.b64 %n, %n, %r4; sub.u64 %and, %n, 1;\n"
	"add.u32 %r5, %r4, 1; shr.u32 %r5, %r5, 1;\n" INDEX LOOP "mov.b64 %v, %i;\n" PLACE
	"mad.lo.u64 %a, %v, %w, %to; add.u64 %v, %i, 1; and.b64 %v, %v, %and;\n" PLACE
	"mad.lo.u64 %v, %v, %w, %to; st.global.u64 [%a], %v;\n" NEXT "ret;\n}\n"

	CHASE("chase", "ld.global.u64") CHASE("chase_far", "ld.relaxed.sys.global.u64")

		".visible .entry empty()\n{\nret;\n}\n",

	".visible .entry flag(.param .u64 to, .param .u32 value)\n{\n.reg .b32 %r1;\n.reg .b64 "
	"%a;\n"
	"ld.param.u64 %a, [to]; ld.param.u32 %r1, [value]; st.release.sys.global.u32 [%a], %r1;\n"
	"ret;\n}\n",

	".visible .entry spin(.param .u64 at, .param .u32 value)\n{\n.reg .pred %p;\n"
	".reg .b32 %r1, %r2;\n.reg .b64 %a, %g0, %g1;\n"
	"ld.param.u64 %a, [at]; ld.param.u32 %r1, [value]; mov.u64 %g0, %globaltimer;\n" POLL(
		"poll") "late:\nret;\n}\n",

	".visible .entry echo(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"
	".reg .pred %p;\n.reg .b32 %r1, %r2, %r3;\n.reg .b64 %a, %o, %g0, %g1;\n"
	"ld.param.u64 %a, [in]; ld.param.u64 %o, [out]; ld.param.u32 %r3, [n]; mov.u32 %r1, 1;\n"
	"again:\nmov.u64 %g0, %globaltimer;\n" POLL(
		"poll") "st.release.sys.global.u32 [%o], %r1; add.u32 %r1, %r1, 1; setp.le.u32 %p, "
			"%r1, %r3;\n"
			"@%p bra again;\nlate:\nret;\n}\n",
};

void cuda_tools_text(struct text *out)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		text_add(out, tools[i]);
}

uint64_t cuda_random(uint64_t seed, uint64_t i)
{
	uint64_t v = (seed + i) * 0x9e3779b97f4a7c15u;

	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
	v = (v ^ v >> 27) * 0x94d049bb133111ebu;
	return v ^ v >> 31;
}

uint64_t cuda_chain_place(uint64_t i, unsigned bits, uint64_t seed)
{
	uint64_t mask = ((uint64_t)1 << bits) - 1, v = (i * 0x9e3779b97f4a7c15u + seed) & mask;
	unsigned shift = (bits + 1) / 2;

	v ^= v >> shift;
	v = v * 0xd1342543de82ef95u & mask;
	v ^= v >> shift;
	v = v * 0xaf251af3b0f025b5u & mask;
	return v ^ v >> shift;
}
