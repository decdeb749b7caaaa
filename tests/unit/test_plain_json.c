/* SPDX-License-Identifier: Apache-2.0 */
/* Plain JSON beside jansson: what the one takes is what the other makes of it, whatever is changed
 * in the text; what is not plain is left to the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "host/plain_json.h"

enum { ROUNDS = 200000, TEXT_MAX = 512 };

static char *written(json_t *j)
{
	char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	return text;
}

static json_t *both(const char *text, size_t len)
{
	json_error_t why;
	json_t *plain = plain_json(text, len),
	       *whole = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);

	if (plain && (!whole || !json_equal(plain, whole)))
		fail_msg("\"%.*s\": %s", (int)len, text, whole ? "differs" : why.text);
	json_decref(whole);
	return plain;
}

static bool is_plain(const char *text)
{
	json_t *j = both(text, strlen(text));

	json_decref(j);
	return j != NULL;
}

static void test_plain(void **state)
{
	static const char two[] = "{\"b\": 7, \"a\": \"~ x\"}";
	char *text;

	(void)state;
	assert_true(is_plain("{}"));
	assert_true(is_plain(" {\t\"\" : {\r\n } } \n"));
	assert_true(is_plain("{\"a\": -1, \"b\": 0, \"c\": -0, \"d\": 999999999999999999}"));
	assert_true(
		is_plain("{\"0\":{\"nvmlX(1,READ)\":{\"error\":\"EIO\"},\"y\":\"H100 80GB\"}}"));
	text = written(both(two, strlen(two)));
	assert_string_equal(text, "{\"b\":7,\"a\":\"~ x\"}");
	free(text);
}

static void test_left_to_the_other(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"{}x",
		"[]",
		"1",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{,}",
		"{\"a\":1 \"b\":2}",
		"{\"a\":1,\"a\":1}",
		"{\"a\":01}",
		"{\"a\":-}",
		"{\"a\":--1}",
		"{\"a\":1.5}",
		"{\"a\":1e3}",
		"{\"a\":1000000000000000000}",
		"{\"a\":99999999999999999999}",
		"{\"a\":true}",
		"{\"a\":null}",
		"{\"a\":[1]}",
		"{\"a\":\"\\n\"}",
		"{\"a\":\"\\u0041\"}",
		"{\"a\":\"\303\244\"}",
		"{\"a\":\"\377\"}",
		"{\"a\":\"\t\"}",
		"{\"a\":\"b}",
		"{\"a\":{\"b\":{\"c\":{\"d\":{}}}}}",
	};
	char key[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (is_plain(texts[i]))
			fail_msg("%s is taken for plain", texts[i]);
	assert_null(both("{\"a\0\":1}", 8));
	assert_null(both("{\"a\":\"\0\"}", 9));
	assert_null(both("{}\0", 3));
	memset(key, 'k', sizeof(key));
	memcpy(key, "{\"", 2);
	memcpy(key + 200, "\":1}", 5);
	assert_false(is_plain(key));
}

/* Bytes put in, taken out and exchanged: mostly those that mean something. */
static void test_changed_texts(void **state)
{
	static const char seed[] = "{\n \"\": {\"n\": 7, \"s\": \"text\"},\n \"1\": {\"*\": "
				   "{\"error\": \"EIO\"}, \"m\": -120}\n}\n";
	static const char bytes[] = "{}[]\",:\\ \n\t019-.eEtfn*a\377\303\001";
	size_t taken = 0;

	(void)state;
	srand(1);
	for (int i = 0; i < ROUNDS; i++) {
		char text[TEXT_MAX];
		size_t len = sizeof(seed) - 1;
		json_t *j;

		memcpy(text, seed, len);
		for (int k = rand() % 4; k > 0; k--) {
			size_t at = (size_t)rand() % len, from = (size_t)rand() % len;
			char c = bytes[(size_t)rand() % sizeof(bytes)];

			switch (rand() % 3) {
			case 0:
				text[at] = c;
				break;
			case 1:
				memmove(text + at + 1, text + at, len++ - at);
				text[at] = rand() % 2 ? c : text[from];
				break;
			default:
				memmove(text + at, text + at + 1, --len - at);
			}
		}
		j = both(text, len);
		taken += j != NULL;
		json_decref(j);
	}
	assert_true(taken > ROUNDS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_left_to_the_other),
		cmocka_unit_test(test_changed_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
