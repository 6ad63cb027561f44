/* tests/twice.h: every run of the tests happens twice, on planned buffers and with a fresh buffer for every value.
 *
 * Linked into a program with `twice_dep`, it stands before psc_session_execute, whoever calls it: a test, psc_run, a window,
 * the command line. When an execution went well, the same graph runs once more in a session of its own: planner `naive`,
 * hardened, recycled bytes zeroed, operands copied, no fault; the same backends, kernels and threads, what the host filled, and
 * the rows of K and V as they were before. Then
 *
 *   - every value, as it was made, every output as the host reads it, and every row of K and V are equal bit for bit;
 *   - unless the session is not to be sound (a fault is on, or a mode that leaves minfer's defects in). Then whatever differs
 *     must follow from a finding of the checker in what happened: its reader, and what is made of that.
 *
 * A plan of an expression (core/candela) is looked at before it is carried out for the first time, in the same way: as planned,
 * and step by step into fresh memory, unless it is of a generation or with a fault that is not to be right.
 *
 * The program is aborted with a sentence when that does not hold. Left out, because there is no second way to say what is right:
 *   - executions that fail, and inputs that nobody filled;
 *   - values inside recordings that are played, and where twice_looks is false (outputs and rows are compared);
 *   - what kernels with a defect make, and arenas with one: no story tells of it;
 *   - a session that is lent its inputs by a node of another one (tests of arenas); the other one's node has no kernel;
 *   - between twice_except and twice_again.
 * The doubles of tests/double.h neither count nor fail meanwhile, and no hook of the heap is on.
 */
#ifndef PSC_TESTS_TWICE_H
#define PSC_TESTS_TWICE_H

#include "tests/double.h"

#include <stdbool.h>
#include <stdint.h>

struct twice_figures {
    uint64_t runs, left_out;   /* executions that were compared; that went well and were not */
    uint64_t values, differ;   /* compared; that differed, all explained */
};
extern struct twice_figures twice_figures;

void twice_except(const char *why); /* executions from here on happen once */
void twice_again(void);
/* False: values are not looked at while they are made (probes make a queue wait), only outputs and rows behind the run. */
extern bool twice_looks;
/* Told before and after each second run: a test that counts what a backend is asked puts its numbers aside. NULL: nobody. */
extern void (*twice_meanwhile)(bool begins);

/* Between these the doubles neither count nor fail, and no hook of the heap is on. */
struct twice_quiet {
    struct double_control doubles;
    bool has_doubles;
};
struct twice_quiet twice_quiet_begin(void);
void twice_quiet_end(const struct twice_quiet *q);

#endif
