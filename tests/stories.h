/* tests/stories.h: three stories written by hand, event by event, before any planner has a say.
 *
 *   candela   (a + b) * 2, the product in place over the sum: the picture of core/event/event.h
 *   arena     onnx-light's worked arena trace: three slots, A=64 B=128 free A C=48 free B free C D=200 E=300
 *             (grows slot 1) F=10 G=1 (refused)
 *   leases    two runs of an engine that lends its output: y1 is still held while y2 is made
 *
 * Each can be told with one event changed; `wrong` says so. Everything lives in the arena.
 */
#ifndef PSC_TESTS_STORIES_H
#define PSC_TESTS_STORIES_H

#include "core/event/event.h"

struct test_story {
    struct psc_graph *graph; /* NULL for arena stories */
    struct psc_story *story;
};

/* wrong: the product reads its operand where b lies. */
struct test_story test_story_candela(struct psc_arena *arena, bool wrong);
/* wrong: F is given slot 2, where D lives. */
struct test_story test_story_arena(struct psc_arena *arena, bool wrong);
/* wrong: y2 is given the buffer of y1, which the caller still holds. */
struct test_story test_story_leases(struct psc_arena *arena, bool wrong);

#endif
