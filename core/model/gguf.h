/* core/model/gguf.h: a model file in the GGUF format (versions 2 and 3, little-endian), parsed from memory.
 *
 *     "GGUF" version  tensors  keys     4 4 8 8 bytes
 *     key type value                    as many as said: the metadata
 *     name n_dims dims[] type offset    as many as said: the tensors; offsets count from `data`
 *     padding to general.alignment      (32 when the key is missing)
 * data: tensor bytes, each at a multiple of the alignment
 *
 * Nothing of the file is copied but the names: values and tensor data point into the bytes given, which must outlive
 * the result. The bytes may come from anywhere: every count, length, product and offset is checked against what the
 * file holds before it is used; no allocation is larger than a small multiple of the bytes that were really there.
 * A file that is not right gets one sentence and no result. Tensors of a type that nobody here computes with are kept
 * (PSC_W_OTHER and their raw id); psc_gguf_weight refuses them.
 *
 * A model in several files ("split"): parse each, then psc_gguf_join.
 *
 * Ownership: everything lives in the arena. Cost: O(bytes of metadata). A parsed file may be read from any thread.
 */
#ifndef PSC_CORE_MODEL_GGUF_H
#define PSC_CORE_MODEL_GGUF_H

#include "core/base/arena.h"
#include "core/base/text.h"
#include "core/model/weight.h"

#define PSC_GGUF_DIMS_MAX      4u
#define PSC_GGUF_NAME_MAX      65535u   /* bytes of a key or a tensor's name */
#define PSC_GGUF_NESTING_MAX   16u      /* arrays in arrays */
#define PSC_GGUF_ALIGNMENT     32u      /* when the file says nothing */
#define PSC_GGUF_ALIGNMENT_MAX 1048576u /* largest accepted */
#define PSC_GGUF_PARTS_MAX     1024u

enum psc_gguf_type { /* numbers of the format */
    PSC_GGUF_U8 = 0,
    PSC_GGUF_I8 = 1,
    PSC_GGUF_U16 = 2,
    PSC_GGUF_I16 = 3,
    PSC_GGUF_U32 = 4,
    PSC_GGUF_I32 = 5,
    PSC_GGUF_F32 = 6,
    PSC_GGUF_BOOL = 7,
    PSC_GGUF_STRING = 8,
    PSC_GGUF_ARRAY = 9,
    PSC_GGUF_U64 = 10,
    PSC_GGUF_I64 = 11,
    PSC_GGUF_F64 = 12,
    PSC_GGUF_TYPE_N = 13
};
const char *psc_gguf_type_name(enum psc_gguf_type type); /* "u32", "string"; "?" when out of range */
uint32_t psc_gguf_type_bytes(enum psc_gguf_type type);   /* 0 for strings and arrays */

struct psc_gguf_text { /* bytes of the file, not NUL-terminated, any bytes */
    const char *s;
    uint64_t n;
};

struct psc_gguf_kv {
    const char *key; /* NUL-terminated */
    enum psc_gguf_type type, item; /* item: of an array's items */
    uint64_t n;                    /* items of an array, bytes of a string, else 1 */
    const unsigned char *data;     /* the value in the file (of an array: its first item), not aligned */
    uint64_t bytes;                /* of data */
    const char *text;              /* of a string: a NUL-terminated copy, cut at its first NUL byte if it has one */
};

struct psc_gguf_tensor {
    const char *name; /* NUL-terminated */
    uint32_t n_dims;
    uint64_t dims[PSC_GGUF_DIMS_MAX]; /* first runs fastest: a matrix is {in, out}; unused ones are 1 */
    uint64_t elements;                /* their product */
    enum psc_wtype type;
    uint32_t type_id;          /* as in the file */
    uint64_t offset;           /* from the start of the data of its file */
    const unsigned char *data; /* NULL when the type is of unknown size */
    uint64_t bytes;            /* 0 when the type is of unknown size */
    uint32_t part;             /* which of the joined files, from 0 */
};
/* "q6_K", also for types that PSC_W_OTHER stands for ("q2_K", "i32"); NULL for ids that nobody has given out. */
const char *psc_gguf_tensor_type_name(uint32_t type_id);

struct psc_gguf {
    uint32_t version, part_n; /* part_n: files joined, 1 for a single file */
    uint64_t alignment;       /* bytes */
    uint64_t file_bytes;      /* of all parts */
    uint64_t data_at;         /* where tensor data begins in the file (the first part's) */
    const struct psc_gguf_kv *kvs; /* in the order of the file */
    uint32_t kv_n;
    const struct psc_gguf_tensor *tensors; /* in the order of the file */
    uint32_t tensor_n;
    const uint32_t *kv_table, *tensor_table; /* private: name -> index + 1, open addressing */
    uint32_t kv_mask, tensor_mask;
};

enum psc_status psc_gguf_parse(struct psc_arena *arena, const void *bytes, uint64_t n, struct psc_gguf *ret,
                               struct psc_error *reterr) PSC_MUST_CHECK;

/* Which part of how many a file is (split.no, from 0, and split.count): 0 of 1 for a model in one file. */
enum psc_status psc_gguf_split(const struct psc_gguf *gguf, uint32_t *ret_no, uint32_t *ret_count,
                               struct psc_error *reterr) PSC_MUST_CHECK;
/* All parts in order, as one: the metadata of the first, the tensors of all. Fails when a part is missing, twice or
 * out of order, when the number of tensors is not split.tensors.count, or when two parts have the same tensor. One
 * part that is not split is fine. The parts' arenas must outlive the result. */
enum psc_status psc_gguf_join(struct psc_arena *arena, const struct psc_gguf *parts, uint32_t n, struct psc_gguf *ret,
                              struct psc_error *reterr) PSC_MUST_CHECK;

/* By name in O(1); NULL when there is none. */
const struct psc_gguf_kv *psc_gguf_find(const struct psc_gguf *gguf, const char *key);
const struct psc_gguf_tensor *psc_gguf_find_tensor(const struct psc_gguf *gguf, const char *name);

/* Values by key. A missing key gives *fallback; fallback NULL says that the key must be there. A value of another
 * kind, or outside the asked range, is an error that says what the file has. Any width of integer serves as u64 and
 * as u32; integers serve as f64 too. */
enum psc_status psc_gguf_get_u64(const struct psc_gguf *gguf, const char *key, const uint64_t *fallback,
                                 uint64_t *ret, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_gguf_get_u32(const struct psc_gguf *gguf, const char *key, const uint32_t *fallback,
                                 uint32_t *ret, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_gguf_get_f64(const struct psc_gguf *gguf, const char *key, const double *fallback, double *ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_gguf_get_bool(const struct psc_gguf *gguf, const char *key, const bool *fallback, bool *ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;
/* Borrowed from the parsed file. fallback: a pointer to the text (which may itself be NULL). */
enum psc_status psc_gguf_get_text(const struct psc_gguf *gguf, const char *key, const char *const *fallback,
                                  const char **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* Arrays, unpacked into the arena; a missing key gives NULL and 0. Texts point into the file. */
enum psc_status psc_gguf_get_texts(struct psc_arena *arena, const struct psc_gguf *gguf, const char *key,
                                   const struct psc_gguf_text **ret, uint64_t *ret_n,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
/* From any integers that fit. */
enum psc_status psc_gguf_get_i32s(struct psc_arena *arena, const struct psc_gguf *gguf, const char *key,
                                  const int32_t **ret, uint64_t *ret_n, struct psc_error *reterr) PSC_MUST_CHECK;
/* From f32 or f64. */
enum psc_status psc_gguf_get_f32s(struct psc_arena *arena, const struct psc_gguf *gguf, const char *key,
                                  const float **ret, uint64_t *ret_n, struct psc_error *reterr) PSC_MUST_CHECK;

/* A value for people: 32, "qwen2", ["!", "\"", "#", ... 151936 in all]; at most `items` items of an array and `bytes`
 * bytes of a string. Controls and bytes that are not UTF-8 are written as escapes. */
void psc_gguf_kv_show(const struct psc_gguf_kv *kv, uint64_t items, uint64_t bytes, struct psc_text *out);

/* The tensor as a weight: one or two dimensions, a type that is computed with, values, bytes aligned as it needs. */
enum psc_status psc_gguf_weight(const struct psc_gguf_tensor *tensor, struct psc_weight *ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;

#endif
