/* core/debug/check.h: is any read wrong?
 *
 * The checker replays a story byte by byte: every byte interval of every buffer carries (value, version,
 * origin); each read must find exactly the value and version that it names, at the right place inside it.
 * It never sees a planner's live ranges. Cost: O(n log n) in events (each write splits at most two
 * intervals). It includes no header above core/event.
 *
 *     graph  t = x + w;  s = silu(t);  u = x * w;  o = s + u      u was given s's bytes
 *     story  ... write s b2 [0,16)   write u b2 [0,16)   read s b2 [0,16) by o
 *     finds  victim s, writer u, reader o, bytes [0,16) of b2, K1
 *
 * A copy between backends carries what is wrong in it: each of its readers is named, not only the one it is queued for.
 *
 * Also looked for, even when no read goes wrong: an op that overlaps an operand of its own otherwise than
 * its op allows (a concat all of whose operands lie at their places moves nothing and is fine); a write past
 * the end of its buffer (then there is no reader); nodes of one dependency level that touch the same bytes
 * (level executor); commands that nothing orders and that touch the same bytes (queues: core/debug/lanes.h); writes into the source or the staging bytes of a copy that nobody has waited for yet.
 *
 * A read of persistent rows is right as long as the bytes are still the region's: which rows hold what is
 * data. A story under the level executor is replayed level by level; a copy is queued as soon as its source is
 * made and is over before the next level begins. Of two nodes of a level that write the same bytes the victim is
 * the one that is listed first, unless only the other is ever read.
 *
 * Two more kinds are not the checker's (core/debug/verdict.h): K9 a plan of a lazy expression that computes something else
 * or cannot be carried out, K10 one that needs more memory than it must.
 *
 * Kinds, first match decides: K7 too small or partly overlapping; K3 lost before the walk (fill); K8
 * persistent, caller-owned or staging memory pooled, or a cache cell read that holds no row; K6 lanes without order; K5 an op over its own operand
 * that another still reads, or that it may not overwrite; K4 bytes owned through a view the planner did not
 * follow; K2 the order used for lives differs from the one executed; else K1 released too early.
 */
#ifndef PSC_CORE_DEBUG_CHECK_H
#define PSC_CORE_DEBUG_CHECK_H

#include "core/event/event.h"

enum psc_kind { PSC_K1 = 1, PSC_K2, PSC_K3, PSC_K4, PSC_K5, PSC_K6, PSC_K7, PSC_K8, PSC_K9, PSC_K10 };
enum psc_confidence { PSC_PROVED, PSC_CONFIRMED, PSC_POSSIBLE };
enum psc_reader { PSC_READER_NODE, PSC_READER_EXPORT, PSC_READER_RERUN, PSC_READER_HOST };

struct psc_finding {
    enum psc_kind kind;
    enum psc_confidence confidence;
    enum psc_reader reader_kind;
    uint32_t victim_value, writer_value; /* root values; writer PSC_NONE when nobody wrote */
    psc_node victim, writer, reader;     /* nodes: victim is the storage's owner, never a view */
    uint32_t buffer;
    uint64_t lo, hi;                     /* the bytes that are wrong */
    uint16_t run, phase;
    int32_t position;                    /* where the damage is done: the writer's, else the reader's */
    int32_t read_position;               /* of the doomed read; n for export and rerun */
    int32_t victim_position;             /* where the victim was written; -1 filled */
    uint32_t write_event, read_event;    /* events of the story, PSC_NONE when there is none */
    uint32_t detail;                     /* K9, K10: index into the wrongs of phase->expression */
    bool overlap_only;                   /* an op overlaps its own operand unlawfully; no read went wrong */
};
struct psc_check {
    const struct psc_finding *findings;  /* ordered by position of damage, then reader */
    uint32_t finding_n;
    uint64_t read_n, wrong_n;            /* reads looked at; reads that found something else */
    uint64_t dropped_n;                  /* wrong pieces beyond PSC_FINDINGS_MAX findings */
};
#define PSC_FINDINGS_MAX 100000u
/* graph may be NULL (arena stories); it gives op semantics: which operand an op may overwrite.
 * One finding for each (victim, writer, reader). */
enum psc_status psc_check_story(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_story *story,
                                struct psc_check *ret, struct psc_error *reterr) PSC_MUST_CHECK;

const char *psc_kind_name(enum psc_kind kind);             /* "K2" */
const char *psc_kind_text(enum psc_kind kind);             /* "order mismatch" */
const char *psc_confidence_name(enum psc_confidence c);    /* "proved" */
const char *psc_reader_name(enum psc_reader reader);       /* "export" */

#endif
