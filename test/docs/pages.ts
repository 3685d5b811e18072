// The Markdown pages of the repository and their fenced blocks.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const repositoryRoot = join(import.meta.dirname, '..', '..')

export interface Block {
  /** First word of the info string: `sh`, `json`, …; empty if none exists. */
  readonly language: string
  /** Rest of the info string. */
  readonly info: string
  readonly text: string
  /** Line of the opening fence in the page, from 1. */
  readonly line: number
}

export interface Page {
  /** Relative to the repository: `docs/glossary.md`. */
  readonly path: string
  readonly text: string
  readonly blocks: readonly Block[]
}

const topPages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'CODE_OF_CONDUCT.md']
const folderPages = [
  'data/README.md',
  'grammar/README.md',
  'bench/README.md',
  'clients/python/README.md',
  'clients/go/README.md',
]

/** All pages that a reader opens, in the order of their paths. */
export function readPages(): readonly Page[] {
  const docs = readdirSync(join(repositoryRoot, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path.replaceAll('\\', '/')}`)
    .sort()
  return [...topPages, ...folderPages, ...docs].map((path) => {
    const text = readFileSync(join(repositoryRoot, path), 'utf8')
    return { path, text, blocks: blocksOf(text) }
  })
}

/** The fenced code blocks of a Markdown text (CommonMark 4.5, fences of back-ticks). Throws if a fence is not closed. */
export function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = []
  let open: { fence: string; language: string; info: string; line: number; lines: string[] } | null = null
  for (const [i, line] of text.split('\n').entries()) {
    const fence = /^ {0,3}(`{3,})([^`]*)$/.exec(line)
    if (open === null) {
      if (fence === null) continue
      const [language = '', ...info] = (fence[2] as string).trim().split(/\s+/)
      open = { fence: fence[1] as string, language, info: info.join(' '), line: i + 1, lines: [] }
    } else if (fence !== null && fence[2] === '' && (fence[1] as string).length >= open.fence.length) {
      const { language, info, line: start, lines } = open
      blocks.push({ language, info, line: start, text: lines.join('\n') })
      open = null
    } else open.lines.push(line)
  }
  if (open !== null) throw new Error(`the block of line ${open.line} is not closed`)
  return blocks
}
