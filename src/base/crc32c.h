/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli, RFC 3720 B.4): finds damage by accident, not by an attacker. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t len);

#endif
