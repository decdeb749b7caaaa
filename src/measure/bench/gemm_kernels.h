/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own small kernels around matrix products, as PTX that every driver since CUDA 10.1 compiles:
 *
 *   gemm_fill(u64 to, u64 words, u64 table, u64 seed, u32 bits)
 *       draws codes of that many bits from the table, see gemm_type.h
 *   gemm_scan(u64 from, u64 words, u64 out, u64 mask, u64 want, u32 bits)
 *       adds to out[0] a checksum over all words that depends on their places, and to out[1] how
 *       many codes have want in the bits of mask
 *   gemm_prune(u64 at, u64 words, u64 seed, u32 bits)
 *       makes two of every four codes (of 16 or 8 bits) in a row nought, see gemm_stays
 *   gemm_fours(u64 at, u64 words, u64 out, u32 bits)
 *       adds to out[0] how many fours have more than two codes that are not nought
 *   gemm_clock(u64 out, u64 ns)
 *       one thread that spins for ns nanoseconds; out[0] cycles and out[1] nanoseconds that passed
 *
 * Words are of 8 bytes. Grids may have any size.
 */
#ifndef BENCH_GEMM_KERNELS_H
#define BENCH_GEMM_KERNELS_H

/* gemm_prune and gemm_fours stand in the second. */
extern const char gemm_ptx[], gemm_zeros_ptx[];

#endif
