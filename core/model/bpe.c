/* core/model/bpe.c: encoding: special tokens, words, and the joining of tokens inside a word. */
#include "core/base/mem.h"
#include "core/model/tokenizer-private.h"
#include "core/model/words.h"

#include <string.h>

#define END   UINT32_MAX /* no neighbour */
#define NEVER UINT32_MAX /* no merge */

/* One word being joined: a list of tokens, each known by the place of its first byte, and a heap of the merges that
 * two neighbours may do. An entry of the heap is merge << 32 | place of the left one, so the smallest is the merge that
 * comes first, the leftmost of equal ones. An entry is out of date when `merge` of its place says something else. */
struct word {
    uint32_t *id, *prev, *next, *merge; /* one block of 4 * cap */
    uint64_t *heap;                     /* 2 * cap: a join takes one entry out and puts at most two in */
    size_t heap_n, cap;
};

static void word_release(struct word *w)
{
    psc_free(w->id);
    psc_free(w->heap);
}

static bool word_room(struct word *w, size_t n)
{
    if (n <= w->cap)
        return true;
    size_t cap = w->cap ? w->cap : 64;
    while (cap < n)
        cap *= 2;
    word_release(w);
    *w =
        (struct word){.id = psc_alloc(cap * 4 * sizeof *w->id), .heap = psc_alloc(cap * 2 * sizeof *w->heap)};
    if (!w->id || !w->heap)
        return false;
    w->prev = w->id + cap;
    w->next = w->prev + cap;
    w->merge = w->next + cap;
    w->cap = cap;
    return true;
}

static void heap_push(struct word *w, uint64_t entry)
{
    size_t i = w->heap_n++;
    while (i && w->heap[(i - 1) / 2] > entry) {
        w->heap[i] = w->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    w->heap[i] = entry;
}

static uint64_t heap_pop(struct word *w)
{
    uint64_t least = w->heap[0], entry = w->heap[--w->heap_n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < w->heap_n; i = child) {
        if (child + 1 < w->heap_n && w->heap[child + 1] < w->heap[child])
            child++;
        if (w->heap[child] >= entry)
            break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = entry;
    return least;
}

/* Which merge may the token at `place` do with its right neighbour? */
static void look_right(const struct psc_tokenizer *t, struct word *w, uint32_t place)
{
    uint32_t merge = NEVER, right = w->next[place];
    if (right == END || !psc_map_get(&t->pairs, (uint64_t)w->id[place] << 32 | w->id[right], &merge))
        merge = NEVER;
    w->merge[place] = merge;
    if (merge != NEVER)
        heap_push(w, (uint64_t)merge << 32 | place);
}

static void join(const struct psc_tokenizer *t, struct word *w, uint32_t place)
{
    uint32_t right = w->next[place];
    w->id[place] = t->sum[w->merge[place]];
    w->next[place] = w->next[right];
    w->merge[right] = NEVER;
    if (w->next[place] != END)
        w->prev[w->next[place]] = place;
    look_right(t, w, place);
    if (w->prev[place] != END)
        look_right(t, w, w->prev[place]);
}

/* The tokens of a word that is no token itself. Every byte of it has a token. */
static enum psc_status join_word(const struct psc_tokenizer *t, struct word *w, const char *s, size_t n,
                                 struct psc_tokens *tokens, struct psc_error *reterr)
{
    if (!word_room(w, n))
        return psc_fail_nomem(reterr);
    w->heap_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        w->id[i] = t->byte[(unsigned char)s[i]];
        w->prev[i] = i ? i - 1 : END;
        w->next[i] = i + 1 < n ? i + 1 : END;
    }
    for (uint32_t i = 0; i < n; i++)
        look_right(t, w, i);
    while (w->heap_n) {
        uint64_t entry = heap_pop(w);
        uint32_t place = (uint32_t)entry;
        if (w->merge[place] == entry >> 32)
            join(t, w, place);
    }
    for (uint32_t i = 0; i != END; i = w->next[i]) {
        if (!psc_grow(&tokens->id, tokens->n + 1, &tokens->cap, sizeof *tokens->id))
            return psc_fail_nomem(reterr);
        tokens->id[tokens->n++] = w->id[i];
    }
    return PSC_OK;
}

static enum psc_status add_one(struct psc_tokens *tokens, uint32_t id, struct psc_error *reterr)
{
    if (!psc_grow(&tokens->id, tokens->n + 1, &tokens->cap, sizeof *tokens->id))
        return psc_fail_nomem(reterr);
    tokens->id[tokens->n++] = id;
    return PSC_OK;
}

/* A stretch of the text without special tokens, text[from, to). */
static enum psc_status encode_words(const struct psc_tokenizer *t, struct word *w, const char *text,
                                    size_t from, size_t to, struct psc_tokens *tokens,
                                    struct psc_error *reterr)
{
    for (size_t i = from; i < to; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (t->byte[byte] == PSC_TOKEN_NONE)
            return psc_fail(
                reterr, PSC_ERR_UNAVAILABLE,
                "the vocabulary has no token for the byte 0x%02X, which stands at byte %zu of the text", byte,
                i);
    }
    enum psc_status status = PSC_OK;
    for (size_t i = from, n; i < to && status == PSC_OK; i += n) {
        n = psc_word_qwen2(text + i, to - i);
        uint32_t id = psc_token_lookup(t, true, text + i, n);
        status =
            id != PSC_TOKEN_NONE ? add_one(tokens, id, reterr) : join_word(t, w, text + i, n, tokens, reterr);
    }
    return status;
}

/* The byte of a special token at `depth`, below every byte when it is shorter. */
static int byte_at(const struct psc_tokenizer *t, uint32_t k, size_t depth)
{
    uint32_t id = t->special[k];
    return depth < psc_token_length(t, id) ? (unsigned char)t->bytes[t->at[id] + depth] : -1;
}

/* The first of special[lo, hi), which agree in their first `depth` bytes, whose next byte is at least `byte`. */
static uint32_t first_at_least(const struct psc_tokenizer *t, uint32_t lo, uint32_t hi, size_t depth,
                               int byte)
{
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (byte_at(t, mid, depth) < byte)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The longest special token at s, or PSC_TOKEN_NONE. */
static uint32_t special_at(const struct psc_tokenizer *t, const char *s, size_t n, bool control)
{
    uint32_t lo = 0, hi = t->special_n, best = PSC_TOKEN_NONE;
    for (size_t depth = 0; depth < n && lo < hi; depth++) {
        int byte = (unsigned char)s[depth];
        lo = first_at_least(t, lo, hi, depth, byte);
        hi = first_at_least(t, lo, hi, depth, byte + 1);
        if (lo < hi && byte_at(t, lo, depth + 1) < 0 &&
            (control || t->type[t->special[lo]] != PSC_TOKEN_CONTROL))
            best = t->special[lo];
    }
    return best;
}

static enum psc_status encode_text(const struct psc_tokenizer *t, struct word *w, const char *text, size_t n,
                                   bool control, struct psc_tokens *tokens, struct psc_error *reterr)
{
    size_t from = 0; /* of the stretch that is not encoded yet */
    enum psc_status status = PSC_OK;
    for (size_t i = 0; i < n && status == PSC_OK;) {
        uint32_t id =
            t->begins[(unsigned char)text[i]] ? special_at(t, text + i, n - i, control) : PSC_TOKEN_NONE;
        if (id == PSC_TOKEN_NONE) {
            i++;
            continue;
        }
        status = encode_words(t, w, text, from, i, tokens, reterr);
        if (status == PSC_OK)
            status = add_one(tokens, id, reterr);
        i += psc_token_length(t, id);
        from = i;
    }
    return status == PSC_OK ? encode_words(t, w, text, from, n, tokens, reterr) : status;
}

enum psc_status psc_tokenizer_encode(const struct psc_tokenizer *t, const char *text, size_t n,
                                     unsigned flags, struct psc_tokens *tokens, struct psc_error *reterr)
{
    if (n > PSC_TEXT_BYTES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the text has %zu bytes, at most %u are encoded at once", n,
                        PSC_TEXT_BYTES_MAX);
    size_t before = tokens->n;
    struct word w = {0};
    enum psc_status status = PSC_OK;
    if ((flags & PSC_ENCODE_BOS) && t->add_bos)
        status = add_one(tokens, t->bos, reterr);
    if (status == PSC_OK)
        status = encode_text(t, &w, text, n, flags & PSC_ENCODE_CONTROL, tokens, reterr);
    word_release(&w);
    if (status != PSC_OK)
        tokens->n = before;
    return status;
}

void psc_tokens_release(struct psc_tokens *tokens)
{
    psc_free(tokens->id);
    memset(tokens, 0, sizeof *tokens);
}
