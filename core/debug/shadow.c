#include "core/debug/shadow.h"

#include <string.h>

enum { FAN = 32, DEPTH = 16 }; /* ranges or children of a node; more than 2^32 ranges can need */

/* A leaf holds ranges, an inner node children with the first byte of each: that of its first range. */
struct psc_shadow_node {
    uint64_t lo[FAN]; /* UINT64_MAX behind the last */
    union {
        struct {
            uint64_t hi[FAN];
            uint32_t event[FAN];
        };
        struct psc_shadow_node *child[FAN];
    };
    uint32_t n;
};

/* From the root to a leaf. */
struct path {
    struct psc_shadow_node *node[DEPTH];
    uint32_t at[DEPTH];  /* which child */
    uint32_t depth;      /* of the leaf */
    uint64_t limit;      /* first byte of the leaf behind, UINT64_MAX: there is none */
};

enum psc_status psc_shadow_init(struct psc_shadow *s, struct psc_arena *arena, const struct psc_story *story,
                                struct psc_error *reterr)
{
    *s = (struct psc_shadow){.story = story, .arena = arena};
    s->buffers = psc_arena_alloc0(arena, story->buffer_n, sizeof *s->buffers);
    s->overwritten = psc_arena_alloc0(arena, story->event_n, 1);
    return s->buffers && s->overwritten ? PSC_OK : psc_fail_nomem(reterr);
}

/* ---- nodes ------------------------------------------------------------------------------------------ */

static struct psc_shadow_node *take_node(struct psc_shadow *s)
{
    struct psc_shadow_node *node = s->spare;

    if (node)
        s->spare = node->child[0];
    else
        node = psc_arena_alloc(s->arena, 1, sizeof *node);
    if (node)
        memset(node->lo, 0xff, sizeof node->lo);
    return node;
}

static void give_back(struct psc_shadow *s, struct psc_shadow_node *node)
{
    node->child[0] = s->spare;
    s->spare = node;
}

/* How many of the node's begin at or before the byte: first by eights, then among eight. Without branches, because
 * which way it goes is as good as random. */
static inline uint32_t count_upto(const struct psc_shadow_node *node, uint64_t byte)
{
    const uint64_t *lo = node->lo;
    uint32_t at = 8 * ((uint32_t)(lo[7] <= byte) + (lo[15] <= byte) + (lo[23] <= byte));

    lo += at;
    at += (uint32_t)(lo[0] <= byte) + (lo[1] <= byte) + (lo[2] <= byte) + (lo[3] <= byte) + (lo[4] <= byte) +
          (lo[5] <= byte) + (lo[6] <= byte) + (lo[7] <= byte);
    return at < node->n ? at : node->n;
}

/* Entries from `from` on move to `to`, or are left out when there are fewer then; the node's count follows. */
static void shift(struct psc_shadow_node *node, bool leaf, uint32_t to, uint32_t from)
{
    uint32_t n = node->n - from;

    memmove(node->lo + to, node->lo + from, n * sizeof *node->lo);
    if (leaf) {
        memmove(node->hi + to, node->hi + from, n * sizeof *node->hi);
        memmove(node->event + to, node->event + from, n * sizeof *node->event);
    } else {
        memmove(node->child + to, node->child + from, n * sizeof *node->child);
    }
    node->n = to + n;
    for (uint32_t i = node->n; i < from + n; i++)
        node->lo[i] = UINT64_MAX;
}

static void put_range(struct psc_shadow_node *leaf, uint32_t i, uint64_t lo, uint64_t hi, uint32_t event)
{
    leaf->lo[i] = lo;
    leaf->hi[i] = hi;
    leaf->event[i] = event;
}

/* ---- paths ------------------------------------------------------------------------------------------- */

/* The leaf with the last range that begins at or before the byte, else the first leaf. */
static void descend(const struct psc_shadow_buffer *b, uint64_t byte, struct path *p)
{
    struct psc_shadow_node *node = b->root;

    p->depth = b->depth;
    p->limit = UINT64_MAX;
    for (uint32_t d = 0; d < b->depth; d++) {
        uint32_t at = count_upto(node, byte);
        if (at < node->n && at)
            p->limit = node->lo[at];
        else if (!at && node->n > 1)
            p->limit = node->lo[1];
        at -= at > 0;
        p->node[d] = node;
        p->at[d] = at;
        node = node->child[at];
    }
    p->node[p->depth] = node;
}

/* The leaf begins elsewhere now: so do the nodes above it of which it is the first. */
static void begin_at(struct path *p, uint64_t lo)
{
    for (uint32_t d = p->depth; d-- > 0;) {
        p->node[d]->lo[p->at[d]] = lo;
        if (p->at[d])
            return;
    }
}

/* Takes an empty leaf out, and what becomes empty above it. It is not the only leaf. Where it was the first below a node,
 * that node's first byte is still the old one, until the caller looks for the leaf behind at that byte and trims it. */
static void drop_leaf(struct psc_shadow *s, struct psc_shadow_buffer *b, struct path *p)
{
    uint32_t d = p->depth;

    while (!p->node[d]->n) {
        struct psc_shadow_node *up = p->node[d - 1];
        give_back(s, p->node[d--]);
        shift(up, false, p->at[d], p->at[d] + 1);
    }
    while (b->depth && b->root->n == 1) {
        struct psc_shadow_node *only = b->root->child[0];
        give_back(s, b->root);
        b->root = only;
        b->depth--;
    }
}

/* Halves child `at` of `up`, which has room. */
static bool split_child(struct psc_shadow *s, struct psc_shadow_node *up, uint32_t at, bool leaf)
{
    struct psc_shadow_node *node = up->child[at], *right = take_node(s);
    uint32_t half = node->n / 2;

    if (!right)
        return false;
    right->n = node->n - half;
    memcpy(right->lo, node->lo + half, right->n * sizeof *node->lo);
    if (leaf) {
        memcpy(right->hi, node->hi + half, right->n * sizeof *node->hi);
        memcpy(right->event, node->event + half, right->n * sizeof *node->event);
    } else {
        memcpy(right->child, node->child + half, right->n * sizeof *node->child);
    }
    for (uint32_t i = half; i < FAN; i++)
        node->lo[i] = UINT64_MAX;
    node->n = half;
    shift(up, false, at + 2, at + 1);
    up->lo[at + 1] = right->lo[0];
    up->child[at + 1] = right;
    return true;
}

/* Splits from the top what is full on the way to the byte, so that its leaf has room for two ranges more. */
static bool make_room(struct psc_shadow *s, struct psc_shadow_buffer *b, uint64_t byte)
{
    if (b->root->n > FAN - 2) {
        struct psc_shadow_node *root = take_node(s);
        if (!root)
            return false;
        root->n = 1;
        root->lo[0] = b->root->lo[0];
        root->child[0] = b->root;
        b->root = root;
        b->depth++;
    }
    struct psc_shadow_node *up = b->root;
    for (uint32_t d = 1; d <= b->depth; d++) {
        uint32_t at = count_upto(up, byte);
        at -= at > 0;
        if (up->child[at]->n > FAN - 2) {
            if (!split_child(s, up, at, d == b->depth))
                return false;
            at += up->lo[at + 1] <= byte;
        }
        up = up->child[at];
    }
    return true;
}

/* ---- a write ------------------------------------------------------------------------------------------- */

/* Takes out what the first ranges of a leaf have below `hi`. It is not the first leaf. */
static void trim_leaf(struct psc_shadow *s, struct psc_shadow_buffer *b, struct path *p, uint64_t hi)
{
    struct psc_shadow_node *leaf = p->node[p->depth];
    uint32_t n = 0;

    for (; n < leaf->n && leaf->lo[n] < hi; n++) {
        s->overwritten[leaf->event[n]] = 1;
        if (leaf->hi[n] > hi) {
            leaf->lo[n] = hi;
            break;
        }
    }
    shift(leaf, true, 0, n);
    if (leaf->n)
        begin_at(p, leaf->lo[0]);
    else
        drop_leaf(s, b, p);
}

/* [lo, hi) instead of what the leaf has there; room for two more. All other leaves are clear of it. */
static void replace_in_leaf(struct psc_shadow *s, struct path *p, uint64_t lo, uint64_t hi, uint32_t event)
{
    struct psc_shadow_node *leaf = p->node[p->depth];
    uint32_t i = lo ? count_upto(leaf, lo - 1) : 0, j = i;

    if (i && leaf->hi[i - 1] > lo) {
        uint64_t end = leaf->hi[i - 1];
        s->overwritten[leaf->event[i - 1]] = 1;
        leaf->hi[i - 1] = lo;
        if (end > hi) { /* a hole in it */
            shift(leaf, true, i + 2, i);
            put_range(leaf, i, lo, hi, event);
            put_range(leaf, i + 1, hi, end, leaf->event[i - 1]);
            return;
        }
    }
    for (; j < leaf->n && leaf->lo[j] < hi; j++) {
        s->overwritten[leaf->event[j]] = 1;
        if (leaf->hi[j] > hi) {
            leaf->lo[j] = hi;
            break;
        }
    }
    if (j != i + 1)
        shift(leaf, true, i + 1, j);
    put_range(leaf, i, lo, hi, event);
    if (!i)
        begin_at(p, lo);
}

static bool apply_to_tree(struct psc_shadow *s, struct psc_shadow_buffer *b, uint64_t lo, uint64_t hi, uint32_t event)
{
    struct path p, behind;

    descend(b, lo, &p);
    if (p.node[p.depth]->n > FAN - 2) {
        if (!make_room(s, b, lo))
            return false;
        descend(b, lo, &p);
    }
    while (p.limit < hi) {
        descend(b, p.limit, &behind);
        trim_leaf(s, b, &behind, hi);
        descend(b, lo, &p);
    }
    replace_in_leaf(s, &p, lo, hi, event);
    return true;
}

static bool grow_tree(struct psc_shadow *s, struct psc_shadow_buffer *b)
{
    b->root = take_node(s);
    if (!b->root)
        return false;
    b->depth = 0;
    b->root->n = 1;
    put_range(b->root, 0, b->lo, b->hi, b->event);
    return true;
}

bool psc_shadow_apply(struct psc_shadow *s, uint32_t event)
{
    const struct psc_event *e = &s->story->events[event];
    struct psc_shadow_buffer *b = &s->buffers[e->buffer];

    if (e->lo >= e->hi)
        return true;
    if (b->root)
        return apply_to_tree(s, b, e->lo, e->hi, event);
    if (b->lo < b->hi) {
        if (e->lo > b->lo || e->hi < b->hi)
            return grow_tree(s, b) && apply_to_tree(s, b, e->lo, e->hi, event);
        s->overwritten[b->event] = 1;
    }
    b->lo = e->lo;
    b->hi = e->hi;
    b->event = event;
    return true;
}

/* ---- runs ------------------------------------------------------------------------------------------------ */

/* The range that holds the byte, or the gap before `limit`. */
static struct psc_shadow_run run_of(uint64_t range_lo, uint64_t range_hi, uint32_t event, uint64_t limit, uint64_t lo, uint64_t hi)
{
    bool inside = range_lo <= lo && lo < range_hi;
    uint64_t end = inside ? range_hi : limit;

    return (struct psc_shadow_run){lo, end < hi ? end : hi, inside ? event : PSC_NONE};
}

struct psc_shadow_run psc_shadow_first(const struct psc_shadow *s, uint32_t buffer, uint64_t lo, uint64_t hi)
{
    const struct psc_shadow_buffer *b = &s->buffers[buffer];
    struct path p;

    if (!b->root)
        return run_of(b->lo, b->hi, b->event, b->lo < b->hi && b->lo > lo ? b->lo : UINT64_MAX, lo, hi);
    descend(b, lo, &p);
    const struct psc_shadow_node *leaf = p.node[p.depth];
    uint32_t at = count_upto(leaf, lo);
    uint64_t limit = at < leaf->n ? leaf->lo[at] : p.limit;
    if (!at)
        return run_of(0, 0, PSC_NONE, limit, lo, hi);
    return run_of(leaf->lo[at - 1], leaf->hi[at - 1], leaf->event[at - 1], limit, lo, hi);
}

bool psc_shadow_next(const struct psc_shadow *s, uint32_t buffer, uint64_t hi, struct psc_shadow_run *run)
{
    if (run->hi >= hi)
        return false;
    *run = psc_shadow_first(s, buffer, run->hi, hi);
    return true;
}
