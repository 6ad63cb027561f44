/* core/candela/parse.h: expressions as a person types them.
 *
 *     # lines or ';' end a statement, '#' begins a remark; the last statement is the root
 *     b = [[1, 2], [3, 4]]
 *     t = transpose(b)
 *     as_contiguous(t) + (t + 1)
 *
 * Operators: + - * / with the usual precedence, a minus sign, parentheses. A number beside a tensor is a scalar step.
 * Tensors: [1, 2] and [[1, 2], [3, 4]]; arange(6), ones(2, 3), zeros(4). slot(2, 3) is a hole of a skeleton: what is planned with
 * it can be run over any input; 1 2 3 ... stand in for the first, 10 20 30 ... for the second, and so on by tens. A name that was given nothing is an edge of four
 * elements: the first 1 2 3 4, the second 10 20 30 40, and so on by tens.
 * baked(f, a, b): what is written of slots as f, planned by itself and run as one node over a and b, bound to its slots in the order in which
 * these were written down; packed tensors of their shapes. It stays planned as the text says, whatever plans the rest.
 * Functions: as_contiguous, transpose (x) or (x, axis, axis), view(x, dims...), slice(x, from, to[, axis]),
 * broadcast(x, dims...), cache, matmul(a, b), sum, noop. Operands of + - * / that differ in shape are broadcast.
 * Names may be used again: `x = x + 1` reads the old x.
 */
#ifndef PSC_CORE_CANDELA_PARSE_H
#define PSC_CORE_CANDELA_PARSE_H

#include "core/candela/plan.h"

#define PSC_LAZY_TEXT_MAX (UINT64_C(1) << 24) /* bytes */
#define PSC_LAZY_BAKED_MAX 256u                /* in one text: each costs a pass over what stands before it */

/* PSC_ERR_PARSE with line, column and byte; PSC_ERR_GRAPH for shapes that do not fit, with the line in the sentence. */
enum psc_status psc_lazy_parse(struct psc_lazy *l, const char *text, size_t n, uint32_t *ret_root,
                               struct psc_error *reterr) PSC_MUST_CHECK;
/* With options for what is baked. l must stay where it is. */
enum psc_status psc_lazy_parse_as(struct psc_lazy *l, const struct psc_candela_options *options, const char *text, size_t n,
                                  uint32_t *ret_root, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
