// The objects that the service creates in a database: the node of its state, and a constraint for each node type, which makes the pair of type and
// external id unique and is the index for it.
import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import { type BoltServer, CommitUnknownError } from './bolt-server.ts'
import { quoted, STATE_LABEL } from './print/names.ts'
import type { RemoteBatch } from './remote-batch.ts'
import type { SharedSymbols } from './shared-symbols.ts'
import { EXTERNAL_ID } from './stored-elements.ts'

const CONSTRAINT_PREFIX = 'verdigraph_external_id_'

/** Queries that return `ok`, and what a server lacks that refuses one. */
const PROBES: readonly (readonly [text: string, what: string])[] = [
  ["RETURN toLower('I') = 'i' AS ok", 'functions of strings that do not depend on a locale'],
  ['UNWIND [1] AS x CALL (x) { RETURN x AS y } RETURN y = 1 AS ok', 'subqueries with a scope clause'],
  ['OPTIONAL MATCH (n) WHERE id(n) = -1 RETURN id(n) IS NULL AS ok', 'ids of elements'],
  ['OPTIONAL MATCH ((a)-->(b)){1,2} (c) WHERE id(c) = -1 RETURN c IS NULL AS ok', 'quantified path patterns'],
  ['RETURN COUNT { MATCH (n) WHERE id(n) = -1 } = 0 AS ok', 'subqueries that count'],
]

/** The schema of one database. */
export class GraphSchema {
  private readonly server: BoltServer
  private readonly database: string | null
  /** Labels with a constraint; null: not read yet. */
  private constrained: Set<string> | null = null

  constructor(server: BoltServer, database: string | null) {
    this.server = server
    this.database = database
  }

  private async run(
    text: string,
    parameters: Readonly<Record<string, unknown>> = {},
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return this.server.write(this.database, (transaction) => transaction.run(text, parameters))
  }

  /**
   * Creates a constraint unless it exists. A server creates its index first: if the server ends before the constraint, an index with its
   * name is left, and the constraint is refused until that index is dropped.
   */
  private async constrain(name: string, label: string, property: string): Promise<void> {
    const text = `CREATE CONSTRAINT ${quoted(name)} IF NOT EXISTS FOR (n:${quoted(label)}) REQUIRE n.${property} IS UNIQUE`
    try {
      await this.run(text)
    } catch (error) {
      // A server that has not answered may still be at work on the constraint.
      const isAnswered = !isAway(error) && !(error instanceof CommitUnknownError)
      const left = !isAnswered
        ? []
        : await this.run('SHOW INDEXES YIELD name, owningConstraint WHERE name = $name AND owningConstraint IS NULL', {
            name,
          })
      if (left.length === 0) throw error
      await this.run(`DROP INDEX ${quoted(name)} IF EXISTS`)
      await this.run(text)
    }
  }

  /** Rejects with OperationalError if the server lacks something that the service asks of it. */
  private async probe(): Promise<void> {
    for (const [text, what] of PROBES) {
      const isAnswered = await this.run(text).then(
        ([record]) => record?.ok === true,
        (error: unknown) => {
          if (error instanceof ThrownServiceError) throw error
          return false
        },
      )
      if (!isAnswered) throw new OperationalError(`the database server lacks ${what}; expected Neo4j 5.23 or later`)
    }
  }

  /**
   * Creates the node of the state and its constraint. Both may exist. Rejects with OperationalError if the database has an unfinished
   * copy, unless it is opened to copy: the missing part of a graph may be the reason why a policy denies.
   */
  async prepare(purpose: 'serve' | 'copy' = 'serve'): Promise<void> {
    await this.probe()
    await this.constrain('verdigraph_state', STATE_LABEL, 'key')
    const [state] = await this.run(
      `MERGE (s:${STATE_LABEL} {key: 'state'}) ON CREATE SET s.version = 0, s.external_names = [], s.commits = [] RETURN s.copy AS copy`,
    )
    if (purpose === 'serve' && state?.copy != null)
      throw new OperationalError('the database has an unfinished copy: finish it with `verdigraph copy`')
    await this.readConstraints()
  }

  private async readConstraints(): Promise<Set<string>> {
    if (this.constrained !== null) return this.constrained
    const records = await this.run(
      "SHOW CONSTRAINTS YIELD type, labelsOrTypes, properties WHERE type = 'UNIQUENESS' OR type = 'NODE_KEY' RETURN labelsOrTypes AS labels, properties",
    )
    const found = records.filter(({ properties }) => {
      const names = properties as readonly string[]
      return names.length === 1 && names[0] === EXTERNAL_ID
    })
    this.constrained = new Set(found.flatMap(({ labels }) => labels as readonly string[]))
    return this.constrained
  }

  /** The types of created nodes that have no constraint. */
  missing(batch: RemoteBatch, symbols: SharedSymbols): readonly string[] {
    const types = new Set<string>()
    for (const { before, now } of batch.nodes.values()) {
      if (before === null && now !== null && now.type !== 0) types.add(symbols.name('label', now.type))
    }
    if (types.size === 0) return []
    const { constrained } = this
    return constrained === null ? [...types] : [...types].filter((type) => !constrained.has(type))
  }

  /** Rejects with OperationalError if nodes of a type have the same external id; as BoltServer.write if the server is away. */
  async create(types: readonly string[]): Promise<void> {
    const constrained = await this.readConstraints()
    for (const type of types) {
      if (constrained.has(type)) continue
      try {
        await this.constrain(`${CONSTRAINT_PREFIX}${type}`, type, EXTERNAL_ID)
      } catch (error) {
        if (isAway(error)) throw error
        throw new OperationalError(
          `the constraint of the node type ${type} cannot be created: ${(error as Error).message}`,
        )
      }
      constrained.add(type)
    }
  }

  /** Whether the database has nodes, or relationships. */
  async holds(what: 'nodes' | 'relationships'): Promise<boolean> {
    const pattern = what === 'nodes' ? `(n) WHERE NOT n:${STATE_LABEL}` : '()-->()'
    const records = await this.run(`MATCH ${pattern} RETURN 1 AS one LIMIT 1`)
    return records.length > 0
  }
}

/** Whether the server could not be reached. */
function isAway(error: unknown): boolean {
  return error instanceof ThrownServiceError && error.error.kind === 'unavailable'
}
