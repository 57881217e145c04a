"""Draws OUT_DIR/curves.png from the CSV files beside it: usage plot_gpu.py OUT_DIR."""
import csv
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

out = pathlib.Path(sys.argv[1])
figure, (losses, accuracies) = plt.subplots(1, 2, figsize=(11, 4.2))
for run in json.loads((out / "results.json").read_text())["runs"]:
    with open(out / f"{run['name']}.csv") as file:
        rows = list(csv.DictReader(file))
    steps = max(int(row["step"]) for row in rows)
    epochs = max(int(row["epoch"]) for row in rows)
    at = [int(row["step"]) * epochs / steps for row in rows]
    losses.plot(at, [float(row["loss"]) for row in rows], label=run["name"], linewidth=.8)
    tested = [(x, float(row["test_accuracy"])) for x, row in zip(at, rows) if row["test_accuracy"]]
    label = run["name"] + (f": {tested[-1][1]:.2f} %" if tested else "")
    accuracies.plot(*zip(*tested), label=label, linewidth=1.2)
losses.set(xlabel="epoch", ylabel="training loss of a batch", yscale="log")
accuracies.set(xlabel="epoch", ylabel="test accuracy, %")
for axes in (losses, accuracies):
    axes.grid(alpha=.3)
    axes.legend()
figure.tight_layout()
figure.savefig(out / "curves.png", dpi=120)
