// The frame of every documentation page: search box, navigation, content. No script; nothing from another address.
import { createHash } from 'node:crypto'
import { Html, html } from './markup.ts'
import type { NavigationGroup } from './pages.ts'
import { style } from './style.ts'

const styleHash = createHash('sha256').update(style).digest('base64')

/** Lets a page load its own style sheet and pictures of this server, and send its search form there; nothing else. */
export const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`

/** Everything on a page except its content. */
export interface PageFrame {
  readonly title: string
  readonly version: string
  readonly navigation: readonly NavigationGroup[]
  /** Address below `/docs/` of the page that is shown; null for one that the navigation does not list. */
  readonly current: string | null
  /** Text in the search box. */
  readonly query: string
  /** Links below the navigation: the operations of the interface reference. */
  readonly extraNavigation?: Html
}

/** Returns the whole HTML document of a documentation page. */
export function renderDocument(frame: PageFrame, content: Html): string {
  const { title, version, navigation, current, query, extraNavigation } = frame
  const body = html`<header class="bar">
<a class="title" href="/docs">Verdigraph <small>${version}</small></a>
<form role="search" action="/docs/search"><input type="search" name="q" value="${query}" placeholder="Search the documentation" aria-label="Search the documentation" maxlength="200"><button>Search</button></form>
<a class="contents" href="#contents">Contents</a>
</header>
<main id="top">
${content}
</main>
<nav id="contents" aria-label="Contents">
<section><a class="chapter" href="/docs/api"${currentMark(current === 'api')}>HTTP API</a>${extraNavigation ?? null}</section>
${navigation.map(
  (group) => html`<section><p class="chapter">${group.title}</p>
${group.pages.map(
  ({ path, title: name }) =>
    html`<a href="${path === '' ? '/docs' : `/docs/${path}`}"${currentMark(path === current)}>${name}</a>`,
)}</section>`,
)}
</nav>`
  return renderHtml(`${title} – Verdigraph`, 'docs', body)
}

/** Returns a whole HTML document with the style sheet. `layout`: a class of the body. */
export function renderHtml(title: string, layout: 'docs' | 'front', body: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${title}</title>
${styleElement()}
</head>
<body class="${layout}">
${body}
</body>
</html>
`.text
}

function currentMark(isCurrent: boolean): Html | null {
  return isCurrent ? new Html(' aria-current="page"') : null
}

/** The style sheet is ours and contains no entities, so it is not escaped. */
function styleElement(): Html {
  return new Html(`<style>${style}</style>`)
}
