// Properties of every text: it is parsed, or refused with a position inside it. A parsed text prints to a text with the
// same tree, is bound or refused, planned, and run to rows or an error. No stage throws or takes long.
import type { Query } from '../../../grammar/ast.ts'
import { type Diagnostic, renderDiagnostic } from '../../../grammar/diagnostic.ts'
import { parse } from '../../../grammar/index.ts'
import { compileCondition } from '../../../src/engine/conditions.ts'
import { ExecutionError } from '../../../src/engine/errors.ts'
import { impossibleLiterals } from '../../../src/engine/impossible-literals.ts'
import { openExclusionsIn } from '../../../src/engine/open-exclusions.ts'
import { parameterReadsIn } from '../../../src/engine/parameter-members.ts'
import { compileRowsQuery, type RowsQuery } from '../../../src/engine/rows-query.ts'
import type { GraphStore } from '../../../src/engine/store.ts'
import { joinsParameter } from '../../../src/engine/value-joins.ts'
import { PARAMETERS } from '../../generate/condition.ts'
import { engineParameters } from '../../support/convert-graph.ts'
import { print } from '../../support/print-cypher.ts'
import { bare } from './trees.ts'

/** The steps end a query: whether it ends does not depend on the machine. */
const limits = { stepsMax: 20_000, timeMs: 60_000 }
const parameters = engineParameters(PARAMETERS)
const TRIES = 10

export type Reached = 'refused' | 'read' | 'bound' | 'run'

export class Fuzz {
  /** The number of texts by the stage that they reached. */
  readonly counts: Record<Reached, number> = { refused: 0, read: 0, bound: 0, run: 0 }
  /** The slowest stage and its text. */
  longest = { ms: 0, stage: '', text: '' }
  private text = ''
  private readonly store: GraphStore
  private readonly stageMsMax: number

  /** `stageMsMax`: the time limit of parse, print, bind, plan and run each. */
  constructor(store: GraphStore, stageMsMax: number) {
    this.store = store
    this.stageMsMax = stageMsMax
  }

  /** The violated property; null if none exists. */
  complaint(text: string): string | null {
    try {
      this.counts[this.take(text)] += 1
      return null
    } catch (fault) {
      return `${(fault as Error).stack ?? fault}\n${JSON.stringify(text.slice(0, 2_000))}`
    }
  }

  private take(text: string): Reached {
    this.text = text
    const parsed = this.timed('parse', () => parse(text))
    if (!parsed.ok) {
      checkIssues(text, parsed.diagnostics)
      return 'refused'
    }
    this.checkPrint(parsed.query)
    this.timed('find exclusions', () => openExclusionsIn(text))
    this.timed('find joins', () => joinsParameter(text, null, 'subject', new Set(['token'])))
    this.timed('find members', () => parameterReadsIn(text))
    this.timed('find literals', () => impossibleLiterals(parsed.query))
    const isCondition = this.bindConditions(text)
    const rows = this.timed('bind', () => compileRowsQuery(text))
    if (!rows.ok) {
      checkIssues(text, rows.error)
      return isCondition ? 'bound' : 'read'
    }
    this.timed('plan', () => rows.value.explain())
    return this.timed('run', () => this.run(rows.value)) ? 'run' : 'bound'
  }

  private checkPrint(query: Query): void {
    const text = this.timed('print', () => print(query))
    const again = parse(text)
    if (!again.ok) throw new Error(`prints to what is refused: ${again.diagnostics[0]?.message}\n${text}`)
    if (JSON.stringify(bare(again.query)) !== JSON.stringify(bare(query))) throw new Error(`prints otherwise: ${text}`)
  }

  private bindConditions(text: string): boolean {
    let bound = false
    for (const dialect of ['open', '3.0-kbac'] as const) {
      const input = { text, dialect, subjectType: 'Person', resourceType: 'Doc' }
      const condition = this.timed(`bind ${dialect}`, () => compileCondition(input))
      if (!condition.ok) checkIssues(text, condition.error)
      else {
        bound = true
        for (const question of ['check', 'resources', 'subjects'] as const) {
          this.timed(`plan ${question}`, () => condition.value.explain(question))
        }
      }
    }
    return bound
  }

  private run(query: RowsQuery): boolean {
    const snapshot = this.store.snapshot()
    try {
      query.run({ snapshot, parameters, limits, locate: () => snapshot })
      return true
    } catch (fault) {
      if (fault instanceof ExecutionError) return false
      throw fault
    } finally {
      snapshot.close()
    }
  }

  /** A hang is slow in every try; a busy machine is not. */
  private timed<T>(stage: string, work: () => T): T {
    let quickest = Number.POSITIVE_INFINITY
    let result: T | undefined
    for (let tries = 0; tries < TRIES && quickest > this.stageMsMax; tries++) {
      const began = performance.now()
      result = work()
      quickest = Math.min(quickest, performance.now() - began)
    }
    if (quickest > this.stageMsMax) throw new Error(`${stage} took ${Math.round(quickest)} ms`)
    if (quickest > this.longest.ms) this.longest = { ms: quickest, stage, text: this.text }
    return result as T
  }
}

function checkIssues(text: string, issues: readonly Diagnostic[]): void {
  if (issues.length === 0) throw new Error('refused without an issue')
  for (const issue of issues) {
    const { start, end } = issue.span
    if (!(start >= 0 && start <= end && end <= text.length))
      throw new Error(`${issue.code} stands at ${start} to ${end}`)
    if (issue.code === '' || issue.message === '') throw new Error('a diagnostic without a message')
  }
  if (!renderDiagnostic(text, issues[0]!).includes(issues[0]!.message))
    throw new Error('an issue is rendered without its message')
}
