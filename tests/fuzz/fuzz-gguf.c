/* One input of the model reader's fuzz run, in libFuzzer's form: whatever the bytes, the parser returns in order, and
 * what it takes can be asked for everything.
 *
 *     clang -fsanitize=fuzzer,address -I. tests/fuzz/fuzz-gguf.c <the project's libraries> -o fuzz && ./fuzz
 *
 * test-fuzz-gguf.c runs it without clang, over mutations of the golden files.
 */
#include "core/base/mem.h"
#include "core/model/gguf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void must_be(enum psc_status status, const struct psc_error *err)
{
    must(status == PSC_OK || err->text[0]);
}

static void ask_values(struct psc_arena *arena, const struct psc_gguf *g, const char *key)
{
    struct psc_error err = {0};
    uint64_t u, n;
    uint32_t u32;
    double f;
    bool b;
    const char *text;
    const struct psc_gguf_text *texts;
    const int32_t *i32s;
    const float *f32s;
    must_be(psc_gguf_get_u64(g, key, NULL, &u, &err), &err);
    must_be(psc_gguf_get_u32(g, key, NULL, &u32, &err), &err);
    must_be(psc_gguf_get_f64(g, key, NULL, &f, &err), &err);
    must_be(psc_gguf_get_bool(g, key, NULL, &b, &err), &err);
    if (psc_gguf_get_text(g, key, NULL, &text, &err) == PSC_OK)
        must(strlen(text) <= psc_gguf_find(g, key)->n);
    if (psc_gguf_get_texts(arena, g, key, &texts, &n, &err) == PSC_OK)
        for (uint64_t i = 0; i < n; i++)
            must(!texts[i].n || !memchr(texts[i].s, 0, texts[i].n) || texts[i].n > 0); /* reads all of it */
    must_be(psc_gguf_get_i32s(arena, g, key, &i32s, &n, &err), &err);
    must_be(psc_gguf_get_f32s(arena, g, key, &f32s, &n, &err), &err);
}

static void ask_tensor(const struct psc_gguf_tensor *t)
{
    struct psc_weight w;
    struct psc_error err = {0};
    float row[4096];
    if (t->bytes) {
        volatile unsigned char ends = t->data[0];
        ends = t->data[t->bytes - 1];
        (void)ends;
    }
    enum psc_status status = psc_gguf_weight(t, &w, &err);
    must_be(status, &err);
    if (status == PSC_OK && w.in <= 4096)
        psc_blocks_decode(w.type, psc_weight_row(&w, w.out - 1), row, w.in);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct psc_arena arena = {0};
    struct psc_gguf g, joined;
    struct psc_error err = {0};
    unsigned char *exact = psc_alloc(size); /* so that a sanitizer sees every byte read too much */
    must(exact != NULL);
    if (size)
        memcpy(exact, data, size);
    enum psc_status status = psc_gguf_parse(&arena, exact, size, &g, &err);
    must_be(status, &err);
    must(arena.total <= 65536 + 16 * (uint64_t)size);
    if (status == PSC_OK) {
        struct psc_text text = {0};
        for (uint32_t i = 0; i < g.kv_n; i++) {
            must(psc_gguf_find(&g, g.kvs[i].key) == &g.kvs[i]);
            psc_gguf_kv_show(&g.kvs[i], 5, 40, &text);
            ask_values(&arena, &g, g.kvs[i].key);
        }
        for (uint32_t i = 0; i < g.tensor_n; i++) {
            must(psc_gguf_find_tensor(&g, g.tensors[i].name) == &g.tensors[i]);
            ask_tensor(&g.tensors[i]);
        }
        must_be(psc_gguf_join(&arena, &g, 1, &joined, &err), &err);
        psc_text_release(&text);
    }
    psc_arena_release(&arena);
    psc_free(exact);
    return 0;
}
