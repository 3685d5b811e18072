// Renders the Markdown pages of `docs/` to HTML. The pages are ours, so their HTML is trusted.
import { Marked, type Token, type Tokens } from 'marked'
import { Html, html } from './markup.ts'

/** A rendered Markdown page. */
interface DocumentationPage {
  /** Address below `/docs/`: `how-to/backup`; empty for the first page. */
  readonly path: string
  readonly title: string
  readonly body: Html
  readonly sections: readonly DocumentationSection[]
}

/** The text between two headings: the unit that the search finds. */
interface DocumentationSection {
  /** Anchor within the page; empty for the text before the second heading. */
  readonly anchor: string
  readonly title: string
  readonly text: string
}

/** A section of the navigation. */
export interface NavigationGroup {
  readonly title: string
  readonly pages: readonly { readonly path: string; readonly title: string }[]
}

const FIRST_PAGE = 'index.md'

/** The folders of `docs/` in the order of the navigation, with their titles. */
const GROUPS: readonly (readonly [folder: string, title: string])[] = [
  ['tutorials', 'Tutorials'],
  ['how-to', 'How-to guides'],
  ['runbooks', 'Runbooks'],
  ['reference', 'Reference'],
  ['explanation', 'Explanation'],
  ['decisions', 'Decision records'],
]

/** The rendered documentation: pages by address, pictures by file name, and the navigation. */
export class Documentation {
  readonly pages: ReadonlyMap<string, DocumentationPage>
  readonly images: ReadonlyMap<string, string>
  readonly navigation: readonly NavigationGroup[]

  /** `files`: text by path within `docs/`, as `readDocumentation` returns it. */
  constructor(files: Readonly<Record<string, string>>) {
    const markdown = Object.keys(files).filter((path) => path.endsWith('.md'))
    this.pages = new Map(
      markdown.map((path) => {
        const page = renderPage(path, files[path] as string, new Set(Object.keys(files)))
        return [page.path, page]
      }),
    )
    this.images = new Map(
      Object.entries(files)
        .filter(([path]) => path.startsWith('images/'))
        .map(([path, text]) => [path.slice('images/'.length), text]),
    )
    this.navigation = navigationOf([...this.pages.values()], files[FIRST_PAGE] ?? '')
  }
}

/** Orders the pages of a folder as the first page links them; the rest follow by path. */
function navigationOf(pages: readonly DocumentationPage[], index: string): NavigationGroup[] {
  const position = ({ path }: DocumentationPage): number => {
    const at = index.indexOf(`(${path}.md`)
    return at < 0 ? Number.MAX_SAFE_INTEGER : at
  }
  const entriesOf = (belongs: (page: DocumentationPage) => boolean) =>
    pages
      .filter(belongs)
      .sort((a, b) => position(a) - position(b) || (a.path < b.path ? -1 : 1))
      .map(({ path, title }) => ({ path, title }))
  const folders = GROUPS.map(([folder, title]) => ({
    title,
    pages: entriesOf(({ path }) => path.startsWith(`${folder}/`)),
  }))
  const top = { title: 'Start', pages: entriesOf(({ path }) => !path.includes('/')) }
  return [top, ...folders].filter((group) => group.pages.length > 0)
}

/** Returns the address of a page below `/docs/`, by its path within `docs/`. */
function addressOf(path: string): string {
  return path === FIRST_PAGE ? '' : path.replace(/\.md$/, '')
}

function renderPage(path: string, text: string, files: ReadonlySet<string>): DocumentationPage {
  const marked = new Marked({ gfm: true })
  const tokens = marked.lexer(text)
  const anchors = new Map<Token, string>()
  const used = new Map<string, number>()
  const sections: { anchor: string; title: string; text: string }[] = []
  let title = path
  for (const token of tokens) {
    if (token.type === 'heading') {
      const heading = token as Tokens.Heading
      const plain = plainText(heading.tokens)
      const anchor = uniqueAnchor(plain, used)
      anchors.set(token, anchor)
      if (heading.depth === 1) title = plain
      sections.push({ anchor: sections.length === 0 ? '' : anchor, title: plain, text: '' })
    } else if (token.type !== 'space') {
      const section = sections.at(-1)
      if (section !== undefined) section.text += `${plainText([token])}\n`
    }
  }
  marked.use({
    renderer: {
      heading(heading: Tokens.Heading): string {
        const anchor = anchors.get(heading) ?? ''
        const inner = new Html(this.parser.parseInline(heading.tokens))
        const tag = new Html(`h${heading.depth}`)
        return html`<${tag} id="${anchor}"><a href="#${anchor}">${inner}</a></${tag}>\n`.text
      },
      link({ href, tokens: inside }: Tokens.Link): string {
        const inner = new Html(this.parser.parseInline(inside))
        const target = addressOfLink(path, href, files)
        return target === null ? inner.text : html`<a href="${target}">${inner}</a>`.text
      },
      image({ href, text: alternative }: Tokens.Image): string {
        const address = addressOfLink(path, href, files)
        // Pictures of the screen are not in the program, because of their size: the page has their description.
        return (address === null ? html`<em>${alternative}</em>` : html`<img src="${address}" alt="${alternative}">`)
          .text
      },
    },
  })
  const body = wrapTables(marked.parser(tokens))
  return { path: addressOf(path), title, body: new Html(body), sections }
}

/** A wide table scrolls by itself on a small screen. */
function wrapTables(body: string): string {
  return body.replaceAll('<table>', '<div class="wide"><table>').replaceAll('</table>', '</table></div>')
}

/** The visible text of tokens, without markup. */
function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token): string => {
      if (token.type === 'table') {
        const { header, rows } = token as Tokens.Table
        return [header, ...rows].map((row) => row.map((cell) => plainText(cell.tokens)).join(' ')).join('\n')
      }
      if (token.type === 'list') return (token as Tokens.List).items.map((item) => plainText(item.tokens)).join('\n')
      if ('tokens' in token && token.tokens !== undefined) return plainText(token.tokens)
      return token.type === 'html' ? '' : 'text' in token ? String(token.text) : ''
    })
    .join('')
}

/** The anchor of a heading, by the rule of GitHub: `How it works?` → `how-it-works`; a second one gets `-1`. */
function uniqueAnchor(heading: string, used: Map<string, number>): string {
  const anchor = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')
  const count = used.get(anchor) ?? 0
  used.set(anchor, count + 1)
  return count === 0 ? anchor : `${anchor}-${count}`
}

/**
 * Returns the address of a link in the page `path`, or null if the served documentation has no such page: a source file
 * of the repository is shown as text.
 */
function addressOfLink(path: string, href: string, files: ReadonlySet<string>): string | null {
  if (/^https?:\/\//.test(href) || href.startsWith('#')) return href
  const { pathname, hash } = new URL(href, `http://docs/${path}`)
  const target = decodeURIComponent(pathname.slice(1))
  // URL parsing stops `..` at the root. Without this check, a link to a file outside of `docs/` could match a page of that name.
  const climbs = (href.match(/\.\.\//g) ?? []).length > path.split('/').length - 1
  if (climbs || !files.has(target)) return null
  if (!target.endsWith('.md')) return `/docs/${target}`
  const address = addressOf(target)
  return `${address === '' ? '/docs' : `/docs/${address}`}${hash}`
}
