/* JSON (RFC 8259): texts are parsed into one block of memory, and written as strings. */
#include "netdyno.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

struct parser {
    const char *at, *end;
    struct nd_json *node; /* the next unused one */
    char *text;           /* where the next text is written */
    unsigned depth;
    const char *why;
};

static struct nd_json *parse_value(struct parser *p);

static bool fail(struct parser *p, const char *why) {
    p->why = why;
    return false;
}

static bool is_next(const struct parser *p, char c) {
    return p->at < p->end && *p->at == c;
}

static bool take(struct parser *p, const char *word) {
    const size_t length = strlen(word);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0)
        return false;
    p->at += length;
    return true;
}

static void skip_space(struct parser *p) {
    while (is_next(p, ' ') || is_next(p, '\t') || is_next(p, '\n') || is_next(p, '\r'))
        p->at++;
}

/* The length of the UTF-8 character at `text` (RFC 3629); 0 if it is not one. */
static size_t character_bytes(const char *text, size_t left) {
    const uint8_t *b = (const uint8_t *)text;
    const size_t length = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((b[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and codes beyond U+10FFFF. */
    const bool is_out = (b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f) || (b[0] == 0xf0 && b[1] < 0x90) ||
                        (b[0] == 0xf4 && b[1] > 0x8f);
    return is_out ? 0 : length;
}

static char *put_character(char *to, uint32_t code) {
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(first[more] | code >> 6 * more);
    for (int i = more - 1; i >= 0; i--)
        *to++ = (char)(0x80 | (code >> 6 * i & 0x3f));
    return to;
}

static bool take_hex(struct parser *p, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        const char c = p->at < p->end ? *p->at : 0;
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0)
            return false;
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

static bool take_escape(struct parser *p) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char letter = p->at < p->end ? *p->at++ : 0;
    const char *known = letter == 0 ? NULL : strchr(letters, letter);
    uint32_t code, low;
    if (known != NULL) {
        *p->text++ = meanings[known - letters];
        return true;
    }
    if (letter != 'u' || !take_hex(p, &code))
        return fail(p, "invalid escape");
    if (code >= 0xdc00 && code <= 0xdfff)
        return fail(p, "a low surrogate without a high one");
    if (code >= 0xd800 && code < 0xdc00) {
        if (!take(p, "\\u") || !take_hex(p, &low) || low < 0xdc00 || low > 0xdfff)
            return fail(p, "a high surrogate without a low one");
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    }
    p->text = put_character(p->text, code);
    return true;
}

/* Writes the text, which is never longer than its source, and a zero in place of its quotes. */
static const char *parse_text(struct parser *p) {
    const char *begin = p->text;
    p->at++;
    while (p->at < p->end && *p->at != '"') {
        if (take(p, "\\")) {
            if (!take_escape(p))
                return NULL;
            continue;
        }
        const size_t bytes = (uint8_t)*p->at < ' ' ? 0 : character_bytes(p->at, (size_t)(p->end - p->at));
        if (bytes == 0) {
            p->why = "a text with a control character, or not in UTF-8";
            return NULL;
        }
        p->text = mempcpy(p->text, p->at, bytes);
        p->at += bytes;
    }
    if (!take(p, "\"")) {
        p->why = "a text without an end";
        return NULL;
    }
    *p->text++ = 0;
    return begin;
}

static bool take_digits(struct parser *p) {
    const char *begin = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return p->at > begin;
}

static bool parse_number(struct parser *p, struct nd_json *node) {
    const char *begin = p->at;
    bool is_real = false;
    take(p, "-");
    if (!take(p, "0") && !take_digits(p))
        return fail(p, "no value");
    if (take(p, ".")) {
        is_real = true;
        if (!take_digits(p))
            return fail(p, "no digit after the point");
    }
    if (take(p, "e") || take(p, "E")) {
        is_real = true;
        (void)(take(p, "+") || take(p, "-"));
        if (!take_digits(p))
            return fail(p, "no digit in the exponent");
    }
    errno = 0;
    if (is_real) {
        /* A library may have set a locale with another decimal separator. */
        const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (c == (locale_t)0)
            return fail(p, "out of memory");
        node->kind = ND_JSON_REAL;
        node->number = strtod_l(begin, NULL, c);
        freelocale(c);
    } else {
        node->kind = ND_JSON_INTEGER;
        node->integer = strtoll(begin, NULL, 10);
        node->number = (double)node->integer;
    }
    return errno == 0 || fail(p, "a number out of range");
}

static bool parse_members(struct parser *p, struct nd_json *parent) {
    const bool is_object = parent->kind == ND_JSON_OBJECT;
    const char *close = is_object ? "}" : "]";
    const struct nd_json **link = &parent->first;
    if (++p->depth > DEPTH_MAX)
        return fail(p, "nested too deeply");
    p->at++;
    skip_space(p);
    if (take(p, close)) {
        p->depth--;
        return true;
    }
    do {
        const char *name = NULL;
        skip_space(p);
        if (is_object) {
            if (!is_next(p, '"'))
                return fail(p, "no name of a member");
            if ((name = parse_text(p)) == NULL)
                return false;
            skip_space(p);
            if (!take(p, ":"))
                return fail(p, "no colon after a name");
        }
        struct nd_json *child = parse_value(p);
        if (child == NULL)
            return false;
        child->name = name;
        *link = child;
        link = &child->next;
        skip_space(p);
    } while (take(p, ","));
    p->depth--;
    return take(p, close) || fail(p, "no comma or end after a value");
}

static struct nd_json *parse_value(struct parser *p) {
    skip_space(p);
    struct nd_json *node = p->node++;
    bool is_valid = true;
    node->source = p->at;
    if (is_next(p, '{') || is_next(p, '[')) {
        node->kind = is_next(p, '{') ? ND_JSON_OBJECT : ND_JSON_ARRAY;
        is_valid = parse_members(p, node);
    } else if (is_next(p, '"')) {
        node->kind = ND_JSON_TEXT;
        is_valid = (node->text = parse_text(p)) != NULL;
    } else if (take(p, "true")) {
        node->kind = ND_JSON_TRUE;
    } else if (take(p, "false")) {
        node->kind = ND_JSON_FALSE;
    } else if (!take(p, "null")) { /* the kind of zeroed memory */
        is_valid = parse_number(p, node);
    }
    node->source_length = (size_t)(p->at - node->source);
    return is_valid ? node : NULL;
}

struct nd_json *nd_json_parse(const char *text, size_t length, const char **why) {
    /* Each value except the first one follows one of these characters. */
    size_t values = 1;
    for (size_t i = 0; i < length; i++)
        values += text[i] == ',' || text[i] == ':' || text[i] == '[' || text[i] == '{';
    struct nd_json *nodes = calloc(1, values * sizeof *nodes + 2 * (length + 1));
    if (nodes == NULL) {
        *why = "out of memory";
        return NULL;
    }
    char *source = (char *)(nodes + values);
    memcpy(source, text, length);
    struct parser p = {.at = source, .end = source + length, .node = nodes, .text = source + length + 1};
    struct nd_json *root = parse_value(&p);
    skip_space(&p);
    if (root != NULL && p.at == p.end)
        return root; /* the first node: the begin of the block */
    *why = root == NULL ? p.why : "more than one value";
    free(nodes);
    return NULL;
}

struct nd_json *nd_json_copy(const struct nd_json *value) {
    const char *why = NULL;
    struct nd_json *copy = value == NULL ? NULL : nd_json_parse(value->source, value->source_length, &why);
    if (value != NULL && copy == NULL)
        nd_failed("%s", why);
    return copy;
}

const struct nd_json *nd_json_get(const struct nd_json *object, const char *name) {
    const struct nd_json *found = NULL;
    if (object == NULL || object->kind != ND_JSON_OBJECT)
        return NULL;
    for (const struct nd_json *member = object->first; member != NULL; member = member->next)
        if (strcmp(member->name, name) == 0)
            found = member;
    return found;
}

void nd_json_write_text(FILE *to, const char *text) {
    fputc('"', to);
    for (size_t left = strlen(text), bytes; left > 0; text += bytes, left -= bytes) {
        bytes = character_bytes(text, left);
        if (bytes == 0) {
            fputs("\\ufffd", to);
            bytes = 1;
        } else if ((uint8_t)*text < ' ' || *text == '"' || *text == '\\') {
            fprintf(to, "\\u%04x", *text);
        } else {
            fwrite(text, 1, bytes, to);
        }
    }
    fputc('"', to);
}
