// Full-text search over the documentation pages and the operations of the HTTP interface.
import MiniSearch from 'minisearch'
import type { OpenApiDocument } from '../openapi/objects.ts'
import type { Documentation } from './pages.ts'

/** A section or an operation that matches a search. */
export interface SearchHit {
  /** `/docs/how-to/backup#restore`. */
  readonly address: string
  readonly title: string
  /** Title of the page that the hit is on. */
  readonly page: string
  /** Text around the first match, at most 240 characters. */
  readonly excerpt: string
}

interface IndexedText {
  readonly id: string
  readonly title: string
  readonly page: string
  readonly text: string
}

/** No reader looks through more hits than this. */
const HITS_MAX = 30

const EXCERPT_CHARACTERS = 240

/** Number of characters that an excerpt shows before the first match. */
const LEAD_CHARACTERS = 60

/** An index in memory, built once: some 50 ms for all pages. */
export class DocumentationSearch {
  private readonly index: MiniSearch<IndexedText>

  constructor(documentation: Documentation, description: OpenApiDocument) {
    this.index = new MiniSearch<IndexedText>({
      fields: ['title', 'page', 'text'],
      storeFields: ['title', 'page', 'text'],
      searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
    })
    const pages = [...documentation.pages.values()].flatMap(({ path, title, sections }) =>
      sections.map((section) => ({
        id: `${path === '' ? '/docs' : `/docs/${path}`}${section.anchor === '' ? '' : `#${section.anchor}`}`,
        title: section.title,
        page: title,
        text: section.text,
      })),
    )
    const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        id: `/docs/api#${operation.operationId}`,
        title: operation.summary,
        page: 'HTTP API',
        text: `${method.toUpperCase()} ${path} ${operation.operationId} ${operation.description ?? ''}`,
      })),
    )
    this.index.addAll([...pages, ...operations])
  }

  /** Returns the best hits first, at most 30; none for a query without a word. */
  find(query: string): SearchHit[] {
    return this.index
      .search(query)
      .slice(0, HITS_MAX)
      .map(({ id, title, page, text, match }) => ({
        address: String(id),
        title: String(title),
        page: String(page),
        excerpt: excerptOf(String(text), Object.keys(match)),
      }))
  }
}

function excerptOf(text: string, words: readonly string[]): string {
  const flat = text.replace(/\s+/g, ' ').trim()
  const lower = flat.toLowerCase()
  const positions = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0)
  const near = positions.length === 0 ? 0 : Math.max(0, Math.min(...positions) - LEAD_CHARACTERS)
  // The excerpt begins at the start of a word.
  const start = near === 0 ? 0 : flat.indexOf(' ', near) + 1
  const cut = flat.slice(start, start + EXCERPT_CHARACTERS)
  return `${start > 0 ? '… ' : ''}${cut}${start + EXCERPT_CHARACTERS < flat.length ? ' …' : ''}`
}
