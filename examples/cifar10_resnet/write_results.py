#!/usr/bin/env python3
"""Puts the figures of one run of demo.sh --results into docs/results.md and docs/results.json.

usage: write_results.py RESULTS_FOLDER [HOST_OPS_JSON]

RESULTS_FOLDER is what the training program wrote; HOST_OPS_JSON the report of the benchmark ops.host_ops. On the page the
text between this script's marks is replaced (at its end when it has none); in the JSON the keys "cifar10_resnet" and
"host_ops"; what others put there stays.
"""
import datetime
import json
import pathlib
import shutil
import sys

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
BEGIN = "<!-- figures of examples/cifar10_resnet/demo.sh: begin -->"
END = "<!-- figures of examples/cifar10_resnet/demo.sh: end -->"


def put_between_marks(page, text):
    """The page with `text` in place of what stood between the marks; appended when there are none."""
    if (BEGIN in page) != (END in page) or page.count(BEGIN) > 1 or page.find(BEGIN) > page.find(END):
        raise SystemExit(f"write_results: the page must have both marks once, in order, or none: {BEGIN} {END}")
    block = f"{BEGIN}\n\n{text.strip()}\n\n{END}"
    if BEGIN not in page:
        return f"{page.rstrip()}\n\n{block}\n".lstrip()
    return page[: page.index(BEGIN)] + block + page[page.index(END) + len(END):]


def ops_table(benchmarks):
    """GFLOP/s of each convolution, beside sgemm of the same size."""
    rates = {b["name"]: b["GFLOP/s"] for b in benchmarks if "GFLOP/s" in b and b.get("run_type", "iteration") == "iteration"}
    layers = [name.split("/")[1] for name in rates if name.startswith("sgemm/")]
    lines = ["| convolution | pass | sgemm | float32 | float16 | bfloat16 |", "|---|---|---:|---:|---:|---:|"]
    for layer in layers:
        for suffix, label in (("", "forward"), ("_data_gradient", "data gradient"), ("_weight_gradient", "weight gradient")):
            values = [rates.get(f"sgemm{suffix}/{layer}")] + [rates.get(f"conv2d{suffix}/{layer}/{t}") for t in ("float32", "float16", "bfloat16")]
            lines.append(f"| {layer} | {label} | " + " | ".join("–" if v is None else f"{v:.1f}" for v in values) + " |")
    return "\n".join(lines)


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    report = json.loads((folder / "results.json").read_text())
    machine, options = report["machine"], report["options"]
    runs = {run["name"]: run for run in report["runs"]}

    text = f"""## ResNet-{options['depth']} on {options['training_images']:,} CIFAR-10 images, on the host

`examples/cifar10_resnet/demo.sh --results`, {datetime.date.today().isoformat()}. Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory']};
{machine['compiler']}, `{machine.get('flags', '')}`; {machine.get('blas', 'BLAS unknown')}.
Batch {options['batch']} x {options['accumulate']}, {options['epochs']} epochs, SGD with momentum {options['momentum']:.3g}, learning rate {options['learning_rate']:.3g} with a cosine, weight decay
{options['weight_decay']:.3g}, seed {options['seed']}. Trained on {', '.join(options['training_files'])}, tested on the {options['test_images']:,} images of {', '.join(options['test_files'])}:
one image is {100 / options['test_images']:.1f} points.

{(folder / 'table.md').read_text().strip()}

"Gradients lost in float16": one float32 backward pass with the run's final weights; of its gradients by activations and by the weights of
convolutions and classifier (without those by bias, gamma and beta, and what a shortcut's convolution adds to the gradient by its block's
input) those that are not zero but round to zero in float16; without the scale and with it.
"""
    if "float32" in runs and "float16" in runs:
        wide, half = runs["float32"]["bytes"]["activations"], runs["float16"]["bytes"]["activations"]
        text += f"\nActivations in float16 take {half:,} of float32's {wide:,} bytes: {100 * half / wide:.2f} %.\n"
    if "float16_unscaled" in runs and "gradients_lost_in_float16_percent" in runs["float16_unscaled"]:
        lost = runs["float16_unscaled"]["gradients_lost_in_float16_percent"]
        text += (f"The float16 run without scaling loses {lost['without_scale']:.3f} % of its gradients; a scale of {lost['scale']:g} "
                 f"loses {lost['with_scale']:.3f} %.\n")
    if (folder / "curves.png").exists():
        shutil.copy(folder / "curves.png", DOCS / "cifar10_curves.png")
        text += "\n![Loss, test accuracy and loss scale over steps](cifar10_curves.png)\n"

    results_json = DOCS / "results.json"
    everything = json.loads(results_json.read_text()) if results_json.exists() else {}
    everything["cifar10_resnet"] = report
    if len(sys.argv) == 3:
        ops = json.loads(pathlib.Path(sys.argv[2]).read_text())
        everything["host_ops"] = ops
        text += f"""
### Host operations beside sgemm

GFLOP/s at batch 64, `benchmarks/ops/host_ops.cpp` on the same machine. sgemm is a plain matrix product of the same size by the BLAS that is linked,
with its matrix already written out, which a convolution would have to do first.

{ops_table(ops['benchmarks'])}
"""
    page = DOCS / "results.md"
    old = page.read_text() if page.exists() else "# Results\n\nEvery figure was written here by a program; its machine stands beside it. `results.json` has them all.\n"
    page.write_text(put_between_marks(old, text))
    results_json.write_text(json.dumps(everything, indent=1) + "\n")
    print(f"written: {page} and {results_json}")


if __name__ == "__main__":
    main()
