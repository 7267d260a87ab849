#include "page_style.h"

namespace trireme::bench {

// The curves' colours differ in lightness too, and have signs of their own.
const std::string_view page_style = R"css(
:root { color-scheme: light dark;
  --back: #f6f7f9; --card: #fff; --text: #1b2130; --soft: #5c6577; --line: #dde1e8;
  --user: #0b57d0; --shared: #00897b; --peer0: #e8710a; --peer1: #9334e6; --peer2: #8a5a2b;
  --peer3: #c2185b; --limit: #8b93a3;
  --good: #cdeedd; --good-text: #0a4d2e; --near: #fdeebb; --near-text: #5f4600;
  --miss: #fbd0cb; --miss-text: #8c1408; --wrong: #b3001b; }
@media (prefers-color-scheme: dark) { :root {
  --back: #11141a; --card: #1a1f28; --text: #e6e9f0; --soft: #9aa4b6; --line: #303745;
  --user: #7fb0ff; --shared: #4fd1bd; --peer0: #ffab5e; --peer1: #cf9bff; --peer2: #cfa37a;
  --peer3: #ff86b3; --limit: #7d8799;
  --good: #12422c; --good-text: #b5efd0; --near: #4c3d0b; --near-text: #ffe9a8;
  --miss: #5c1a15; --miss-text: #ffd3ce; --wrong: #d3173a; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 24px 16px 64px; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; }
body > * { max-width: 1400px; margin-left: auto; margin-right: auto; }
h1 { font-size: 26px; margin-top: 0; margin-bottom: 4px; }
h2 { font-size: 19px; margin-top: 36px; margin-bottom: 8px; }
h3 { font-size: 16px; margin: 24px auto 8px; }
p { margin-top: 4px; margin-bottom: 8px; }
.soft { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px; }
.facts { display: flex; flex-wrap: wrap; gap: 2px 22px; color: var(--soft); }
.facts b { color: var(--text); font-weight: 600; }
.alarm { background: var(--wrong); color: #fff; border-radius: 10px; padding: 14px 18px;
  margin-top: 16px; margin-bottom: 8px; font-size: 18px; }
.alarm b { font-size: 24px; letter-spacing: .04em; }
.alarm ul { margin: 6px 0 0; padding-left: 22px; font-size: 15px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(165px, 1fr)); gap: 10px; }
.tiles .card { padding: 10px 12px; }
.tiles b { display: block; font-size: 21px; white-space: nowrap; }
.tiles span { color: var(--soft); font-size: 13px; }
.scroll { overflow-x: auto; padding: 0; }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: 14px; }
th, td { padding: 4px 8px; text-align: right; white-space: nowrap; }
th { font-weight: 600; }
thead th { color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); }
thead th.over { text-align: center; border-bottom: 0; color: var(--text); font-weight: 600; }
tbody th, thead th:first-child { text-align: left; position: sticky; left: 0; z-index: 1;
  background: var(--card); }
tbody th { font-weight: 500; }
tbody th b { font-weight: 600; }
tbody th i { float: right; margin-left: 14px; font-style: normal; color: var(--soft); }
tr.first > * { border-top: 1px solid var(--line); }
.ratios td { border-left: 1px solid var(--card); border-bottom: 1px solid var(--card); min-width: 52px; }
.ratios td[colspan] { text-align: center; }
.gap { border-left: 14px solid var(--card) !important; }
.good { background: var(--good); color: var(--good-text); }
.near { background: var(--near); color: var(--near-text); }
.miss { background: var(--miss); color: var(--miss-text); font-weight: 600; }
.near::before, .miss::before { content: "▾"; float: left; margin-right: 4px; }
.bad { background: var(--wrong); color: #fff; font-weight: 700; text-align: center; }
.free { color: var(--soft); }
[data-tip] { cursor: default; }
td[data-tip]:hover { outline: 2px solid var(--text); outline-offset: -2px; }
.key { display: inline-block; padding: 0 8px; border-radius: 4px; }
.goals td { text-align: left; width: 34%; }
.goals td > span:last-child { display: block; color: var(--soft); font-size: 12.5px; }
.goals td b { display: inline-block; min-width: 70px; }
.bar { display: inline-block; width: 90px; height: 9px; border-radius: 5px; background: var(--miss);
  overflow: hidden; margin-right: 10px; }
.bar i { display: block; height: 100%; background: #1f9d61; }
.bar.short i { background: #e0a400; }
.legend { position: sticky; top: 0; z-index: 3; display: flex; flex-wrap: wrap; gap: 4px 20px;
  padding: 8px 12px; margin-bottom: 8px; }
.legend svg { width: 34px; height: 14px; vertical-align: -2px; margin-right: 6px; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(400px, 100%), 1fr));
  gap: 12px; }
.charts .card { padding: 8px 8px 4px; }
.charts h4 { margin: 0 6px 4px; font-size: 14px; font-weight: 600; }
.charts h4 span { float: right; font-weight: 400; color: var(--soft); }
.charts svg { display: block; width: 100%; height: auto; }
.grid { stroke: var(--line); }
.tick { fill: var(--soft); font-size: 11px; }
.curve polyline { fill: none; stroke: var(--c); stroke-width: 1.6; stroke-linejoin: round; }
.sign { fill: var(--c); stroke: var(--card); stroke-width: .8; }
.user { --c: var(--user); } .shared { --c: var(--shared); }
.peer0 { --c: var(--peer0); } .peer1 { --c: var(--peer1); } .peer2 { --c: var(--peer2); }
.peer3 { --c: var(--peer3); } .limit { --c: var(--limit); }
.user polyline, .shared polyline { stroke-width: 3; }
.limit polyline { stroke-dasharray: 5 4; }
path.wrong { stroke: var(--wrong); stroke-width: 4; fill: none; }
.spot rect { fill: transparent; }
.spot line { stroke: var(--text); stroke-dasharray: 2 3; visibility: hidden; }
.spot:hover line { visibility: visible; }
#tip { position: fixed; z-index: 9; display: none; pointer-events: none; white-space: pre;
  background: var(--text); color: var(--back); border-radius: 7px; padding: 8px 11px; margin: 0;
  font: 12.5px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
details summary { cursor: pointer; padding: 8px 0; }
@media (max-width: 600px) {
  body { padding: 14px 8px 48px; font-size: 14px; }
  table { font-size: 13px; }
  th, td { padding: 4px 6px; }
  tbody th i { float: none; display: block; margin: 0; font-size: 12px; }
  .bar { display: none; }
  .goals th, .goals td, thead th:first-child { white-space: normal; }
  .goals tbody th { min-width: 110px; }
  .legend { gap: 2px 12px; font-size: 12px; }
  .legend svg { width: 24px; }
}
@media print { .legend { position: static; } body { padding: 0; } }
)css";

const std::string_view page_script = R"js(
const tip = document.getElementById("tip");
document.addEventListener("pointermove", show);
document.addEventListener("pointerdown", show);
document.addEventListener("scroll", () => { tip.style.display = "none"; }, true);
function show(event) {
  const over = event.target.closest ? event.target.closest("[data-tip]") : null;
  tip.style.display = over ? "block" : "none";
  if (!over) return;
  tip.textContent = over.dataset.tip;
  const left = event.clientX + 16, top = event.clientY + 16;
  const right = innerWidth - tip.offsetWidth - 6, bottom = innerHeight - tip.offsetHeight - 6;
  tip.style.left = Math.max(6, left > right ? event.clientX - tip.offsetWidth - 16 : left) + "px";
  tip.style.top = Math.max(6, top > bottom ? event.clientY - tip.offsetHeight - 16 : top) + "px";
}
)js";

}  // namespace trireme::bench
