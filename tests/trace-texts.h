/* tests/trace-texts.h: small traces as string literals, put together from their parts. */
#ifndef PSC_TESTS_TRACE_TEXTS_H
#define PSC_TESTS_TRACE_TEXTS_H

#define NODE(id, op, src)                                                                                    \
    "{\"id\":" id ",\"name\":\"n" id "\",\"op\":\"" op                                                       \
    "\",\"shape\":[4,1,1,1],\"dtype\":\"f32\",\"backend\":\"cpu\",\"src\":[" src "]}"
#define GRAPH                                                                                                \
    "{\"format\":\"minfer-graph\",\"version\":1,\"kind\":\"prefill\",\"model\":\"m\",\"inputs\":[0],"        \
    "\"outputs\":[2],"                                                                                       \
    "\"nodes\":[" NODE("0", "input", "") "," NODE("1", "silu", "0") "," NODE("2", "add", "1,0") "]}"
#define REC(id)                                                                                              \
    "{\"id\":" id ",\"dtype\":\"f32\",\"n\":4,\"stride\":1,\"stats\":{\"min\":-1.0,\"max\":1,\"mean\":0.25," \
    "\"absmean\":0.5},"                                                                                      \
    "\"values\":[-1.0,0.5,1.0,0.5]}"
#define STEP(records) "{\"token\":null,\"text\":\"\",\"logits_top\":[],\"nodes\":[" records "]}"
#define TRACE(phases)                                                                                        \
    "{\"format\":\"minfer-trace\",\"version\":1,\"model\":\"m.gguf\",\"prompt\":\"hi\",\"phases\":[" phases  \
    "]}"
#define PHASE(steps) "{\"kind\":\"prefill\",\"graph\":" GRAPH ",\"steps\":[" steps "]}"

#endif
