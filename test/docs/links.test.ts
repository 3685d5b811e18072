// Every relative link of the pages leads to a file that exists, and every anchor to a heading of it.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readPages, repositoryRoot } from './pages.ts'

const pages = readPages()

/** The text without fenced blocks and code spans, in which links are no links. */
function prose(text: string): string {
  return text.replace(/^ {0,3}(`{3,})[^`]*\n[\s\S]*?^ {0,3}\1`*$/gm, '').replace(/(`+)[^`][\s\S]*?\1/g, 'code')
}

/** The anchors of a page as GitHub makes them: lower case, punctuation removed, spaces to hyphens. */
function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  const withoutBlocks = text.replace(/^ {0,3}(`{3,})[^`]*\n[\s\S]*?^ {0,3}\1`*$/gm, '')
  for (const [, heading] of withoutBlocks.matchAll(/^#{1,6} +(.*?)#* *$/gm)) {
    const base = (heading as string)
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[`*]/g, '')
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-')
    let anchor = base
    for (let i = 1; anchors.has(anchor); i += 1) anchor = `${base}-${i}`
    anchors.add(anchor)
  }
  return anchors
}

describe('links', () => {
  for (const { path, text } of pages) {
    const links = [...prose(text).matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)].map((match) => match[1] as string)
    if (links.length === 0) continue
    test(path, () => {
      const wrong = links.filter((link) => !isGood(path, link))
      expect(wrong).toEqual([])
    })
  }
})

function isGood(page: string, link: string): boolean {
  if (/^(https?|mailto):/.test(link)) return true
  const [target = '', anchor] = link.split('#')
  const file = target === '' ? join(repositoryRoot, page) : join(repositoryRoot, dirname(page), target)
  if (relative(repositoryRoot, file).startsWith('..') || !existsSync(file)) return false
  if (anchor === undefined || statSync(file).isDirectory()) return true
  return anchorsOf(readFileSync(file, 'utf8')).has(anchor)
}

describe('pages', () => {
  test.each(pages.filter(({ path }) => path.startsWith('docs/')))('$path has one title of the first level', (page) => {
    const titles = page.text.replace(/^ {0,3}(`{3,})[^`]*\n[\s\S]*?^ {0,3}\1`*$/gm, '').match(/^# .+$/gm)
    expect(titles).toHaveLength(1)
    expect(page.text.startsWith('# ')).toBe(true)
  })

  test('docs/index.md leads to every page of docs, the decision records by way of their list', () => {
    const reached = new Set(['docs/index.md'])
    for (const start of ['docs/index.md', 'docs/decisions/README.md']) {
      const { text } = pages.find(({ path }) => path === start) as (typeof pages)[number]
      for (const [, link] of text.matchAll(/\]\(([^)#\s]+)/g)) reached.add(join(dirname(start), link as string))
    }
    expect(pages.map(({ path }) => path).filter((path) => path.startsWith('docs/') && !reached.has(path))).toEqual([])
  })

  test('README has at most 150 lines', () => {
    const { text } = pages.find(({ path }) => path === 'README.md') as (typeof pages)[number]
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(150)
  })
})
