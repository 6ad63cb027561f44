/* core/candela/fault.h: historic and latent defects of candela's planner, its executor and its kernels, as switches.
 *
 * Each is one branch in the rule it breaks, off by default. b1 to b10 happened, cl1 to cl3 were found latent, b11 and
 * up are others that the design invites, one a rule.
 */
#ifndef PSC_CORE_CANDELA_FAULT_H
#define PSC_CORE_CANDELA_FAULT_H

#include <stdint.h>

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

#endif
