/* Plans and runs expressions given node by node on stdin, and prints what was decided; for tests/candela-compare.py.
 *
 *     edge NAME RANK d... v...      scalar NAME x SIGN value      add|sub|mul|div|matmul NAME a b
 *     view NAME x RANK d...         transpose|noop|as_contiguous|sum|cache NAME x
 *     run GENERATION NAME           plans and runs with that root; `.` ends an expression
 */
#include "core/candela/exec.h"
#include "core/candela/planner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct names {
    char text[256][32];
};

static uint32_t id_of(const struct names *names, const struct psc_lazy *l, const char *name)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (!strcmp(names->text[i], name))
            return i;
    fprintf(stderr, "no node %s\n", name);
    exit(2);
}

static const char *name_of(const struct psc_lazy *l, uint32_t id)
{
    return id == PSC_NONE ? "-" : l->nodes[id].name;
}

static void print_ids(const struct psc_lazy *l, const char *word, const uint32_t *ids, uint32_t n)
{
    printf(" %s", word);
    for (uint32_t k = 0; k < n; k++)
        printf("%s%s", k ? "," : "=", name_of(l, ids[k]));
}

static void print_plan(const struct psc_lazy *l, const struct psc_candela_plan *plan)
{
    static const char *const hows[PSC_HOW_N] = {"Leaf", "CacheHit", "InPlace", "RefSlot", "RefEternal", "UseSlot",
                                                "Allocate", "Allocate", "Baked"};
    for (uint32_t p = 0; p < plan->n; p++) {
        const struct psc_candela_step *s = &plan->steps[p];
        printf("%s %s", s->name, hows[s->how]);
        if (s->how == PSC_HOW_IN_PLACE || s->how == PSC_HOW_REFERENCE_SLOT || s->how == PSC_HOW_USE_SLOT)
            printf(" %u", s->slot);
        if (s->how == PSC_HOW_IN_PLACE)
            printf(" operand %u parent %s", s->operand, name_of(l, s->parent));
        if (s->how == PSC_HOW_USE_SLOT)
            printf(" take %s", name_of(l, s->take));
        print_ids(l, "in", s->inputs, s->input_n);
        print_ids(l, "free", s->dealloc, s->dealloc_n);
        printf("\n");
    }
    printf("root %s\n", name_of(l, plan->root));
    for (uint32_t s = 0; s < plan->slot_n; s++)
        printf("slot %s %llu %d %d\n", name_of(l, plan->slots[s].id), (unsigned long long)plan->slots[s].len,
               plan->slots[s].start, plan->slots[s].end);
    if (plan->options.generation == PSC_GEN_ARENA) {
        printf("arena %llu", (unsigned long long)plan->arena_len);
        for (uint32_t s = 0; s < plan->slot_n; s++)
            if (plan->slots[s].packed)
                printf(" %s@%llu", name_of(l, plan->slots[s].id), (unsigned long long)plan->slots[s].offset);
        printf("\n");
    }
}

static void run(struct psc_lazy *l, uint32_t root, enum psc_generation generation)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_candela_plan *plan;
    struct psc_handle result;
    struct psc_candela_failure failure;
    struct psc_candela_options options = {.generation = generation, .align = 1};
    if (psc_candela_plan(&arena, l, root, &options, &plan, &error)) {
        printf("refused\n");
    } else {
        if (generation != PSC_GEN_HARDENED)
            print_plan(l, plan);
        if (psc_candela_execute(plan, &(struct psc_candela_run){0}, &result, &failure, &error)) {
            printf("panic\n");
        } else {
            float values[256];
            psc_handle_read(&result, values);
            printf("values");
            for (uint64_t i = 0; i < psc_layout_len(&result.layout); i++)
                printf(" %g", values[i]);
            printf("\n");
            psc_store_unref(result.store);
        }
    }
    psc_arena_release(&arena);
}

static uint32_t make(struct psc_lazy *l, const struct names *names, const char *word, char **f)
{
    static const char *const unary[] = {"noop", "view", "transpose", "as_contiguous", "sum"};
    static const enum psc_lazy_op unary_ops[] = {PSC_LAZY_NOOP, PSC_LAZY_VIEW, PSC_LAZY_TRANSPOSE, PSC_LAZY_AS_CONTIGUOUS,
                                                 PSC_LAZY_SUM};
    static const char *const binary[] = {"add", "sub", "mul", "div"};
    struct psc_lazy_arg arg = {0};
    if (!strcmp(word, "edge")) {
        float data[256];
        uint32_t rank = (uint32_t)atoi(f[0]), n = 1;
        for (uint32_t d = 0; d < rank; d++)
            n *= (uint32_t)(arg.shape[d] = strtoull(f[1 + d], NULL, 10));
        for (uint32_t i = 0; i < n; i++)
            data[i] = strtof(f[1 + rank + i], NULL);
        return psc_lazy_edge(l, names->text[l->n], rank, arg.shape, data);
    }
    uint32_t x = id_of(names, l, f[0]);
    const char *name = names->text[l->n];
    if (!strcmp(word, "scalar"))
        return psc_lazy_scalar(l, name, x, f[1][0], strtof(f[2], NULL));
    if (!strcmp(word, "cache"))
        return psc_lazy_cache(l, name, x);
    if (!strcmp(word, "matmul"))
        return psc_lazy_matmul(l, name, x, id_of(names, l, f[1]));
    for (int i = 0; i < 4; i++)
        if (!strcmp(word, binary[i]))
            return psc_lazy_binary(l, name, (enum psc_lazy_op)(PSC_LAZY_ADD + i), x, id_of(names, l, f[1]));
    if (!strcmp(word, "view"))
        for (uint32_t d = 0; d < (arg.rank = (uint32_t)atoi(f[1])); d++)
            arg.shape[d] = strtoull(f[2 + d], NULL, 10);
    for (int i = 0; i < 5; i++)
        if (!strcmp(word, unary[i]))
            return psc_lazy_unary(l, name, unary_ops[i], x, &arg);
    fprintf(stderr, "no op %s\n", word);
    exit(2);
}

int main(void)
{
    static char line[8192];
    struct names names;
    struct psc_lazy l;
    psc_lazy_init(&l);
    l.fuse = false;
    while (fgets(line, sizeof line, stdin)) {
        char *f[300], *word = strtok(line, " \n");
        int n = 0;
        while (n < 299 && (f[n] = strtok(NULL, " \n")))
            n++;
        f[n] = NULL;
        if (!strcmp(word, ".")) {
            printf(".\n");
            psc_lazy_release(&l);
            psc_lazy_init(&l);
            l.fuse = false;
        } else if (!strcmp(word, "run")) {
            enum psc_generation generation;
            if (!psc_generation_parse(f[0], &generation))
                return 2;
            run(&l, id_of(&names, &l, f[1]), generation);
        } else {
            if (l.n >= 256)
                return 2;
            snprintf(names.text[l.n], sizeof names.text[0], "%s", f[0]);
            make(&l, &names, word, f + 1);
            struct psc_error error;
            if (psc_lazy_status(&l, &error)) {
                fprintf(stderr, "%s\n", error.text);
                return 2;
            }
        }
    }
    psc_lazy_release(&l);
    return 0;
}
