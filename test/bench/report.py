# SPDX-License-Identifier: Apache-2.0
"""Formats the figures as a line, as a Markdown table, or as a plot."""
import os
import pathlib
import platform
import re
import sys
import time

TABLES = pathlib.Path(__file__).resolve().parents[2] / "rfc-notes/performance-tables.md"
CONGESTION = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control")
BEGIN, END = "<!-- begin: test/bench/run {}, {} -->", "<!-- end: test/bench/run {}, {} -->"


def machine():
    model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    congestion = CONGESTION.read_text().strip()
    return {"processor": model[1] if model else platform.machine(), "cores": os.cpu_count(),
            "kernel": platform.release(), "congestion": congestion,
            "date": time.strftime("%Y-%m-%d")}


def figure(value, measure):
    if measure == "latency":
        return f"{value:.1f} us"
    if measure == "cpu":
        return f"{value:.2f} s/GB"
    return f"{value / 1e9:.2f} GB/s" if measure == "bytes_per_second" else f"{value / 1e6:.2f} M/s"


def reason(row):
    """Returns why the row misses its target; empty if it does not."""
    if not row["verdict"].startswith("missed"):
        return ""
    close = abs(row["ratio"] - row["target"]) <= row["spread"] * row["ratio"]
    return "; ".join(filter(None, ("the spread includes the target" if close else "", row["why"])))


def cells(row):
    """Returns name, ours, theirs, ratio, spread, target, verdict, and the reason of a missed target. If the row is
    noisy, the ratio would be meaningless and is "-"."""
    sign = "<=" if row["measure"] in ("latency", "cpu") else ">="
    return (row["what"], figure(row["ours"], row["measure"]), figure(row["theirs"], row["measure"]),
            "-" if row["noisy"] else f"{row['ratio']:.2f}", f"{row['spread'] * 100:.0f} %",
            "" if row["target"] is None else f"{sign} {row['target']:.2f}", row["verdict"],
            reason(row))


def line(row):
    what, ours, theirs, ratio, spread, target, verdict, why = cells(row)
    text = f"{what:<54} {ours:>10} {theirs:>10} {ratio:>5} +-{spread:<5} {target:<8} {verdict}"
    return f"{text}: {why}" if why else text


def table(figures):
    about = figures["machine"]
    out = [f"{about['processor']}, {about['cores']} cores, Linux {about['kernel']}, "
           f"TCP with {about['congestion']}, {about['date']}; load average before the run: {figures['load']:.1f}.", "",
           "| ours : theirs | ours | theirs | ratio | spread | target | verdict | reason |",
           "|---|--:|--:|--:|--:|---|---|---|"]
    out += ["| " + " | ".join(cells(row)) + " |" for row in figures["rows"]]
    return "\n".join(out)


def marks(about):
    return [mark.format(about["processor"], about["congestion"]) for mark in (BEGIN, END)]


def last_table(about):
    """Returns {name: ratio} of the table for this processor and congestion control; empty if there is none."""
    begin, end = marks(about)
    text = TABLES.read_text()
    if begin not in text:
        return {}
    rows = re.findall(r"^\| (.+?) \|.*?\|.*?\| ([\d.]+) \|", text.split(begin)[1].split(end)[0], re.M)
    return {name: float(ratio) for name, ratio in rows}


def changes(rows, before):
    """Returns the rows whose ratio differs from the last table by more than the spread, as text."""
    out = ["Compared with the last table for this processor:"]
    for row in rows:
        last = before.get(row["what"])
        if last and not row["noisy"] and abs(row["ratio"] / last - 1) > max(row["spread"], 0.05):
            out.append(f"  {row['what']}: {last:.2f} before, {row['ratio']:.2f} now")
    return "\n".join(out if len(out) > 1 else [*out, "  no row differs by more than its spread"])


def write_table(figures):
    """Replaces the table of this processor and congestion control, or appends it."""
    about = figures["machine"]
    begin, end = marks(about)
    text = TABLES.read_text()
    if begin not in text:
        text += f"\n## {about['processor']}, {about['congestion']}\n\n{begin}\n{end}\n"
    head, rest = text.split(begin)
    TABLES.write_text(head + begin + "\n" + table(figures) + "\n" + end + rest.split(end)[1])


def plotter():
    """Returns matplotlib, which only the plot needs. Called before the measurements, so that a missing module is
    reported early."""
    try:
        import matplotlib
    except ImportError as error:
        raise SystemExit(f"--plot: this {sys.executable} has no matplotlib; Debian's python3 has it "
                         "with python3-matplotlib") from error
    matplotlib.use("agg")
    return matplotlib


LABELS = {"bytes_per_second": (1e-9, "GB/s"), "latency": (1, "us, half there and back"),
          "cpu": (1, "processor seconds of both ends per GB")}


def plot(curves, label, points, path):
    """Draws the curves of each measure over the points, which grow by factors."""
    plotter()
    import matplotlib.pyplot as pyplot
    chart, axes = pyplot.subplots(1, 2, figsize=(11, 4.5))
    for axis, (measure, runs) in zip(axes, curves.items()):
        scale, unit = LABELS[measure]
        for name, found in runs.items():
            axis.plot([n for n, _ in found], [value * scale for _, value in found], marker="o",
                      markersize=3, label=name)
        axis.set_xscale("log", base=2)
        axis.set_xticks(points, [short(n) for n in points])
        values = [value for found in runs.values() for _, value in found]
        if max(values) > 10 * min(values):
            axis.set_yscale("log")
        else:
            axis.set_ylim(bottom=0)
        axis.set_xlabel(label)
        axis.set_ylabel(unit)
        axis.grid(True, which="both", alpha=0.3)
        axis.legend()
    chart.tight_layout()
    chart.savefig(path, dpi=96)


def short(n):
    unit = next((u for u, size in (("Mi", 1 << 20), ("Ki", 1 << 10)) if n >= size), "")
    return f"{n >> {'Mi': 20, 'Ki': 10, '': 0}[unit]} {unit}".strip()
