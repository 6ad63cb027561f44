#include "ui/draw/type.h"

#include "core/base/hash.h"
#include "core/base/mem.h"

#include <math.h>
#include <pango/pangocairo.h>
#include <string.h>

#define CACHE_MAX 4096

struct entry {
    PangoLayout *layout; /* owned */
    char *text;          /* owned */
    enum psc_font font;
    float width, baseline;
};
struct psc_type {
    PangoContext *context; /* owned */
    PangoFontDescription *fonts[PSC_FONT_N];
    PangoAttrList *figures; /* tabular */
    float x_height[PSC_FONT_N]; /* px */
    struct entry *entries;
    size_t n, cap;
    struct psc_map index; /* hash of font and text -> entry */
};

static const struct {
    const char *family;
    double points;
    PangoWeight weight;
} faces[PSC_FONT_N] = {
    [PSC_FONT_BAR] = {"Cantarell, Sans", 8.3, PANGO_WEIGHT_NORMAL},
    [PSC_FONT_BAR_BOLD] = {"Cantarell, Sans", 8.3, PANGO_WEIGHT_BOLD},
    [PSC_FONT_BASE] = {"Cantarell, Sans", 9, PANGO_WEIGHT_NORMAL},
    [PSC_FONT_BASE_BOLD] = {"Cantarell, Sans", 9, PANGO_WEIGHT_BOLD},
    [PSC_FONT_AXIS] = {"Cantarell, Sans", 8, PANGO_WEIGHT_NORMAL},
    [PSC_FONT_AXIS_BOLD] = {"Cantarell, Sans", 8, PANGO_WEIGHT_BOLD},
    [PSC_FONT_SMALL] = {"Cantarell, Sans", 7.5, PANGO_WEIGHT_NORMAL},
    [PSC_FONT_SMALL_BOLD] = {"Cantarell, Sans", 7.5, PANGO_WEIGHT_BOLD},
    [PSC_FONT_TITLE] = {"Cantarell, Sans", 12, PANGO_WEIGHT_BOLD},
    [PSC_FONT_MONO] = {"DejaVu Sans Mono, Monospace", 7, PANGO_WEIGHT_NORMAL},
};

struct psc_type *psc_type_new(void)
{
    struct psc_type *type = psc_alloc0(1, sizeof *type);
    if (!type)
        return NULL;
    /* A font map of its own: the default one belongs to the thread that asked for it first, and a worker that
     * shapes with it while the window draws corrupts its font list. */
    PangoFontMap *map = pango_cairo_font_map_new();
    type->context = pango_font_map_create_context(map);
    g_object_unref(map);
    pango_cairo_context_set_resolution(type->context, 96);
    type->figures = pango_attr_list_new();
    pango_attr_list_insert(type->figures, pango_attr_font_features_new("tnum=1"));
    for (int i = 0; i < PSC_FONT_N; i++) {
        PangoFontDescription *font = type->fonts[i] = pango_font_description_new();
        pango_font_description_set_family_static(font, faces[i].family);
        pango_font_description_set_weight(font, faces[i].weight);
        pango_font_description_set_absolute_size(font, faces[i].points * 96 / 72 * PANGO_SCALE);
        /* capitals and figures reach about 0.7 of the size above the baseline */
        type->x_height[i] = (float)(faces[i].points * 96 / 72 * 0.70);
    }
    return type;
}

static void forget(struct psc_type *type)
{
    for (size_t i = 0; i < type->n; i++) {
        g_object_unref(type->entries[i].layout);
        psc_free(type->entries[i].text);
    }
    type->n = 0;
    psc_map_release(&type->index);
    type->index = (struct psc_map){0};
}

void psc_type_free(struct psc_type *type)
{
    if (!type)
        return;
    forget(type);
    psc_free(type->entries);
    for (int i = 0; i < PSC_FONT_N; i++)
        pango_font_description_free(type->fonts[i]);
    pango_attr_list_unref(type->figures);
    g_object_unref(type->context);
    psc_free(type);
}

static struct entry *shape(struct psc_type *type, enum psc_font font, const char *text)
{
    size_t n = strlen(text);
    uint64_t key = psc_hash_bytes(text, n, 0x7465787400ull + font);
    uint32_t at;
    if (psc_map_get(&type->index, key, &at) && type->entries[at].font == font &&
        !strcmp(type->entries[at].text, text))
        return &type->entries[at];
    if (type->n >= CACHE_MAX)
        forget(type);
    if (!psc_grow(&type->entries, type->n + 1, &type->cap, sizeof *type->entries))
        return NULL;
    struct entry *e = &type->entries[type->n];
    *e = (struct entry){.font = font, .text = psc_strdup(text)};
    if (!e->text)
        return NULL;
    e->layout = pango_layout_new(type->context);
    pango_layout_set_font_description(e->layout, type->fonts[font]);
    pango_layout_set_attributes(e->layout, type->figures);
    pango_layout_set_single_paragraph_mode(e->layout, TRUE);
    pango_layout_set_text(e->layout, text, (int)n);
    PangoRectangle logical;
    pango_layout_get_extents(e->layout, NULL, &logical);
    e->width = (float)logical.width / PANGO_SCALE;
    e->baseline = (float)pango_layout_get_baseline(e->layout) / PANGO_SCALE;
    uint32_t old;
    psc_map_put(&type->index, key, (uint32_t)type->n, &old);
    if (old != UINT32_MAX)
        psc_map_set(&type->index, key, (uint32_t)type->n);
    type->n++;
    return e;
}

double psc_type_width(struct psc_type *type, enum psc_font font, const char *text)
{
    struct entry *e = text && text[0] ? shape(type, font, text) : NULL;
    return e ? e->width : 0;
}

void psc_type_show(struct psc_type *type, cairo_t *cr, enum psc_font font, enum psc_align align,
                   const char *text, double x, double y)
{
    struct entry *e = text && text[0] ? shape(type, font, text) : NULL;
    if (!e)
        return;
    double left = align == PSC_LEFT ? x : align == PSC_CENTRE ? x - e->width / 2 : x - e->width;
    double baseline = y + type->x_height[font] / 2;
    cairo_move_to(cr, floor(left + 0.5), floor(baseline + 0.5) - e->baseline);
    pango_cairo_show_layout(cr, e->layout);
}

double psc_type_guess(const char *text)
{
    return text ? 6.0 * (double)strlen(text) : 0;
}
