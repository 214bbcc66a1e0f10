#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the drawing in the README of a layer agrees with the includes of its sources. The drawing shows the
rooms of the layer, which are folders or files (see ROOMS in check_sources.py). A room is drawn as a box, `[room]`. A
line that ends in an arrowhead leads from a room to another room that the first one uses. `|` and `-` are parts of
lines; two lines may cross without being connected. `+` connects all lines that touch it. For every arrow there must
be an include, and for every include there must be a path along the arrows."""
import pathlib
import re
import sys

from check_sources import (CODE, INCLUDE, ROOMS, ROOT, SHARED_HEADER, files, reached, readme_of, report, room_of,
                           shared_rooms)

DRAWN = ("verbs/src", "verbs/net/src", "verbs/rdma_core")
BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BOX = re.compile(r"\[([\w./]+)\]")
DOWN, UP, RIGHT, LEFT = (1, 0), (-1, 0), (0, 1), (0, -1)
HEADS = {DOWN: "v", UP: "^", RIGHT: ">", LEFT: "<"}
LINES = {DOWN: "|+", UP: "|+", RIGHT: "-+", LEFT: "-+"}


class Drawing:
    """The boxes of a drawing and the arrows between them."""

    def __init__(self, text):
        self.lines = text.splitlines()
        self.boxes = [(match[1], row, match.start(), match.end())
                      for row, line in enumerate(self.lines) for match in BOX.finditer(line)]
        self.used = set()  # cells of the arrowheads that a line from a room reaches
        self.arrows, self.astray = set(), set()
        for name, row, begin, end in self.boxes:
            for at, step in self.around(row, begin, end):
                if self.cell(at) in LINES[step]:
                    found = self.follow(at, step)
                    self.arrows |= {(name, other) for other in found}
                    if not found:
                        self.astray.add(f"a line from {name} leads to no room")
        for name, row, begin, end in self.boxes:
            for at, (down, right) in self.around(row, begin, end):
                if self.cell(at) == HEADS[-down, -right] and at not in self.used:
                    self.astray.add(f"an arrow to {name} comes from no room")

    @staticmethod
    def around(row, begin, end):
        """Yields the cells next to a box, each with the step that leads from the box to the cell."""
        yield from (((row + step[0], column), step) for step in (DOWN, UP) for column in range(begin, end))
        yield from (((row, end), RIGHT), ((row, begin - 1), LEFT))

    def cell(self, at):
        row, column = at
        inside = 0 <= row < len(self.lines) and 0 <= column < len(self.lines[row])
        return self.lines[row][column] if inside and not self.box_at(at) else " "

    def box_at(self, at):
        return next((name for name, row, begin, end in self.boxes if row == at[0] and begin <= at[1] < end), None)

    def follow(self, at, step):
        """Returns the rooms to which a line leads. Follows the line from the cell `at` in the direction `step`."""
        found, seen, left = set(), set(), [(at, step)]
        while left:
            at, step = left.pop()
            if (at, step) in seen:
                continue
            seen.add((at, step))
            ahead = at[0] + step[0], at[1] + step[1]
            if self.cell(at) == HEADS[step] and self.box_at(ahead):
                found.add(self.box_at(ahead))
                self.used.add(at)
            elif self.cell(at) == "+":
                for turn in HEADS:
                    beside = at[0] + turn[0], at[1] + turn[1]
                    if turn != (-step[0], -step[1]) and self.cell(beside) in LINES[turn] + HEADS[turn]:
                        left.append((beside, turn))
            elif self.cell(at) in "|-":
                left.append((ahead, step))
        return found

    def is_implied(self, room, other):
        """Returns whether there is a path along the arrows between two rooms."""
        return other in reached(room, lambda here: {end for begin, end in self.arrows if begin == here})


def included(base):
    """Returns two sets of pairs: a room, and another room that it includes. A pair is in the first set only
    if a file in one room includes a file in the other room. For the second set, either file may also be a shared
    header of the layer. Such a header belongs to the room whose row in the README names it."""
    rooms, by_folder, all_of_them = ROOMS[base], set(), set()
    folders, shared = shared_rooms(base)
    for path, text in files(CODE, (base, *folders)):
        header = SHARED_HEADER.search(path)
        room = shared.get(header[2]) if header else room_of(rooms, path.removeprefix(f"{base}/"))
        for match in INCLUDE.finditer(text):
            other = shared.get(match[1]) or room_of(rooms, match[1])
            is_ours = match[0].endswith('"')  # A header in <> does not belong to a room.
            if is_ours and room and other and room != other:
                all_of_them.add((room, other))
                if not header and match[1] not in shared:
                    by_folder.add((room, other))
    return by_folder, all_of_them


def check(base):
    """Yields the errors in the drawing of the rooms of this layer."""
    name = readme_of(base)
    readme = (ROOT / name).read_text() if name else ""
    drawing = next((one for one in map(Drawing, BLOCK.findall(readme))
                    if any(box[0] in ROOMS[base] for box in one.boxes)), None)
    if drawing is None:
        yield f"{name}: no drawing of the rooms of {base}"
        return
    drawn = [box[0] for box in drawing.boxes]
    yield from (f"{name}: the room {room} is drawn {drawn.count(room)} times" for room in ROOMS[base]
                if drawn.count(room) != 1)
    yield from (f"{name}: the drawing has a box {box}, which is no room" for box in drawn if box not in ROOMS[base])
    yield from (f"{name}: {what}" for what in sorted(drawing.astray))
    by_folder, all_of_them = included(base)
    yield from (f"{name}: the drawing has an arrow from {room} to {other}, but no include"
                for room, other in sorted(drawing.arrows - all_of_them))
    yield from (f"{name}: {room} includes {other}, but the drawing has no way from one to the other"
                for room, other in sorted(by_folder) if not drawing.is_implied(room, other))


def main():
    return report("drawings", [problem for base in DRAWN if (ROOT / base).is_dir() for problem in check(base)])


if __name__ == "__main__":
    sys.exit(main())
