"""Skills of every kind, for the checks that serve a library.

Each has a folder inside of its own, because the conformance suite looks for one in the first skill.
"""

from __future__ import annotations

from pathlib import Path

BODY = "\n# {name}\n\nRead references/guide.md first.\n"
# The frontmatter of each skill; its folder is called after it unless it says otherwise.
FRONTMATTER = {
    "archive-forms": "description: 'Fills, signs and archives forms: PDF and paper.'\n"
    'license: MIT\nmetadata:\n  version: "1.0"\n  owners: [ada, grace]\n',
    "block-text": "description: >-\n  Folds its description\n  over two lines.\nallowed-tools: Bash(git:*) Read\n",
    "data-chart": "description: Draws charts from tables; 画图表.\ncompatibility: Needs a browser\n",
    "long-winded": "description: " + "Explains at length. " * 40 + "\n",
    "many-files": "description: Has more files than a host accepts.\n",
    "heavy": "description: Is heavier than a host accepts.\n",
    "proper-name": "description: Lies in a folder that is called otherwise.\n",
    "zebra": "description: |\n  Comes last.\n  Has two lines.\n",
}
# Those that are over a limit, so that no digests of them are told.
DYNAMIC = ("many-files", "heavy")
FOLDERS = {"proper-name": "odd_Folder", "data-chart": "charts/data-chart", "zebra": "charts/animals/zebra"}


def make_library(folder: Path) -> None:
    """Writes skills of every kind: nested, in CRLF, with binary and empty files, over the limits."""
    for name, frontmatter in FRONTMATTER.items():
        skill = folder / FOLDERS.get(name, name)
        (skill / "references" / "deep").mkdir(parents=True)
        text = f"---\nname: {name}\n{frontmatter}---\n" + BODY.format(name=name)
        (skill / "SKILL.md").write_bytes(text.replace("\n", "\r\n" if name == "zebra" else "\n").encode())
        (skill / "references" / "guide.md").write_text("one\ntwo\n")
        (skill / "references" / "deep" / "a b %20 ü.txt").write_text("")
        (skill / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\xff")
    for number in range(600):
        (folder / "many-files" / "references" / f"{number}.txt").write_text(f"{number}\n")
    (folder / "heavy" / "block.bin").write_bytes(bytes(17 << 20))
