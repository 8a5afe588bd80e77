#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Tiny mixtures of experts with known logits, beside tiny_ref.py and of the same form.

    moe_ref.py --list
    moe_ref.py --gguf NAME OUT.gguf   write the model (264-token SPM vocabulary); standard library only
    moe_ref.py --make OUT.json        moe_logits.json again, in double precision; needs numpy

Written from the papers and model cards (Mixtral: Jiang et al. 2024; Qwen2-MoE and Qwen3: Qwen Team
2024, 2025; gpt-oss: OpenAI 2025), not from any engine. A float32 engine should agree to 2e-4, with
an f16 cache to 2e-2. The router's weights are large, so that the last chosen and the first left out
are far apart: "closest_choice" is the smallest such distance of scores over all layers and rows.
"""
import json, math, os, struct, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gguf_bad import ARR, F, F32T, I32, STR, U32, spm_tokens, weights

PROMPT = [1, 262, 261, 70, 80, 3, 200, 263, 262, 13, 99, 258]
V = 264
EPS = 1e-5
F32, MXFP4 = 0, 39
E2M1 = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]  # doubled

# x experts of which u serve a row, each with rows of fx; fs: the shared expert's.
M = {
    'mixtral': dict(arch='llama', e=32, l=2, h=4, kv=2, d=8, pair='norm', x=4, u=2, fx=48, norm=True),
    'qwen2moe': dict(arch='qwen2moe', e=32, l=2, h=4, kv=2, d=8, pair='neox', base=1e6, x=6, u=2,
                     fx=24, fs=40, norm=False, bias='qkv'),
    'qwen3moe': dict(arch='qwen3moe', e=32, l=2, h=4, kv=2, d=16, pair='neox', base=1e6, qknorm=True,
                     x=8, u=3, fx=24, norm=True),
    'gpt-oss': dict(arch='gpt-oss', e=64, l=3, h=4, kv=2, d=16, pair='neox', base=150000.0,
                    yarn=(4.0, 32), window=4, sinks=True, x=6, u=2, fx=32, norm=True, bias='all'),
}
M['gpt-oss_mxfp4'] = dict(M['gpt-oss'], experts=MXFP4)


def shapes(c):
    """name -> dims as in the file, fastest first"""
    e, q, kv, fx, x = c['e'], c['h'] * c['d'], c['kv'] * c['d'], c['fx'], c['x']
    yield 'token_embd.weight', (e, V)
    yield 'output_norm.weight', (e,)
    yield 'output.weight', (e, V)
    for i in range(c['l']):
        p = 'blk.%d.' % i
        yield p + 'attn_norm.weight', (e,)
        yield p + ('post_attention_norm' if c['arch'] == 'gpt-oss' else 'ffn_norm') + '.weight', (e,)
        for s, n in (('q', q), ('k', kv), ('v', kv)):
            yield p + 'attn_%s.weight' % s, (e, n)
            if 'bias' in c: yield p + 'attn_%s.bias' % s, (n,)
        yield p + 'attn_output.weight', (q, e)
        if c.get('bias') == 'all': yield p + 'attn_output.bias', (e,)
        if c.get('qknorm'):
            yield p + 'attn_q_norm.weight', (c['d'],)
            yield p + 'attn_k_norm.weight', (c['d'],)
        if c.get('sinks'): yield p + 'attn_sinks.weight', (c['h'],)
        yield p + 'ffn_gate_inp.weight', (e, x)
        if c.get('bias') == 'all': yield p + 'ffn_gate_inp.bias', (x,)
        for s, a, b in (('gate', e, fx), ('up', e, fx), ('down', fx, e)):
            yield p + 'ffn_%s_exps.weight' % s, (a, b, x)
            if c.get('bias') == 'all': yield p + 'ffn_%s_exps.bias' % s, (b, x)
        if 'fs' in c:
            yield p + 'ffn_gate_inp_shexp.weight', (e,)
            yield p + 'ffn_gate_shexp.weight', (e, c['fs'])
            yield p + 'ffn_up_shexp.weight', (e, c['fs'])
            yield p + 'ffn_down_shexp.weight', (c['fs'], e)


def scale_of(c, name):
    if 'norm' in name: return 1.0
    if c['arch'] == 'gpt-oss' and ('gate_exps.w' in name or 'up_exps.w' in name): return 12.0  # into the clamp
    if 'gate_inp' in name or 'sinks' in name: return 16.0
    if '.bias' in name: return 2.4
    return 4.0 if 'embd' in name or name == 'output.weight' else 3.0


def tensor(c, name, dims):
    """type, bytes in the file, values"""
    n = math.prod(dims)
    if '_exps.weight' in name and c.get('experts') == MXFP4:
        data, values = bytearray(), []
        noise = struct.unpack('<%df' % n, weights(c['arch'] + name, n, F32))
        for b in range(0, n, 32):
            codes = [int((noise[b + i] + 0.125) * 64) & 15 for i in range(32)]
            exponent = (119 if 'down' in name else 121) + codes[0] % 4
            data.append(exponent)
            data += bytes(codes[i] | codes[16 + i] << 4 for i in range(16))
            values += [E2M1[k] * 2.0 ** (exponent - 128) for k in codes]
        return MXFP4, bytes(data), values
    raw = struct.unpack('<%df' % n, weights(c['arch'] + name, n, F32))
    data = struct.pack('<%df' % n, *(v * scale_of(c, name) for v in raw))
    return F32, data, list(struct.unpack('<%df' % n, data))


def gguf(name):
    c = M[name]; a = c['arch']; f = F(); f.tensors = []
    f.set('general.architecture', STR, a); f.set('general.name', STR, 'tiny')
    for k, v in (('context_length', 512), ('embedding_length', c['e']), ('block_count', c['l']),
                 ('feed_forward_length', c['fx']), ('attention.head_count', c['h']),
                 ('attention.head_count_kv', c['kv']), ('attention.key_length', c['d']),
                 ('attention.value_length', c['d']), ('rope.dimension_count', c['d']),
                 ('expert_count', c['x']), ('expert_used_count', c['u'])): f.set(a + '.' + k, U32, v)
    if a != 'llama': f.set(a + '.expert_feed_forward_length', U32, c['fx'])
    if 'fs' in c: f.set(a + '.expert_shared_feed_forward_length', U32, c['fs'])
    if 'window' in c: f.set(a + '.attention.sliding_window', U32, c['window'])
    f.set(a + '.attention.layer_norm_rms_epsilon', F32T, EPS)
    f.set(a + '.rope.freq_base', F32T, c.get('base', 10000.0))
    if 'yarn' in c:
        f.set(a + '.rope.scaling.type', STR, 'yarn'); f.set(a + '.rope.scaling.factor', F32T, c['yarn'][0])
        f.set(a + '.rope.scaling.original_context_length', U32, c['yarn'][1])
    toks, types, scores = spm_tokens()
    f.set('tokenizer.ggml.model', STR, 'llama'); f.set('tokenizer.ggml.tokens', ARR, (STR, toks))
    f.set('tokenizer.ggml.scores', ARR, (F32T, scores)); f.set('tokenizer.ggml.token_type', ARR, (I32, types))
    f.set('tokenizer.ggml.bos_token_id', U32, 1); f.set('tokenizer.ggml.eos_token_id', U32, 2)
    for n, dims in shapes(c):
        kind, data, _ = tensor(c, n, dims)
        f.put(n, dims, kind, data)
    return f.build()


class Model:
    """Every position at once: rows are tokens."""

    def __init__(self, c):
        import numpy
        self.np, self.c = numpy, c
        self.w = {n: numpy.array(tensor(c, n, d)[2], dtype=numpy.float64).reshape(d[::-1])
                  for n, d in shapes(c)}
        self.closest = math.inf

    def rms(self, x, w):
        return x / self.np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * w

    def linear(self, x, name):
        y = x @ self.w[name + '.weight'].T
        return y + self.w[name + '.bias'] if name + '.bias' in self.w else y

    def softmax(self, s):
        p = self.np.exp(s - s.max(-1, keepdims=True))
        return p / p.sum(-1, keepdims=True)

    def rotate(self, x):
        np, c, d = self.np, self.c, self.c['d']
        i = np.arange(d // 2)
        base = c.get('base', 10000.0)
        turn, magnitude = base ** (-2.0 * i / d), 1.0
        if 'yarn' in c:
            factor, original = c['yarn']
            dim = lambda n: d * math.log(original / (2 * math.pi * n)) / (2 * math.log(base))
            low, high = max(0, math.floor(dim(32))), min(d - 1, math.ceil(dim(1)))
            keep = 1 - np.clip((i - low) / max(0.001, high - low), 0, 1)
            turn = turn / factor * (1 - keep) + turn * keep
            magnitude = 1 + 0.1 * math.log(factor)
        angle = np.arange(len(x))[:, None, None] * turn
        cos, sin = np.cos(angle) * magnitude, np.sin(angle) * magnitude
        first = 2 * i if c['pair'] == 'norm' else i
        second = first + (1 if c['pair'] == 'norm' else d // 2)
        out = x.copy()
        out[..., first] = x[..., first] * cos - x[..., second] * sin
        out[..., second] = x[..., first] * sin + x[..., second] * cos
        return out

    def attention(self, p, i, n):
        np, c = self.np, self.c
        t, d, h, kv = len(n), c['d'], c['h'], c['kv']
        q = self.linear(n, p + 'attn_q').reshape(t, h, d)
        k = self.linear(n, p + 'attn_k').reshape(t, kv, d)
        v = self.linear(n, p + 'attn_v').reshape(t, kv, d)
        if c.get('qknorm'):
            q = self.rms(q, self.w[p + 'attn_q_norm.weight'])
            k = self.rms(k, self.w[p + 'attn_k_norm.weight'])
        q, k = self.rotate(q), self.rotate(k)
        k, v = np.repeat(k, h // kv, axis=1), np.repeat(v, h // kv, axis=1)
        s = np.einsum('ahd,bhd->hab', q, k) / math.sqrt(d)
        a, b = np.arange(t)[:, None], np.arange(t)[None, :]
        seen = b <= a
        if 'window' in c and i % 2 == 0: seen &= b > a - c['window']
        s = np.where(seen, s, -np.inf)
        if c.get('sinks'):
            sink = np.broadcast_to(self.w[p + 'attn_sinks.weight'][:, None, None], (h, t, 1))
            share = self.softmax(np.concatenate([s, sink], -1))[..., :-1]
        else:
            share = self.softmax(s)
        return self.linear(np.einsum('hab,bhd->ahd', share, v).reshape(t, h * d), p + 'attn_output')

    def gated(self, gate, up):
        np = self.np
        if self.c['arch'] != 'gpt-oss': return gate / (1 + np.exp(-gate)) * up
        gate, up = np.minimum(gate, 7.0), np.clip(up, -7.0, 7.0)
        return gate / (1 + np.exp(-1.702 * gate)) * (up + 1)

    def expert(self, p, e, row):
        def part(name, x):
            y = self.w[p + name + '.weight'][e] @ x
            return y + self.w[p + name + '.bias'][e] if p + name + '.bias' in self.w else y
        return part('ffn_down_exps', self.gated(part('ffn_gate_exps', row), part('ffn_up_exps', row)))

    def experts(self, p, n):
        np, c = self.np, self.c
        scores = self.linear(n, p + 'ffn_gate_inp')
        share = self.softmax(scores)
        out = np.zeros_like(n)
        for r, row in enumerate(n):
            order = np.argsort(-scores[r], kind='stable')
            chosen = order[:c['u']]
            if c['u'] < c['x']:
                self.closest = min(self.closest, scores[r][order[c['u'] - 1]] - scores[r][order[c['u']]])
            weight = share[r][chosen]
            if c['norm']: weight = weight / weight.sum()
            out[r] = sum(w * self.expert(p, e, row) for w, e in zip(weight, chosen))
        if 'fs' in c:
            shared = self.gated(self.linear(n, p + 'ffn_gate_shexp'), self.linear(n, p + 'ffn_up_shexp'))
            gate = 1 / (1 + np.exp(-(n @ self.w[p + 'ffn_gate_inp_shexp.weight'])))
            out = out + gate[:, None] * self.linear(shared, p + 'ffn_down_shexp')
        return out

    def logits(self, tokens):
        x = self.w['token_embd.weight'][tokens]
        for i in range(self.c['l']):
            p = 'blk.%d.' % i
            x = x + self.attention(p, i, self.rms(x, self.w[p + 'attn_norm.weight']))
            second = 'post_attention_norm' if self.c['arch'] == 'gpt-oss' else 'ffn_norm'
            x = x + self.experts(p, self.rms(x, self.w[p + second + '.weight']))
        return self.rms(x, self.w['output_norm.weight']) @ self.w['output.weight'].T


def make():
    out = {'prompt': PROMPT}
    for name, c in M.items():
        model = Model(c)
        rows = model.logits(PROMPT)
        best = [sorted(r) for r in rows]
        out[name] = {'greedy_at_every_position': [int(r.argmax()) for r in rows],
                     'gap_to_second': [round(float(r[-1] - r[-2]), 5) for r in best],
                     'closest_choice': round(float(model.closest), 5),
                     'last_f32_hex': struct.pack('<%df' % V, *rows[-1]).hex()}
    return json.dumps(out).replace('}, "', '},\n"') + '\n'


def main():
    a = sys.argv[1:]
    if a == ['--list']: print('\n'.join(M))
    elif len(a) == 3 and a[0] == '--gguf':
        with open(a[2], 'wb') as f: f.write(gguf(a[1]))
    elif len(a) == 2 and a[0] == '--make':
        with open(a[1], 'w') as f: f.write(make())
    else: sys.exit(__doc__)


if __name__ == '__main__':
    main()
