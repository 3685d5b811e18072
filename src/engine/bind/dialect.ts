// The dialects of Cypher: which clauses, parameters and names each policy version allows. Only the binder reads them.
import type { Clause } from '../../../grammar/ast.ts'

/** Prefix of the engine's own parameters: the external ids of the fixed nodes of an access query. */
export const RESERVED_PREFIX = 'given '

/**
 * `open` is the dialect of the library, and `query` that of queries over the graph of a project; the others are the versions of
 * policies and context queries.
 */
export type DialectName = 'open' | 'query' | 'definition' | '2.0-kbac' | '3.0-kbac' | '1.0-ciq'

/** The clauses, parameters and names that one dialect allows. */
export interface Dialect {
  readonly name: DialectName
  /** The allowed clauses. RETURN is not listed: whether it is allowed depends on the position. */
  readonly clauses: ReadonlySet<Clause['kind']>
  /** Whether a condition may be a whole query, whose rows are the granted pairs: `RETURN subject, resource`, UNION and NEXT. */
  readonly returnsPairs: boolean
  /** Messages for clauses that are not allowed; other clauses get a general message. */
  readonly forbiddenClauseMessages: Readonly<Partial<Record<Clause['kind'], string>>>
  /** Parameters that the text must not read, each with its message. */
  readonly reservedParameters: ReadonlyMap<string, string>
  /** Parameters that must not name a location in USE. */
  readonly nonLocationParameters: ReadonlySet<string>
  /** Variables with a fixed meaning. A subquery must not use these names for another node. */
  readonly serviceVariables: readonly string[]
  /** Whether `n.trust_score.<name>` reads the trust score of a node. The library has no scores. */
  readonly readsScores: boolean
  /** Whether a function may differ for the same input, such as `rand()`. A decision must be reproducible. */
  readonly allowsImpure: boolean
  /**
   * A property that an external resolver supplies: its value is unknown (`unknown`), or a condition that depends on it fails
   * (`refused`).
   */
  readonly externalProperties: 'unknown' | 'refused'
}

const forbiddenClauseMessages: Dialect['forbiddenClauseMessages'] = {
  use: 'USE clause is not allowed',
  call: 'Cypher contains forbidden clauses: [CALL]',
  conditional: 'Cypher contains forbidden clauses: [WHEN]',
  block: 'a condition cannot have braces around a query',
  return: 'a condition has no RETURN: the service adds its own',
}

/** The parameters that version 3 of policies reserves. */
const reservedParameters: Dialect['reservedParameters'] = new Map([
  ['subject_id', 'parameter "$subject_id" is reserved and cannot be referenced'],
])

const condition: readonly Clause['kind'][] = ['match', 'with', 'unwind']
const composition: readonly Clause['kind'][] = ['call', 'use', 'conditional', 'block']

/**
 * The parameters that the service binds itself. Values from a caller for these names are never used, and they must not name
 * a location (docs/decisions/0008-policy-filters-and-parameters.md).
 */
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

/** The dialect of the library: everything that the engine executes. */
const open: Dialect = {
  name: 'open',
  clauses: new Set([...condition, ...composition]),
  returnsPairs: true,
  forbiddenClauseMessages: {},
  reservedParameters: new Map(),
  nonLocationParameters: new Set(),
  serviceVariables: [],
  readsScores: false,
  allowsImpure: true,
  externalProperties: 'unknown',
}

/** All dialects by name. */
export const dialects: Readonly<Record<DialectName, Dialect>> = {
  open,
  /** As the library, with the trust scores of a project. */
  query: { ...open, name: 'query', readsScores: true },
  /** The body of a definition: each of its rows is a pair, whatever the other rows are. */
  definition: {
    ...open,
    name: 'definition',
    clauses: new Set(condition),
    returnsPairs: false,
    forbiddenClauseMessages: {
      ...forbiddenClauseMessages,
      return: 'a definition has no RETURN: its rows are the pairs of the two variables of its head',
      call: 'CALL is not allowed in a definition',
      conditional: 'WHEN is not allowed in a definition: write an alternative with UNION',
      block: 'braces around a query are not allowed in a definition',
    },
    // Policies of every version may use a definition.
    reservedParameters,
    nonLocationParameters: platformParameters,
    readsScores: true,
    allowsImpure: false,
  },
  '2.0-kbac': {
    name: '2.0-kbac',
    clauses: new Set(condition),
    returnsPairs: false,
    forbiddenClauseMessages,
    reservedParameters: new Map(),
    nonLocationParameters: platformParameters,
    serviceVariables: ['subject', 'resource'],
    readsScores: true,
    allowsImpure: false,
    externalProperties: 'unknown',
  },
  '3.0-kbac': {
    name: '3.0-kbac',
    clauses: new Set([...condition, ...composition]),
    returnsPairs: true,
    forbiddenClauseMessages,
    reservedParameters,
    nonLocationParameters: platformParameters,
    serviceVariables: ['subject', 'resource'],
    readsScores: true,
    allowsImpure: false,
    externalProperties: 'refused',
  },
  '1.0-ciq': {
    name: '1.0-ciq',
    clauses: new Set(condition),
    returnsPairs: false,
    forbiddenClauseMessages,
    reservedParameters: new Map(),
    nonLocationParameters: platformParameters,
    serviceVariables: ['subject'],
    readsScores: true,
    allowsImpure: false,
    externalProperties: 'unknown',
  },
}
