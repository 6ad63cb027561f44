#include "core/plan/plan.h"

#include <stdlib.h>
#include <string.h>

const struct psc_plan_options psc_plan_defaults = {
    .mode = PSC_MODE_UPSTREAM,
    .size = PSC_SIZE_CLASS,
    .slots = PSC_SLOTS_LOWEST,
    .order = PSC_ORDER_BUILD,
};

static const char *const mode_names[PSC_MODE_N] = {"upstream", "hardened"};
static const char *const size_names[PSC_SIZE_N] = {"class", "exact"};
static const char *const slots_names[PSC_SLOTS_N] = {"lowest", "fifo", "lifo", "random"};
static const char *const order_names[PSC_ORDER_N] = {"build", "topological"};

static int find(const char *const *names, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], text))
            return i;
    return -1;
}

const char *psc_mode_name(enum psc_mode mode)
{
    return mode_names[mode];
}

const char *psc_size_name(enum psc_size size)
{
    return size_names[size];
}

const char *psc_slots_name(enum psc_slots slots)
{
    return slots_names[slots];
}

const char *psc_order_name(enum psc_order order)
{
    return order_names[order];
}

bool psc_mode_parse(const char *text, enum psc_mode *ret)
{
    int i = find(mode_names, PSC_MODE_N, text);
    if (i >= 0)
        *ret = (enum psc_mode)i;
    return i >= 0;
}

bool psc_size_parse(const char *text, enum psc_size *ret)
{
    int i = find(size_names, PSC_SIZE_N, text);
    if (i >= 0)
        *ret = (enum psc_size)i;
    return i >= 0;
}

bool psc_order_parse(const char *text, enum psc_order *ret)
{
    int i = find(order_names, PSC_ORDER_N, text);
    if (i >= 0)
        *ret = (enum psc_order)i;
    return i >= 0;
}

/* Decimal digits only, no sign, no overflow. */
static bool parse_seed(const char *text, uint64_t *ret)
{
    uint64_t seed = 0;
    if (!*text)
        return false;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9' || seed > (UINT64_MAX - (uint64_t)(*p - '0')) / 10)
            return false;
        seed = seed * 10 + (uint64_t)(*p - '0');
    }
    *ret = seed;
    return true;
}

bool psc_slots_parse(const char *text, enum psc_slots *ret, uint64_t *ret_seed)
{
    static const char prefix[] = "random:";
    if (!strncmp(text, prefix, sizeof prefix - 1)) {
        if (!parse_seed(text + sizeof prefix - 1, ret_seed))
            return false;
        *ret = PSC_SLOTS_RANDOM;
        return true;
    }
    int i = find(slots_names, PSC_SLOTS_N, text);
    if (i < 0)
        return false;
    *ret = (enum psc_slots)i;
    *ret_seed = 0;
    return true;
}
