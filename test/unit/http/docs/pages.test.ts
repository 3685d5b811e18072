import { expect, it } from 'vitest'
import { Documentation } from '../../../../src/http/docs/pages.ts'

const files = {
  'index.md': '# Start\n\n[Second](how-to/b.md) [First](how-to/a.md#a-part)',
  'how-to/a.md':
    '# A & B\n\n## A part?\n\n## A part?\n\n![Layers](../images/x.svg) [code](../../src/app.ts) [up](../index.md)',
  'how-to/b.md': '# B\n\n| x |\n|---|\n| `1` |\n',
  'images/x.svg': '<svg/>',
}
const documentation = new Documentation(files)
const bodyOf = (path: string): string | undefined => documentation.pages.get(path)?.body.text

it('orders a section as the first page links it', () => {
  expect(documentation.navigation).toEqual([
    { title: 'Start', pages: [{ path: '', title: 'Start' }] },
    {
      title: 'How-to guides',
      pages: [
        { path: 'how-to/b', title: 'B' },
        { path: 'how-to/a', title: 'A & B' },
      ],
    },
  ])
})

it('links pages and pictures of the documentation, and shows a link to a source file as text', () => {
  expect(bodyOf('')).toContain('<a href="/docs/how-to/a#a-part">First</a>')
  const text = bodyOf('how-to/a')
  expect(text).toContain('<img src="/docs/images/x.svg" alt="Layers">')
  expect(text).toContain('<a href="/docs">up</a>')
  expect(text).toMatch(/ code </)
  expect(text).not.toContain('src/app.ts')
})

it('gives headings the anchors of GitHub, numbered where a heading repeats', () => {
  expect([...(bodyOf('how-to/a') ?? '').matchAll(/<h\d id="([^"]*)"/g)].map(([, id]) => id)).toEqual([
    'a--b',
    'a-part',
    'a-part-1',
  ])
})

it('keeps the text of each section for the search, tables included', () => {
  expect(documentation.pages.get('how-to/b')?.sections).toEqual([{ anchor: '', title: 'B', text: 'x\n1\n' }])
})
