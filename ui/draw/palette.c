#include "ui/draw/palette.h"

#include <math.h>
#include <string.h>

static const struct psc_palette light = {
    .dark = false,
    .rgb = {
        [PSC_COL_CANVAS] = 0xFFFFFF, [PSC_COL_GUTTER] = 0xF6F6F6, [PSC_COL_WINDOW] = 0xFAFAFA,
        [PSC_COL_HEADER] = 0xEBEBEB, [PSC_COL_INK] = 0x1F2329, [PSC_COL_DIM] = 0x62676D,
        [PSC_COL_GRID] = 0xECECEC, [PSC_COL_LAYER] = 0xC9C9C9, [PSC_COL_RULE] = 0xD5D5D5,
        [PSC_COL_ACT_FILL] = 0x9DB4C8, [PSC_COL_ACT_EDGE] = 0x5A7288, [PSC_COL_ACT_TEXT] = 0x14212D,
        [PSC_COL_PADDING] = 0xDFE7EE, [PSC_COL_IDLE] = 0xF4F5F6,
        [PSC_COL_KV_FILL] = 0x8CD3BF, [PSC_COL_KV_EDGE] = 0x007A59, [PSC_COL_KV_BRICK] = 0x5FB79F,
        [PSC_COL_KV_TEXT] = 0x063D2E,
        [PSC_COL_IO_FILL] = 0xFFFFFF, [PSC_COL_IO_EDGE] = 0x5A7288,
        [PSC_COL_WEIGHT_FILL] = 0xECECEA, [PSC_COL_WEIGHT_DOT] = 0xB4B4AE,
        [PSC_COL_STAGE_FILL] = 0xEFE4EC, [PSC_COL_STAGE_EDGE] = 0x9A5C82,
        [PSC_COL_USE_FILL] = 0xD6E0E9, [PSC_COL_USE_LINE] = 0x7F96AB,
        [PSC_COL_LANE_METAL] = 0x8F98A3, [PSC_COL_LANE_CUDA] = 0x5D7052, [PSC_COL_LANE_CPU] = 0x6F6788,
        [PSC_COL_LANE_OTHER] = 0x7C7468, [PSC_COL_LANE_KV] = 0x007A59, [PSC_COL_LANE_TEXT] = 0xFFFFFF,
        [PSC_COL_WRITE] = 0x56B4E9, [PSC_COL_READ] = 0xE69F00, [PSC_COL_READWRITE] = 0xF0E442,
        [PSC_COL_HOST] = 0x1F2329, [PSC_COL_COPY] = 0xCC79A7, [PSC_COL_COPY_LINE] = 0xB0588C,
        [PSC_COL_MARK_EDGE] = 0x1F2329,
        [PSC_COL_CLOBBER] = 0xD55E00, [PSC_COL_CLOBBER_TEXT] = 0xB84F00, [PSC_COL_CLOBBER_GROUND] = 0xFDEADF,
        [PSC_COL_WARN_TEXT] = 0x8A6100, [PSC_COL_WARN_GROUND] = 0xFDF3D0, [PSC_COL_WARN_EDGE] = 0xD8B24A,
        [PSC_COL_RIGHT] = 0x00694B, [PSC_COL_SELECT] = 0x1C71D8, [PSC_COL_LINK] = 0x1A65C2,
        [PSC_COL_NOW] = 0x1F2329, [PSC_COL_NOW_TEXT] = 0xFFFFFF, [PSC_COL_NOW_COLUMN] = 0xE4EFFB,
        [PSC_COL_SELECT_ROW] = 0xD9E7F8,
        [PSC_COL_HEAT_LOW] = 0x2F6FAE, [PSC_COL_HEAT_MID] = 0xF7F7F7, [PSC_COL_HEAT_HIGH] = 0xD9730D,
    },
};

static const struct psc_palette dark = {
    .dark = true,
    .rgb = {
        [PSC_COL_CANVAS] = 0x1E1E1E, [PSC_COL_GUTTER] = 0x272727, [PSC_COL_WINDOW] = 0x242424,
        [PSC_COL_HEADER] = 0x303030, [PSC_COL_INK] = 0xF2F3F5, [PSC_COL_DIM] = 0xA9AEB5,
        [PSC_COL_GRID] = 0x292929, [PSC_COL_LAYER] = 0x4C4C4C, [PSC_COL_RULE] = 0x3D3D3D,
        [PSC_COL_ACT_FILL] = 0x56718A, [PSC_COL_ACT_EDGE] = 0x9AB2C7, [PSC_COL_ACT_TEXT] = 0xF4F8FB,
        [PSC_COL_PADDING] = 0x37444F, [PSC_COL_IDLE] = 0x242628,
        [PSC_COL_KV_FILL] = 0x1D5B4A, [PSC_COL_KV_EDGE] = 0x3FBF97, [PSC_COL_KV_BRICK] = 0x2E8469,
        [PSC_COL_KV_TEXT] = 0xD5F5EA,
        [PSC_COL_IO_FILL] = 0x1E1E1E, [PSC_COL_IO_EDGE] = 0xC4D2DE,
        [PSC_COL_WEIGHT_FILL] = 0x3A3A38, [PSC_COL_WEIGHT_DOT] = 0x6F6F6A,
        [PSC_COL_STAGE_FILL] = 0x4A3644, [PSC_COL_STAGE_EDGE] = 0xD895BA,
        [PSC_COL_USE_FILL] = 0x33414E, [PSC_COL_USE_LINE] = 0x8AA5BD,
        [PSC_COL_LANE_METAL] = 0x6C7681, [PSC_COL_LANE_CUDA] = 0x5D7052, [PSC_COL_LANE_CPU] = 0x6F6788,
        [PSC_COL_LANE_OTHER] = 0x6B655B, [PSC_COL_LANE_KV] = 0x12694F, [PSC_COL_LANE_TEXT] = 0xFFFFFF,
        [PSC_COL_WRITE] = 0x56B4E9, [PSC_COL_READ] = 0xE69F00, [PSC_COL_READWRITE] = 0xF0E442,
        [PSC_COL_HOST] = 0xF2F3F5, [PSC_COL_COPY] = 0xCC79A7, [PSC_COL_COPY_LINE] = 0xCC79A7,
        [PSC_COL_MARK_EDGE] = 0x0B0D10,
        [PSC_COL_CLOBBER] = 0xFF7A33, [PSC_COL_CLOBBER_TEXT] = 0xFF7A33, [PSC_COL_CLOBBER_GROUND] = 0x46281A,
        [PSC_COL_WARN_TEXT] = 0xF2D675, [PSC_COL_WARN_GROUND] = 0x3A3319, [PSC_COL_WARN_EDGE] = 0x8A7430,
        [PSC_COL_RIGHT] = 0x57D3AB, [PSC_COL_SELECT] = 0x62A0EA, [PSC_COL_LINK] = 0x78AEED,
        [PSC_COL_NOW] = 0xFFFFFF, [PSC_COL_NOW_TEXT] = 0x1E1E1E, [PSC_COL_NOW_COLUMN] = 0x26364A,
        [PSC_COL_SELECT_ROW] = 0x2B4362,
        [PSC_COL_HEAT_LOW] = 0x6FB1EE, [PSC_COL_HEAT_MID] = 0x3A3D40, [PSC_COL_HEAT_HIGH] = 0xF2A04A,
    },
};

const struct psc_palette *psc_palette_get(bool is_dark)
{
    return is_dark ? &dark : &light;
}

uint32_t psc_rgb_mix(uint32_t a, uint32_t b, double part_of_b)
{
    uint32_t ret = 0;
    for (unsigned shift = 0; shift < 24; shift += 8) {
        double ca = (a >> shift) & 255, cb = (b >> shift) & 255;
        ret |= (uint32_t)(ca + (cb - ca) * part_of_b + 0.5) << shift;
    }
    return ret;
}

static double luminance(uint32_t rgb)
{
    static const double weight[3] = {0.0722, 0.7152, 0.2126}; /* blue, green, red */
    double sum = 0;
    for (unsigned i = 0; i < 3; i++) {
        double c = ((rgb >> (8 * i)) & 255) / 255.0;
        sum += weight[i] * (c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

double psc_rgb_contrast(uint32_t a, uint32_t b)
{
    double la = luminance(a), lb = luminance(b);
    return la > lb ? (la + 0.05) / (lb + 0.05) : (lb + 0.05) / (la + 0.05);
}

enum psc_colour psc_lane_colour(const char *backend)
{
    if (!backend)
        return PSC_COL_LANE_OTHER;
    if (!strcmp(backend, "metal"))
        return PSC_COL_LANE_METAL;
    if (!strcmp(backend, "cuda"))
        return PSC_COL_LANE_CUDA;
    return !strcmp(backend, "cpu") ? PSC_COL_LANE_CPU : PSC_COL_LANE_OTHER;
}
