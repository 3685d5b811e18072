// Every fenced block of the pages is run, read or compared: commands against a running service, JSON, Cypher and scenarios.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import policies from '../../data/demo/policies.json' with { type: 'json' }
import { parse } from '../../grammar/index.ts'
import { describePages, startsProcesses } from './describe-pages.ts'
import { readPages, repositoryRoot } from './pages.ts'
import { agrees, isOutput, isRunnable } from './run-page.ts'

const pages = readPages()
const tested = pages.filter(({ path }) => path === 'README.md' || path.startsWith('docs/'))

describePages(tested.filter((page) => !startsProcesses(page)))

describe('the blocks of', () => {
  test.each(tested)('$path are JSON, Cypher or text as they say', ({ path, blocks }) => {
    for (const { language, info, text, line } of blocks) {
      const where = `${path}:${line}`
      if (language === 'json' && !info.includes('output')) expect(() => readJson(text), where).not.toThrow()
      if (language === 'cypher') expect(parse(text), where).toMatchObject({ ok: true })
      if (info.startsWith('not-run:')) expect(info.length, where).toBeGreaterThan('not-run: reason'.length)
      expect(['sh', 'bash', 'ts', 'json', 'cypher', 'yaml', 'text', 'ini', 'http', 'go', 'python'], where).toContain(
        language,
      )
    }
  })

  test('are run, with few exceptions', () => {
    const exceptions = tested.flatMap(({ path, blocks }) =>
      blocks.filter(({ info }) => info.startsWith('not-run:') && !isRunBy(info)).map(({ line }) => `${path}:${line}`),
    )
    expect(exceptions.length).toBeLessThanOrEqual(12)
  })

  test('show output only after a block that prints it', () => {
    for (const { path, blocks } of tested) {
      for (const [i, block] of blocks.entries()) {
        if (isOutput(block))
          expect(blocks[i - 1] && isRunnable(blocks[i - 1] as typeof block), `${path}:${block.line}`).toBe(true)
      }
    }
  })
})

/** Whether the reason names a test that runs or compiles the block. */
function isRunBy(info: string): boolean {
  const [, path] = /^not-run: (test\/\S+\.test\.ts) (?:runs|compiles) it$/.exec(info) ?? []
  return path !== undefined && existsSync(join(repositoryRoot, path))
}

/** One document, or one in each line. */
function readJson(text: string): void {
  try {
    JSON.parse(text)
  } catch {
    for (const line of text.split('\n')) JSON.parse(line)
  }
}

test('the policy in README is that of the demo', () => {
  const readme = pages.find(({ path }) => path === 'README.md')
  const [block] = (readme?.blocks ?? []).filter(({ info }) => info === 'policy tow')
  expect(JSON.parse(block?.text ?? '')).toEqual(policies.policies.find(({ name }) => name === 'tow')?.policy)
})

describe('what a page shows agrees with what is printed', () => {
  const cases: [string, string, string, boolean][] = [
    ['json', '{"a":1}', '{ "a": 1 }', true],
    ['json', '{"a":1}', '{"a":2}', false],
    ['json', '{"a":1}', '{"a":1,"b":2}', false],
    ['json', '{"a":1,"…":"…"}', '{"a":1,"b":2}', true],
    ['json', '{"b":1,"…":"…"}', '{"a":1}', false],
    ['json', '[1,"…"]', '[1,2,3]', true],
    ['json', '[1,2]', '[1,2,3]', false],
    ['json', '{"id":"gid:…"}', '{"id":"gid:1"}', true],
    ['json', '{"id":"gid:…"}', '{"id":"1"}', false],
    ['json', '{"a":1}\n{"b":2}', '{"a":1}\n{"b":2}', true],
    ['json', '{\n "a":1\n}\n[\n2]', '{"a":1}\n[2]', true],
    ['json', '{"a":1}', 'no json', false],
    ['text', 'a … c', 'a b c', true],
    ['text', 'a … c', 'a b d', false],
  ]
  test.each(cases)('%s: %s, found %s: %s', (language, text, found, is) => {
    expect(agrees(found, { language, text })).toBe(is)
  })
})
