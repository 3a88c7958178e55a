"""Skills whose scripts need packages, each declared in another way: what `environments.py` runs.

Each has a command, what it has to say, and what it has to come from.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Skill:
    """A skill, how it is run, and what comes of it."""

    name: str
    files: dict[str, str]
    command: str
    # What it has to print.
    says: str
    # What says what it needs, as an answer names it; nothing where it needs nothing.
    source: str = ""
    # Where nothing says it, and nothing is installed: the package that an answer has to propose.
    proposes: str = ""
    # Whether what is imported is installed.
    auto: bool = False
    # Which lock is made for it before it is run: of `uv` or of `npm`.
    lock: str = ""
    language: str = "python"
    binary: dict[str, bytes] = field(default_factory=dict)


def header(*packages: str, python: str = ">=3.9") -> str:
    """The header of a script (PEP 723)."""
    lines = ["# /// script", f'# requires-python = "{python}"', "# dependencies = ["]
    lines += [f'#   "{package}",' for package in packages]
    return "\n".join([*lines, "# ]", "# ///", ""])


CSV = "city,people\nUlm,126\nBonn,330\nJena,110\n"

PDF = """import io, sys
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen import canvas

page = io.BytesIO()
drawn = canvas.Canvas(page)
drawn.drawString(100, 700, "gongfu makes a page")
drawn.save()
writer = PdfWriter()
for _ in range(3):
    writer.append(io.BytesIO(page.getvalue()))
with open("/workspace/made.pdf", "wb") as file:
    writer.write(file)
read = PdfReader("/workspace/made.pdf")
print(len(read.pages), read.pages[2].extract_text().strip())
"""

SKILLS = [
    Skill(
        "header-report",
        {"scripts/report.py": header("jinja2>=3") + "import jinja2\nprint(jinja2.Template('{{ a }} of {{ b }}').render(a=1, b=2))\n"},
        "python scripts/report.py",
        "1 of 2",
        "scripts/report.py",
    ),
    Skill(
        "header-other-folder",
        {"tools/deep/show.py": header("six") + "import six\nprint('six', six.PY3)\n"},
        "cd tools/deep && ./show.py",
        "six True",
        "tools/deep/show.py",
    ),
    Skill(
        "requirements-csv",
        {
            "requirements.txt": "# a table of a file\ntabulate>=0.9\n",
            "scripts/table.py": "import csv, tabulate\nrows = list(csv.reader(open('data/cities.csv')))\nprint(tabulate.tabulate(rows[1:], headers=rows[0], tablefmt='plain'))\n",
            "data/cities.csv": CSV,
        },
        "python3 scripts/table.py",
        "Bonn",
        "requirements.txt",
    ),
    Skill(
        "requirements-nested",
        {
            "scripts/requirements.txt": "-r requirements-base.txt\n-c constraints.txt\n",
            "scripts/requirements-base.txt": "idna\n",
            "scripts/constraints.txt": "idna<3.8\n",
            "scripts/name.py": "import idna\nprint(idna.encode('bücher').decode(), tuple(map(int, idna.__version__.split('.'))) < (3, 8))\n",
        },
        "python scripts/name.py",
        "xn--bcher-kva True",
        "scripts/requirements.txt",
    ),
    Skill(
        "project",
        {
            "scripts/pyproject.toml": '[project]\nname = "project"\nversion = "1"\nrequires-python = ">=3.9"\ndependencies = ["python-dateutil>=2.8"]\n',
            "scripts/when.py": "from dateutil.parser import parse\nprint(parse('3 May 2026').date())\n",
        },
        "python scripts/when.py",
        "2026-05-03",
        "scripts/pyproject.toml",
    ),
    Skill(
        "project-lock",
        {
            "scripts/pyproject.toml": '[project]\nname = "project-lock"\nversion = "1"\nrequires-python = ">=3.9"\ndependencies = ["markdown-it-py"]\n[dependency-groups]\ndev = ["attrs"]\n',
            "scripts/page.py": "import importlib.util\nfrom markdown_it import MarkdownIt\nprint(MarkdownIt().render('# Kung').strip(), importlib.util.find_spec('attrs'))\n",
        },
        "cd scripts && python page.py",
        "<h1>Kung</h1> None",
        "scripts/pyproject.toml",
        lock="uv",
    ),
    Skill(
        "undeclared",
        {"scripts/name.py": "import json\nfrom slugify import slugify\nprint(slugify('Kung Fu'))\n"},
        "python scripts/name.py",
        "ModuleNotFoundError",
        proposes="python-slugify",
    ),
    Skill(
        "undeclared-auto",
        {
            "scripts/name.py": "import json\nimport helper\nimport slugify\ntry:\n    import no_such_module_anywhere\nexcept ImportError:\n    pass\nprint(helper.name(slugify.slugify))\n",
            "scripts/helper.py": "def name(slugify):\n    return slugify('Kung Fu')\n",
        },
        "python scripts/name.py",
        "kung-fu",
        "what its Python scripts import",
        auto=True,
    ),
    Skill(
        "native-wheel",
        {"requirements.txt": "numpy\n", "scripts/solve.py": "import numpy\nprint(numpy.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 8.0]).tolist())\n"},
        "python scripts/solve.py",
        "[1.0, 2.0]",
        "requirements.txt",
    ),
    Skill(
        "pdf-job",
        {"scripts/pdf.py": header("pypdf", "reportlab") + PDF},
        "python /skill/scripts/pdf.py",
        "3 gongfu makes a page",
        "scripts/pdf.py",
    ),
    Skill(
        "command-of-a-package",
        {"requirements.txt": "Pygments\n", "x.py": "print(1)\n"},
        "pygmentize -f html x.py",
        '<div class="highlight">',
        "requirements.txt",
    ),
    Skill(
        "shell-that-runs-python",
        {
            "requirements.txt": "packaging\n",
            "run.sh": "set -eu\ncd scripts\nfor one in 1.10 1.9; do python3 order.py $one; done\n",
            "scripts/order.py": "import sys\nfrom packaging.version import parse\nprint(parse(sys.argv[1]) > parse('1.9'))\n",
        },
        "bash run.sh",
        "True\nFalse",
        "requirements.txt",
    ),
    Skill(
        "begun-by-uv",
        {"scripts/show.py": header("six>=1.10") + "import sys, six\nprint('six', six.PY3, sys.argv[1:])\n"},
        "uv run --quiet --python 3.11 scripts/show.py --fast",
        "six True ['--fast']",
        "scripts/show.py",
    ),
    Skill(
        "shell-alone",
        {"run.sh": "set -eu\nsort -t, -k2 -n data.csv | tail -1\n", "data.csv": CSV},
        "bash run.sh",
        "Bonn,330",
    ),
    Skill(
        "csv-standard-library",
        {"scripts/sum.py": "import csv\nprint(sum(int(row['people']) for row in csv.DictReader(open('data.csv'))))\n", "data.csv": CSV},
        "python scripts/sum.py",
        "566",
    ),
    Skill(
        "node-package",
        {
            "package.json": '{"name": "node-package", "type": "module", "scripts": {"postinstall": "touch /tmp/ran"}, "dependencies": {"ms": "^2.1.0"}}\n',
            "scripts/long.js": "import ms from 'ms';\nconsole.log(ms('2 days'));\n",
        },
        "node scripts/long.js",
        "172800000",
        "package.json",
        language="node",
    ),
    Skill(
        "node-lock",
        {
            "package.json": '{"name": "node-lock", "version": "1.0.0", "dependencies": {"semver": "^7.0.0"}, "devDependencies": {"ms": "^2.0.0"}}\n',
            "scripts/order.cjs": "const semver = require('semver');\nlet ms = 'none';\ntry { ms = require('ms'); } catch {}\nconsole.log(semver.gt('1.10.0', '1.9.0'), ms);\n",
        },
        "node scripts/order.cjs",
        "true none",
        "package.json",
        lock="npm",
        language="node",
    ),
]
