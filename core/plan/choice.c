#include "core/plan/choice.h"

#include <stdlib.h>
#include <string.h>

#define PART_MAX 40u

static bool parse_align(const char *part, uint64_t *ret)
{
    char *end;
    unsigned long long n;
    if (strncmp(part, "align=", 6) || part[6] < '0' || part[6] > '9')
        return false;
    n = strtoull(part + 6, &end, 10);
    if (*end || !n || n & (n - 1) || n > PSC_BYTES_MAX)
        return false;
    *ret = n;
    return true;
}

/* One that candela's rules for graphs have. */
static bool add_candela_fault(struct psc_planner_choice *c, const char *part)
{
    uint64_t bit = PSC_CANDELA_BIT(psc_candela_fault_from_name(part)) & PSC_CANDELA_GRAPH_FAULTS;
    c->plan.candela_faults |= bit;
    return bit;
}

static bool parse_part(struct psc_planner_choice *c, const char *part)
{
    const struct psc_planner *planner = psc_planner_find(part);
    enum psc_fault fault = psc_fault_from_name(part);
    if (planner)
        c->planner = planner;
    else if (fault != PSC_FAULT_N)
        c->plan.faults |= PSC_FAULT_BIT(fault);
    else if (psc_candela_fault_from_name(part) != PSC_CANDELA_FAULT_N)
        return add_candela_fault(c, part);
    else if (!strcmp(part, "apart"))
        c->plan.apart = true;
    else if (!strcmp(part, "file"))
        return c->filed = true;
    else
        return psc_mode_parse(part, &c->plan.mode) || psc_size_parse(part, &c->plan.size) ||
               psc_slots_parse(part, &c->plan.slots, &c->plan.seed) || psc_order_parse(part, &c->plan.order) ||
               parse_align(part, &c->plan.align) || psc_generation_parse(part, &c->plan.generation);
    return true;
}

enum psc_status psc_planner_choice_parse(struct psc_planner_choice *choice, const char *word, struct psc_error *reterr)
{
    struct psc_planner_choice own = *choice;
    char part[PART_MAX + 1];
    for (const char *p = word;; p++) {
        size_t n = strcspn(p, "+"), kept = n < PART_MAX ? n : PART_MAX;
        memcpy(part, p, kept);
        part[kept] = '\0';
        if (n > PART_MAX || !parse_part(&own, part))
            break;
        p += n;
        if (!*p) {
            *choice = own;
            return PSC_OK;
        }
    }
    struct psc_text known = {0};
    psc_planner_names(&known, false, " or ");
    enum psc_status status = psc_fail(reterr, PSC_ERR_USAGE, "'%.40s' is no planner and no option of one: %s, with parts such as "
                                      "hardened, exact, fifo, topological, apart or align=64 after a +, or file", part,
                                      psc_text_str(&known));
    psc_text_release(&known);
    return status;
}

void psc_planner_names(struct psc_text *out, bool of_boxes, const char *last)
{
    const char *before = NULL; /* said one behind, so that the last is known */
    bool first = true;
    for (const struct psc_planner *p = psc_planners; p->name; p++) {
        if (of_boxes && !psc_packer_find(p->name))
            continue;
        if (before) {
            psc_text_addf(out, "%s%s", first ? "" : ", ", before);
            first = false;
        }
        before = p->name;
    }
    if (before)
        psc_text_addf(out, "%s%s", first ? "" : last, before);
}
