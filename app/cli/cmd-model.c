/* What a model holds: metadata, sizes, every tensor. A file that no graph is built of is shown as far as it goes. */
#include "app/cli/commands.h"
#include "app/cli/input.h"
#include "app/cli/progress.h"
#include "app/cli/words.h"
#include "app/model.h"
#include "core/model/gguf.h"
#include "traces/json-write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ITEMS_SHOWN = 4, BYTES_SHOWN = 72 };

struct shown {
    struct app_model opened;  /* .file or .model may be missing */
    struct psc_error no_graph; /* why .model is missing */
    const char *name;
};
struct tensor { /* of a file or of a preset */
    const char *name, *type;
    uint64_t shape[PSC_GGUF_DIMS_MAX], bytes;
    uint32_t dims;
};
struct total {
    const char *type;
    uint64_t n, bytes;
};
#define TOTALS_MAX 64u

static const struct psc_gguf *gguf_of(const struct shown *s)
{
    return s->opened.file ? psc_gguf_file_model(s->opened.file) : NULL;
}

static uint32_t tensor_n(const struct shown *s)
{
    return gguf_of(s) ? gguf_of(s)->tensor_n : s->opened.model->file_n;
}

static struct tensor tensor_at(const struct shown *s, uint32_t i)
{
    struct tensor t = {0};
    if (gguf_of(s)) {
        const struct psc_gguf_tensor *from = &gguf_of(s)->tensors[i];
        const char *type = psc_gguf_tensor_type_name(from->type_id);
        t = (struct tensor){.name = from->name, .type = type ? type : "unknown", .bytes = from->bytes, .dims = from->n_dims};
        memcpy(t.shape, from->dims, sizeof t.shape);
    } else {
        const struct psc_weight *w = &s->opened.model->weights[i];
        t = (struct tensor){w->name, psc_wtype_info(w->type)->name, {w->in, w->out}, w->bytes, w->out > 1 ? 2 : 1};
    }
    return t;
}

/* Bytes of each type, in first-seen order; types beyond the table count with the last. */
static unsigned add_up(const struct shown *s, struct total totals[TOTALS_MAX])
{
    unsigned n = 0;
    for (uint32_t i = 0; i < tensor_n(s); i++) {
        struct tensor t = tensor_at(s, i);
        unsigned k = 0;
        while (k < n && strcmp(totals[k].type, t.type))
            k++;
        if (k == n) {
            k = n < TOTALS_MAX ? n++ : n - 1;
            totals[k] = (struct total){.type = t.type};
        }
        totals[k].n++;
        totals[k].bytes += t.bytes;
    }
    return n;
}

/* ---- for machines ---------------------------------------------------------------------------------------- */

static void add_value(struct psc_json *j, const struct psc_gguf *gguf, const struct psc_gguf_kv *kv)
{
    const char *text;
    uint64_t whole;
    double number;
    bool truth;
    if (kv->type == PSC_GGUF_ARRAY) {
        psc_json_object(j);
        psc_json_put_string(j, "item", psc_gguf_type_name(kv->item));
        psc_json_put_u64(j, "n", kv->n);
        psc_json_end_object(j);
    } else if (kv->type == PSC_GGUF_STRING) {
        psc_json_string(j, psc_gguf_get_text(gguf, kv->key, NULL, &text, NULL) ? NULL : text);
    } else if (kv->type == PSC_GGUF_BOOL) {
        if (psc_gguf_get_bool(gguf, kv->key, NULL, &truth, NULL))
            psc_json_null(j);
        else
            psc_json_bool(j, truth);
    } else if (!psc_gguf_get_u64(gguf, kv->key, NULL, &whole, NULL)) {
        psc_json_u64(j, whole);
    } else if (!psc_gguf_get_f64(gguf, kv->key, NULL, &number, NULL)) {
        psc_json_f64(j, number);
    } else {
        psc_json_null(j);
    }
}

static void add_hyper_json(struct psc_json *j, const struct psc_hyper *h)
{
    psc_json_object(j);
    psc_json_put_string(j, "architecture", psc_arch_name(h->arch));
    psc_json_put_u64(j, "n_layer", h->n_layer);
    psc_json_put_u64(j, "n_embd", h->n_embd);
    psc_json_put_u64(j, "n_head", h->n_head);
    psc_json_put_u64(j, "n_head_kv", h->n_head_kv);
    psc_json_put_u64(j, "hd", h->hd);
    psc_json_put_u64(j, "n_kv", h->n_kv);
    psc_json_put_u64(j, "n_ff", h->n_ff);
    psc_json_put_u64(j, "n_vocab", h->n_vocab);
    psc_json_put_u64(j, "n_ctx_max", h->n_ctx_max);
    psc_json_put_f64(j, "eps", (double)h->eps);
    psc_json_put_f64(j, "freq_base", (double)h->freq_base);
    psc_json_put_f64(j, "freq_scale", (double)h->freq_scale);
    psc_json_put_bool(j, "tied", h->tied);
    psc_json_end_object(j);
}

static void add_tensors_json(struct psc_json *j, const struct shown *s)
{
    psc_json_key(j, "tensors");
    psc_json_array(j);
    for (uint32_t i = 0; i < tensor_n(s); i++) {
        struct tensor t = tensor_at(s, i);
        psc_json_object(j);
        psc_json_put_text(j, "name", t.name);
        psc_json_put_string(j, "type", t.type);
        psc_json_key(j, "shape");
        psc_json_array(j);
        for (uint32_t d = 0; d < t.dims; d++)
            psc_json_u64(j, t.shape[d]);
        psc_json_end_array(j);
        psc_json_put_u64(j, "bytes", t.bytes);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
}

static void add_json(struct psc_json *j, const struct shown *s)
{
    struct total totals[TOTALS_MAX];
    const struct psc_gguf *gguf = gguf_of(s);
    unsigned n = add_up(s, totals);
    uint64_t bytes = 0;
    psc_json_object(j);
    psc_json_put_text(j, "name", s->name);
    psc_json_put_u64(j, "version", gguf ? gguf->version : 0);
    psc_json_put_u64(j, "parts", gguf ? gguf->part_n : 0);
    psc_json_put_u64(j, "file_bytes", gguf ? gguf->file_bytes : 0);
    psc_json_key(j, "metadata");
    psc_json_object(j);
    for (uint32_t i = 0; gguf && i < gguf->kv_n; i++) {
        psc_json_key(j, gguf->kvs[i].key);
        add_value(j, gguf, &gguf->kvs[i]);
    }
    psc_json_end_object(j);
    psc_json_key(j, "model");
    if (s->opened.model)
        add_hyper_json(j, &s->opened.model->hyper);
    else
        psc_json_null(j);
    psc_json_put_string(j, "no_graph", s->opened.model ? NULL : s->no_graph.text);
    add_tensors_json(j, s);
    psc_json_key(j, "types");
    psc_json_array(j);
    for (unsigned k = 0; k < n; k++) {
        bytes += totals[k].bytes;
        psc_json_object(j);
        psc_json_put_string(j, "type", totals[k].type);
        psc_json_put_u64(j, "tensors", totals[k].n);
        psc_json_put_u64(j, "bytes", totals[k].bytes);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
    psc_json_put_u64(j, "tensor_bytes", bytes);
    psc_json_end_object(j);
}

/* ---- for people --------------------------------------------------------------------------------------------- */

static void add_hyper(struct psc_text *out, const struct psc_hyper *h)
{
    uint64_t kv;
    char bytes[16];
    psc_text_addf(out, "Model       %s, %" PRIu32 " layers, width %" PRIu32 ", feed-forward %" PRIu32 "\n",
                  psc_arch_name(h->arch), h->n_layer, h->n_embd, h->n_ff);
    psc_text_addf(out, "Attention   %" PRIu32 " heads of %" PRIu32 " over %" PRIu32 " KV heads, K rows of %" PRIu32 "\n",
                  h->n_head, h->hd, h->n_head_kv, h->n_kv);
    psc_text_add(out, "Vocabulary  ");
    cli_add_number(out, h->n_vocab);
    psc_text_addf(out, " tokens%s\n", h->tied ? ", logits from the embedding (tied)" : "");
    psc_text_add(out, "Context     ");
    cli_add_number(out, h->n_ctx_max);
    psc_text_addf(out, " positions, epsilon %g, rotation base %g, scale %g\n", (double)h->eps, (double)h->freq_base,
                  (double)h->freq_scale);
    if (psc_hyper_kv_bytes(h, psc_model_n_ctx(h, 0, 0), 0, &kv)) {
        psc_text_addf(out, "KV regions  %s at %" PRIu32 " rows", psc_bytes_text(kv, bytes, sizeof bytes),
                      psc_model_n_ctx(h, 0, 0));
        if (psc_hyper_kv_bytes(h, h->n_ctx_max, 0, &kv) && psc_model_n_ctx(h, 0, 0) != h->n_ctx_max)
            psc_text_addf(out, ", %s at %" PRIu32, psc_bytes_text(kv, bytes, sizeof bytes), h->n_ctx_max);
        psc_text_add(out, "\n");
    }
}

static void add_metadata(struct psc_text *out, const struct psc_gguf *gguf)
{
    struct cli_table table;
    struct psc_text value = {0};
    psc_text_addf(out, "\nMetadata (%" PRIu32 ")\n", gguf->kv_n);
    cli_table_init(&table, "key|type|value", "lll");
    for (uint32_t i = 0; i < gguf->kv_n; i++) {
        const struct psc_gguf_kv *kv = &gguf->kvs[i];
        psc_text_clear(&value);
        psc_gguf_kv_show(kv, ITEMS_SHOWN, BYTES_SHOWN, &value);
        cli_table_cell(&table, kv->key);
        cli_table_cell(&table, psc_gguf_type_name(kv->type));
        cli_table_cell(&table, psc_text_str(&value));
    }
    out->failed |= value.failed;
    psc_text_release(&value);
    cli_table_end(&table, out);
}

static void add_tensors(struct psc_text *out, const struct shown *s)
{
    struct cli_table table;
    psc_text_addf(out, "\nTensors (%" PRIu32 ")\n", tensor_n(s));
    cli_table_init(&table, "name|type|shape|bytes", "lllr");
    for (uint32_t i = 0; i < tensor_n(s); i++) {
        struct tensor t = tensor_at(s, i);
        char shape[128];
        size_t n = 0;
        for (uint32_t d = 0; d < t.dims && d < PSC_GGUF_DIMS_MAX; d++)
            n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%" PRIu64, d ? ", " : "[", t.shape[d]);
        snprintf(shape + n, sizeof shape - n, "]");
        cli_table_cell(&table, t.name);
        cli_table_cell(&table, t.type);
        cli_table_cell(&table, shape);
        cli_table_number(&table, t.bytes);
    }
    cli_table_end(&table, out);
}

static void add_totals(struct psc_text *out, const struct shown *s)
{
    struct total totals[TOTALS_MAX], all = {.type = "all"};
    struct cli_table table;
    unsigned n = add_up(s, totals);
    psc_text_add(out, "\nTypes\n");
    cli_table_init(&table, "type|tensors|bytes", "lrr");
    for (unsigned k = 0; k <= n; k++) {
        const struct total *t = k < n ? &totals[k] : &all;
        cli_table_cell(&table, t->type);
        cli_table_number(&table, t->n);
        cli_table_number(&table, t->bytes);
        all.n += t->n;
        all.bytes += t->bytes;
    }
    cli_table_end(&table, out);
}

static void add_people(struct psc_text *out, const struct shown *s)
{
    const struct psc_gguf *gguf = gguf_of(s);
    cli_add_safe(out, s->name);
    psc_text_add(out, "\n");
    if (gguf) {
        psc_text_addf(out, "Format      GGUF version %" PRIu32 ", ", gguf->version);
        cli_add_number(out, gguf->file_bytes);
        psc_text_addf(out, " bytes in %" PRIu32 " %s\n", gguf->part_n, gguf->part_n == 1 ? "file" : "files");
    } else {
        psc_text_addf(out, "Preset      %s\n", s->opened.preset->text);
    }
    if (s->opened.model) {
        add_hyper(out, &s->opened.model->hyper);
    } else {
        psc_text_add(out, "No graph    ");
        cli_add_safe(out, s->no_graph.text);
        psc_text_add(out, "\n");
    }
    if (gguf)
        add_metadata(out, gguf);
    add_tensors(out, s);
    add_totals(out, s);
}

/* ---- opening -------------------------------------------------------------------------------------------------- */

static enum cli_exit open_shown(struct shown *s, const struct cli_options *options)
{
    struct app_model_request request = {.path = options->file, .preset = options->preset, .weights = options->weights};
    struct psc_error error = {0};
    enum psc_status status;
    s->name = options->file;
    cli_progress("reading %s", options->file);
    status = app_model_open(&s->opened, &request, options->preset ? &error : &s->no_graph);
    if (status && !options->preset)
        status = psc_gguf_open(options->file, &s->opened.file, &error); /* its metadata may still be worth a look */
    return status ? cli_complain(options->file, &error) : CLI_CLEAN;
}

enum cli_exit cli_model(struct cli_options *options)
{
    struct shown s = {.no_graph = {.byte = UINT64_MAX}};
    enum cli_exit status = open_shown(&s, options);
    if (!status && options->json) {
        struct psc_json j;
        psc_json_init(&j, false);
        add_json(&j, &s);
        psc_text_add(&j.out, "\n");
        status = cli_print(&j.out, CLI_CLEAN);
    } else if (!status) {
        struct psc_text out = {0};
        add_people(&out, &s);
        status = cli_print(&out, CLI_CLEAN);
    }
    app_model_close(&s.opened);
    return status;
}
