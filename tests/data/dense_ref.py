#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0
"""Tiny dense models with known logits, beside those of tiny_ref.py and in its form.

    dense_ref.py --list
    dense_ref.py --gguf NAME OUT.gguf     write the model (f32 weights, 264-token SPM vocabulary)
    dense_ref.py --logits NAME            all logits of the last position, one a line
    dense_ref.py --make OUT.json          dense_logits.json again
    dense_ref.py --check FILE.json        compares it with what this script computes

Everything is computed in double precision with numpy (writing a model needs none). A f32 engine
should agree to 2e-4. Formulas: the papers and model cards, as ../../lib/models names them; the
rotations as Su et al. 2021, linear scaling as Chen et al. 2023, YaRN as Peng et al. 2023 with the
rounded ramp of gguf.md, longrope as Ding et al. 2024. Where a model has a window, it is shorter
than the prompt. "ctx" is the context that a session is given: longrope chooses by it.
"""
import json, math, os, struct, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gguf_bad import F, U32, STR, F32T, ARR, I32, BOOL, spm_tokens, weights
from tiny_ref import PROMPT, V

EPS = 1e-5
SHORT, LONG = [1.0, 1.125, 1.5, 2.0], [1.25, 2.0, 6.0, 16.0]
LLAMA = dict(arch='llama', e=32, l=2, h=4, kv=2, d=8, ff=64, pair='norm')
PHI3 = dict(arch='phi3', e=32, l=2, h=4, kv=2, d=8, ff=40, pair='neox', fused=True)
GRANITE = dict(arch='granite', e=32, l=2, h=4, kv=2, d=8, ff=48, pair='norm', base=1e4,
               scales=dict(embedding_scale=6.0, residual_scale=0.375, logit_scale=4.0, **{'attention.scale': 0.25}))

# name: arch, embd, layers, heads, kv heads, head size, ffn, extras
M = {
 'llama_window':    dict(LLAMA, window=4),
 'llama_yarn_keys': dict(LLAMA, base=1e4, yarn=dict(factor=4.0, ctx=32, fast=16.0, slow=2.0, ext=0.75, attn=1.1386), attn_factor=1.25),
 'llama_yarn_ext0': dict(LLAMA, base=1e4, yarn=dict(factor=4.0, ctx=32, fast=32.0, slow=1.0, ext=0.0, attn=1.0)),
 'llama_short':     dict(LLAMA, longrope=(SHORT, LONG), orig=24, attn_factor=1.25, ctx=24),
 'llama_long':      dict(LLAMA, longrope=(SHORT, LONG), orig=24, attn_factor=1.25),
 'phi3_window':     dict(PHI3, window=5),
 'phi3_short':      dict(PHI3, longrope=(SHORT, LONG), orig=24, attn_factor=1.1875, ctx=24, window=2047),
 'phi3_long':       dict(PHI3, longrope=(SHORT, LONG), orig=24, attn_factor=1.1875, window=4),
 'phi3_partial':    dict(PHI3, d=12, rot=8, tied=True),
 'olmo2':           dict(arch='olmo2', e=32, l=2, h=4, kv=2, d=8, ff=48, pair='neox', base=5e5),
 'olmo3':           dict(arch='olmo2', e=32, l=5, h=4, kv=2, d=8, ff=40, pair='neox', window=4,
                         yarn=dict(factor=4.0, ctx=32, fast=32.0, slow=1.0, ext=1.0, attn=1.0)),
 'starcoder2':      dict(arch='starcoder2', e=32, l=2, h=4, kv=2, d=8, ff=96, pair='neox', base=1e5, tied=True),
 'starcoder2_window': dict(arch='starcoder2', e=32, l=2, h=4, kv=1, d=8, ff=80, pair='neox', base=1e5, window=3),
 'smollm3':         dict(arch='smollm3', e=32, l=5, h=4, kv=2, d=8, ff=48, pair='norm', base=5e6, tied=True),
 'granite':         dict(GRANITE, tied=True),
 'granite_nope':    dict(GRANITE, finetuned=False),
}


def ctx(c): return c.get('ctx', 64)


def shapes(c):
    """name -> (rows out, columns in) or (n,) in the order of the file"""
    e, q, kv, ff = c['e'], c['h'] * c['d'], c['kv'] * c['d'], c['ff']
    t = [('token_embd.weight', (V, e)), ('output_norm.weight', (e,))]
    if not c.get('tied'): t.append(('output.weight', (V, e)))
    if 'longrope' in c:
        t += [('rope_factors_%s.weight' % s, (len(c['longrope'][0]),)) for s in ('long', 'short')]
    star, olmo = c['arch'] == 'starcoder2', c['arch'] == 'olmo2'
    if star: t.append(('output_norm.bias', (e,)))
    for i in range(c['l']):
        u = []
        if not olmo: u += [('attn_norm.weight', (e,)), ('ffn_norm.weight', (e,))]
        else: u += [('attn_q_norm.weight', (q,)), ('attn_k_norm.weight', (kv,)), ('post_attention_norm.weight', (e,)), ('post_ffw_norm.weight', (e,))]
        if c.get('fused'): u += [('attn_qkv.weight', (q + 2 * kv, e)), ('ffn_up.weight', (2 * ff, e))]
        else: u += [('attn_q.weight', (q, e)), ('attn_k.weight', (kv, e)), ('attn_v.weight', (kv, e)), ('ffn_up.weight', (ff, e))]
        if not star and not c.get('fused'): u += [('ffn_gate.weight', (ff, e))]
        u += [('attn_output.weight', (e, q)), ('ffn_down.weight', (e, ff))]
        if star: u += [(n + '.bias', (k,)) for n, k in (('attn_norm', e), ('ffn_norm', e), ('attn_q', q), ('attn_k', kv), ('attn_v', kv),
                                                        ('attn_output', e), ('ffn_up', ff), ('ffn_down', e))]
        t += [('blk.%d.%s' % (i, n), k) for n, k in u]
    return t


def tensor(c, name, shape):
    """Seeded by architecture and name: norms 1 +- 0.125, biases +- 0.3, the rest +- 0.375 or 0.5."""
    if name.startswith('rope_factors'): return list(c['longrope']['long' in name])
    n = math.prod(shape)
    v = list(struct.unpack('<%df' % n, weights(c['arch'] + name, n, 0)))
    if name.endswith('.bias'): v = [2.4 * (x - 1.0 if 'norm' in name else x) for x in v]
    elif 'norm' not in name: v = [x * (4.0 if name in ('token_embd.weight', 'output.weight') else 3.0) for x in v]
    return list(struct.unpack('<%df' % n, struct.pack('<%df' % n, *v)))


def frequencies(np, c):
    """(angle a position of each pair, magnitude of cos and sin)"""
    n, base = c.get('rot', c['d']), c.get('base', 10000.0)
    i = np.arange(n // 2)
    a, mag = base ** (-2.0 * i / n), c.get('attn_factor', 1.0)
    if 'longrope' in c: a = a / np.array(c['longrope'][ctx(c) > c['orig']])
    if 'linear' in c: a = a / c['linear']
    if 'yarn' in c:
        y = c['yarn']
        dim = lambda turns: n * math.log(y['ctx'] / (turns * 2 * math.pi)) / (2 * math.log(base))
        lo, hi = max(0, math.floor(dim(y['fast']))), min(n - 1, math.ceil(dim(y['slow'])))
        keep = (1 - np.clip((i - lo) / max(0.001, hi - lo), 0, 1)) * y['ext']
        a = a / y['factor'] * (1 - keep) + a * keep
        mag *= 1 + 0.1 * math.log(y['factor']) if y['ext'] else 1     # y['attn'] says the same or 1
    return a, mag


def rotate(np, c, x, plain=False):
    """x [positions, heads, d]; the first `rot` values of each head turn"""
    a, mag = frequencies(np, {k: c[k] for k in ('d', 'base') if k in c} if plain else c)
    th = np.arange(len(x))[:, None, None] * a
    co, si, out, half = np.cos(th) * mag, np.sin(th) * mag, x.copy(), len(a)
    first, second = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if c['pair'] == 'norm' else (slice(0, half), slice(half, 2 * half))
    out[..., first] = x[..., first] * co - x[..., second] * si
    out[..., second] = x[..., first] * si + x[..., second] * co
    return out


def logits(name, tokens=PROMPT):
    """[positions, V]"""
    import numpy as np
    c = M[name]; d, h, kv = c['d'], c['h'], c['kv']
    w = {n: np.array(tensor(c, n, s)).reshape(s) for n, s in shapes(c)}
    n_pos = len(tokens)

    def rms(x, g): return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * w[g]
    def layer_norm(x, n):
        m = x - x.mean(-1, keepdims=True)
        return m / np.sqrt((m * m).mean(-1, keepdims=True) + EPS) * w[n + '.weight'] + w[n + '.bias']
    def silu(x): return x / (1 + np.exp(-x))
    def gelu(x): return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    def linear(x, n): return x @ w[n + '.weight'].T + (w[n + '.bias'] if n + '.bias' in w else 0)

    def attend(q, k, v, scale=1 / math.sqrt(d), turns=True, window=c.get('window'), plain=False):
        """q, k, v as the matrices give them; plain: RoPE without its scaling"""
        q, k, v = q.reshape(n_pos, h, d), k.reshape(n_pos, kv, d), v.reshape(n_pos, kv, d)
        if turns: q, k = rotate(np, c, q, plain), rotate(np, c, k, plain)
        s = np.einsum('phd,thd->hpt', q, k.repeat(h // kv, 1)) * scale
        back = np.arange(n_pos)[:, None] - np.arange(n_pos)[None, :]
        s = np.where((back >= 0) & (back < (window or n_pos)), s, -np.inf)
        s = np.exp(s - s.max(-1, keepdims=True))
        o = np.einsum('hpt,thd->phd', s / s.sum(-1, keepdims=True), v.repeat(h // kv, 1))
        return o.reshape(n_pos, h * d)

    def gated(x, p): return linear(silu(linear(x, p + 'ffn_gate')) * linear(x, p + 'ffn_up'), p + 'ffn_down')

    def llama(x, p, i):
        n = rms(x, p + 'attn_norm.weight')
        x = x + linear(attend(*(linear(n, p + 'attn_' + s) for s in 'qkv')), p + 'attn_output')
        return x + gated(rms(x, p + 'ffn_norm.weight'), p)

    def phi3(x, p, i):
        y = linear(rms(x, p + 'attn_norm.weight'), p + 'attn_qkv')
        q, k, v = np.split(y, [h * d, (h + kv) * d], axis=1)
        x = x + linear(attend(q, k, v), p + 'attn_output')
        gate, up = np.split(linear(rms(x, p + 'ffn_norm.weight'), p + 'ffn_up'), 2, axis=1)
        return x + linear(silu(gate) * up, p + 'ffn_down')

    def olmo2(x, p, i):
        q, k = (rms(linear(x, p + 'attn_' + s), p + 'attn_%s_norm.weight' % s) for s in 'qk')
        local = 'window' in c and i % 4 != 3
        o = attend(q, k, linear(x, p + 'attn_v'), window=c['window'] if local else None, plain=local)
        o = linear(o, p + 'attn_output')
        x = x + rms(o, p + 'post_attention_norm.weight')
        return x + rms(gated(x, p), p + 'post_ffw_norm.weight')

    def starcoder2(x, p, i):
        n = layer_norm(x, p + 'attn_norm')
        x = x + linear(attend(*(linear(n, p + 'attn_' + s) for s in 'qkv')), p + 'attn_output')
        return x + linear(gelu(linear(layer_norm(x, p + 'ffn_norm'), p + 'ffn_up')), p + 'ffn_down')

    def smollm3(x, p, i):
        n = rms(x, p + 'attn_norm.weight')
        x = x + linear(attend(*(linear(n, p + 'attn_' + s) for s in 'qkv'), turns=(i + 1) % 4 != 0), p + 'attn_output')
        return x + gated(rms(x, p + 'ffn_norm.weight'), p)

    def granite(x, p, i):
        n, g = rms(x, p + 'attn_norm.weight'), c['scales']
        o = attend(*(linear(n, p + 'attn_' + s) for s in 'qkv'), scale=g['attention.scale'], turns=c.get('finetuned', True))
        x = x + g['residual_scale'] * linear(o, p + 'attn_output')
        return x + g['residual_scale'] * gated(rms(x, p + 'ffn_norm.weight'), p)

    layer = dict(llama=llama, phi3=phi3, olmo2=olmo2, starcoder2=starcoder2, smollm3=smollm3, granite=granite)[c['arch']]
    scales = c.get('scales', {})
    x = w['token_embd.weight'][tokens] * scales.get('embedding_scale', 1)
    for i in range(c['l']): x = layer(x, 'blk.%d.' % i, i)
    x = layer_norm(x, 'output_norm') if c['arch'] == 'starcoder2' else rms(x, 'output_norm.weight')
    return x @ w['token_embd.weight' if c.get('tied') else 'output.weight'].T / scales.get('logit_scale', 1)


def set_rope(f, a, c):
    r = a + '.rope.scaling.'
    if 'attn_factor' in c: f.set(r + 'attn_factor', F32T, c['attn_factor'])
    if 'orig' in c: f.set(r + 'original_context_length', U32, c['orig'])
    if 'longrope' in c: f.set(r + 'type', STR, 'longrope')
    if 'linear' in c: f.set(r + 'type', STR, 'linear'); f.set(r + 'factor', F32T, c['linear'])
    if 'yarn' in c:
        y = c['yarn']
        f.set(r + 'type', STR, 'yarn'); f.set(r + 'original_context_length', U32, y['ctx'])
        for key, v in (('factor', 'factor'), ('yarn_beta_fast', 'fast'), ('yarn_beta_slow', 'slow'), ('yarn_ext_factor', 'ext'), ('yarn_attn_factor', 'attn')):
            f.set(r + key, F32T, y[v])


def gguf(name):
    c = M[name]; a = c['arch']; f = F(); f.tensors = []
    f.set('general.architecture', STR, a); f.set('general.name', STR, 'tiny')
    for k, v in (('context_length', 512), ('embedding_length', c['e']), ('block_count', c['l']), ('feed_forward_length', c['ff']),
                 ('attention.head_count', c['h']), ('attention.head_count_kv', c['kv']), ('attention.key_length', c['d']),
                 ('attention.value_length', c['d']), ('rope.dimension_count', c.get('rot', c['d']))): f.set(a + '.' + k, U32, v)
    f.set(a + '.attention.layer_norm_%sepsilon' % ('' if a == 'starcoder2' else 'rms_'), F32T, EPS)
    for k, v in c.get('scales', {}).items(): f.set(a + '.' + k, F32T, v)
    if 'finetuned' in c: f.set(a + '.rope.scaling.finetuned', BOOL, c['finetuned'])
    f.set(a + '.rope.freq_base', F32T, c.get('base', 10000.0))
    if 'window' in c: f.set(a + '.attention.sliding_window', U32, c['window'])
    set_rope(f, a, c)
    toks, types, scores = spm_tokens()
    f.set('tokenizer.ggml.model', STR, 'llama'); f.set('tokenizer.ggml.tokens', ARR, (STR, toks))
    f.set('tokenizer.ggml.scores', ARR, (F32T, scores)); f.set('tokenizer.ggml.token_type', ARR, (I32, types))
    f.set('tokenizer.ggml.bos_token_id', U32, 1); f.set('tokenizer.ggml.eos_token_id', U32, 2)
    for n, s in shapes(c):
        v = tensor(c, n, s)
        f.put(n, list(reversed(s)), 0, struct.pack('<%df' % len(v), *v))
    return f.build()


def make():
    out = {'prompt': PROMPT}
    for n in M:
        rows = logits(n)
        top = [sorted(r)[-2:] for r in rows.tolist()]
        out[n] = {'ctx': ctx(M[n]), 'greedy_at_every_position': rows.argmax(1).tolist(),
                  'gap_to_second': [round(b - a, 5) for a, b in top],
                  'last_f32_hex': struct.pack('<%df' % V, *rows[-1]).hex()}
    return out


def check(path):
    try: import numpy
    except ImportError: return print('SKIPPED: numpy is not installed')
    old, new = json.load(open(path)), make()
    if list(old) != list(new): sys.exit('other models: %s' % (set(old) ^ set(new)))
    for n in M:
        a, b = (struct.unpack('<%df' % V, bytes.fromhex(x[n]['last_f32_hex'])) for x in (old, new))
        if max(abs(x - y) for x, y in zip(a, b)) > 1e-6: sys.exit(n + ': other logits')
    print('%d models as computed by numpy %s' % (len(M), numpy.__version__))


def main():
    a = sys.argv[1:]
    if a == ['--list']: print('\n'.join(M))
    elif len(a) == 3 and a[0] == '--gguf': open(a[2], 'wb').write(gguf(a[1]))
    elif len(a) == 2 and a[0] == '--logits': print('\n'.join('%.9g' % v for v in logits(a[1])[-1]))
    elif len(a) == 2 and a[0] == '--make': open(a[1], 'w').write(json.dumps(make()).replace('}, "', '},\n"') + '\n')
    elif len(a) == 2 and a[0] == '--check': check(a[1])
    else: sys.exit(__doc__)


if __name__ == '__main__':
    main()
