/* core/candela/fault.h: historic and latent defects of candela's planner, its executor and its kernels, as switches.
 *
 * Each is one branch in the rule it breaks, off by default. b1 to b10 happened, cl1 to cl3 were found latent, b11 and
 * up are others that the design invites, one a rule.
 */
#ifndef PSC_CORE_CANDELA_FAULT_H
#define PSC_CORE_CANDELA_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* hardened: the five strategies with all later guards and the latent defects mended. 0.1: in place never happens. 0.2: with it,
 * the other operand told by node, scalar ops over strided bytes. arena: UseSlot replaced by packed offsets. */
enum psc_generation { PSC_GEN_HARDENED, PSC_GEN_01, PSC_GEN_02, PSC_GEN_ARENA, PSC_GEN_N };
const char *psc_generation_name(enum psc_generation generation); /* "0.2" */
bool psc_generation_parse(const char *text, enum psc_generation *ret);

enum psc_candela_fault {
    PSC_CANDELA_B1, PSC_CANDELA_B2, PSC_CANDELA_B3, PSC_CANDELA_B4, PSC_CANDELA_B5, PSC_CANDELA_B6, PSC_CANDELA_B7,
    PSC_CANDELA_B8, PSC_CANDELA_B9, PSC_CANDELA_B10, PSC_CANDELA_B11, PSC_CANDELA_B12, PSC_CANDELA_B13, PSC_CANDELA_B14,
    PSC_CANDELA_B15, PSC_CANDELA_B16, PSC_CANDELA_B17, PSC_CANDELA_B18, PSC_CANDELA_B19, PSC_CANDELA_B20, PSC_CANDELA_B21,
    PSC_CANDELA_B22, PSC_CANDELA_CL1, PSC_CANDELA_CL2, PSC_CANDELA_CL3, PSC_CANDELA_CL4, PSC_CANDELA_FAULT_N
};
#define PSC_CANDELA_BIT(f) (UINT64_C(1) << (f))

const char *psc_candela_fault_name(enum psc_candela_fault fault); /* "b7" */
const char *psc_candela_fault_text(enum psc_candela_fault fault); /* one line for people */
/* PSC_CANDELA_FAULT_N when unknown. */
enum psc_candela_fault psc_candela_fault_from_name(const char *name);
/* Faults of rules that graphs of minfer's ops have, too, when candela plans them (core/plan/planners/candela.c). */
#define PSC_CANDELA_GRAPH_FAULTS                                                                                              \
    (PSC_CANDELA_BIT(PSC_CANDELA_B6) | PSC_CANDELA_BIT(PSC_CANDELA_B7) | PSC_CANDELA_BIT(PSC_CANDELA_B11) |                   \
     PSC_CANDELA_BIT(PSC_CANDELA_B12) | PSC_CANDELA_BIT(PSC_CANDELA_B15) | PSC_CANDELA_BIT(PSC_CANDELA_B16) |                 \
     PSC_CANDELA_BIT(PSC_CANDELA_B18) | PSC_CANDELA_BIT(PSC_CANDELA_B19) | PSC_CANDELA_BIT(PSC_CANDELA_B20) |                 \
     PSC_CANDELA_BIT(PSC_CANDELA_B21))

#endif
