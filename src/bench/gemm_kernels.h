/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own small kernels around matrix products, as PTX that every driver since CUDA 10.1 compiles:
 *
 *   gemm_fill(u64 to, u64 words, u64 table, u64 seed, u32 bits)
 *       draws codes of that many bits from the table, see gemm_type.h
 *   gemm_scan(u64 from, u64 words, u64 out, u64 mask, u64 want, u32 bits)
 *       adds to out[0] a checksum over all words that depends on their places, and to out[1] how
 *       many codes have want in the bits of mask
 *   gemm_clock(u64 out, u64 ns)
 *       one thread that spins for ns nanoseconds; out[0] cycles and out[1] nanoseconds that passed
 *
 * Words are of 8 bytes. Grids may have any size.
 */
#ifndef BENCH_GEMM_KERNELS_H
#define BENCH_GEMM_KERNELS_H

extern const char gemm_ptx[];

#endif
