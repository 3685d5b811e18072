// The style sheet of the documentation: navigation and one column of text, in a light and a dark colour scheme.

/** CSS text. The content security policy contains its hash. */
export const style = `
:root { color-scheme: light dark; --ink: #1d2a24; --soft: #5d6b64; --line: #dde5e0; --back: #fdfefd; --side: #f3f7f4;
  --leaf: #1d7a4f; --sky: #2363a8; --sun: #95620c; --clay: #b03a2e; --code: #eef3f0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e2eae5; --soft: #98a8a0; --line: #2b3832; --back: #121815;
  --side: #171f1b; --leaf: #56c58e; --sky: #77b3f0; --sun: #dfae5a; --clay: #ee8a7d; --code: #1e2823; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 4rem; }
body { margin: 0; display: grid; grid-template-columns: 19rem minmax(0, 1fr); grid-template-areas: "bar bar" "nav main";
  color: var(--ink); background: var(--back); font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
a { color: inherit; text-decoration-color: var(--soft); text-underline-offset: 3px; }
a:hover { text-decoration-color: currentColor; }
:focus-visible { outline: 2px solid var(--leaf); outline-offset: 2px; }
.bar { grid-area: bar; position: sticky; top: 0; z-index: 1; display: flex; gap: 1rem; align-items: center; padding: .6rem 1.5rem;
  background: var(--side); border-bottom: 1px solid var(--line); }
.bar .title { font-size: 19px; font-weight: 700; color: var(--leaf); text-decoration: none; }
.bar form { display: flex; gap: .4rem; margin-left: auto; }
.bar input, .bar button { font: inherit; font-size: 14px; color: inherit; background: var(--back); border: 1px solid var(--line);
  border-radius: 6px; padding: .3rem .6rem; min-width: 0; }
.bar input { width: 18rem; }
.bar .contents { display: none; }
nav { grid-area: nav; position: sticky; top: 3.2rem; height: calc(100vh - 3.2rem); overflow-y: auto; padding: 1rem 1rem 3rem; background: var(--side);
  border-right: 1px solid var(--line); font-size: 14px; }
nav a { display: flex; gap: .5rem; align-items: baseline; padding: .18rem .5rem; border-radius: 5px; text-decoration: none; }
nav a:hover { background: var(--code); }
nav [aria-current] { background: var(--code); color: var(--leaf); font-weight: 600; }
nav .chapter { font-weight: 650; margin: .9rem 0 .1rem; padding: .18rem .5rem; }
nav section span, nav summary { color: var(--soft); }
nav summary { padding: .1rem .5rem; }
main { grid-area: main; padding: 2rem clamp(1rem, 4vw, 4rem) 6rem; max-width: 64rem; min-width: 0; }
h1 { font-size: 2.1rem; margin: 0 0 .6rem; letter-spacing: -.02em; line-height: 1.2; }
h2 { font-size: 1.4rem; margin: 2.6rem 0 .4rem; padding-bottom: .3rem; border-bottom: 2px solid var(--leaf); }
h3 { font-size: 1.1rem; margin: 1.6rem 0 .4rem; }
article h3 { margin-top: 0; }
h1 a, h2 a, h3 a, h4 a { text-decoration: none; }
h1, h2, h3, h4 { overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; background: #fdfefd; border-radius: 8px; }
blockquote { margin: .8rem 0; padding: .1rem 1rem; border-left: 3px solid var(--leaf); color: var(--soft); }
.wide, article table { overflow-x: auto; }
@media (max-width: 60rem) { article table, .tag > table { display: block; } .line { flex-wrap: wrap; } }
.wide table th { font-weight: 650; }
.hits { list-style: none; padding: 0; }
.hits li { margin: 1rem 0; }
.hits small { display: block; }
article h4, h4 { font-size: .78rem; margin: 1.3rem 0 .35rem; color: var(--soft); text-transform: uppercase; letter-spacing: .07em; }
p { margin: .4rem 0; }
.lead { font-size: 1.15rem; color: var(--soft); }
article { margin: 1.6rem 0; padding: 1.3rem 1.5rem; border: 1px solid var(--line); border-radius: 10px; }
article:target { border-color: var(--leaf); }
code, pre { font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { background: var(--code); padding: .08em .35em; border-radius: 4px; overflow-wrap: anywhere; }
pre { background: var(--code); padding: .9rem 1rem; border-radius: 8px; overflow-x: auto; }
pre code { background: none; padding: 0; overflow-wrap: normal; }
.line { display: flex; gap: .7rem; align-items: center; }
.line code { font-size: 14px; background: none; padding: 0; }
.who { color: var(--soft); font-size: 13px; }
.method { font: 700 10.5px/1.5 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; min-width: 3.4rem; text-align: center;
  padding: .12rem .3rem; border-radius: 4px; border: 1px solid currentColor; flex: none; }
.get { color: var(--sky); } .post { color: var(--leaf); } .put { color: var(--sun); } .delete { color: var(--clay); }
nav .method { border: 0; padding: 0; min-width: 2.9rem; text-align: left; font-size: 9.5px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { white-space: nowrap; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-top: 1px solid var(--line); font-weight: 400; }
tr:first-child > * { border-top: 0; }
b[title] { color: var(--clay); padding-left: .1em; }
.schema { margin: .2rem 0; padding-left: 1.1rem; list-style: none; border-left: 1px solid var(--line); font-size: 14px; }
p.schema { padding-left: 0; border: 0; }
.schema li { margin: .25rem 0; }
.schema i { color: var(--sky); font-style: normal; font-size: 13px; }
.schema small, small { color: var(--soft); font-size: 12.5px; overflow-wrap: anywhere; }
.answer, details { margin: .25rem 0; }
summary { cursor: pointer; }
.status { display: inline-block; min-width: 2.3rem; font-variant-numeric: tabular-nums; }
.s2 { color: var(--leaf); } .s4 { color: var(--sun); } .s5 { color: var(--clay); }
@media (max-width: 60rem) { body { display: block; } .bar { flex-wrap: wrap; padding: .6rem 1rem; } .bar form { order: 3; width: 100%; margin: 0; }
  .bar input { width: auto; flex: 1; } .bar .contents { display: inline; margin-left: auto; }
  nav { position: static; height: auto; border-right: 0; border-top: 1px solid var(--line); } article { padding: 1rem; } }
.front { display: block; }
.front main { margin: 0 auto; max-width: 44rem; padding-top: clamp(1.5rem, 8vw, 5rem); }
.front h1 { color: var(--leaf); }
.front h1 small { font-size: 1rem; font-weight: 400; letter-spacing: 0; }
.front dl { margin: 1.6rem 0; border-bottom: 1px solid var(--line); }
.front dt { padding-top: .7rem; border-top: 1px solid var(--line); font-weight: 600; }
.front dd { margin: 0; padding-bottom: .7rem; color: var(--soft); }
.front dd code { float: right; color: var(--ink); }
@media (max-width: 40rem) { .front dd code { float: none; display: table; margin-top: .2rem; } }
@media print { nav, .bar { display: none; } body { display: block; } }
`
