#!/usr/bin/env python3
"""Writes down what torch.amp's autocast does with every op that mezzo has a tag for.

    python3 tests/policy/torch_table.py [--device cuda] [--output tests/policy/torch_table.inc]

For each op and each of three regions (autocast to float16, to bfloat16, disabled) one line says the type of the result, and
another the type of the first argument as the kernel behind autocast receives it, for every case of argument types:

    TORCH_RESULT(matmul, float16,  float16, float16, float16, cannot, cannot, float16, float16, float16, refused)

The cells stand in the order of CASES. Cells that are no types: `cannot` (torch has no such kernel), `refused` (autocast's own
error), `unary` (the op has one floating argument, the case needs two). C++ tests include the file (torch_table_test.hpp).
Needs torch with a CUDA device; about ten seconds. `--device cpu` only tries the calls: its op lists differ.
"""
import argparse
import sys
import warnings

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten

HALF, BRAIN, SINGLE, DOUBLE, INTEGER = torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64
# Types of the first argument and of the others.
CASES = [("float16", HALF, HALF), ("bfloat16", BRAIN, BRAIN), ("float32", SINGLE, SINGLE), ("float64", DOUBLE, DOUBLE),
         ("int64", INTEGER, INTEGER), ("float16+float32", HALF, SINGLE), ("float32+float16", SINGLE, HALF),
         ("float16+bfloat16", HALF, BRAIN), ("float16+float64", HALF, DOUBLE)]
CALL_ERRORS = (RuntimeError, TypeError, NotImplementedError, ValueError, IndexError, AttributeError)
NAMES = {HALF: "float16", BRAIN: "bfloat16", SINGLE: "float32", DOUBLE: "float64", INTEGER: "int64", torch.bool: "boolean"}


class Arguments:
    """Tensors of the two types of a case: x(...) has the first, y(...) the second. Values lie in (0, 1)."""

    def __init__(self, device, first, second):
        self.device, self.first, self.second = device, first, second
        self.generator = torch.Generator(device="cpu").manual_seed(1)

    def _make(self, dtype, shape):
        values = torch.rand(shape, generator=self.generator) * 0.9 + 0.05
        values = values if dtype.is_floating_point else (values * 3).floor() + 1
        return values.to(self.device, dtype)

    def x(self, *shape):
        return self._make(self.first, shape or (4, 4))

    def y(self, *shape):
        return self._make(self.second, shape or (4, 4))

    def classes(self, *shape):
        return torch.ones(shape, dtype=torch.int64, device=self.device)

    def signs(self, *shape):
        return torch.ones(shape, dtype=self.second, device=self.device)


# One call for each tag. An op whose call makes no y() has one floating argument.
OPS = {
    # lower_precision
    "convolution": lambda t: torch.convolution(t.x(1, 4, 8, 8), t.y(4, 4, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    "conv1d": lambda t: F.conv1d(t.x(1, 4, 8), t.y(4, 4, 3)),
    "conv2d": lambda t: F.conv2d(t.x(1, 4, 8, 8), t.y(4, 4, 3, 3)),
    "conv3d": lambda t: F.conv3d(t.x(1, 4, 8, 8, 8), t.y(4, 4, 3, 3, 3)),
    "conv_tbc": lambda t: torch.conv_tbc(t.x(8, 2, 4), t.y(3, 4, 4), t.y(4), 1),
    "conv_transpose1d": lambda t: F.conv_transpose1d(t.x(1, 4, 8), t.y(4, 4, 3)),
    "conv_transpose2d": lambda t: F.conv_transpose2d(t.x(1, 4, 8, 8), t.y(4, 4, 3, 3)),
    "conv_transpose3d": lambda t: F.conv_transpose3d(t.x(1, 4, 8, 8, 8), t.y(4, 4, 3, 3, 3)),
    "matmul": lambda t: torch.matmul(t.x(), t.y()),
    "mm": lambda t: torch.mm(t.x(), t.y()),
    "mv": lambda t: torch.mv(t.x(), t.y(4)),
    "bmm": lambda t: torch.bmm(t.x(2, 4, 4), t.y(2, 4, 4)),
    "addmm": lambda t: torch.addmm(t.x(), t.y(), t.y()),
    "addmv": lambda t: torch.addmv(t.x(4), t.y(), t.y(4)),
    "addr": lambda t: torch.addr(t.x(), t.y(4), t.y(4)),
    "addbmm": lambda t: torch.addbmm(t.x(), t.y(2, 4, 4), t.y(2, 4, 4)),
    "baddbmm": lambda t: torch.baddbmm(t.x(2, 4, 4), t.y(2, 4, 4), t.y(2, 4, 4)),
    "linear": lambda t: F.linear(t.x(), t.y(), t.y(4)),
    "linalg_vecdot": lambda t: torch.linalg.vecdot(t.x(), t.y()),
    "linalg_multi_dot": lambda t: torch.linalg.multi_dot([t.x(), t.y(), t.y()]),
    "chain_matmul": lambda t: aten.chain_matmul([t.x(), t.y(), t.y()]),
    "einsum": lambda t: torch.einsum("ij,jk->ik", t.x(), t.y()),
    "lstm_cell": lambda t: torch.lstm_cell(t.x(2, 4), [t.y(2, 4), t.y(2, 4)], t.y(16, 4), t.y(16, 4), t.y(16), t.y(16)),
    "gru_cell": lambda t: torch.gru_cell(t.x(2, 4), t.y(2, 4), t.y(12, 4), t.y(12, 4), t.y(12), t.y(12)),
    "rnn_tanh_cell": lambda t: torch.rnn_tanh_cell(t.x(2, 4), t.y(2, 4), t.y(4, 4), t.y(4, 4), t.y(4), t.y(4)),
    "rnn_relu_cell": lambda t: torch.rnn_relu_cell(t.x(2, 4), t.y(2, 4), t.y(4, 4), t.y(4, 4), t.y(4), t.y(4)),
    "scaled_dot_product_attention": lambda t: F.scaled_dot_product_attention(t.x(1, 1, 8, 8), t.y(1, 1, 8, 8), t.y(1, 1, 8, 8)),
    "prelu": lambda t: torch.prelu(t.x(), t.y(1)),
    # float32
    "acos": lambda t: torch.acos(t.x()),
    "asin": lambda t: torch.asin(t.x()),
    "cosh": lambda t: torch.cosh(t.x()),
    "erfinv": lambda t: torch.erfinv(t.x()),
    "exp": lambda t: torch.exp(t.x()),
    "expm1": lambda t: torch.expm1(t.x()),
    "log": lambda t: torch.log(t.x()),
    "log10": lambda t: torch.log10(t.x()),
    "log2": lambda t: torch.log2(t.x()),
    "log1p": lambda t: torch.log1p(t.x()),
    "pow": lambda t: torch.pow(t.x(), t.y()),
    "reciprocal": lambda t: torch.reciprocal(t.x()),
    "rsqrt": lambda t: torch.rsqrt(t.x()),
    "sinh": lambda t: torch.sinh(t.x()),
    "softplus": lambda t: F.softplus(t.x()),
    "tan": lambda t: torch.tan(t.x()),
    "layer_norm": lambda t: F.layer_norm(t.x(), [4], t.y(4), t.y(4)),
    "group_norm": lambda t: F.group_norm(t.x(2, 4, 4), 2, t.y(4), t.y(4)),
    "rms_norm": lambda t: F.rms_norm(t.x(), [4], t.y(4)),
    "normalize": lambda t: F.normalize(t.x()),
    "renorm": lambda t: torch.renorm(t.x(), 2, 0, 1.0),
    "frobenius_norm": lambda t: aten.frobenius_norm(t.x(), [0, 1]),
    "nuclear_norm": lambda t: aten.nuclear_norm(t.x()),
    "binary_cross_entropy_with_logits": lambda t: F.binary_cross_entropy_with_logits(t.x(), t.y()),
    "cosine_embedding_loss": lambda t: F.cosine_embedding_loss(t.x(), t.y(), t.classes(4)),
    "cross_entropy": lambda t: F.cross_entropy(t.x(), t.classes(4)),
    "hinge_embedding_loss": lambda t: F.hinge_embedding_loss(t.x(), t.signs(4, 4)),
    "huber_loss": lambda t: F.huber_loss(t.x(), t.y()),
    "kl_div": lambda t: torch.kl_div(t.x(), t.y()),
    "l1_loss": lambda t: F.l1_loss(t.x(), t.y()),
    "margin_ranking_loss": lambda t: F.margin_ranking_loss(t.x(4), t.y(4), t.classes(4)),
    "mse_loss": lambda t: F.mse_loss(t.x(), t.y()),
    "multi_margin_loss": lambda t: F.multi_margin_loss(t.x(), t.classes(4)),
    "multilabel_margin_loss": lambda t: F.multilabel_margin_loss(t.x(), t.classes(4, 4)),
    "nll_loss": lambda t: F.nll_loss(t.x(), t.classes(4)),
    "nll_loss2d": lambda t: aten.nll_loss2d(t.x(1, 4, 4, 4), t.classes(1, 4, 4)),
    "poisson_nll_loss": lambda t: torch.poisson_nll_loss(t.x(), t.y(), True, False, 1e-8, 1),
    "smooth_l1_loss": lambda t: F.smooth_l1_loss(t.x(), t.y()),
    "soft_margin_loss": lambda t: F.soft_margin_loss(t.x(), t.y()),
    "triplet_margin_loss": lambda t: torch.triplet_margin_loss(t.x(), t.y(), t.y()),
    "cdist": lambda t: torch.cdist(t.x(), t.y()),
    "cosine_similarity": lambda t: F.cosine_similarity(t.x(), t.y()),
    "dist": lambda t: torch.dist(t.x(), t.y()),
    "logsumexp": lambda t: torch.logsumexp(t.x(), 1),
    "pdist": lambda t: F.pdist(t.x()),
    "softmin": lambda t: F.softmin(t.x(), 1),
    "upsample_nearest1d": lambda t: aten.upsample_nearest1d(t.x(1, 1, 4), [8]),
    "upsample_nearest2d": lambda t: aten.upsample_nearest2d(t.x(1, 1, 4, 4), [8, 8]),
    "upsample_nearest3d": lambda t: aten.upsample_nearest3d(t.x(1, 1, 4, 4, 4), [8, 8, 8]),
    "upsample_nearest_exact1d": lambda t: aten._upsample_nearest_exact1d(t.x(1, 1, 4), [8]),
    "upsample_nearest_exact2d": lambda t: aten._upsample_nearest_exact2d(t.x(1, 1, 4, 4), [8, 8]),
    "upsample_nearest_exact3d": lambda t: aten._upsample_nearest_exact3d(t.x(1, 1, 4, 4, 4), [8, 8, 8]),
    "upsample_linear1d": lambda t: aten.upsample_linear1d(t.x(1, 1, 4), [8], False),
    "upsample_bilinear2d": lambda t: aten.upsample_bilinear2d(t.x(1, 1, 4, 4), [8, 8], False),
    "upsample_bilinear2d_aa": lambda t: aten._upsample_bilinear2d_aa(t.x(1, 1, 4, 4), [8, 8], False),
    "upsample_trilinear3d": lambda t: aten.upsample_trilinear3d(t.x(1, 1, 4, 4, 4), [8, 8, 8], False),
    "upsample_bicubic2d": lambda t: aten.upsample_bicubic2d(t.x(1, 1, 4, 4), [8, 8], False),
    "upsample_bicubic2d_aa": lambda t: aten._upsample_bicubic2d_aa(t.x(1, 1, 4, 4), [8, 8], False),
    # float32_output
    "sum": lambda t: torch.sum(t.x()),
    "prod": lambda t: torch.prod(t.x()),
    "cumsum": lambda t: torch.cumsum(t.x(), 0),
    "cumprod": lambda t: torch.cumprod(t.x(), 0),
    "norm": lambda t: aten.norm(t.x(), 2),
    "linalg_vector_norm": lambda t: torch.linalg.vector_norm(t.x()),
    "linalg_matrix_norm": lambda t: torch.linalg.matrix_norm(t.x()),
    "softmax": lambda t: torch.softmax(t.x(), 1),
    "log_softmax": lambda t: torch.log_softmax(t.x(), 1),
    # promote
    "addcdiv": lambda t: torch.addcdiv(t.x(), t.y(), t.y()),
    "addcmul": lambda t: torch.addcmul(t.x(), t.y(), t.y()),
    "atan2": lambda t: torch.atan2(t.x(), t.y()),
    "bilinear": lambda t: torch.bilinear(t.x(2, 4), t.y(2, 4), t.y(4, 4, 4), None),
    "cross": lambda t: torch.cross(t.x(4, 3), t.y(4, 3), dim=1),
    "dot": lambda t: torch.dot(t.x(4), t.y(4)),
    "vdot": lambda t: torch.vdot(t.x(4), t.y(4)),
    "grid_sampler": lambda t: torch.grid_sampler(t.x(1, 1, 4, 4), t.y(1, 4, 4, 2), 0, 0, False),
    "index_put": lambda t: torch.index_put(t.x(4), [t.classes(2)], t.y(2)),
    "scatter_add": lambda t: torch.scatter_add(t.x(4), 0, t.classes(2), t.y(2)),
    "tensordot": lambda t: torch.tensordot(t.x(), t.y(), 1),
    "add": lambda t: torch.add(t.x(), t.y()),
    "sub": lambda t: torch.sub(t.x(), t.y()),
    "mul": lambda t: torch.mul(t.x(), t.y()),
    "div": lambda t: torch.div(t.x(), t.y()),
    "cat": lambda t: torch.cat([t.x(), t.y()]),
    "stack": lambda t: torch.stack([t.x(), t.y()]),
    "equal": lambda t: torch.equal(t.x(), t.y()),
    "eq": lambda t: torch.eq(t.x(), t.y()),
    "ne": lambda t: torch.ne(t.x(), t.y()),
    "ge": lambda t: torch.ge(t.x(), t.y()),
    "gt": lambda t: torch.gt(t.x(), t.y()),
    "le": lambda t: torch.le(t.x(), t.y()),
    "lt": lambda t: torch.lt(t.x(), t.y()),
    # pass_through
    "relu": lambda t: torch.relu(t.x()),
    "gelu": lambda t: F.gelu(t.x()),
    "tanh": lambda t: torch.tanh(t.x()),
    "sigmoid": lambda t: torch.sigmoid(t.x()),
    "dropout": lambda t: torch.dropout(t.x(), 0.5, True),
    "batch_norm": lambda t: torch.batch_norm(t.x(2, 4, 4), t.y(4), t.y(4), t.y(4), t.y(4), True, 0.1, 1e-5, False),
    "max_pool2d": lambda t: F.max_pool2d(t.x(1, 1, 4, 4), 2),
    "avg_pool2d": lambda t: F.avg_pool2d(t.x(1, 1, 4, 4), 2),
    "adaptive_avg_pool2d": lambda t: F.adaptive_avg_pool2d(t.x(1, 1, 4, 4), 2),
    "mean": lambda t: torch.mean(t.x()),
    "transpose": lambda t: torch.transpose(t.x(), 0, 1),
    "copy": lambda t: torch.clone(t.x()),
    # banned
    "binary_cross_entropy": lambda t: F.binary_cross_entropy(t.x(), t.y()),
}


class UsesOneType(Arguments):
    """Only notes whether a call makes a tensor of the second type."""

    def __init__(self):
        super().__init__("cpu", SINGLE, SINGLE)
        self.value = True

    def y(self, *shape):
        self.value = False
        return super().y(*shape)

    def signs(self, *shape):
        self.value = False
        return super().signs(*shape)


def is_unary(name):
    probe = UsesOneType()
    try:
        OPS[name](probe)
    except CALL_ERRORS:
        pass  # the arguments were made before the op was called
    return probe.value



class FirstKernel(TorchDispatchMode):
    """Notes the type of the first floating tensor that the first op behind autocast receives; casts and views are not ops."""

    MOVES = {"_to_copy", "t", "transpose", "view", "_unsafe_view", "expand", "unsqueeze", "squeeze", "permute", "reshape", "slice",
             "select", "alias", "detach", "unbind", "copy_", "empty", "empty_like", "clone"}

    def __init__(self):
        super().__init__()
        self.found = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__ if hasattr(func, "overloadpacket") else str(func)
        if self.found is None and name not in self.MOVES:
            for argument in args:
                tensors = argument if isinstance(argument, (list, tuple)) else [argument]
                tensors = [x for x in tensors if isinstance(x, torch.Tensor)]
                if tensors:
                    self.found = tensors[0].dtype
                    break
        return func(*args, **(kwargs or {}))


def name_of(value):
    if isinstance(value, (list, tuple)):
        value = value[0]
    if isinstance(value, bool):
        return "boolean"
    return NAMES.get(value.dtype, "cannot")


def run(name, device, low, first, second):
    """Result type and first argument's type of one call, as names."""
    arguments = Arguments(device, first, second)
    enabled = low is not None
    ready = torch.autocast(device_type=device, dtype=low or HALF if device == "cuda" else BRAIN, enabled=enabled)
    try:
        made = []
        for kind in ("x", "y", "signs", "classes"):  # made outside the region: only the op itself is watched
            def make(*shape, maker=getattr(arguments, kind)):
                if replay:
                    return replay.pop(0)
                made.append(maker(*shape))
                return made[-1]
            setattr(arguments, kind, make)
        replay = []
        with torch.no_grad():
            with ready:
                result = name_of(OPS[name](arguments))
            replay = list(made)
            with FirstKernel() as kernel, ready:
                OPS[name](arguments)
        return result, NAMES.get(kernel.found, "cannot")
    except CALL_ERRORS as error:
        text = str(error).lower()
        kind = "refused" if "autocast" in text else "cannot"
        if "--verbose" in sys.argv:
            print(f"{name} {low} {first} {second}: {text.splitlines()[0][:150]}", file=sys.stderr)
        return kind, kind


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--output", default="tests/policy/torch_table.inc")
    parser.add_argument("--verbose", action="store_true", help="print why a call could not run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_table.py: no CUDA device")
    where = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"

    lines = [f"// What torch {torch.__version__} does on {where}. Written by torch_table.py; do not edit.",
             "// Cells: " + ", ".join(case for case, _, _ in CASES) + "."]
    ran = 0
    for name in OPS:
        unary = is_unary(name)
        for region, low in (("float16", HALF), ("bfloat16", BRAIN), ("disabled", None)):
            results, arguments = [], []
            for case, first, second in CASES:
                if "+" in case and unary:
                    cells = ("unary", "unary")
                else:
                    cells = run(name, options.device, low, first, second)
                    ran += 1
                results.append(cells[0])
                arguments.append(cells[1])
            lines.append(f"TORCH_RESULT({name}, {region}, {', '.join(results)})")
            lines.append(f"TORCH_ARGUMENT({name}, {region}, {', '.join(arguments)})")
    with open(options.output, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    print(f"{len(OPS)} ops, {ran} calls -> {options.output}")


if __name__ == "__main__":
    main()
