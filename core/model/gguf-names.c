/* Names, numbers and sizes of the format. */
#include "core/base/hash.h"
#include "core/base/utf8.h"
#include "core/model/gguf-private.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t bytes;
} types[PSC_GGUF_TYPE_N] = {
    [PSC_GGUF_U8] = {"u8", 1},   [PSC_GGUF_I8] = {"i8", 1},       [PSC_GGUF_U16] = {"u16", 2},
    [PSC_GGUF_I16] = {"i16", 2}, [PSC_GGUF_U32] = {"u32", 4},     [PSC_GGUF_I32] = {"i32", 4},
    [PSC_GGUF_F32] = {"f32", 4}, [PSC_GGUF_BOOL] = {"bool", 1},   [PSC_GGUF_STRING] = {"string", 0},
    [PSC_GGUF_U64] = {"u64", 8}, [PSC_GGUF_ARRAY] = {"array", 0}, [PSC_GGUF_I64] = {"i64", 8},
    [PSC_GGUF_F64] = {"f64", 8},
};

const char *psc_gguf_type_name(enum psc_gguf_type type)
{
    return (unsigned)type < PSC_GGUF_TYPE_N ? types[type].name : "?";
}

uint32_t psc_gguf_type_bytes(enum psc_gguf_type type)
{
    return (unsigned)type < PSC_GGUF_TYPE_N ? types[type].bytes : 0;
}

const struct psc_gguf_layout *psc_gguf_layout(uint32_t id)
{
    static const struct psc_gguf_layout layouts[] = {
        {"f32", 0, 1, 4},         {"f16", 1, 1, 2},        {"q4_0", 2, 32, 18},      {"q4_1", 3, 32, 20},
        {"q5_0", 6, 32, 22},      {"q5_1", 7, 32, 24},     {"q8_0", 8, 32, 34},      {"q2_K", 10, 256, 84},
        {"q3_K", 11, 256, 110},   {"q4_K", 12, 256, 144},  {"q5_K", 13, 256, 176},   {"q6_K", 14, 256, 210},
        {"iq2_xxs", 16, 256, 66}, {"iq2_xs", 17, 256, 74}, {"iq3_xxs", 18, 256, 98}, {"iq1_s", 19, 256, 50},
        {"iq4_nl", 20, 32, 18},   {"iq3_s", 21, 256, 110}, {"iq2_s", 22, 256, 82},   {"iq4_xs", 23, 256, 136},
        {"i8", 24, 1, 1},         {"i16", 25, 1, 2},       {"i32", 26, 1, 4},        {"i64", 27, 1, 8},
        {"f64", 28, 1, 8},        {"iq1_m", 29, 256, 56},  {"bf16", 30, 1, 2},       {"tq1_0", 34, 256, 54},
        {"tq2_0", 35, 256, 66},   {"mxfp4", 39, 32, 17},   {"nvfp4", 40, 64, 36},    {"q1_0", 41, 128, 18},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].id == id)
            return &layouts[i];
    return NULL;
}

const char *psc_gguf_tensor_type_name(uint32_t type_id)
{
    const struct psc_gguf_layout *layout = psc_gguf_layout(type_id);
    return layout ? layout->name : NULL;
}

size_t psc_gguf_show_char(const char *s, uint64_t n, char out[16])
{
    size_t length = psc_utf8_length(s, n > 4 ? 4 : (size_t)n);
    uint32_t code;
    memcpy(out, s, length);
    out[length] = '\0';
    if (length && *s && !psc_text_control(out, &code))
        return length;
    if (!length || length == 1)
        snprintf(out, 16, "\\x%02x", (unsigned char)*s);
    else
        snprintf(out, 16, "\\u%04x", code);
    return length ? length : 1;
}

const char *psc_gguf_show_name(struct psc_gguf_shown *buf, const char *s, uint64_t n)
{
    char one[16];
    size_t used = 0;
    for (uint64_t i = 0; i < n;) {
        i += psc_gguf_show_char(s + i, n - i, one);
        size_t more = strlen(one);
        if (used + more > 80) {
            memcpy(buf->s + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(buf->s + used, one, more);
        used += more;
    }
    buf->s[used] = '\0';
    return buf->s;
}

bool psc_gguf_table_new(struct psc_arena *arena, uint32_t n, struct psc_gguf_table *ret)
{
    uint32_t size = 4;
    while (size < 2 * n) /* n <= 2^30 */
        size *= 2;
    ret->slots = psc_arena_alloc0(arena, size, sizeof *ret->slots);
    ret->mask = size - 1;
    return ret->slots != NULL;
}

uint32_t *psc_gguf_table_slot(const uint32_t *slots, uint32_t mask, const char *name, const void *first,
                              size_t stride)
{
    uint32_t i = (uint32_t)psc_hash_mix(psc_hash_bytes(name, strlen(name), 0)) & mask;
    for (;; i = (i + 1) & mask) {
        const char *at = first, *other;
        if (slots[i]) {
            memcpy(&other, at + (slots[i] - 1) * stride, sizeof other);
            if (strcmp(other, name))
                continue;
        }
        return (uint32_t *)(uintptr_t)&slots[i];
    }
}

uint64_t psc_gguf_uint_at(const unsigned char *at, uint32_t bytes)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

struct psc_gguf_number psc_gguf_number_at(enum psc_gguf_type type, const unsigned char *at)
{
    uint32_t bytes = psc_gguf_type_bytes(type);
    uint64_t bits = psc_gguf_uint_at(at, bytes);
    if (type == PSC_GGUF_F32)
        return (struct psc_gguf_number){.value = psc_f32_of_bits((uint32_t)bits)};
    if (type == PSC_GGUF_F64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return (struct psc_gguf_number){.value = value};
    }
    bool is_signed =
        type == PSC_GGUF_I8 || type == PSC_GGUF_I16 || type == PSC_GGUF_I32 || type == PSC_GGUF_I64;
    bool negative = is_signed && bits >> (8 * bytes - 1);
    if (negative && bytes < 8)
        bits |= UINT64_MAX << 8 * bytes;
    return (struct psc_gguf_number){true, negative, bits, negative ? -(double)(0 - bits) : (double)bits};
}
