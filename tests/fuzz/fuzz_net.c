/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what the other side of a network measurement sends: openings, heads, and frames,
 * sealed anew so that their bodies are looked at. What is taken must come out again as the same
 * bytes.
 */
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/net/socket.h"
#include "measure/bench/net/wire.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void opening(const uint8_t *data, size_t size)
{
	uint8_t in[WIRE_OPENING] = { 0 }, out[WIRE_OPENING];
	struct opening o;

	memcpy(in, data, size < sizeof(in) ? size : sizeof(in));
	if (opening_read(in, &o))
		return;
	opening_write(&o, out);
	if (memcmp(in, out, sizeof(in)) != 0)
		abort();
}

static void seal(uint8_t *bytes, size_t n, const uint8_t key[WIRE_SECRET])
{
	crypto_auth_hmacsha256_state m;

	crypto_auth_hmacsha256_init(&m, key, WIRE_SECRET);
	crypto_auth_hmacsha256_update(&m, bytes, n - WIRE_SEAL);
	crypto_auth_hmacsha256_final(&m, bytes + n - WIRE_SEAL);
}

static void frame(const uint8_t *data, size_t size, const uint8_t key[WIRE_SECRET])
{
	struct wire_side client, server, reader;
	struct wire_frame f;
	uint8_t out[WIRE_FRAME_MAX], *copy;
	size_t total;
	int r;

	if (size < WIRE_HEAD || frame_length(data, &total) || total > WIRE_FRAME_MAX)
		return;
	wire_sides(key, &client, &server);
	reader = client;
	/* Of its own size: a byte too far is seen. */
	copy = calloc(1, total);
	if (!copy)
		abort();
	memcpy(copy, data, size < total ? size : total);
	if (frame_read(copy, total, &reader, &f) == 0)
		abort(); /* nobody guesses a seal */
	/* The first of its direction, rightly sealed. */
	memset(copy + 8, 0, 8);
	seal(copy, total, client.key);
	r = frame_read(copy, total, &reader, &f);
	if (r == 0) {
		if (reader.next != 1 || f.kind < FRAME_START || f.kind >= FRAME_KINDS)
			abort();
		if (f.kind == FRAME_ERROR && strlen(f.error.text) > WIRE_TEXT_MAX)
			abort();
		/* Text is cleaned; everything else is the same again. */
		if (frame_write(&f, &client, out) != total)
			abort();
		if (f.kind != FRAME_ERROR && memcmp(out, copy, total) != 0)
			abort();
	} else if (reader.next != 0) {
		abort();
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const uint8_t key[WIRE_SECRET] = { 7 };
	struct link_bytes b;
	char line[512];

	opening(data, size);
	frame(data, size, key);
	memcpy(line, data, size < sizeof(line) - 1 ? size : sizeof(line) - 1);
	line[size < sizeof(line) - 1 ? size : sizeof(line) - 1] = '\0';
	link_parse(line, "eth0", &b);
	return 0;
}
