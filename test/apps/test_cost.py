# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp cost`: predictions, reports, short real runs, verdicts on synthetic runs, and invalid input."""
import json
import os
import re
import shutil
import subprocess
import sys

from support import Case, Server, main, run

PERFECT = {"send": 300, "receive": 500, "piece": 4000, "octet": 0.2, "switch": 1000}


def end(**values):
    counters = ("octets_placed octets_copied octets_crced octets_sent octets_received fpdus_sent "
                "fpdus_received markers_sent markers_received pad_sent pad_received send_calls "
                "receive_calls wait_calls wakeups completions registrations").split()
    return {**{name: 0 for name in counters}, "segments_sent": 0, "segments_received": 0,
            "context_switches": 0, "cpu_ns": 0, **values}


def made_up_run(size, mode, factor=1.0, read=262144):
    """Returns a run that costs exactly `factor` times what PERFECT predicts. The numbers of calls and pieces vary
    with the size."""
    messages = 10000
    octets = messages * size
    sends, receives = messages, max(1, octets // read) + messages // 7
    pieces, switches = octets // 65483 + messages // 3, messages // 11
    cost = factor * (sends * PERFECT["send"] + receives * PERFECT["receive"] +
                     pieces * PERFECT["piece"] + octets * PERFECT["octet"] +
                     switches * PERFECT["switch"])
    return {"mode": mode, "crc": "off", "markers": False, "size": size, "messages": messages,
            "fpdu": 0, "read": read if mode == "sockets" else 0, "cpus": "same", "seconds": 1.0,
            "sender": end(send_calls=sends, octets_sent=octets, segments_sent=pieces,
                          context_switches=switches, cpu_ns=cost / 2),
            "receiver": end(receive_calls=receives, octets_received=octets,
                            segments_received=pieces, cpu_ns=cost / 2)}


class Cost(Case):
    def fails(self, pattern, *arguments, status=2):
        self.assert_fails(run("cost", *arguments), status, pattern)

    def json_file(self, name, value):
        path = self.scratch / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    def predicted(self, *arguments):
        return json.loads(self.assert_ok(run("cost", "predict", "--json", *arguments)))

    def sentences(self, *arguments):
        """Returns the four sentences by what they are about, from the text. The lines of a sentence are joined."""
        text = self.assert_ok(run("cost", "predict", *arguments))
        block = re.search(r"\n\n(time .*?)\n\n", text, re.DOTALL)[1]
        found = dict(re.findall(r"^(\w+) +(.*)$", re.sub(r"\n +", " ", block), re.MULTILINE))
        self.assertEqual(list(found), ["time", "ceiling", "change", "flip"])
        value = self.predicted(*arguments)
        self.assertEqual(found, {s["about"]: s["text"] for s in value["sentences"]})
        return found, text, {way["way"]: way for way in value["ways"]}

    def test_predict_says_all_there_is_to_say(self):
        text = self.assert_ok(run("cost", "predict", "--preset", "2003", "--size", "4K"))
        for part in ("kernel", "software", "TOE", "RNIC,", "copy", "90 % band",
                     "busier host, GHz/Gb/s", "one-way latency", "each time", "always", "never",
                     "registered once", "beats a TOE", "that most change"):
            self.assertIn(part, text)

    def test_predict_as_json(self):
        value = self.predicted("--size", "1M")
        self.assertEqual(list(value), "host note workload what_if size rate cores load load_gbps machine sentences ways before crossovers "
                         "reuses flips cliffs decisive by_size copy_share by_reuse crc_and_markers published parameters".split())
        rows = {"sentences": "about text", "crossovers": "over what text size low high",
                "ways": "way us total_us low_us high_us sender_us receiver_us gbps limit latency_us cores p99_us busy memory polling_cores than_sockets",
                "by_size": "way size ns ratio low high", "by_reuse": "host reuse size",
                "crc_and_markers": "crc markers us checksum_us efficiency",
                "parameters": "key meaning value unit uncertainty mark source"}
        for name, keys in rows.items():
            self.assertEqual(list(value[name][0]), keys.split(), name)
            self.assertGreater(len(value[name]), 3, name)
        self.assertEqual(value["size"], 1 << 20)
        self.assertEqual({p["mark"] for p in value["parameters"]} - set("V V2 M+ M X cal mb g def".split()),
                         set())

    def test_the_sentences_are_of_the_tables_numbers(self):
        for arguments in ([], ["--cores", 4], ["--application", 2], ["--size", "1K"], ["--depth", 1]):
            for preset in ("2003", "2007", "100g"):
                with self.subTest(preset=preset, arguments=arguments):
                    said, text, ways = self.sentences("--preset", preset, *arguments)
                    gbps = re.search(r"Gb/s with \d+ cores?" + 5 * r" +([\d.e+]+)", text).groups()
                    costs = re.search("both hosts" + 5 * r" +([\d.e+]+)", text).groups()
                    self.assertIn(f"costs both hosts together {costs[0]} us of", said["time"])
                    self.assertIn(f"Kernel sockets reach {gbps[0]} Gb/s", said["ceiling"])
                    self.assertIn(f"limited by the {ways['kernel sockets']['limit']}", said["ceiling"])
                    for name, column, after in (("An RNIC", 4, "if its buffers stay"), ("and", 3, "if each"), ("a TOE", 2, "")):
                        self.assertRegex(said["change"], rf"{name} (reaches )?{re.escape(gbps[column])} Gb/s \(limited by the [\w' ]+\) with "
                                         rf"{re.escape(costs[column])} us( of processor time per message)?( \(no certain difference from sockets\))? ?{after}")

    def test_both_ways_to_register_stand_in_one_sentence(self):
        """At 64 KiB three transfers pay for a registration, at 16 MiB one does, and without a copy none does."""
        for arguments, end in ((["--size", "64K"], "so a registration pays if it serves 3 transfers or more"),
                               (["--size", "16M"], "so a registration pays even if it serves one transfer")):
            said, _, ways = self.sentences(*arguments)
            self.assertIn(end, said["change"])
            sockets = ways["kernel sockets"]["total_us"]
            self.assertEqual("even" in end, ways["RNIC, each time"]["total_us"] < sockets)
            self.assertLess(ways["RNIC, once"]["total_us"], sockets)
        _, _, enough = self.sentences("--reuse", "3")
        _, _, few = self.sentences("--reuse", "2")
        self.assertIn("costs both hosts together 285 ms of processor time", self.sentences("--size", "1G")[0]["time"])
        self.assertLess(enough["RNIC, --reuse"]["total_us"], sockets := enough["kernel sockets"]["total_us"])
        self.assertGreater(few["RNIC, --reuse"]["total_us"], sockets)
        free = "copy_tx=0,copy_rx=0,syscall_tx=0,syscall_rx=0,segment_tx=0,segment_rx=0,packet_tx=0,packet_rx=0,ack=0,interrupt=0,wakeup=0"
        said, _, _ = self.sentences("--what-if", free)
        self.assertIn("and no number of transfers pays for a registration", said["change"])

    def test_the_flip_or_that_nothing_is_gained(self):
        said, _, ways = self.sentences()
        self.assertRegex(said["flip"], r"from [\d.]+ KiB on \([\d.]+ KiB to [\d.]+ KiB\) if each transfer registers its "
                         r"buffers, and at every size if they stay registered; from 3 cores on, both reach the same throughput\.$")
        for cores, equal in ((2, False), (3, True)):
            _, _, ways = self.sentences("--cores", cores)
            ratio = ways["RNIC, once"]["gbps"] / ways["kernel sockets"]["gbps"]
            self.assertEqual(ratio < 1.05, equal)
        said, _, ways = self.sentences("--application", 10)
        most = re.search(r"^Nothing is gained: a TOE or an RNIC improves throughput, processor time and latency by at most "
                         r"([\d.]+) %, including the work of the application\.$", said["flip"])
        gain = ways["RNIC, once"]["gbps"] / ways["kernel sockets"]["gbps"] - 1
        self.assertGreaterEqual(float(most[1]), round(100 * gain, 1))
        self.assertLess(float(most[1]), 5)

    def test_options_of_kernel_sockets(self):
        """The sentence about a change has their times, whether they are in the table or not."""
        usual, _, five = self.sentences()
        said, wide, ways = self.sentences("--ways", "all")
        self.assertEqual(said, usual)
        costs = dict(zip(ways, re.search("both hosts" + 8 * r" +([\d.e+]+)", wide).groups()))
        for name in set(ways) - set(five):
            self.assertIn(f"{costs[name]} us with {name}", said["change"])
        self.assertRegex(said["change"], r"cheaper than a copy: from [\d.]+ KiB on\), .* \(cheaper than a copy: from \d+ B on\), and")
        self.assertEqual([name for name, way in ways.items() if way["us"]["cipher"]], ["kernel TLS"])
        self.assertEqual([way["way"] for way in self.predicted("--ways", "all", "--what-if", "cipher=0")["before"]], list(ways))

    def test_what_if(self):
        changes = "depth=1,wait=interrupt,link=25,markers=on"
        said, text, ways = self.sentences("--what-if", changes)
        self.assertIn(f"\nwhat if {changes}\n", text)
        self.assertRegex(said["ceiling"], "limited by the number of messages in flight, and 45.3 Gb/s without the change")
        asked = self.predicted("--depth", 1, "--wait", "interrupt", "--markers", "--rate", 25)
        self.assertEqual(self.predicted("--what-if", changes)["rate"], 25)
        same = {way["way"]: way["us"] for way in asked["ways"]}
        self.assertEqual({name: way["us"] for name, way in ways.items()}, same)
        value = self.predicted("--what-if", changes)
        self.assertEqual(value["before"], self.predicted()["ways"])
        self.assertEqual(value["what_if"], changes)
        self.assertEqual(self.predicted("--markers", "--what-if", "markers=off")["ways"], self.predicted()["ways"])
        slow = {way["way"]: way for way in self.predicted("--what-if", "inline=on,pcie=gen1x1")["ways"]}
        self.assertEqual(slow["RNIC, once"]["limit"], "PCI Express")
        self.assertEqual(slow["TOE"], self.predicted()["ways"][2])
        self.assertLess(slow["RNIC, once"]["gbps"], 2)
        self.fails('--what-if: "pcie": "gen8x1" is not in the range from gen1x1 to gen7x32', "predict", "--what-if", "pcie=gen8x1")
        self.fails(r'--what-if: "speed": unknown key \(known keys: size, rate, cores, load, depth, .*, memory_bus\b.*\)', "predict",
                   "--what-if", "depth=1,speed=2")
        self.fails('--what-if: "depth": "0" is not a number from 1 to', "predict", "--what-if", "depth=0")
        self.fails('--what-if: "wait": "long" is not one of usual, poll, interrupt', "predict", "--what-if", "wait=long")
        self.fails('--what-if: "cached": "maybe" is not one of on, off', "predict", "--what-if", "cached=maybe")
        self.fails(r'--what-if: "gro": "0" is not a number above 0 and up to 1e12 \(largest GRO segment .*, in octets\)', "predict", "--what-if",
                   "gro=0")
        self.fails('--what-if: "depth": not of the form KEY=VALUE', "predict", "--what-if", "depth")

    def test_queue_pairs_and_memory_outgrow_the_caches_of_a_card(self):
        small = ["--size", 64, "--cores", 64]
        said, _, ways = self.sentences(*small, "--what-if", "qps=4000")
        self.assertRegex(said["ceiling"], r"; an RNIC is limited by the context cache for its 4000 queue pairs\.$")
        self.assertIn("Gb/s (limited by the context cache for its 4000 queue pairs) with", said["change"])
        self.assertEqual(ways["RNIC, once"]["limit"], "context cache")
        found = re.search(r"from (\d+) queue pairs on, an RNIC loses a tenth of its throughput to misses in its context cache\.$", said["flip"])
        peak, before, after = (next(way["gbps"] for way in self.predicted(*small, "--qps", n)["ways"] if way["way"] == "RNIC, once")
                               for n in (512, int(found[1]) - 1, found[1]))
        self.assertLess(after, 0.9 * peak)
        self.assertGreaterEqual(before, 0.9 * peak)
        for changes, limit in (("qps=500,regions=4000", "region cache for its 4000 memory regions"),
                               ("qps=500,registered=1024G,verb=read", "translation cache for its 1.0 TiB"),
                               ("qps=500,depth=16", "request cache for its 8000 requests")):
            self.assertRegex(self.sentences(*small, "--what-if", changes)[0]["ceiling"], rf"limited by the {limit}\.$")
        # Few queue pairs do not reach what sockets do; the sentence says from how many on they do.
        said, _, _ = self.sentences(*small)
        turn = re.search(r"; from (\d+) queue pairs on, an RNIC reaches a higher throughput than sockets", said["flip"])[1]
        for n, higher in ((int(turn) - 1, False), (turn, True)):
            ways = {way["way"]: way["gbps"] for way in self.predicted(*small, "--qps", n)["ways"]}
            self.assertEqual(ways["RNIC, once"] > 1.05 * ways["kernel sockets"], higher)

    def test_verbs_and_paging_on_demand(self):
        ways = {verb: {way["way"]: way for way in self.predicted("--verb", verb, "--size", "4K")["ways"]}["RNIC, once"]
                for verb in ("send", "write", "read", "atomic")}
        self.assertLess(ways["write"]["total_us"], ways["send"]["total_us"])
        self.assertEqual(ways["read"]["sender_us"], ways["write"]["receiver_us"])
        self.assertGreater(ways["read"]["latency_us"], ways["write"]["latency_us"])
        self.assertLess(ways["atomic"]["latency_us"], ways["read"]["latency_us"])
        demand = {way["way"]: way for way in self.predicted("--on-demand", "--reuse", 8)["ways"]}
        once, paged, each = (demand[f"RNIC, {name}"] for name in ("once", "on demand", "each time"))
        self.assertLess(once["total_us"], paged["total_us"])
        self.assertLess(paged["total_us"], each["total_us"])
        self.assertGreater(paged["latency_us"], each["latency_us"])

    def test_the_tail_of_the_latency_grows_with_the_load(self):
        """The text and the JSON agree; a way that cannot carry the rate of sockets is overloaded."""
        before = 0
        for load in (0, 0.5, 0.9, 0.99):
            value = self.predicted("--load", load)
            self.assertEqual(self.predicted("--what-if", f"load={load}")["ways"], value["ways"])
            ways = {way["way"]: way for way in value["ways"]}
            sockets, once = ways["kernel sockets"], ways["RNIC, once"]
            self.assertAlmostEqual(sockets["busy"], load)
            self.assertGreater(sockets["p99_us"], before)
            before = sockets["p99_us"]
            self.assertEqual(sockets["p99_us"] == sockets["latency_us"], load == 0)
            self.assertLess(once["busy"], 0.6)
            self.assertGreaterEqual(once["polling_cores"], 1)
            slow = ways["RNIC, each time"]
            self.assertEqual(slow["p99_us"] is None, slow["busy"] >= 1)
            text = self.assert_ok(run("cost", "predict", "--load", load))
            p99 = re.search(r"p99 latency, us +([\d.]+) .* ([\d.]+|overloaded) +[\d.]+\n", text)
            self.assertAlmostEqual(float(p99[1]), sockets["p99_us"], delta=0.01 * sockets["p99_us"])
            self.assertEqual(p99[2] == "overloaded", slow["p99_us"] is None)
        self.fails("--load", "predict", "--load", "1")

    def test_crossover_and_table_agree_at_the_crossover(self):
        """Registering has a step at each page, so one octet more than a page matters near the crossover."""
        for arguments in (["--size", "192K"], ["--size", 192 * 1024 + 1], ["--size", "130K"], ["--size", "4M"],
                          ["--preset", "2003", "--size", 8688], ["--preset", "2007", "--size", "16K"]):
            with self.subTest(arguments=arguments):
                value = json.loads(self.assert_ok(run("cost", "predict", "--json", *arguments)))
                crossover = next(c for c in value["crossovers"] if c["over"] == "kernel sockets" and
                                 c["what"] == "processor time, buffers registered each time")
                self.assertLessEqual(crossover["low"], crossover["size"])
                self.assertLessEqual(crossover["size"], crossover["high"])
                self.assertLess(crossover["low"], crossover["high"])
                ways = {way["way"]: way for way in value["ways"]}
                each = ways["RNIC, each time"]
                cheaper = each["total_us"] < ways["kernel sockets"]["total_us"]
                undecided = crossover["low"] <= value["size"] < crossover["high"]
                self.assertEqual(each["than_sockets"], "undecided" if undecided else "better" if cheaper else "worse")
                if not undecided:
                    self.assertEqual(cheaper, value["size"] >= crossover["high"])

    def test_what_the_text_says_of_the_crossover_is_true_of_its_own_size(self):
        text = self.assert_ok(run("cost", "predict", "--size", "192K"))
        said = re.search(r"registered each time +from ([\d.]+) KiB on \(([\d.]+) KiB to ([\d.]+) KiB\)", text)
        size, low, high = (float(number) for number in said.groups())
        sockets, each = re.search(r"both hosts +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+)", text).groups()
        self.assertEqual(float(each) < float(sockets), 192 >= size)
        self.assertLess(low, 192)
        self.assertGreater(high, 192)
        self.assertRegex(re.sub(r"\s+", " ", text), r"us \(no certain difference from sockets\) if each transfer registers")

    def test_report_is_one_file(self):
        page = self.scratch / "report.html"
        text = self.assert_ok(run("cost", "report", "--html", page))
        self.assertRegex(text, r"report\.html \(\d+ bytes")
        self.assertIn("kernel sockets", page.read_text())
        self.assert_ok(run("cost", "report"))
        self.fails("cannot write", "report", "--html", "/nowhere/report.html", status=1)

    def test_bad_input_is_one_clear_line(self):
        self.fails(r"unknown preset 1999 \(available: 2003, 2005, 2007, 2009, 2013, 100g, 2022, 2026\)", "predict", "--preset", "1999")
        self.fails("cannot open", "predict", "--host", "nowhere.json")
        self.fails("--size", "predict", "--size", "0")
        self.fails("--size", "predict", "--size", "5G")
        self.fails("--rate", "predict", "--rate", "-1")
        self.fails("--reuse", "predict", "--reuse", "0")
        self.fails("not JSON", "predict", "--host", self.json_file("a", "{"))
        self.fails(r'ack \(.*, in us\): "unit" is "ns", but must be "us"', "predict", "--host",
                   self.json_file("b", {"parameters": {"ack": {"value": 1, "unit": "ns"}}}))
        self.fails("unknown parameter speed", "predict", "--host", self.json_file("c", {"parameters": {"speed": {}}}))
        self.fails("not a JSON array", "validate", "--runs", self.json_file("d", {}))
        self.fails("record 1: not in the format that iwarp cost validate --out writes", "validate", "--runs",
                   self.json_file("e", [{}]))
        self.fails("the runs must include mode", "validate", "--runs", self.json_file("f", []),
                   status=1)

    def test_half_of_a_measurement_predicts_the_other_half(self):
        """A card that needs 0.4 us for a message and carries 100 Gb/s, measured by ib_write_bw at every second size."""
        header = "RDMA_Write BW Test\n TX depth : 128\n #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n"
        files = [self.scratch / name for name in ("known.txt", "held.txt")]
        for i, file in enumerate(files):
            rates = {size: 1 / max(0.4, size / 12500) for size in (2 << k for k in range(i, 20, 2))}
            file.write_text(header + "".join(f" {n} 1000 0.00 {n * r * 8e-3:.6f} {r:.6f}\n" for n, r in rates.items()))
        text = self.assert_ok(run("cost", "fit", files[0], "--against", files[1]))
        self.assertRegex(text, r"\nrate: 10 of 10 predictions within 25 %; mean error \d %")
        text = self.assert_ok(run("cost", "fit", files[0], "--size", "64K"))
        self.assertRegex(text, r"\nwrite +0\.19\d \(0\.\d+ to 0\.\d+\) +(99|100)\.\d+ .* octets\n")
        write, read = (json.loads(self.assert_ok(run("cost", "fit", files[0], "--size", 8, "--json", "--way", way)))
                       for way in ("write", "read"))
        self.assertEqual(read["ways"][0]["way"], "read (from write)")
        rate = write["ways"][0]["messages_per_s"]
        self.assertAlmostEqual(rate["value"], 2.5e6, delta=1e5)
        self.assertLess(rate["low"], rate["value"])
        self.assertLess(read["ways"][0]["messages_per_s"]["value"], rate["value"])
        table = self.scratch / "table.csv"
        table.write_text("size,depth,way,rate,cpu_us\n" + "".join(
            f"64,{depth},{way},{1e6 * depth},{cost}\n" for way, costs in (("TCP", (10, 6)), ("RNIC", (11, 1)))
            for depth, cost in zip((1, 64), costs)))
        for depth, said in ((1, "No gain is certain: compared with the processor time of TCP, RNIC adds 10 % (within the uncertainty)"),
                            (64, "There is a gain: compared with the processor time of TCP, RNIC saves 83 %")):
            self.assertIn(f"\n{said}\n", self.assert_ok(run("cost", "fit", table, "--depth", depth)))
        self.fails(r'--way: unknown way "walk" \(the file has write\)', "fit", files[0], "--way", "walk")
        self.fails("cannot open", "fit", "nowhere.txt")
        files[1].write_text(header + " 64 1000 0.00 9.9 1.0\n")
        self.fails('held.txt: line 4: cannot read the row "64 1000 0.00 9.9 1.0": expected the 5 numbers', "fit", files[1])

    def test_gaps_of_a_host_are_said_and_filled(self):
        host = self.json_file("host.json", {"parameters": {}})
        result = run("cost", "predict", "--host", host, "--preset", "2007", "--json")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"lacks .*packet_rx \(us\).*\(values taken from preset 2007")
        marks = {p["mark"] for p in json.loads(result.stdout)["parameters"]}
        self.assertEqual(marks, {"preset"})

    def test_published_figures(self):
        text = self.assert_ok(run("cost", "validate", "--published-only"))
        predicted = text[text.index("Published figures, predicted"):]
        for use in ("identities", "calibrated", "derived"):
            self.assertLess(text.index(f"Published figures, {use}"), text.index(predicted))
        self.assertRegex(predicted, r"within 25 % of the figure, and if the upper end of its\n90 % band is at most 2 times the")
        figures = re.findall(r"[+-](\d+) % +(-?[\d.]+)\.\.([\d.]+)  (.*)", predicted)
        self.assertGreaterEqual(len(figures), 30)
        for miss, low, high, verdict in figures:
            with self.subTest(miss=miss, low=low, high=high, verdict=verdict):
                wide = float(high) > 2 * float(low)
                self.assertEqual("missed" in verdict, int(miss) > 25)
                self.assertEqual("wide" in verdict, wide)
                self.assertEqual(verdict == "agrees", int(miss) <= 25 and not wide)
        self.assertRegex(predicted, r"\nFigures found after the model was finished, and compared only once: \d+ of 13 agree\.\n"
                                    rf"The 90 % bands contain \d+ of {len(figures)} published values\.\n")
        agree = sum(verdict == "agrees" for *_, verdict in figures)
        self.assertIn("missed", predicted)
        cliffs = re.findall(r"\n      ([! ]) .*: ([\d.e+]+) \w+ \(([\d.]+) to ([\d.]+)\)", text[text.index(", cliffs:"):])
        near = [float(low) <= float(value) <= float(high) for _, value, low, high in cliffs]
        self.assertEqual([mark == " " for mark, *_ in cliffs], near)
        self.assertRegex(text, rf"\nidentities: 7 of 7 hold; predictions: {agree} of {len(figures)} agree; "
                               rf"cliffs: {sum(near)} of {len(near)} agree; limits: 1 of 1 "
                               r"kept; not evidence for the model: \d of \d calibrated and 4 of 4 derived figures "
                               r"agree\n$")

    def test_a_note_cannot_leave_its_script_element(self):
        host = self.json_file("host.json", {"note": "<!-- <script> </script>", "parameters": {}})
        page, same = (self.scratch / f"{name}.html" for name in ("report", "predict"))
        for path in (page, same):
            self.assertEqual(run("cost", path.stem, "--host", host, "--html", path).returncode, 0)
        self.assertEqual(page.read_text(), same.read_text())
        inside = re.search(r'id="data">(.*)</script>\n<script>\n', page.read_text())[1].split("</script>")[0]
        self.assertIn("kernel sockets", inside)
        self.assertNotIn("<", inside)

    def test_a_file_nested_without_end_is_refused(self):
        deep = "[" * 200_000 + "]" * 200_000
        self.fails("nested too deep", "predict", "--host",
                   self.json_file("host.json", '{"parameters": {}, "machine": {"a": ' + deep + "}}"))
        self.fails("nested too deep", "validate", "--runs", self.json_file("runs.json", deep))

    def judged(self, factor, spread):
        """Runs the validation on synthetic measurements of sockets and of iWARP. iWARP costs `factor` times what is
        predicted. The costs of the rounds vary by `spread`, a fraction of 1, in both directions."""
        runs = []
        for round_factor in (1, 1 + spread, 1 - spread, 1 + spread, 1 - spread):
            for size in (64, 1024, 16384, 65536, 1 << 18):
                for read in (4096, 262144):
                    runs.append(made_up_run(size, "sockets", round_factor, read))
                runs.append(made_up_run(size, "iwarp", factor * round_factor))
        # With a host file and buffers that fit the near caches, the speed of this machine has no effect.
        return run("cost", "validate", "--runs", self.json_file("runs.json", runs), "--host",
                   self.json_file("host.json", {"parameters": {}}))

    def test_the_verdict_on_a_model_that_holds_and_one_that_does_not_and_on_noise(self):
        for factor, spread, verdict, status in (
                (1, 0, "holds", 0), (1.5, 0, "missed", 1),
                (1, 0.2, r"no verdict, because identical runs differ by \d+ %", 2)):
            with self.subTest(verdict=verdict):
                result = self.judged(factor, spread)
                self.assertRegex(result.stdout, rf": {verdict}\n$")
                self.assertEqual(result.returncode, status, result.stdout)

    def test_validation_moves_octets_and_counts_them(self):
        out = self.scratch / "runs.json"
        result = run("cost", "validate", "--repeat", 1, "--seconds", "0.01", "--cpus", "other", "--out", out, timeout=600)
        self.assertRegex(result.stdout, r"; mode \(b\) MAPE [\d.]+ % .*: (holds|missed|no verdict.*)\n$")
        records = json.loads(out.read_text())
        self.assertEqual({(r["size"], r["crc"], r["markers"]) for r in records if r["crc"] == "portable"},
                         {(size, "portable", False) for size in (64, 1024, 16384, 65536, 1 << 20)})
        for record in records:
            self.assertEqual(record["cpus"], "other")
            octets = record["size"] * record["messages"]
            self.assertGreaterEqual(record["sender"]["octets_sent"], octets)
            self.assertGreaterEqual(record["receiver"]["octets_received"], octets)
            self.assertEqual(record["receiver"]["markers_received"] > 0, record["markers"])
            summed = record["receiver"]["octets_crced"]
            self.assertEqual(summed >= octets, record["crc"] != "off")
        host = self.json_file("host.json", {"parameters": {}})
        page = self.scratch / "report.html"
        result = run("cost", "report", "--host", host, "--measured", out, "--html", page)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(page.read_text(), r'"measured":\[\{"size":64')

    def test_a_machine_is_measured(self):
        out = self.scratch / "host.json"
        result = run("cost", "calibrate", "--out", out, "--repeat", 1, "--seconds", "0.02", timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        host = json.loads(out.read_text())
        for name in ("kernel", "processor", "virtualised"):
            self.assertIn(name, host["machine"])
        for name, value in host["parameters"].items():
            self.assertIn(value["mark"], ("X", "preset", "def"), name)
        self.assertEqual(host["parameters"]["crc"]["mark"], "X")
        self.assertEqual(host["parameters"]["link"]["mark"], "preset")
        text = self.assert_ok(run("cost", "predict", "--host", out))
        self.assertIn("this machine", text)
        self.assert_says_if_busy(host, result.stderr, text)

    def assert_says_if_busy(self, host, stderr, prediction):
        share = re.fullmatch(r"(\d+) %", host["machine"]["processor time of other programs"])[1]
        if int(share) != 10:  # The printed share is rounded, so 10 could be on either side.
            busy = int(share) > 10
            self.assertEqual("is not reliable" in stderr, busy)
            self.assertEqual("busy when measured" in prediction, busy)
        return int(share)

    def test_a_busy_machine_is_called_busy(self):
        out = self.scratch / "host.json"
        loop = [sys.executable, "-c", "while True: pass"]
        hogs = [subprocess.Popen(loop) for _ in os.sched_getaffinity(0)]
        try:
            result = run("cost", "calibrate", "--out", out, "--repeat", 1, "--seconds", "0.02", timeout=600)
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
        self.assertEqual(result.returncode, 0, result.stderr)
        prediction = self.assert_ok(run("cost", "predict", "--host", out))
        share = self.assert_says_if_busy(json.loads(out.read_text()), result.stderr, prediction)
        self.assertGreater(share, 10)
        self.assertRegex(result.stderr, rf"iwarp: .*host.json is not reliable: other programs used {share} % of the "
                                        r"processor time during the calibration \(calibrate again when the machine is idle\)")

    def test_a_transfer_gets_its_bill(self):
        self.file("data", 3 << 20)
        shutil.move(self.scratch / "data", self.dir / "data")
        with Server("serve", self.dir) as server:
            for arguments in (["--cost"], ["--cost=2007"]):
                text = self.assert_ok(run("get", server.url("data"), self.out, "-q", *arguments))
                self.assertRegex(text, r"accounted +\S+ \w+ +measured")
                for mode in ("kernel sockets", "TOE", "RNIC"):
                    self.assertIn(mode, text)
            (self.dir / "small").write_bytes(bytes(100))
            priced = {}
            for way in ("get", "put"):
                here, there = (server.url("small"), self.out) if way == "get" else (self.dir / "small", server.url("copy"))
                text = self.assert_ok(run(way, here, there, "-q", "--cost"))
                self.assertIn("Predicted processor time of this end "
                              "for the same 100 B in one message\n", text)
                priced[way] = float(re.search(r"kernel sockets +([\d.]+) us", text)[1])
            value = json.loads(self.assert_ok(run("cost", "predict", "--json", "--size", 100)))
            both = value["ways"][0]["total_us"]
            self.assertAlmostEqual(priced["get"] + priced["put"], both, delta=0.15)
            text = self.assert_ok(run("put", self.dir / "data", server.url("copy"), "-q", "--cost"))
            self.assertIn("checksum", text)
            self.assert_fails(run("get", server.url("data"), self.out, "--cost=nowhere"), 2, "cannot open nowhere")

    def test_a_measurement_gets_its_bill(self):
        short = ("--duration", 0.2, "--warm-up", 0.05)
        for test in ("write-bw", "read-bw", "send-rate", "tcp-stream"):
            with self.subTest(test=test):
                text = self.assert_ok(run("perf", "--self", test, "--cost", *short))
                self.assertRegex(text, r"accounted +\S+ \w+ +measured")
                bill = text.partition("\n  accounted ")[0]
                self.assertEqual("checksum" in bill, test != "tcp-stream")
        for wrong, said in ((("send-lat", "--cost"), "not supported for latency tests"),
                            (("write-bw", "--cost", "--json"), "--json"),
                            (("write-bw", "--cost=nowhere"), "cannot open nowhere")):
            self.assert_fails(run("perf", "--self", *wrong, *short), 2, said)


main()
