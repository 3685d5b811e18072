// Golden plans: one file per rule, each with cases in which it fires and cases in which it must not. `npm run golden`
// rewrites them; the difference is part of the review.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from '../../../../grammar/index.ts'
import { bindQuery } from '../../../../src/engine/bind/bind-query.ts'
import { dialects } from '../../../../src/engine/bind/dialect.ts'
import { rules } from '../../../../src/engine/optimize/optimize.ts'
import { buildPlan, PlannerSlots, type PlanningContext } from '../../../../src/engine/plan/build-plan.ts'
import { costOrder, type GraphCounts } from '../../../../src/engine/plan/expand-order.ts'
import { explain } from '../../../../src/engine/plan/explain.ts'
import { bindAccessQuery } from '../../../../src/engine/relation-query.ts'

const folder = join(import.meta.dirname, 'golden-plans')
const SEPARATOR = '\n\n---\n\n'

interface PlanCase {
  readonly head: string
  readonly fixed: readonly string[]
  readonly types: ReadonlyMap<string, string>
  readonly target: string | null
  readonly counts: GraphCounts
  readonly query: string
}

/**
 * The lines before the first blank one: `fixed: a:Type, b:Type`, `target: c`, `counts: Person 1000, :OWNS 50`, `query:
 * …`.
 */
function readCase(text: string): PlanCase {
  const head = text.split('\n\n')[0]!
  const fields = new Map(
    head
      .split('\n')
      .filter((line) => !line.startsWith('#'))
      .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const query = fields.get('query')
  if (!query) throw new Error(`a case without a query:\n${text}`)
  const list = (name: string): string[] =>
    (fields.get(name) ?? '')
      .split(',')
      .map((s) => s.trim())
      .filter(Boolean)
  const counts = new Map(
    list('counts').map((item): [string, number] => [item.split(' ')[0]!, Number(item.split(' ')[1])]),
  )
  const fixed = list('fixed').map((item) => item.split(':'))
  return {
    head,
    fixed: fixed.map(([name]) => name!),
    types: new Map(fixed.map(([name, type]) => [name!, type ?? 'Thing'])),
    target: fields.get('target') ?? null,
    counts: {
      nodes: (label) => counts.get(label ?? '*') ?? (label === null ? 10_000 : 1_000),
      relationships: (type) => counts.get(`:${type ?? '*'}`) ?? 5_000,
    },
    query,
  }
}

function render(ruleName: string, item: PlanCase): { readonly text: string; readonly fired: boolean } {
  const parsed = parse(item.query)
  if (!parsed.ok) throw new Error(parsed.diagnostics[0]!.message)
  const bound = bindQuery(parsed.query, dialects.open, 'condition')
  if (!bound.ok) throw new Error(bound.error[0]!.message)
  const posed = bindAccessQuery(bound.value, {
    fixed: item.fixed,
    returns: item.target === null ? 'exists' : { nodesOf: item.target },
    types: item.types,
  })
  const site: PlanningContext = {
    counts: item.counts,
    order: costOrder,
    extra: new PlannerSlots(posed.query.frameSize),
  }
  const argument = posed.fixedSlots.filter((slot) => slot !== null)
  let before = posed.addRoot(buildPlan(posed.query, argument, site))
  for (const rule of rules) {
    if (rule.name === ruleName) {
      const after = explain(rule.apply(before, site))
      const fired = after !== explain(before)
      const indent = (text: string): string => text.replaceAll(/^/gm, '  ')
      const shown = fired ? `after\n${indent(after)}` : 'not fired'
      return { text: `${item.head}\n\nbefore\n${indent(explain(before))}\n\n${shown}`, fired }
    }
    before = rule.apply(before, site)
  }
  throw new Error(`there is no rule named ${ruleName}`)
}

const files = readdirSync(folder).filter((name) => name.endsWith('.plan'))

describe('golden plans', () => {
  test('every rule has a file, and every file a rule', () => {
    expect(files.map((name) => name.replace('.plan', '')).sort()).toEqual(rules.map((rule) => rule.name).sort())
  })

  for (const file of files) {
    test(`${file}: the plans are unchanged, and some show where the rule does not fire`, () => {
      const path = join(folder, file)
      const text = readFileSync(path, 'utf8').trimEnd()
      const rendered = text.split(SEPARATOR).map((part) => render(file.replace('.plan', ''), readCase(part)))
      const now = `${rendered.map((item) => item.text).join(SEPARATOR)}\n`
      if (process.env.UPDATE_GOLDEN) writeFileSync(path, now)
      else expect(now).toBe(`${text}\n`)
      expect(rendered.some((item) => item.fired)).toBe(true)
      expect(rendered.some((item) => !item.fired)).toBe(true)
    })
  }
})
