/* JSON: what is parsed and what is rejected, and written texts. */
#include "check.h"
#include "netdyno.h"

#include <string.h>

/* Appends a value in one line, as a description for comparison. */
static void describe(FILE *to, const struct nd_json *value) {
    switch (value->kind) {
    case ND_JSON_NULL: fputs("null", to); break;
    case ND_JSON_FALSE: fputs("false", to); break;
    case ND_JSON_TRUE: fputs("true", to); break;
    case ND_JSON_INTEGER: fprintf(to, "%lld", (long long)value->integer); break;
    case ND_JSON_REAL: fprintf(to, "%.17g", value->number); break;
    case ND_JSON_TEXT: fprintf(to, "<%s>", value->text); break;
    case ND_JSON_ARRAY:
    case ND_JSON_OBJECT:
        fputc(value->kind == ND_JSON_ARRAY ? '[' : '{', to);
        for (const struct nd_json *child = value->first; child != NULL; child = child->next) {
            if (value->kind == ND_JSON_OBJECT)
                fprintf(to, "<%s>:", child->name);
            describe(to, child);
            fputc(',', to);
        }
        fputc(value->kind == ND_JSON_ARRAY ? ']' : '}', to);
        break;
    }
}

static void test_values(void) {
    static const struct {
        const char *in, *parsed; /* NULL: rejected */
    } rows[] = {
        {" null ", "null"},
        {"[true,false,null]", "[true,false,null,]"},
        {"[]", "[]"},
        {" { } ", "{}"},
        {"{\"a\":1,\"b\":{\"c\":[2,[3]]}}", "{<a>:1,<b>:{<c>:[2,[3,],],},}"},
        {"[0,-0,-12,9223372036854775807,-9223372036854775808]", "[0,0,-12,9223372036854775807,-9223372036854775808,]"},
        {"[0.5,-1.25e2,1E-1,2e+0]", "[0.5,-125,0.10000000000000001,2,]"},
        {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\"", "<a\"\\/\b\f\n\r\t\xc3\xa9\xf0\x9f\x98\x80>"},
        {"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "<\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80>"},
        {"\"a,[{:\"", "<a,[{:>"},
        {"", NULL},
        {" ", NULL},
        {"nul", NULL},
        {"nulll", NULL},
        {"1 2", NULL},
        {"[1,]", NULL},
        {"[,1]", NULL},
        {"[1", NULL},
        {"[1}", NULL},
        {"{\"a\"}", NULL},
        {"{\"a\":}", NULL},
        {"{\"a\":1,}", NULL},
        {"{a:1}", NULL},
        {"{1:1}", NULL},
        {"01", NULL},
        {"-", NULL},
        {"+1", NULL},
        {".5", NULL},
        {"1.", NULL},
        {"1e", NULL},
        {"0x10", NULL},
        {"NaN", NULL},
        {"1e999", NULL},
        {"9223372036854775808", NULL},
        {"\"", NULL},
        {"\"\\", NULL},
        {"\"\\x\"", NULL},
        {"\"\\u12g4\"", NULL},
        {"\"\\ud800\"", NULL},
        {"\"\\ud800\\u0041\"", NULL},
        {"\"\\udc00\"", NULL},
        {"\"\n\"", NULL},
        {"\"\xff\"", NULL},
        {"\"\xc3\"", NULL},
        {"\"\xc0\xaf\"", NULL},
        {"\"\xed\xa0\x80\"", NULL},
        {"\"\xf4\x90\x80\x80\"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t length = strlen(rows[i].in);
        /* A separate allocation without a final zero, for the sanitizers. */
        char *in = memcpy(malloc(length + 1), rows[i].in, length), *text;
        const char *why = NULL;
        struct nd_json *value = nd_json_parse(in, length, &why);
        CHECK((value != NULL) == (rows[i].parsed != NULL), "%s: %s", rows[i].in, why ? why : "not rejected");
        CHECK((value == NULL) == (why != NULL), "%s: %s", rows[i].in, why ? why : "no reason");
        if (value != NULL) {
            size_t described;
            FILE *to = open_memstream(&text, &described);
            describe(to, value);
            fclose(to);
            CHECK(strcmp(text, rows[i].parsed) == 0, "%s: %s", rows[i].in, text);
            free(text);
        }
        free(value);
        free(in);
    }
}

/* 64 levels are accepted, and more are rejected without a deep recursion. */
static void test_depth(void) {
    static char text[1 << 16];
    for (size_t depth = 1; depth <= sizeof text / 2; depth = depth < 70 ? depth + 1 : 2 * depth) {
        const char *why;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        struct nd_json *value = nd_json_parse(text, 2 * depth, &why);
        CHECK((value != NULL) == (depth <= 64), "depth %zu", depth);
        free(value);
    }
}

static void test_members(void) {
    static const char text[] = "{\"a\":1,\"b\":\"x\",\"a\":2.5,\"c\":[3]}";
    const char *why;
    struct nd_json *value = nd_json_parse(text, sizeof text - 1, &why);
    CHECK(nd_json_is(nd_json_get(value, "a"), ND_JSON_REAL), "not the last one");
    CHECK(strcmp(nd_json_text(nd_json_get(value, "b")), "x") == 0, "b");
    CHECK(nd_json_text(nd_json_get(value, "a")) == NULL && nd_json_integer(nd_json_get(value, "b")) == 0, "other kinds");
    CHECK(nd_json_get(value, "d") == NULL && nd_json_get(nd_json_get(value, "c"), "a") == NULL && nd_json_get(NULL, "a") == NULL,
          "missing members");
    struct nd_json *copy = nd_json_copy(nd_json_get(value, "c"));
    free(value);
    CHECK(copy->source_length == 3 && memcmp(copy->source, "[3]", 3) == 0 && copy->first->integer == 3, "the copy");
    free(copy);
    CHECK(nd_json_copy(NULL) == NULL, "a copy of nothing");
}

/* A written text is parsed as the same text, except for bytes that are not UTF-8. */
static void test_written_texts(void) {
    static const struct {
        const char *text, *parsed;
    } rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"\" \\ / \x01 \x1f \n", "\" \\ / \x01 \x1f \n"},
        {"\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80"},
        {"a\xff" "b\xc3", "a\xef\xbf\xbd" "b\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *why = "";
        char *written;
        size_t length;
        FILE *to = open_memstream(&written, &length);
        nd_json_write_text(to, rows[i].text);
        fclose(to);
        struct nd_json *value = nd_json_parse(written, length, &why);
        CHECK(value != NULL && strcmp(nd_json_text(value), rows[i].parsed) == 0, "row %zu: %s %s", i, written, why);
        free(value);
        free(written);
    }
}

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled". */
static uint64_t random_below(uint64_t *state, uint64_t limit) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * 2685821657736338717u >> 11) % limit;
}

/* Mutated texts are parsed or rejected with a reason, within their length. A parsed text has a copy with the same content. */
static void test_mutated_texts(void) {
    static const char text[] = "{\"a\":[1,-2.5e3,true,null,{\"b\":\"\\u00e9\\ud83d\\ude00 \xc3\xa9\"}],\"c\":\"\\n\",\"d\":{}}";
    static const char pieces[] = "{}[],:\"\\u0deE+-.159tfn \xc3\x80";
    const char *chosen = getenv("SEED");
    const uint64_t seed = chosen != NULL ? strtoull(chosen, NULL, 10) : 1;
    uint64_t state = seed * 2654435769u + 1;
    size_t parsed = 0;
    for (int round = 0; round < 200000; round++) {
        char bytes[sizeof text + 8];
        size_t length = sizeof text - 1;
        memcpy(bytes, text, length);
        for (uint64_t edits = 1 + random_below(&state, 4); edits > 0; edits--) {
            const size_t at = random_below(&state, length), piece = random_below(&state, sizeof pieces - 1);
            switch (random_below(&state, 4)) {
            case 0: bytes[at] = pieces[piece]; break;
            case 1: bytes[at] = (char)random_below(&state, 256); break;
            case 2: memmove(bytes + at, bytes + at + 1, --length - at); break;
            default:
                memmove(bytes + at + 1, bytes + at, length++ - at);
                bytes[at] = pieces[piece];
            }
        }
        char *in = memcpy(malloc(length), bytes, length);
        const char *why = NULL;
        struct nd_json *value = nd_json_parse(in, length, &why);
        CHECK((value == NULL) == (why != NULL), "seed %llu, round %d", (unsigned long long)seed, round);
        if (value != NULL) {
            struct nd_json *copy = nd_json_copy(value);
            CHECK(copy->kind == value->kind && copy->source_length == value->source_length, "seed %llu, round %d",
                  (unsigned long long)seed, round);
            free(copy);
            parsed++;
        }
        free(value);
        free(in);
    }
    CHECK(parsed > 1000, "only %zu texts were parsed", parsed);
}

int main(void) {
    test_values();
    test_mutated_texts();
    test_depth();
    test_members();
    test_written_texts();
    return 0;
}
