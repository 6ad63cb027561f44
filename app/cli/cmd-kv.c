#include "app/cli/commands.h"
#include "app/cli/input.h"
#include "app/cli/progress.h"
#include "app/cli/words.h"
#include "core/debug/kv-report.h"
#include "traces/json-write.h"
#include "traces/kv-dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FINDINGS_SHOWN 20u

static unsigned slot_n(const struct psc_kv_image *image)
{
    return image->has_v ? 2 : 1;
}

/* ---- for machines ---------------------------------------------------------------------------- */

static void put_region(struct psc_json *j, const char *key, const struct psc_kv_region_report *region)
{
    static const char *const states[PSC_KV_ROW_STATE_N] = {"zero", "values", "inf", "nan"};
    psc_json_key(j, key);
    psc_json_object(j);
    for (unsigned s = 0; s < PSC_KV_ROW_STATE_N; s++)
        psc_json_put_u64(j, states[s], region->count[s]);
    psc_json_end_object(j);
}

static void put_sequences(struct psc_json *j, const struct psc_kv_image *image)
{
    if (!image->runs)
        return;
    psc_json_key(j, "sequences");
    psc_json_array(j);
    for (uint32_t k = 0; k < image->run_n; k++) {
        const struct psc_kv_run *run = &image->runs[k];
        if (!run->live)
            continue;
        psc_json_object(j);
        psc_json_put_u64(j, "cap", run->cap);
        psc_json_put_u64(j, "rows", run->rows);
        psc_json_put_u64(j, "seq", run->seq);
        psc_json_put_u64(j, "shared_cell", run->shared_cell);
        psc_json_put_u64(j, "shared_rows", run->shared_rows);
        psc_json_put_u64(j, "start", run->start);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
}

static void put_findings(struct psc_json *j, const struct psc_kv_image *image, const struct psc_kv_report *report)
{
    psc_json_key(j, "findings");
    psc_json_array(j);
    for (uint32_t i = 0; i < report->finding_n; i++) {
        const struct psc_kv_finding *f = &report->findings[i];
        psc_json_object(j);
        psc_json_put_string(j, "fault", psc_kv_fault_name(f->fault));
        psc_json_key(j, "layer");
        if (f->at == PSC_KV_ALL)
            psc_json_null(j);
        else
            psc_json_i64(j, image->layer[f->at]);
        psc_json_key(j, "rows");
        psc_json_array(j);
        psc_json_u64(j, f->lo);
        psc_json_u64(j, f->hi);
        psc_json_end_array(j);
        psc_json_put_string(j, "slot", f->at == PSC_KV_ALL ? NULL : psc_kv_image_slot(image, f->slot));
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
}

static void put_all(struct psc_json *j, const struct psc_kv_dump *dump, const struct psc_kv_report *report)
{
    const struct psc_kv_image *image = psc_kv_dump_image(dump);
    psc_json_object(j);
    psc_json_put_string(j, "backend", image->backend);
    psc_json_key(j, "differs");
    if (report->differs_at == PSC_KV_ALL) {
        psc_json_null(j);
    } else {
        psc_json_object(j);
        psc_json_put_i64(j, "layer", image->layer[report->differs_at]);
        psc_json_put_u64(j, "row", report->differs_row);
        psc_json_put_string(j, "slot", psc_kv_image_slot(image, report->differs_slot));
        psc_json_end_object(j);
    }
    put_findings(j, image, report);
    psc_json_put_string(j, "format", psc_kv_dump_format(dump));
    psc_json_key(j, "layers");
    psc_json_array(j);
    for (uint32_t at = 0; at < image->layer_n; at++) {
        psc_json_object(j);
        for (unsigned slot = 0; slot < slot_n(image); slot++)
            put_region(j, *psc_kv_image_slot(image, slot) == 'K' ? "k" : "v", &report->regions[2 * at + slot]);
        psc_json_put_i64(j, "layer", image->layer[at]);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
    psc_json_put_string(j, "model", image->model);
    psc_json_put_u64(j, "n_ctx", image->rows);
    psc_json_put_u64(j, "row_bytes", (uint64_t)image->row_words * 4);
    psc_json_put_string(j, "rows_are", psc_kv_format_name(image->format));
    put_sequences(j, image);
    psc_json_put_u64(j, "used", report->used_n);
    psc_json_put_u64(j, "width", image->width);
    psc_json_put_u64(j, "written", report->written_n);
    psc_json_put_bool(j, "written_is_told", report->told);
    psc_json_end_object(j);
}

/* ---- for people ------------------------------------------------------------------------------- */

static void add_head(struct psc_text *out, const struct psc_kv_dump *dump, const struct psc_kv_report *report, const char *path)
{
    const struct psc_kv_image *image = psc_kv_dump_image(dump);
    uint64_t region = (uint64_t)image->rows * image->row_words * 4;
    char text[32];
    cli_add_safe(out, path);
    psc_text_addf(out, "\n%s: %" PRIu32 " layer%s, ", psc_kv_dump_format(dump), image->layer_n, image->layer_n == 1 ? "" : "s");
    cli_add_number(out, image->rows);
    psc_text_addf(out, " rows (n_ctx) of %" PRIu32 " values as %s", image->width, psc_kv_format_name(image->format));
    psc_text_addf(out, ", %s a region", psc_bytes_text(region, text, sizeof text));
    psc_text_addf(out, ", %s in all\n", psc_bytes_text(region * image->layer_n * slot_n(image), text, sizeof text));
    if (image->model) {
        psc_text_add(out, "Model ");
        cli_add_safe(out, image->model);
        psc_text_add(out, image->backend ? "" : "\n");
    }
    if (image->backend) {
        psc_text_add(out, image->model ? ", on " : "On ");
        cli_add_safe(out, image->backend);
        psc_text_add(out, "\n");
    }
    cli_add_number(out, report->written_n);
    bool one = report->written_n == 1;
    psc_text_add(out, one ? " row " : " rows ");
    psc_text_add(out, report->told ? "written, " : one ? "that holds anything, " : "that hold anything, ");
    psc_text_addf(out, "%.1f %% of n_ctx", 100.0 * report->written_n / image->rows);
    if (report->used_n)
        psc_text_addf(out, "; the last is row %" PRIu32, report->used_n - 1);
    psc_text_add(out, "\n");
}

static void add_sequences(struct psc_text *out, const struct psc_kv_image *image)
{
    struct cli_table table;
    bool any = false;
    char text[64];
    for (uint32_t k = 0; k < image->run_n && image->runs; k++)
        any |= image->runs[k].live;
    if (!any)
        return;
    psc_text_add(out, "\nSequences\n");
    cli_table_init(&table, "sequence|positions|cells|in use|shares", "rrlrl");
    for (uint32_t k = 0; k < image->run_n; k++) {
        const struct psc_kv_run *run = &image->runs[k];
        if (!run->live)
            continue;
        cli_table_number(&table, run->seq);
        cli_table_number(&table, (uint64_t)run->shared_rows + run->rows);
        snprintf(text, sizeof text, "%" PRIu32 "..%" PRIu32, run->start, run->start + run->cap - 1);
        cli_table_cell(&table, text);
        cli_table_number(&table, run->rows);
        snprintf(text, sizeof text, "%" PRIu32 " from cell %" PRIu32, run->shared_rows, run->shared_cell);
        cli_table_cell(&table, run->shared_rows ? text : "");
    }
    cli_table_end(&table, out);
}

static bool alike(const struct psc_kv_image *image, const struct psc_kv_report *report, uint32_t at)
{
    return !memcmp(&report->regions[2 * at], &report->regions[0], slot_n(image) * sizeof *report->regions);
}

/* Layers whose rows are in the same states as those of the layer before share a line. */
static void add_layers(struct psc_text *out, const struct psc_kv_image *image, const struct psc_kv_report *report)
{
    struct cli_table table;
    char text[48];
    psc_text_add(out, "\nRows of each layer\n");
    cli_table_init(&table, "layer|region|values|zero|NaN|infinite", "rlrrrr");
    for (uint32_t at = 0; at < image->layer_n;) {
        uint32_t end = at + 1;
        const struct psc_kv_region_report *regions = &report->regions[2 * at];
        while (end < image->layer_n && !memcmp(&report->regions[2 * end], regions, slot_n(image) * sizeof *regions))
            end++;
        snprintf(text, sizeof text, end > at + 1 ? "%" PRId32 "..%" PRId32 : "%" PRId32, image->layer[at], image->layer[end - 1]);
        for (unsigned slot = 0; slot < slot_n(image); slot++) {
            cli_table_cell(&table, slot ? "" : text);
            cli_table_cell(&table, psc_kv_image_slot(image, slot));
            cli_table_number(&table, regions[slot].count[PSC_KV_ROW_VALUES]);
            cli_table_number(&table, regions[slot].count[PSC_KV_ROW_ZERO]);
            cli_table_number(&table, regions[slot].count[PSC_KV_ROW_NAN]);
            cli_table_number(&table, regions[slot].count[PSC_KV_ROW_INF]);
        }
        at = end;
    }
    cli_table_end(&table, out);
    if (report->differs_at != PSC_KV_ALL)
        psc_text_addf(out, "Layer %" PRId32 " is the first that differs from layer %" PRId32 ": row %" PRIu32 " of %s holds something "
                      "in one of them only%s.\n", image->layer[report->differs_at], image->layer[0], report->differs_row,
                      psc_kv_image_slot(image, report->differs_slot), alike(image, report, report->differs_at)
                      ? ", though they count alike" : "");
}

static void add_findings(struct psc_text *out, const struct psc_kv_image *image, const struct psc_kv_report *report)
{
    psc_text_add(out, report->finding_n ? "\nFindings\n" : "\nNo findings.\n");
    for (uint32_t i = 0; i < report->finding_n && i < FINDINGS_SHOWN; i++) {
        psc_text_add(out, "  ");
        psc_explain_kv_finding(out, image, &report->findings[i]);
        psc_text_add(out, ".\n");
    }
    if (report->finding_n > FINDINGS_SHOWN)
        psc_text_addf(out, "  and %" PRIu32 " more; --json lists them all\n", report->finding_n - FINDINGS_SHOWN);
}

/* ---- the command ------------------------------------------------------------------------------ */

enum cli_exit cli_kv(struct cli_options *options)
{
    struct psc_kv_dump_options open = {(uint32_t)options->row_width, (uint32_t)options->n_ctx, options->tag};
    struct psc_kv_dump *dump = NULL;
    struct psc_arena arena = {0};
    struct psc_kv_report report;
    struct psc_error error = {.byte = UINT64_MAX};
    enum cli_exit exit = CLI_BAD;
    cli_progress("reading %s", options->file);
    enum psc_status status = psc_kv_dump_open(options->file, &open, &dump, &error);
    if (!status)
        status = psc_kv_report_make(&arena, psc_kv_dump_image(dump), &report, &error);
    if (status) {
        cli_complain(options->file, &error);
    } else if (options->json) {
        struct psc_json j;
        psc_json_init(&j, false);
        put_all(&j, dump, &report);
        psc_text_add(&j.out, "\n");
        exit = cli_print(&j.out, report.finding_n ? CLI_FINDINGS : CLI_CLEAN);
    } else {
        struct psc_text out = {0};
        add_head(&out, dump, &report, options->file);
        add_sequences(&out, psc_kv_dump_image(dump));
        add_layers(&out, psc_kv_dump_image(dump), &report);
        add_findings(&out, psc_kv_dump_image(dump), &report);
        exit = cli_print(&out, report.finding_n ? CLI_FINDINGS : CLI_CLEAN);
    }
    psc_arena_release(&arena);
    psc_kv_dump_free(dump);
    return exit;
}
