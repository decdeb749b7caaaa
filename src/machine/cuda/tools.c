/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels around the measured ones, in PTX: making and checking data, pointer chains, gates and
 * signals. Loops are over 64-bit words, a grid's stride at a time.
 */
#include "machine/cuda/kernels.h"

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
