// The generated reference pages are what the program says. `npm run golden` rewrites them; the difference is part of the review.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generatedPages } from './generated.ts'
import { repositoryRoot } from './pages.ts'

test.each(Object.entries(generatedPages))('%s is generated from the program', async (path, generate) => {
  const file = join(repositoryRoot, path)
  const text = await generate()
  if (process.env.UPDATE_GOLDEN !== undefined) writeFileSync(file, text)
  expect(readFileSync(file, 'utf8')).toBe(text)
})
