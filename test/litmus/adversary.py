#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the litmus files on the adversarial device, with one seed after the other. Fails if a file has an outcome that
the standard forbids. With --all, also fails if an outcome called Sometimes was not seen. Prints a table.
Usage: adversary.py [--seeds FIRST..LAST] [--runs N] [--jobs N] [--persona iwarp|roce] [--all]
IWARP names the command; the default is build/release/apps/iwarp."""
import argparse
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
IWARP = os.environ.get("IWARP", str(ROOT / "build/release/apps/iwarp"))


def freedoms(seed):
    """Returns the value of IWARP_ADVERSARY for a seed. Each second seed has only some of the freedoms, because delays of
    one kind can hide the effect of another one."""
    if seed % 2:
        return str(seed)
    names = ("keys", "late", "order", "events", "placement", "reads", "atomics", "wire", "segments", "batches", "dispatch")
    return ",".join([str(seed), *random.Random(seed).sample(names, 5)])


def reports(persona, seed, runs):
    """Returns what the judge says about each file with one seed."""
    done = subprocess.run(
        [IWARP, "conform", f"--as={persona}", "--device=iwarp0", "--litmus", f"--runs={runs}", f"--seed={seed}", "--json"],
        capture_output=True, text=True, timeout=600, check=False, env=dict(os.environ, IWARP_ADVERSARY=freedoms(seed)))
    if done.returncode not in (0, 1):
        sys.exit(f"IWARP_ADVERSARY={freedoms(seed)}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="1..1000")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="number of seeds that run at the same time")
    parser.add_argument("--persona", choices=("iwarp", "roce"))
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("..")
    failed = False
    for persona in (given.persona,) if given.persona else ("iwarp", "roce"):
        answers, runs, hits, seen_at = {}, collections.Counter(), collections.Counter(), {}
        seeds = range(int(first), int(last or first) + 1)
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            of_seeds = pool.map(functools.partial(reports, persona, runs=given.runs), seeds)
            for seed, one in ((seed, one) for seed, answered in zip(seeds, of_seeds) for one in answered):
                name = one["name"]
                if one["verdict"] == "not applicable":
                    continue
                if one["verdict"] != "right":
                    print(f"IWARP_ADVERSARY={freedoms(seed)}, {persona}: {one}", flush=True)
                    failed = True
                answers[name] = one["expected"]
                runs[name] += one["runs"]
                hits[name] += one["hits"]
                if one["hits"]:
                    seen_at.setdefault(name, seed)
        print(f"\n| {persona} | answer | runs | outcome seen | first seed |\n|---|---|---|---|---|")
        for name in sorted(answers):
            print(f"| {name} | {answers[name]} | {runs[name]} | {hits[name]} | {seen_at.get(name, '')} |")
        unseen = {name for name in answers if answers[name] == "Sometimes" and not hits[name]}
        print(f"\n{persona}: not seen: {', '.join(sorted(unseen)) or 'none'}")
        failed |= given.all and bool(unseen)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
