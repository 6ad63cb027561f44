#include "core/model/seed.h"

#include "core/base/hash.h"

#include <math.h>
#include <string.h>

enum { PIECE = 1024 }; /* values made at a time: whole blocks of every type */

/* Where a tensor's numbers lie, and around what. */
struct stream {
    uint64_t key;
    float middle, reach; /* uniform in middle - reach .. middle + reach */
    uint64_t in;         /* values of a row, when rows are tokens whose logits they make; else 0 */
};

/* Longer queries and keys make attention choose among its rows instead of averaging them. */
static const float sharp = 1.75f;

static bool is_head_norm(const struct psc_tensor_spec *t)
{
    return strstr(t->name, "_q_norm") || strstr(t->name, "_k_norm");
}

static struct stream stream_of(const struct psc_hyper *h, const struct psc_tensor_spec *t, uint64_t seed)
{
    struct stream s = {.key = psc_hash_mix(psc_hash_bytes(t->name, strlen(t->name), seed))};
    float uniform = sqrtf(3), deviation = 1; /* a reach of sqrt(3) has deviation 1 */
    switch (t->role) {
    case PSC_TENSOR_NORM:
        /* Tied logits compare the last row with the embedding of the token it came from: signs at random make that
         * token no likelier than others. */
        s.middle = h->tied && t->layer < 0 ? 0 : is_head_norm(t) ? sharp : 1;
        deviation = h->tied && t->layer < 0 ? 2 : 0.1f;
        break;
    case PSC_TENSOR_BIAS: deviation = 0.1f; break;
    case PSC_TENSOR_EMBED: deviation = h->tied ? 1 / sqrtf((float)t->in) : 1; break;
    case PSC_TENSOR_OUTPUT:
    case PSC_TENSOR_O:
    case PSC_TENSOR_DOWN: deviation = 2 / sqrtf((float)t->in); break;
    case PSC_TENSOR_Q:
    case PSC_TENSOR_K: deviation = (h->arch == PSC_ARCH_QWEN2 ? sharp : 1) / sqrtf((float)t->in); break;
    default: deviation = 1 / sqrtf((float)t->in); break;
    }
    s.reach = uniform * deviation;
    if (t->role == PSC_TENSOR_OUTPUT || (t->role == PSC_TENSOR_EMBED && h->tied))
        s.in = t->in;
    return s;
}

/* Tokens of the tiny vocabulary that make no text: controls, halves of characters, marks of a conversation. */
static bool is_quiet(uint64_t token)
{
    return token < 32 || (127 <= token && token < 256) || (509 <= token && token < 512);
}

static void make(const struct stream *s, uint64_t at, uint64_t n, float *values)
{
    uint64_t state = s->key + at * UINT64_C(0x9e3779b97f4a7c15); /* as after `at` calls of psc_random_next */
    for (uint64_t i = 0; i < n; i++) {
        float unit = (float)(psc_random_next(&state) >> 40) * 0x1p-23f - 1; /* -1 .. 1, exact */
        values[i] = s->middle + s->reach * unit;
        if (s->in && is_quiet((at + i) / s->in))
            values[i] *= 0.25f;
    }
}

void psc_seed_values(const struct psc_hyper *hyper, const struct psc_tensor_spec *tensor, uint64_t seed, uint64_t at,
                     uint64_t n, float *values)
{
    struct stream s = stream_of(hyper, tensor, seed);
    make(&s, at, n, values);
}

void psc_seed_blocks(const struct psc_hyper *hyper, const struct psc_tensor_spec *tensor, enum psc_wtype type,
                     uint64_t seed, uint64_t at, uint64_t n, void *blocks)
{
    const struct psc_wtype_info *info = psc_wtype_info(type);
    struct stream s = stream_of(hyper, tensor, seed);
    float values[PIECE];
    unsigned char *to = blocks;
    for (uint64_t done = 0; done < n;) {
        uint64_t piece = n - done < PIECE ? n - done : PIECE;
        make(&s, at + done, piece, values);
        psc_blocks_encode(type, values, to, piece);
        to += piece / info->block * info->bytes;
        done += piece;
    }
}

#define TOLD (UINT64_C(1) << 20) /* values between two looks at the watch; whole blocks of every type */

static enum psc_status make_weight(const struct psc_hyper *hyper, const struct psc_tensor_spec *tensor, uint64_t seed,
                                   const struct psc_weight *shape, unsigned char *to, const struct psc_seed_watch *watch,
                                   uint64_t before, uint64_t total, struct psc_error *reterr)
{
    const struct psc_wtype_info *info = psc_wtype_info(shape->type);
    uint64_t n = shape->in * shape->out;
    for (uint64_t at = 0; at < n; at += TOLD) {
        uint64_t piece = n - at < TOLD ? n - at : TOLD, bytes = at / info->block * info->bytes;
        if (watch && !watch->progress(watch->ctx, before + bytes, total))
            return psc_fail(reterr, PSC_ERR_CANCELLED, "the making of weights was ended");
        psc_seed_blocks(hyper, tensor, shape->type, seed, at, piece, to + bytes);
    }
    return PSC_OK;
}

enum psc_status psc_model_seeded(struct psc_arena *arena, const struct psc_model *shapes, uint64_t seed,
                                 struct psc_model **ret, struct psc_error *reterr)
{
    return psc_model_seeded_watched(arena, shapes, seed, NULL, ret, reterr);
}

enum psc_status psc_model_seeded_watched(struct psc_arena *arena, const struct psc_model *shapes, uint64_t seed,
                                         const struct psc_seed_watch *watch, struct psc_model **ret,
                                         struct psc_error *reterr)
{
    uint64_t bytes = 0;
    const struct psc_hyper *hyper = &shapes->hyper;
    uint32_t n = psc_hyper_tensor_n(hyper), made = 0;
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_weight *weights = psc_arena_alloc(arena, n, sizeof *weights);
    enum psc_status status = weights ? PSC_OK : psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < n && !status; i++) {
        struct psc_tensor_spec t;
        psc_hyper_tensor(hyper, i, &t);
        const struct psc_weight *shape = psc_model_weight(shapes, t.name);
        if (!shape)
            continue; /* a bias */
        void *data = psc_arena_alloc(arena, shape->bytes, 1);
        if (!data) {
            status = psc_fail_nomem(reterr);
            break;
        }
        status = make_weight(hyper, &t, seed, shape, data, watch, bytes, shapes->weight_bytes, reterr);
        bytes += shape->bytes;
        weights[made] = *shape;
        weights[made++].data = data;
    }
    if (!status)
        status = psc_model_new(arena, shapes->name, hyper, weights, made, ret, reterr);
    if (status)
        psc_arena_rewind(arena, mark);
    return status;
}
