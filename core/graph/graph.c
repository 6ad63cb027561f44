#include "core/graph/graph.h"

#include <string.h>

psc_node psc_graph_find(const struct psc_graph *g, uint64_t id)
{
    if (!g->by_id)
        return id < g->n ? (psc_node)id : PSC_NONE;
    uint32_t lo = 0, hi = g->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (g->nodes[g->by_id[mid]].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < g->n && g->nodes[g->by_id[lo]].id == id ? g->by_id[lo] : PSC_NONE;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

bool psc_params_equal(const struct psc_params *a, const struct psc_params *b)
{
    bool texts = same_text(a->weight, b->weight) && same_text(a->wtype, b->wtype) &&
                 same_text(a->q_norm, b->q_norm) && same_text(a->k_norm, b->k_norm);
    for (int k = 0; k < 3; k++)
        texts = texts && same_text(a->bias[k], b->bias[k]);
    return texts && a->eps == b->eps && a->scale == b->scale && a->freq_base == b->freq_base &&
           a->freq_scale == b->freq_scale && a->has_scale == b->has_scale && a->transpose_b == b->transpose_b &&
           a->explicit_span == b->explicit_span && a->rope_style == b->rope_style &&
           a->attn_mode == b->attn_mode && a->dim == b->dim && a->view_offset == b->view_offset &&
           !memcmp(a->perm, b->perm, sizeof a->perm) && a->hd == b->hd && a->nh == b->nh && a->nk == b->nk &&
           a->n_head == b->n_head && a->n_head_kv == b->n_head_kv && a->hd_kv == b->hd_kv &&
           a->n_embd == b->n_embd && a->nkt == b->nkt && a->nqt == b->nqt && a->kv_elems == b->kv_elems &&
           a->row_elems == b->row_elems && a->in_dim == b->in_dim && a->out_dim == b->out_dim && a->nf == b->nf &&
           a->vocab_size == b->vocab_size;
}

bool psc_graph_same_structure(const struct psc_graph *a, const struct psc_graph *b)
{
    if (a->n != b->n || a->src_total != b->src_total)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct psc_node_info *x = &a->nodes[i], *y = &b->nodes[i];
        if (x->op != y->op || x->src_n != y->src_n || memcmp(x->shape, y->shape, sizeof x->shape) ||
            memcmp(psc_node_srcs(a, i), psc_node_srcs(b, i), x->src_n * sizeof(psc_node)) ||
            (x->op == PSC_OP_OTHER && strcmp(x->op_name, y->op_name)))
            return false;
    }
    return true;
}
