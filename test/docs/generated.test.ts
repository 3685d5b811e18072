// The generated reference pages equal what the program generates. `npm run golden` rewrites them; review the difference.
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
