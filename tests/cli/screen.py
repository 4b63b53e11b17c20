#!/usr/bin/env python3
"""Prints the screen of a terminal after a program has written to it.

    screen.py COLUMNS ROWS <BYTES        prints the screen, and the lines that have scrolled off

It knows the sequences that the live view uses, wraps long lines, and fails on everything else: an unknown sequence
is a defect of the view, or of this file.
"""
import re
import sys
import unicodedata


class Screen:
    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines, self.top, self.row, self.column = [[]], 0, 0, 0

    def newline(self):
        self.row += 1
        while len(self.lines) <= self.row:
            self.lines.append([])
        self.top = max(self.top, self.row - self.rows + 1)

    def put(self, char):
        width = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if self.column + width > self.columns:
            self.column = 0
            self.newline()
        line = self.lines[self.row]
        line.extend(" " * (self.column + width - len(line)))
        line[self.column : self.column + width] = [char] + [""] * (width - 1)
        self.column += width

    def control(self, number, final):
        if final == "A":
            self.row = max(self.top, self.row - int(number or 1))
        elif final == "J" and not number:
            del self.lines[self.row][self.column :]
            del self.lines[self.row + 1 :]
        elif final != "m":
            sys.exit(f"screen.py: does not know ESC [ {number}{final}")

    def feed(self, text):
        for number, final, char in re.findall(r"\033\[([0-9;]*)([A-Za-z])|([\s\S])", text):
            if final:
                self.control(number, final)
            elif char == "\r":
                self.column = 0
            elif char == "\n":
                self.newline()
            elif ord(char) < 32:
                sys.exit(f"screen.py: a control character, {ord(char)}")
            else:
                self.put(char)

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)


screen = Screen(int(sys.argv[1]), int(sys.argv[2]))
screen.feed(sys.stdin.buffer.read().decode())
print(screen.text())
