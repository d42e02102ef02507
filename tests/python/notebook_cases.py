#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the notebook and checks what its cells show: notebook_cases.py NOTEBOOK PAGE. PAGE is written, with all outputs."""
import re
import sys

import nbclient
import nbconvert
import nbformat

notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
shown = [output["data"] for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs if output.output_type == "execute_result"]
pages = [data.get("text/html", "") for data in shown]
assert "random_flip" in pages[0] and "<table>" in pages[0]
assert shown[1]["text/plain"] == "157"
assert len(re.findall("<img[^>]+image/png", pages[2])) == 6 and "label" in pages[2]
assert pages[3].count("<svg") == 1 and "tone 0" in pages[3]
assert len(re.findall("<img[^>]+image/png", pages[4])) == 3
assert "50, 157 an epoch" in pages[5], pages[5]
assert "random_flip" in pages[6] and "<pre" in pages[6]
assert len(pages) == 9 and pages[8].startswith("<pre")
page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write(page)
print(f"{len(pages)} results, {sum(map(len, pages))} bytes of HTML; {sys.argv[2]} shows them")
