// What `GET /` answers: what this service is and where to find things, as a page for browsers and as JSON for programs.
import { renderHtml } from './layout.ts'
import { html } from './markup.ts'

/** A place that the front page names. */
interface Place {
  /** The member of the JSON answer. */
  readonly name: string
  readonly path: string
  readonly title: string
  readonly about: string
}

const places: readonly Place[] = [
  { name: 'documentation', path: '/docs', title: 'Documentation', about: 'tutorials, how-to guides, reference' },
  {
    name: 'getting_started',
    path: '/docs/tutorials/getting-started',
    title: 'Getting started',
    about: 'your first project in ten minutes',
  },
  { name: 'api', path: '/docs/api', title: 'HTTP interface', about: 'every operation with a curl command' },
  { name: 'openapi', path: '/openapi.json', title: 'OpenAPI document', about: 'the same for programs' },
  {
    name: 'authzen',
    path: '/.well-known/authzen-configuration',
    title: 'AuthZEN metadata',
    about: 'the endpoints for decisions and searches',
  },
  { name: 'health', path: '/health', title: 'Health', about: 'the process is alive' },
  { name: 'ready', path: '/ready', title: 'Readiness', about: 'the process can answer' },
  { name: 'metrics', path: '/metrics', title: 'Metrics', about: 'for Prometheus' },
]

const ABOUT =
  'A graph-based authorization service. It decides who may do what: policies are patterns over a graph of people, teams and things.'

/** The front page in both forms. */
interface FrontPage {
  readonly html: string
  readonly json: string
}

/** Renders the front page. `served`: the paths of the routes that this process has; others are not named, except below `/docs/`. */
export function renderFrontPage(version: string, served: ReadonlySet<string>): FrontPage {
  const shown = places.filter(({ path }) => path.startsWith('/docs/') || served.has(path))
  const links = Object.fromEntries(shown.map(({ name, path }) => [name, path]))
  const content = html`<main>
<h1>Verdigraph <small>${version}</small></h1>
<p class="lead">${ABOUT}</p>
<dl>${shown.map(
    ({ path, title, about }) => html`
<dt><a href="${path}">${title}</a></dt><dd>${about} <code>${path}</code></dd>`,
  )}
</dl>
<p>Requests go to <code>/access/v1</code> (decisions and searches), <code>/capture/v1</code> (the graph), <code>/contx-iq/v1</code>
(knowledge queries), <code>/configs/v1</code> (configuration) and <code>/mcp/v1</code> (agents). Each needs a credential.</p>
</main>`
  return {
    html: renderHtml('Verdigraph', 'front', content),
    json: JSON.stringify({ name: 'Verdigraph', description: ABOUT, version, links }),
  }
}

/**
 * True if an `Accept` header prefers HTML to JSON (RFC 9110, section 12.5.1). A header with wildcards only, as curl sends it,
 * does not.
 */
export function prefersHtml(accept: string | null): boolean {
  if (accept === null) return false
  const quality = new Map<string, number>()
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    quality.set(type, weight === undefined ? 1 : Number(weight.slice(2)) || 0)
  }
  const html = quality.get('text/html') ?? 0
  return html > 0 && html >= (quality.get('application/json') ?? 0)
}
