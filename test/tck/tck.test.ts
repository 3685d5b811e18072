// The open half of the openCypher TCK, if its folder is next to the checkout: not worse than the committed baseline,
// and the same with optimiser rules off.
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { againstBaseline, readBaseline } from './baseline.ts'
import type { TckCase } from './case.ts'
import { Fixtures } from './fixtures.ts'
import { runCase } from './run-case.ts'
import { Score } from './score.ts'
import { readSuite } from './suite.ts'

const folder = new URL('../../../shared/tck/open', import.meta.url).pathname
const present = existsSync(folder)
if (!present) console.log(`skipped: no openCypher suite in ${folder}`)

describe.skipIf(!present)('the open half of the openCypher TCK', () => {
  test.each(['on', 'off'] as const)('with rules %s, its score is the committed one', async (rules) => {
    const { cases, named } = readSuite(folder)
    const fixtures = new Fixtures(named)
    const score = new Score()
    try {
      for (const item of cases) score.add(item, runCase(item, await fixtures.store(item), { rules }))
    } finally {
      await fixtures.close()
    }
    console.log(`rules ${rules}: ${score.report().slice(-6).join('\n')}`)
    expect(againstBaseline(score, readBaseline())).toEqual([])
  })
})

describe('the checker of cases', () => {
  const wanting = (query: string, expect: TckCase['expect']): TckCase => ({ id: query, category: 'own', query, expect })
  const error = (type: string, phase: string, detail: string): TckCase['expect'] => ({
    kind: 'error',
    type,
    phase,
    detail,
  })
  const one = {
    kind: 'rows',
    columns: ['x'],
    rows: [[{ t: 'int', v: '1' }]],
    ordered: false,
    ignoreListOrder: false,
  } as const

  test.each([
    [wanting('RETURN 1 AS x', one), true, null],
    [wanting('RETURN 1.0 AS x', one), false, null],
    [wanting('RETURN 1 AS y', one), false, null],
    [wanting('UNWIND [1, 1] AS x RETURN x', one), false, null],
    [wanting('RETURN y AS x', one), false, null],
    [wanting('RETURN 1 AS x', error('SyntaxError', 'compile time', '*')), false, 0],
    [wanting('RETURN y', error('TypeError', 'runtime', 'UndefinedVariable')), false, 1],
    [wanting('RETURN y', error('SyntaxError', 'runtime', 'UndefinedVariable')), false, 2],
    [wanting('RETURN y', error('SyntaxError', 'compile time', 'UnknownFunction')), false, 2],
    [wanting('RETURN y', error('SyntaxError', 'compile time', 'UndefinedVariable')), true, 3],
    [wanting('RETURN y', error('SyntaxError', 'any time', '*')), true, 3],
    [wanting('UNWIND [1] AS x RETURN [1][toString(x)]', error('TypeError', 'runtime', '*')), true, 3],
  ] as const)('%j: passed %s, level %s', async (item, passed, level) => {
    const fixtures = new Fixtures({})
    try {
      const verdict = runCase(item, await fixtures.store(item), { rules: 'on' })
      expect(verdict).toMatchObject({ passed, level })
      expect(verdict.why === null).toBe(passed)
    } finally {
      await fixtures.close()
    }
  })

  test('a case that names an unknown graph, or has a set-up and no fixture, does not run on another graph', async () => {
    const fixtures = new Fixtures({})
    await expect(fixtures.store({ ...wanting('RETURN 1 AS x', one), graph: 'no-such' })).rejects.toThrow('no-such')
    await expect(fixtures.store({ ...wanting('RETURN 1 AS x', one), setup: ['CREATE ()'] })).rejects.toThrow('set-up')
    await fixtures.close()
  })
})
