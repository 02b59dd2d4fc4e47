"""The exported page as a colleague gets it: its structure everywhere, its look and console where a browser is."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from app.sessions.export.html import export_html
from app.sessions.export.html_code import HtmlCodeHighlighter
from app.sessions.session_log import SessionLog
from app.values.content import ToolCall
from tests.sessions.example_session import asked, came, example_session
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry
from tests.sessions.test_export import Page, check_harmless, everything_evil
from tools.tool_result_values import ColouredSpan

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")


def opened(page: str, folder: Path, *more: str) -> tuple[str, list[str]]:
    """Returns the page after its script ran, and the console output."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    assert BROWSER is not None
    done = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000"),
            *(f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", *more),
            *("--dump-dom", f"file://{file}"),
        ],
        capture_output=True,
        env=os.environ | {"HOME": str(folder)},
        timeout=120,
        check=True,
    )
    said = [line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
    return done.stdout.decode(), said


def article(html: str, entry_id: str) -> str:
    found = re.search(rf'<article id="e-{entry_id}".*?</article>', html, re.DOTALL)
    assert found is not None
    return found[0]


def test_the_lines_of_a_prompt_stay_lines(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path / "sessions", tmp_path)
    log.append(user_entry("one\ntwo"))
    html = export_html(log)
    assert "<p>one\ntwo</p>" in html
    assert re.search(r"article\.user > p \{[^}]*white-space: pre-line", html)


def test_a_call_and_its_result_are_one_card_with_its_path(tmp_path: Path) -> None:
    log = example_session(tmp_path)
    html = export_html(log)
    check_harmless(html)
    calls, edited = log.entries[3], log.entries[4]
    assert "<b>edit</b>" not in article(html, calls.id)
    card = article(html, edited.id)
    assert '<details class="card" open><summary><b>edit</b> <span>src/area.py</span>' in card
    assert re.search(r'<del data-n="2 −">.*</del><ins data-n="2 \+">', card, re.DOTALL)
    assert "<mark>" in card


def test_figures_title_tables_code_and_diagrams(tmp_path: Path) -> None:
    html = export_html(example_session(tmp_path))
    assert "<title>Areas &amp; products</title>" in html
    assert "21k in, 340 out · $0.012" in html
    assert '<td class="right">600</td>' not in html and '<td class="right">50</td>' in html
    assert '<td class="center">600</td>' in html
    assert '<span class="k">def</span> <span class="f">area</span>' in html
    assert re.search(r'<pre class="drawing"[^>]*>[^<]*read', html) and "graph LR" in html


def test_branches_lead_to_each_other(tmp_path: Path) -> None:
    log = example_session(tmp_path)
    html = export_html(log)
    left, right = (
        log.entries[8],
        next(entry for entry in log.entries[10:] if "<article" in article(html, entry.id)),
    )
    assert f'href="#e-{right.id}"' in article(html, left.id) and "branch 1 of 2" in article(html, left.id)
    assert f'href="#e-{left.id}"' in article(html, right.id) and "branch 2 of 2" in article(html, right.id)


def test_rows_of_the_tree_have_no_marks_of_markdown(tmp_path: Path) -> None:
    log = SessionLog.in_memory(tmp_path)
    log.append(user_entry("Please **check** `area`:\n\n- [ ] one\n- [x] two\n"))
    log.append(
        assistant_entry("## Result\n\n**Measured**, see\n[the page](https://example.org)\n\n> a quote")
    )
    tree = export_html(log).partition("</nav>")[0]
    assert ">Please check area: ☐ one ☑ two</a>" in tree
    assert ">Result Measured, see the page a quote</a>" in tree


def test_a_call_without_a_result_says_so(tmp_path: Path) -> None:
    log = SessionLog.in_memory(tmp_path)
    log.append(asked(ToolCall(id="1", name="bash", arguments={"command": "sleep 9"})))
    assert "no result" in export_html(log) and "sleep 9" in export_html(log)


def test_a_line_of_a_megabyte_is_text_and_closed(tmp_path: Path) -> None:
    log = SessionLog.in_memory(tmp_path)
    line = "<b>" + "x[*`" * 250_000
    log.append(user_entry(line))
    log.append(asked(ToolCall(id="1", name="bash", arguments={"command": "cat x"})))
    log.append(came("1", "bash", line))
    page = check_harmless(export_html(log))
    assert [attributes for tag, attributes in page.tags if tag == "details"] == [{"class": "card"}]


@needs_browser
def test_the_browser_shows_it_and_has_nothing_to_complain(tmp_path: Path) -> None:
    dom, said = opened(export_html(example_session(tmp_path)), tmp_path)
    assert said == []
    assert "UTC</time>" not in dom  # the page's own script ran: times are the reader's
    assert not [tag for tag, _ in Page(dom).tags if tag == "img"]


@needs_browser
def test_the_policy_is_in_force_and_the_console_is_read(tmp_path: Path) -> None:
    page = export_html(example_session(tmp_path)).replace(
        "<h1>", "<h1 style='color: red'><script>alert(1)</script>", 1
    )
    assert any("Content Security Policy" in line for line in opened(page, tmp_path)[1])


def steered(page: str, script: str) -> str:
    """Without its policy, so that a test's own script may act as a reader does."""
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    return page.replace("</body>", f"<script>{script}</script></body>")


@needs_browser
def test_search_finds_on_all_branches_and_opens_what_it_finds(tmp_path: Path) -> None:
    log = example_session(tmp_path)
    typed = "search.value = 'LOOK first'; search.dispatchEvent(new Event('input'))"
    dom, said = opened(steered(export_html(log), typed), tmp_path)
    assert said == [] and "1 of 12</span>" in dom
    assert "miss" not in article(dom, log.entries[1].id).split(">", 1)[0]
    assert '<details class="thinking" open="">' in article(dom, log.entries[1].id)
    assert "miss" in article(dom, log.entries[0].id).split(">", 1)[0]


@needs_browser
def test_a_step_leads_to_the_branch_beside(tmp_path: Path) -> None:
    log = example_session(tmp_path)
    left = log.entries[8].id
    step = f"document.querySelector('.branches a[data-id=\"{left}\"]').click()"
    dom, said = opened(steered(export_html(log), step), tmp_path)
    assert said == [] and "off" not in article(dom, left).split(">", 1)[0]
    assert 'class="user off"' in dom


def test_colours_of_a_command_are_kept() -> None:
    code = HtmlCodeHighlighter()
    shown = code.terminal_output_html("ok <1>\nbad", (ColouredSpan(line=1, start=0, end=3, sgr="1;31"),))
    assert shown == '<pre>ok &lt;1&gt;\n<span class="t1 bold">bad</span></pre>'
    assert code.terminal_output_html("x", (ColouredSpan(line=7, start=0, end=3, sgr="31"),)) == "<pre>x</pre>"


@needs_browser
def test_hostile_samples_leave_the_console_empty(tmp_path: Path) -> None:
    assert opened(export_html(everything_evil()), tmp_path)[1] == []


@needs_browser
def test_a_large_session_opens(tmp_path: Path) -> None:
    log = SessionLog.in_memory(tmp_path)
    code = "def area(width, height):\n    return width * height  # of a rectangle\n" * 600
    for number in range(500):
        log.append(user_entry(f"Question {number}"))
        log.append(assistant_entry(f"```python\n{code[:2_000]}\n```", str(number)))
        log.append(tool_result_entry(str(number), code))
    page = export_html(log)
    assert len(page) > 20_000_000
    dom, said = opened(page, tmp_path)
    assert said == [] and "UTC</time>" not in dom
