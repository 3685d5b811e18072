// Which language each policy version admits: one row per dialect. After binding nobody asks for the version again.
import type { Clause } from '../../../grammar/ast.ts'

/** Parameters that begin so are the engine's own: the keys of the nodes that a question gives. */
export const RESERVED_PREFIX = 'given '

export type DialectName = 'open' | '2.0-kbac' | '3.0-kbac' | '1.0-ciq'

export interface Dialect {
  readonly name: DialectName
  /** RETURN is not among them: whether it may stand depends on the place. */
  readonly clauses: ReadonlySet<Clause['kind']>
  /** What is said of a clause that the dialect does not admit. */
  readonly forbiddenClauseMessages: Readonly<Partial<Record<Clause['kind'], string>>>
  /** Parameters that the text may not name, with what is said of them. */
  readonly reservedParameters: ReadonlyMap<string, string>
  /** Parameters that may not name a location (interface, decisions rule 6). */
  readonly nonLocationParameters: ReadonlySet<string>
  /** Variables that the service gives a meaning to: a subquery must not use them for something else. */
  readonly serviceVariables: readonly string[]
  /** Of a property that a resolver supplies: its value is unknown, or a condition that needs it is a fault (facts 1.3.7). */
  readonly externalProperties: 'unknown' | 'refused'
}

const forbiddenClauseMessages: Dialect['forbiddenClauseMessages'] = {
  use: 'USE clause is not allowed',
  call: 'Cypher contains forbidden clauses: [CALL]',
  return: 'a condition has no RETURN: the service adds its own',
}

const condition: readonly Clause['kind'][] = ['match', 'with', 'unwind']

/** Bound by the decision itself, and so never taken from a caller (interface, decisions rule 6; facts 1.5.2; ruling D5). */
export const platformParameters: ReadonlySet<string> = new Set([
  'subject_external_id',
  'subject_type',
  'resource_external_id',
  'resource_type',
  'subject_properties',
  'resource_properties',
  'action_properties',
  'token',
  'svc_token',
  '_appId',
])

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  /** The library's own: all that the engine executes. */
  open: {
    name: 'open',
    clauses: new Set([...condition, 'call', 'use']),
    forbiddenClauseMessages: {},
    reservedParameters: new Map(),
    nonLocationParameters: new Set(),
    serviceVariables: [],
    externalProperties: 'unknown',
  },
  '2.0-kbac': {
    name: '2.0-kbac',
    clauses: new Set(condition),
    forbiddenClauseMessages,
    reservedParameters: new Map(),
    nonLocationParameters: platformParameters,
    serviceVariables: ['subject', 'resource'],
    externalProperties: 'unknown',
  },
  '3.0-kbac': {
    name: '3.0-kbac',
    clauses: new Set([...condition, 'call', 'use']),
    forbiddenClauseMessages,
    reservedParameters: new Map([['subject_id', 'parameter "$subject_id" is reserved and cannot be referenced']]),
    nonLocationParameters: platformParameters,
    serviceVariables: ['subject', 'resource'],
    externalProperties: 'refused',
  },
  '1.0-ciq': {
    name: '1.0-ciq',
    clauses: new Set(condition),
    forbiddenClauseMessages,
    reservedParameters: new Map(),
    nonLocationParameters: platformParameters,
    serviceVariables: ['subject'],
    externalProperties: 'unknown',
  },
}
