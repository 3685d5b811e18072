// Which language each policy version admits: one row per dialect. After binding nobody asks for the version again.
import type { Clause } from '../../../grammar/ast.ts'

export type DialectName = 'open' | '2.0-kbac' | '3.0-kbac' | '1.0-ciq'

export interface Dialect {
  readonly name: DialectName
  readonly clauses: ReadonlySet<Clause['kind']>
  /** What is said of a clause that the dialect does not admit, where the reference service has words for it. */
  readonly refusals: Readonly<Partial<Record<Clause['kind'], string>>>
  /** Parameters that the text may not name, with what is said of them. */
  readonly reservedParameters: Readonly<Record<string, string>>
}

const condition: readonly Clause['kind'][] = ['match', 'with', 'unwind']

const topLevelReturn = 'a condition has no RETURN: the service adds its own'

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  /** The library's own: all that the engine executes. */
  open: {
    name: 'open',
    clauses: new Set(['match', 'with', 'unwind', 'return']),
    refusals: {},
    reservedParameters: {},
  },
  '2.0-kbac': {
    name: '2.0-kbac',
    clauses: new Set(condition),
    refusals: {
      use: 'USE clause is not allowed',
      call: 'Cypher contains forbidden clauses: [CALL]',
      return: topLevelReturn,
    },
    reservedParameters: {},
  },
  '3.0-kbac': {
    name: '3.0-kbac',
    clauses: new Set(condition),
    refusals: { return: topLevelReturn },
    reservedParameters: { subject_id: 'parameter "$subject_id" is reserved and cannot be referenced' },
  },
  '1.0-ciq': {
    name: '1.0-ciq',
    clauses: new Set(condition),
    refusals: { return: topLevelReturn },
    reservedParameters: {},
  },
}
