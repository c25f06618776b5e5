"""What the pages of a class add to the style of a report: tables of people, bars, notes, print."""

from __future__ import annotations

from grader.formats import html

STYLE = """
:root { --soft: #f2f2f2; --good: #1d6b3c; --pass: #e3f2e8; --fail: #fdeeea; --open: #fdf3d8; }
@media (prefers-color-scheme: dark) {
  :root { --soft: #25282b; --good: #7fd19b; --pass: #193b27; --fail: #452420; --open: #3f3413; } }
body { max-width: 72rem; }
[tabindex]:focus-visible { outline: 3px solid rgb(var(--plus)); outline-offset: 2px; }
h1 { margin: 0; line-height: 1.2; } h3 { margin: 1.4rem 0 .3rem; }
.score { font-size: 1.5rem; margin: .2rem 0; } small { color: var(--faint); }
.r { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { background: var(--soft); font-size: .85rem; } .good { color: var(--good); }
.wide { overflow-x: auto; } thead th { overflow-wrap: normal; }
.note { background: var(--open); padding: .5rem .8rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: .6rem; }
.share { display: inline-block; width: 6rem; background: var(--soft); border: 1px solid var(--faint); }
.share i { display: block; height: .7rem; background: var(--good); } .missed i { background: var(--bad); }
.all { font-size: .85rem; } .all td { padding: .1rem .5rem; border-top: 1px solid var(--soft); }
.all thead th { vertical-align: bottom; font-weight: normal; padding: 0 .3rem; }
.all thead .kata span { writing-mode: vertical-rl; transform: rotate(180deg); }
.all tbody th { position: sticky; left: 0; background: var(--paper); font-weight: normal; max-width: 12rem;
  border-top: 1px solid var(--soft); }
.p { background: var(--pass); } .f { background: var(--fail); } .e { background: var(--open); }
.p, .f, .e, .n { text-align: right; font-variant-numeric: tabular-nums; } .n { color: var(--faint); }
@media (max-width: 40rem) { .katas tr { display: grid; grid-template-columns: 1.5rem 1fr auto; }
  .katas td:last-child { grid-column: 2 / -1; } .katas thead { display: none; }
  .share { width: 3rem; } .all tbody th { max-width: 7rem; } }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --soft: #f2f2f2; --faint: #444; }
  body { font-size: 9.5pt; line-height: 1.3; max-width: none; padding: 0; }
  pre { font-size: 8pt; margin: .2rem 0; padding: .2rem .4rem; }
  h2 { margin-top: 1rem; } h3 { margin-top: .6rem; } p { margin: .2rem 0; } .wide { overflow: visible; }
  .all { font-size: 7pt; } .all td, .all th { padding: 0 .15rem; } tr, pre { break-inside: avoid; } }
"""


def page(title: str, main: str) -> str:
    """Return a whole page. It has no scripts, loads nothing and can be read without styles."""
    return html.page(title, f"<main>\n{main}</main>", STYLE)
