// Checks that the language page matches the tables of the code and the examples. Every clause, pattern, operator and
// function has an example, which is run, and a test.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { diagramsText } from './diagrams.ts'
import { pageText, readmePath } from './page.ts'

const renew = 'npm run golden'

test('every example of the language page is run, and the page is up to date', async () => {
  expect(await pageText(), renew).toBe(readFileSync(readmePath, 'utf8'))
})

test('the page of diagrams is self-contained: it loads nothing, and every link has a target', () => {
  const page = diagramsText()
  expect(page).not.toMatch(/<script|<link|<img|@import|url\(|https?:/)
  const places = new Set([...page.matchAll(/ id="(\w+)"/g)].map(([, place]) => place))
  const links = [...page.matchAll(/href="#(\w+)"/g)].map(([, place]) => place)
  expect(links.filter((link) => !places.has(link))).toEqual([])
  expect(places.size).toBeGreaterThan(60)
})
