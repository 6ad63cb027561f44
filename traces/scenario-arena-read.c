#include "traces/scenario-parts.h"

#include <stdio.h>
#include <string.h>

#define OPS_MAX (1u << 20)

/* "exec", "io"; absent: none. */
static enum psc_depot_kind read_arena(struct psc_part *p, struct psc_slice v, const char *where, enum psc_depot_kind none)
{
    const char *name = psc_part_string_or(p, v, where, "arena", NULL);
    for (unsigned a = 0; name && a < 2; a++)
        if (!strcmp(name, psc_depot_kind_name((enum psc_depot_kind)a)))
            return (enum psc_depot_kind)a;
    if (name)
        psc_part_fail(p, PSC_ERR_PARSE, "%s.arena is \"%.40s\": exec and io are known", where, name);
    return none;
}

static uint32_t read_name(struct psc_part *p, struct psc_slice v, const char *where, const char *key, bool may_lack,
                          struct psc_names *names)
{
    const char *name = may_lack ? psc_part_string_or(p, v, where, key, NULL) : psc_part_string(p, v, where, key);
    if (!name || psc_part_failed(p))
        return PSC_NONE;
    psc_names_add(p, names, name);
    return psc_names_find(names, name);
}

/* A text, or any other value as it is written. */
static const char *read_value(struct psc_part *p, struct psc_slice v, const char *key)
{
    struct psc_slice value = psc_slice_find(v, key);
    bool nomem = false;
    const char *text = psc_slice_is_string(value) ? psc_slice_string(p->arena, value, &nomem)
                                                  : psc_arena_strndup(p->arena, value.n ? value.s : "", value.n);
    if (!text)
        psc_part_nomem(p);
    return text ? text : "";
}

static enum psc_arena_op_kind read_kind(struct psc_part *p, struct psc_slice v, const char *where)
{
    const char *name = psc_part_string(p, v, where, "op");
    unsigned kind = 0;
    while (kind < PSC_ARENA_OP_N && strcmp(name, psc_arena_op_name((enum psc_arena_op_kind)kind)))
        kind++;
    if (kind == PSC_ARENA_OP_N)
        psc_part_fail(p, PSC_ERR_PARSE, "%s is \"%.60s\": alloc, static, free, view, write, read, export, handle, drop, clear, "
                      "trim, borrow, release, caller_write and close are known", where, name);
    return (enum psc_arena_op_kind)kind;
}

static void read_op(struct psc_part *p, struct psc_slice v, uint32_t at, struct psc_arena_op *op, struct psc_names *names)
{
    char where[32];
    snprintf(where, sizeof where, "events[%u]", at);
    *op = (struct psc_arena_op){.h = PSC_NONE, .as = PSC_NONE, .of = PSC_NONE, .arena = PSC_DEPOT_EXEC};
    if (!psc_slice_is_object(v)) {
        psc_part_wrong(p, v, "an object", "%s", where);
        return;
    }
    op->kind = read_kind(p, v, where);
    if (psc_part_failed(p))
        return;
    bool outside = op->kind == PSC_ARENA_OP_READ || op->kind == PSC_ARENA_OP_DROP, lends = op->kind == PSC_ARENA_OP_EXPORT ||
        op->kind == PSC_ARENA_OP_HANDLE, of_arenas = op->kind == PSC_ARENA_OP_TRIM || op->kind == PSC_ARENA_OP_CLOSE,
         nameless = op->kind == PSC_ARENA_OP_CLEAR || of_arenas;
    if (outside || lends)
        op->as = read_name(p, v, where, "as", op->kind == PSC_ARENA_OP_READ && !psc_slice_is_null(psc_slice_find(v, "h")), names);
    if (!nameless && op->kind != PSC_ARENA_OP_DROP && op->as == PSC_NONE)
        op->h = read_name(p, v, where, "h", false, names);
    else if (lends)
        op->h = read_name(p, v, where, "h", false, names);
    if (op->kind == PSC_ARENA_OP_ALLOC || op->kind == PSC_ARENA_OP_STATIC || of_arenas)
        op->arena = read_arena(p, v, where, of_arenas ? PSC_DEPOT_N : PSC_DEPOT_EXEC);
    if (op->kind == PSC_ARENA_OP_ALLOC || op->kind == PSC_ARENA_OP_STATIC)
        op->bytes = psc_part_bytes(p, v, where, "bytes");
    if (op->kind == PSC_ARENA_OP_BORROW || op->kind == PSC_ARENA_OP_VIEW) {
        op->bytes = (uint64_t)psc_part_number_or(p, v, where, "bytes", 0, INT64_MAX, 0);
        op->offset = (uint64_t)psc_part_number_or(p, v, where, "offset", 0, INT64_MAX, 0);
    }
    if (op->kind == PSC_ARENA_OP_VIEW)
        op->of = read_name(p, v, where, "of", false, names);
    if (!psc_part_failed(p))
        op->note = psc_part_string_or(p, v, where, "note", NULL);
    if (!psc_part_failed(p))
        op->value = read_value(p, v, op->kind == PSC_ARENA_OP_READ ? "expect" : "value");
}

static void read_homes(struct psc_part *p, struct psc_slice text, struct psc_arena_script *s)
{
    struct psc_slice homes = psc_slice_find(text, "arenas");
    for (unsigned a = 0; a < 2; a++) {
        const char *name = psc_depot_kind_name((enum psc_depot_kind)a);
        struct psc_slice home = psc_slice_find(homes, name);
        char where[32];
        snprintf(where, sizeof where, "arenas.%s", name);
        int64_t cap = psc_part_number_or(p, home, where, "cap", 0, INT64_MAX, -1);
        s->home[a].cap = cap < 0 ? PSC_ARENA_NO_CAP : (uint64_t)cap;
        s->home[a].slot_max = (uint32_t)psc_part_number_or(p, home, where, "slots", 1, PSC_ARENA_SLOTS_MAX, 0);
    }
}

static void read_settings(struct psc_part *p, struct psc_slice text, struct psc_arena_script *s)
{
    const char *mode = psc_part_string_or(p, text, "", "mode", "hardened");
    struct psc_slice v;
    uint32_t n;
    bool nomem = false;
    if (strcmp(mode, "hardened") && strcmp(mode, "upstream"))
        psc_part_fail(p, PSC_ERR_PARSE, "mode is \"%.40s\": upstream and hardened are known", mode);
    s->guards = strcmp(mode, "upstream") ? PSC_ARENA_HARDENED : PSC_ARENA_UPSTREAM;
    struct psc_cursor c = psc_part_list(p, text, "", "faults", true, PSC_ARENA_FAULT_N, &n);
    while (!psc_part_failed(p) && n && psc_cursor_element(&c, &v)) {
        const char *name = psc_slice_is_string(v) ? psc_slice_string(p->arena, v, &nomem) : NULL;
        enum psc_arena_fault fault = name ? psc_arena_fault_from_name(name) : PSC_ARENA_FAULT_N;
        if (nomem)
            psc_part_nomem(p);
        else if (fault == PSC_ARENA_FAULT_N)
            psc_part_fail(p, PSC_ERR_PARSE, "faults names \"%.40s\": a1 to a%u are known", name ? name : psc_slice_kind(v),
                          PSC_ARENA_FAULT_N);
        else
            s->faults |= PSC_ARENA_BIT(fault);
    }
}

void psc_arena_script_read(struct psc_part *p, struct psc_slice text, struct psc_arena_script *ret)
{
    struct psc_arena_script s = {0};
    struct psc_names names = {0};
    struct psc_slice v;
    read_homes(p, text, &s);
    read_settings(p, text, &s);
    struct psc_cursor c = psc_part_list(p, text, "", "events", false, OPS_MAX, &s.op_n);
    struct psc_arena_op *ops = psc_part_alloc(p, s.op_n, sizeof *ops);
    if (!psc_part_failed(p))
        psc_names_init(p, &names, 2 * s.op_n);
    for (uint32_t i = 0; !psc_part_failed(p) && i < s.op_n && psc_cursor_element(&c, &v); i++)
        read_op(p, v, i, &ops[i], &names);
    s.ops = ops;
    s.names = names.list;
    s.name_n = names.n;
    *ret = s;
    psc_names_release(&names);
}
