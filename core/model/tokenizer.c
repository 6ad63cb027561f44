#include "core/model/tokenizer.h"

#include "core/base/mem.h"
#include "core/model/spelling.h"
#include "core/model/tokenizer-private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const stop_names[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
#define STOP_START 1u /* <|im_start|> is special, but nothing stops there */
#define NAMES_N    3u

static uint64_t token_hash(bool normal, const char *bytes, size_t n)
{
    return psc_hash_mix(psc_hash_bytes(bytes, n, normal));
}

/* The slot of a token, or the free one where it would go. */
static uint32_t slot_of(const struct psc_tokenizer *t, bool normal, const char *bytes, size_t n,
                        uint64_t hash)
{
    uint32_t i = (uint32_t)hash & t->mask;
    for (; t->table[i]; i = (i + 1) & t->mask) {
        uint32_t id = (uint32_t)t->table[i] - 1;
        if (t->table[i] >> 32 == hash >> 32 && t->normal[id] == normal && psc_token_length(t, id) == n &&
            memcmp(t->bytes + t->at[id], bytes, n) == 0)
            break;
    }
    return i;
}

uint32_t psc_token_lookup(const struct psc_tokenizer *t, bool normal, const char *bytes, size_t n)
{
    uint64_t found = t->table[slot_of(t, normal, bytes, n, token_hash(normal, bytes, n))];
    return found ? (uint32_t)found - 1 : PSC_TOKEN_NONE;
}

uint32_t psc_tokenizer_find(const struct psc_tokenizer *t, const char *bytes, size_t n)
{
    if (n == 0)
        return PSC_TOKEN_NONE;
    uint32_t id = psc_token_lookup(t, true, bytes, n);
    if (id == PSC_TOKEN_NONE)
        id = psc_token_lookup(t, false, bytes, n);
    return id == PSC_TOKEN_NONE && n == 1 ? t->byte[(unsigned char)bytes[0]] : id;
}

uint32_t psc_tokenizer_n(const struct psc_tokenizer *t)
{
    return t->n;
}

uint32_t psc_tokenizer_bos(const struct psc_tokenizer *t)
{
    return t->bos;
}

uint32_t psc_tokenizer_eos(const struct psc_tokenizer *t)
{
    return t->eos;
}

bool psc_tokenizer_is_stop(const struct psc_tokenizer *t, uint32_t id)
{
    return id != PSC_TOKEN_NONE && (id == t->stop[0] || id == t->stop[1] || id == t->stop[2]);
}

enum psc_token_type psc_tokenizer_type(const struct psc_tokenizer *t, uint32_t id)
{
    assert(id < t->n);
    return (enum psc_token_type)t->type[id];
}

const char *psc_tokenizer_bytes(const struct psc_tokenizer *t, uint32_t id, size_t *ret_n)
{
    *ret_n = 0;
    if (id >= t->n)
        return NULL;
    *ret_n = psc_token_length(t, id);
    return t->bytes + t->at[id];
}

enum psc_status psc_tokenizer_decode(const struct psc_tokenizer *t, const uint32_t *ids, size_t n,
                                     struct psc_text *out, struct psc_error *reterr)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= t->n)
            return psc_fail(reterr, PSC_ERR_USAGE,
                            "token %u at place %zu is outside the vocabulary of %u tokens", ids[i], i, t->n);
    for (size_t i = 0; i < n; i++)
        psc_text_add_n(out, t->bytes + t->at[ids[i]], psc_token_length(t, ids[i]));
    return out->failed ? psc_fail_nomem(reterr) : PSC_OK;
}

static bool text_is(struct psc_vocab_text text, const char *name)
{
    return text.n == strlen(name) && memcmp(text.s, name, (size_t)text.n) == 0;
}

static int32_t type_of(const struct psc_vocab *v, uint32_t id)
{
    if (v->types)
        return v->types[id];
    for (uint32_t k = 0; k < NAMES_N; k++)
        if (text_is(v->tokens[id], stop_names[k]))
            return PSC_TOKEN_CONTROL;
    return id == v->bos || id == v->eos ? PSC_TOKEN_CONTROL : PSC_TOKEN_NORMAL;
}

static enum psc_status check_vocab(const struct psc_vocab *v, struct psc_error *reterr)
{
    if (v->pre && strcmp(v->pre, "qwen2") != 0 && strcmp(v->pre, "deepseek-r1-qwen") != 0) {
        struct psc_shown pre;
        return psc_fail(
            reterr, PSC_ERR_UNAVAILABLE,
            "the vocabulary cuts words by the pattern '%s'; known are 'qwen2' and 'deepseek-r1-qwen'",
            psc_vocab_show((struct psc_vocab_text){v->pre, strlen(v->pre)}, &pre));
    }
    if (v->n == 0)
        return psc_fail(reterr, PSC_ERR_PARSE, "the vocabulary has no tokens");
    if (v->merge_n == 0)
        return psc_fail(reterr, PSC_ERR_PARSE, "the vocabulary has no merges; byte-level BPE needs them");
    if (v->n > PSC_VOCAB_MAX || v->merge_n > PSC_VOCAB_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG,
                        "the vocabulary has %u tokens and %u merges, at most %u each fit", v->n, v->merge_n,
                        PSC_VOCAB_MAX);
    const uint32_t ends[2] = {v->bos, v->eos};
    for (int k = 0; k < 2; k++)
        if (ends[k] != PSC_TOKEN_NONE && ends[k] >= v->n)
            return psc_fail(reterr, PSC_ERR_PARSE, "the %s token is %u, outside the vocabulary of %u tokens",
                            k ? "eos" : "bos", ends[k], v->n);
    return PSC_OK;
}

static bool allocate(struct psc_tokenizer *t, const struct psc_vocab *v, uint64_t bytes)
{
    uint64_t slots = 16;
    while (slots < (uint64_t)v->n * 2)
        slots *= 2;
    t->n = v->n;
    t->mask = (uint32_t)(slots - 1);
    t->bytes = psc_alloc((size_t)bytes);
    t->at = psc_alloc0((size_t)v->n + 1, sizeof *t->at);
    t->type = psc_alloc0(v->n, 1);
    t->normal = psc_alloc0(v->n, 1);
    t->table = psc_alloc0((size_t)slots, sizeof *t->table);
    t->special = psc_alloc0(v->n, sizeof *t->special);
    t->sum = psc_alloc0(v->merge_n, sizeof *t->sum);
    return t->bytes && t->at && t->type && t->normal && t->table && t->special && t->sum;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* <0x0A> -> 10, or -1 */
static int byte_token(struct psc_vocab_text text)
{
    if (text.n != 6 || memcmp(text.s, "<0x", 3) != 0 || text.s[5] != '>')
        return -1;
    int high = hex_digit(text.s[3]), low = hex_digit(text.s[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Type and bytes of one token, and its place in the table. */
static enum psc_status add_token(struct psc_tokenizer *t, const struct psc_vocab *v,
                                 const struct psc_spelling *sp, uint32_t id, struct psc_error *reterr)
{
    struct psc_vocab_text text = v->tokens[id];
    struct psc_shown name;
    int32_t type = type_of(v, id);
    size_t n = (size_t)text.n;
    char *to = t->bytes + t->at[id];
    if (type < PSC_TOKEN_NORMAL || type > PSC_TOKEN_BYTE)
        return psc_fail(reterr, PSC_ERR_PARSE, "token %u '%s' has the type %d; 1 to 6 are known", id,
                        psc_vocab_show(text, &name), type);
    if (n == 0 && type != PSC_TOKEN_UNUSED)
        return psc_fail(reterr, PSC_ERR_PARSE, "token %u is empty", id);
    t->type[id] = (unsigned char)type;
    if (type == PSC_TOKEN_BYTE) {
        int byte = byte_token(text);
        if (byte < 0)
            return psc_fail(reterr, PSC_ERR_PARSE,
                            "token %u '%s' has the type of a byte, but is not spelled '<0x0A>'", id,
                            psc_vocab_show(text, &name));
        if (t->byte[byte] == PSC_TOKEN_NONE)
            t->byte[byte] = id;
        *to = (char)byte;
        n = 1;
    } else if (type == PSC_TOKEN_NORMAL && psc_unspell(sp, text, to, &n)) {
        t->normal[id] = 1;
    } else if (n) {
        n = (size_t)text.n;
        memcpy(to, text.s, n);
    }
    t->at[id + 1] = t->at[id] + n;
    if (type == PSC_TOKEN_UNUSED || type == PSC_TOKEN_BYTE)
        return PSC_OK;

    uint64_t hash = token_hash(t->normal[id], to, n);
    uint32_t slot = slot_of(t, t->normal[id], to, n, hash);
    if (t->table[slot])
        return psc_fail(reterr, PSC_ERR_PARSE, "token %u '%s' is token %u again", id,
                        psc_vocab_show(text, &name), (uint32_t)t->table[slot] - 1);
    t->table[slot] = (hash >> 32) << 32 | (id + 1);
    return PSC_OK;
}

/* A special token may be spelled as a normal one is: then one text would be two tokens. */
static enum psc_status check_special(const struct psc_tokenizer *t, const struct psc_vocab *v,
                                     const struct psc_spelling *sp, struct psc_text *scratch, uint32_t id,
                                     struct psc_error *reterr)
{
    size_t n;
    if (t->normal[id] || t->type[id] == PSC_TOKEN_UNUSED || t->type[id] == PSC_TOKEN_BYTE ||
        !psc_unspell(sp, v->tokens[id], scratch->s, &n))
        return PSC_OK;
    uint32_t other = psc_token_lookup(t, true, scratch->s, n);
    struct psc_shown name;
    return other == PSC_TOKEN_NONE ? PSC_OK
                                   : psc_fail(reterr, PSC_ERR_PARSE, "token %u '%s' is token %u again", id,
                                              psc_vocab_show(v->tokens[id], &name), other);
}

static enum psc_status add_tokens(struct psc_tokenizer *t, const struct psc_vocab *v,
                                  const struct psc_spelling *sp, struct psc_text *scratch,
                                  struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t id = 0; id < v->n && status == PSC_OK; id++)
        status = add_token(t, v, sp, id, reterr);
    for (uint32_t id = 0; id < v->n && status == PSC_OK; id++)
        status = check_special(t, v, sp, scratch, id, reterr);
    for (uint32_t byte = 0; byte < 256 && status == PSC_OK; byte++) {
        char c = (char)byte;
        uint32_t id = psc_token_lookup(t, true, &c, 1);
        if (id != PSC_TOKEN_NONE)
            t->byte[byte] = id;
    }
    return status;
}

static enum psc_status add_merge(struct psc_tokenizer *t, const struct psc_vocab *v,
                                 const struct psc_spelling *sp, char *scratch, uint32_t k,
                                 struct psc_error *reterr)
{
    struct psc_vocab_text merge = v->merges[k];
    struct psc_shown name, part;
    const char *gap = merge.n > 2 ? memchr(merge.s + 1, ' ', (size_t)merge.n - 1) : NULL;
    struct psc_vocab_text side[2] = {0};
    if (gap) {
        side[0] = (struct psc_vocab_text){merge.s, (uint64_t)(gap - merge.s)};
        side[1] = (struct psc_vocab_text){gap + 1, merge.n - side[0].n - 1};
    }
    if (!gap || side[1].n == 0)
        return psc_fail(reterr, PSC_ERR_PARSE, "merge %u '%s' is not two tokens with a space between them", k,
                        psc_vocab_show(merge, &name));
    uint32_t id[2];
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        size_t more = 0;
        id[i] = psc_unspell(sp, side[i], scratch + n, &more) ? psc_token_lookup(t, true, scratch + n, more)
                                                             : PSC_TOKEN_NONE;
        if (id[i] == PSC_TOKEN_NONE)
            return psc_fail(reterr, PSC_ERR_PARSE,
                            "merge %u '%s': '%s' is not a normal token of the vocabulary", k,
                            psc_vocab_show(merge, &name), psc_vocab_show(side[i], &part));
        n += more;
    }
    t->sum[k] = psc_token_lookup(t, true, scratch, n);
    if (t->sum[k] == PSC_TOKEN_NONE)
        return psc_fail(reterr, PSC_ERR_PARSE,
                        "merge %u '%s': the two together are not a token of the vocabulary", k,
                        psc_vocab_show(merge, &name));
    uint64_t pair = (uint64_t)id[0] << 32 | id[1];
    return psc_map_put(&t->pairs, pair, k, NULL) ? PSC_OK : psc_fail_nomem(reterr);
}

/* qsort has no context: the offsets ride along */
struct special {
    const char *s;
    size_t n;
    uint32_t id;
};

static int compare_special(const void *left, const void *right)
{
    const struct special *a = left, *b = right;
    int order = memcmp(a->s, b->s, a->n < b->n ? a->n : b->n);
    if (order == 0)
        order = (a->n > b->n) - (a->n < b->n);
    return order ? order : (a->id > b->id) - (a->id < b->id);
}

static enum psc_status sort_special(struct psc_tokenizer *t, struct psc_error *reterr)
{
    struct special *list = psc_alloc0((size_t)t->n, sizeof *list);
    if (!list)
        return psc_fail_nomem(reterr);
    for (uint32_t id = 0; id < t->n; id++) {
        size_t n = psc_token_length(t, id);
        if ((t->type[id] == PSC_TOKEN_CONTROL || t->type[id] == PSC_TOKEN_USER_DEFINED) &&
            n <= PSC_SPECIAL_BYTES_MAX)
            list[t->special_n++] = (struct special){t->bytes + t->at[id], n, id};
    }
    qsort(list, t->special_n, sizeof *list, compare_special);
    for (uint32_t k = 0; k < t->special_n; k++) {
        t->special[k] = list[k].id;
        t->begins[(unsigned char)list[k].s[0]] = true;
    }
    psc_free(list);
    return PSC_OK;
}

static void find_stops(struct psc_tokenizer *t)
{
    for (uint32_t k = 0; k < NAMES_N; k++) {
        t->stop[k] =
            k == STOP_START ? t->eos : psc_token_lookup(t, false, stop_names[k], strlen(stop_names[k]));
        if (t->stop[k] == PSC_TOKEN_NONE && k != STOP_START)
            t->stop[k] = psc_token_lookup(t, true, stop_names[k], strlen(stop_names[k]));
    }
}

/* Bytes of all tokens and of the longest token or merge. */
static enum psc_status measure(const struct psc_vocab *v, uint64_t *ret_all, uint64_t *ret_longest,
                               struct psc_error *reterr)
{
    uint64_t all = 0, longest = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->tokens[i].n > PSC_TOKEN_BYTES_MAX)
            return psc_fail(reterr, PSC_ERR_TOO_BIG, "token %u has %llu bytes, at most %u fit", i,
                            (unsigned long long)v->tokens[i].n, PSC_TOKEN_BYTES_MAX);
        all += v->tokens[i].n;
        longest = longest > v->tokens[i].n ? longest : v->tokens[i].n;
    }
    for (uint32_t i = 0; i < v->merge_n; i++) {
        if (v->merges[i].n > 2 * PSC_TOKEN_BYTES_MAX + 1)
            return psc_fail(reterr, PSC_ERR_TOO_BIG, "merge %u has %llu bytes, at most %u fit", i,
                            (unsigned long long)v->merges[i].n, 2 * PSC_TOKEN_BYTES_MAX + 1);
        longest = longest > v->merges[i].n ? longest : v->merges[i].n;
    }
    *ret_all = all;
    *ret_longest = longest;
    return PSC_OK;
}

static enum psc_status fill(struct psc_tokenizer *t, const struct psc_vocab *v, struct psc_error *reterr)
{
    uint64_t all = 0, longest = 0;
    enum psc_status status = measure(v, &all, &longest, reterr);
    if (status != PSC_OK)
        return status;
    struct psc_text scratch = {.s = psc_alloc((size_t)longest + 1), .cap = (size_t)longest + 1};
    struct psc_spelling sp;
    psc_spelling_init(&sp);
    status = scratch.s && allocate(t, v, all) ? PSC_OK : psc_fail_nomem(reterr);
    if (status == PSC_OK)
        status = add_tokens(t, v, &sp, &scratch, reterr);
    for (uint32_t k = 0; k < v->merge_n && status == PSC_OK; k++)
        status = add_merge(t, v, &sp, scratch.s, k, reterr);
    if (status == PSC_OK)
        status = sort_special(t, reterr);
    psc_text_release(&scratch);
    return status;
}

enum psc_status psc_tokenizer_new(const struct psc_vocab *vocab, struct psc_tokenizer **ret,
                                  struct psc_error *reterr)
{
    enum psc_status status = check_vocab(vocab, reterr);
    if (status != PSC_OK)
        return status;
    struct psc_tokenizer *t = psc_alloc0(1, sizeof *t);
    if (!t)
        return psc_fail_nomem(reterr);
    memset(t->byte, 0xff, sizeof t->byte);
    t->bos = vocab->bos;
    t->eos = vocab->eos;
    t->add_bos = vocab->add_bos && vocab->bos != PSC_TOKEN_NONE;
    status = fill(t, vocab, reterr);
    if (status != PSC_OK) {
        psc_tokenizer_free(t);
        return status;
    }
    find_stops(t);
    *ret = t;
    return PSC_OK;
}

void psc_tokenizer_free(struct psc_tokenizer *t)
{
    if (!t)
        return;
    psc_map_release(&t->pairs);
    psc_free(t->bytes);
    psc_free(t->at);
    psc_free(t->type);
    psc_free(t->normal);
    psc_free(t->table);
    psc_free(t->special);
    psc_free(t->sum);
    psc_free(t);
}
