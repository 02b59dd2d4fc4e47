"""The files in which mistakes of edits are made: one in Python, one in JavaScript, one with tabs, one of prose."""

PYTHON = '''\
import os
from pathlib import Path


def load(path, default=None):
    """Reads a file."""
    if not os.path.exists(path):
        return default
    with open(path) as file:
        return file.read()


def save(path, text):
    # The folder may be missing.
    Path(path).parent.mkdir(parents=True)

    with open(path, "w") as file:
        file.write(text)
    return path


class Store:
    def __init__(self, root):
        self.root = root

    def get(self, name):
        value = load(self.root + name)
        return value

    def has(self, name):
        value = load(self.root + name)
        return value is not None
'''

SCRIPT = """\
import { readFile } from "fs";

export function parse(text) {
  const lines = text.split("\\n");
  for (const line of lines) {
    if (line) {
      handle(line);
    }
  }
  return lines;
}

function handle(line) {
  if (line.length < 3 && line !== "") {
    console.log(line);
  }
}

export class Reader {
  constructor(path) {
    this.path = path;
  }

  read() {
    return readFile(this.path);
  }
}
"""

TABBED = """\
package main

import "fmt"

func main() {
\tfor i := 0; i < 3; i++ {
\t\tfmt.Println(i)
\t}
\tfmt.Println("done")
}
"""

PROSE = "She said “it’s fine” – and left.\nThe end.\n"
