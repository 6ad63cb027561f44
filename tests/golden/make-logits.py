#!/usr/bin/env python3
"""Golden logits of the tiny presets, from PyTorch's `transformers`: an implementation that shares nothing with ours.

    python3 tests/golden/make-logits.py build/app/planscope-cli tests/golden

Needs the Python packages torch, transformers, gguf and numpy (made with torch 2.15, transformers 5.24, gguf 0.19), which
neither the product nor tests/run needs: the results are committed. For each preset and type of weights it asks the command
line for a GGUF file, decodes the weights with the gguf package, loads them into the reference model, quantises what goes
into each product with quantised weights as the engine does, runs the prompt, then one step for each of the tokens FED, and
writes to logits-<preset>.bin, for each type:

    char type[8]   then, little-endian, u32 vocabulary, u32 prompt tokens, u32 steps, i32 prompt[], i32 fed[steps], u32 rows,
                   u32 row[rows] (0: prefill, k: after step k), f32 logits[rows][vocabulary] of the last position

f32 keeps every row, the other types the first, the middle and the last.
"""
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch
from gguf import GGMLQuantizationType as Type, GGUFReader, dequantize
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

PROMPT = [72, 101, 108, 108, 111, 44, 32, 119, 111, 114, 108, 100, 33, 10, 300, 411, 7, 255, 0]
FED = [11, 300, 257, 44, 500, 1, 98, 333, 12, 400, 77, 260, 509, 65, 310, 2]
PRESETS = {'tiny-qwen2': ['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'q5_0', 'q5_1'],
           'tiny-qwen3': ['f32', 'q8_0'],
           'tiny-qwen2-k': ['q4_k', 'q5_k', 'q6_k', 'q4_k_m'], 'tiny-qwen3-k': ['q4_k_m']}


BLOCK = {Type.Q8_0: 32, Type.Q4_0: 32, Type.Q4_1: 32, Type.Q5_0: 32, Type.Q5_1: 32, Type.Q4_K: 256, Type.Q5_K: 256, Type.Q6_K: 256}


def quantised(x, block):
    """What a product with quantised weights sees of its activations: 8 bits and one f16 scale a block."""
    v = x.reshape(-1, block)
    amax = v.abs().amax(dim=1, keepdim=True)
    q = torch.round(v * torch.where(amax > 0, 127 / amax, torch.zeros_like(amax)))
    return (q * (amax / 127).to(torch.float16).to(torch.float32)).reshape(x.shape)


def quantise_inputs(model, names, types, tied):
    ours = {theirs: name for name, theirs in names.items()}
    for path, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            name = 'token_embd.weight' if tied and path == 'lm_head' else ours[path + '.weight']
            block = BLOCK.get(types[name])
            if block:
                module.register_forward_pre_hook(lambda _, args, block=block: (quantised(args[0], block),))


def field(reader, key):
    f = reader.fields[key]
    return f.parts[f.data[0]][0]


def load(path):
    reader = GGUFReader(path)
    arch = bytes(reader.fields['general.architecture'].parts[reader.fields['general.architecture'].data[0]]).decode()

    def number(key):
        return field(reader, arch + '.' + key)

    tensors = {t.name: torch.from_numpy(np.array(dequantize(t.data, t.tensor_type), dtype=np.float32)
                                        .reshape(list(reversed(t.shape.tolist())))) for t in reader.tensors}
    types = {t.name: t.tensor_type for t in reader.tensors}
    heads, kv_heads = int(number('attention.head_count')), int(number('attention.head_count_kv'))
    width, layers = int(number('embedding_length')), int(number('block_count'))
    head_dim = int(number('attention.key_length')) if arch + '.attention.key_length' in reader.fields else width // heads
    config = dict(vocab_size=tensors['token_embd.weight'].shape[0], hidden_size=width,
                  intermediate_size=int(number('feed_forward_length')), num_hidden_layers=layers,
                  num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=head_dim,
                  max_position_embeddings=int(number('context_length')),
                  rms_norm_eps=float(number('attention.layer_norm_rms_epsilon')), rope_theta=float(number('rope.freq_base')),
                  tie_word_embeddings='output.weight' not in tensors, attention_dropout=0.0, use_sliding_window=False)
    rope = float(number('rope.freq_base'))
    config['rope_parameters'] = {'rope_type': 'default', 'rope_theta': rope}  # of transformers 5; 4 reads rope_theta
    if arch == 'qwen2':
        model = Qwen2ForCausalLM(Qwen2Config(**config))
    else:
        model = Qwen3ForCausalLM(Qwen3Config(attention_bias=False, **config))
    names = {'token_embd.weight': 'model.embed_tokens.weight', 'output_norm.weight': 'model.norm.weight',
             'output.weight': 'lm_head.weight'}
    parts = {'attn_norm': 'input_layernorm', 'attn_q': 'self_attn.q_proj', 'attn_k': 'self_attn.k_proj',
             'attn_v': 'self_attn.v_proj', 'attn_output': 'self_attn.o_proj', 'attn_q_norm': 'self_attn.q_norm',
             'attn_k_norm': 'self_attn.k_norm', 'ffn_norm': 'post_attention_layernorm', 'ffn_gate': 'mlp.gate_proj',
             'ffn_up': 'mlp.up_proj', 'ffn_down': 'mlp.down_proj'}
    for layer in range(layers):
        for ours, theirs in parts.items():
            for kind in ('weight', 'bias'):
                names[f'blk.{layer}.{ours}.{kind}'] = f'model.layers.{layer}.{theirs}.{kind}'
    state = {names[n]: t for n, t in tensors.items()}
    inverse = model.model.rotary_emb.inv_freq.double().numpy()  # the base that is really used
    if abs(inverse[1] ** (-head_dim / 2) / rope - 1) > 1e-4:
        sys.exit(f'{path}: the reference does not use the rope base {rope}')
    missing, unexpected = model.load_state_dict(state, strict=False)
    missing = [m for m in missing if not (m == 'lm_head.weight' and config['tie_word_embeddings'])]
    if missing or unexpected:
        sys.exit(f'{path}: missing {missing}, unexpected {unexpected}')
    if config['tie_word_embeddings']:
        model.tie_weights()
    quantise_inputs(model, names, types, config['tie_word_embeddings'])
    return model.to(torch.float32).eval(), config['vocab_size']


def rows_of(path):
    model, vocab = load(path)
    prompt, fed = [t % vocab for t in PROMPT], [t % vocab for t in FED]
    out = model(torch.tensor([prompt]), use_cache=True)
    rows = [out.logits[0, -1].numpy()]
    for token in fed:
        out = model(torch.tensor([[token]]), past_key_values=out.past_key_values, use_cache=True)
        rows.append(out.logits[0, -1].numpy())
    return vocab, prompt, fed, rows


def main():
    cli, folder = sys.argv[1:3]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for preset, types in PRESETS.items():
        with tempfile.TemporaryDirectory() as scratch, torch.no_grad(), \
                open(os.path.join(folder, f'logits-{preset}.bin'), 'wb') as f:
            for kind in types:
                path = os.path.join(scratch, kind + '.gguf')
                subprocess.run([cli, 'export', '--preset', preset, '--format', 'gguf', '--weights', kind, '-o', path], check=True)
                vocab, prompt, fed, rows = rows_of(path)
                keep = list(range(len(rows))) if kind in ('f32',) else [0, len(rows) // 2, len(rows) - 1]
                f.write(kind.encode().ljust(8, b'\0') + struct.pack('<III', vocab, len(prompt), len(fed)))
                f.write(struct.pack(f'<{len(prompt)}i', *prompt) + struct.pack(f'<{len(fed)}i', *fed))
                f.write(struct.pack(f'<I{len(keep)}I', len(keep), *keep))
                f.write(np.stack([rows[k] for k in keep]).astype('<f4').tobytes())
                print(preset, kind, 'vocabulary', vocab, 'largest', max(float(np.abs(r).max()) for r in rows))


main()
