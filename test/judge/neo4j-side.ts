// Neo4j as the other side. A graph exists only within a transaction that is rolled back, so that several programs can share one
// server.
import neo4j, { type Driver, type Transaction } from 'neo4j-driver'
import { calendarDate } from '../../src/engine/value/temporal/calendar.ts'
import {
  type AnyTemporal,
  DateTimeValue,
  DateValue,
  type DurationValue,
  isTemporal,
  LocalDateTimeValue,
  LocalTimeValue,
  TimeValue,
} from '../../src/engine/value/temporal/temporal.ts'
import type { PropertyValue, Value } from '../../src/engine/value/value.ts'
import { Float } from '../../src/kernel/float.ts'
import { TooLargeError } from './engine-side.ts'
import type { ElementNumbers, JudgedGraph } from './judge-graph.ts'
import type { JudgedError, JudgedOutcome, JudgedQuery } from './judged-outcome.ts'
import { ElementNumber, JudgedPath, type JudgedValue, OtherValue, ofDriver } from './judged-value.ts'

/** A graph with the server that answers on it. One query at a time. */
export interface Neo4jSide {
  answer(query: JudgedQuery): Promise<JudgedOutcome>
  close(): Promise<void>
}

/** A connection to a running server. */
export class Neo4jConnection {
  private readonly driver: Driver

  constructor(url: string) {
    this.driver = neo4j.driver(url, neo4j.auth.basic('', ''), { encrypted: false, useBigInt: true })
  }

  /** The graph is written at once: a graph that Neo4j refuses throws here. */
  async open(graph: JudgedGraph): Promise<Neo4jSide> {
    const side = new TransactionSide(this.driver, graph)
    await side.begin()
    return side
  }

  async close(): Promise<void> {
    await this.driver.close()
  }
}

interface Written {
  readonly transaction: Transaction
  readonly numbers: ElementNumbers
}

class TransactionSide implements Neo4jSide {
  private readonly driver: Driver
  private readonly graph: JudgedGraph
  private written: Promise<Written> | null = null

  constructor(driver: Driver, graph: JudgedGraph) {
    this.driver = driver
    this.graph = graph
  }

  begin(): Promise<Written> {
    this.written ??= write(this.driver, this.graph)
    return this.written
  }

  async answer(query: JudgedQuery): Promise<JudgedOutcome> {
    try {
      return await this.tryAnswer(query)
    } catch (fault) {
      if (!isTransactionLimit(fault)) throw fault
    }
    // The limits are those of a transaction, which may have answered other queries before.
    try {
      return await this.tryAnswer(query)
    } catch (fault) {
      throw isTransactionLimit(fault) ? new TooLargeError((fault as Error).message) : fault
    }
  }

  private async tryAnswer(query: JudgedQuery): Promise<JudgedOutcome> {
    const { transaction, numbers } = await this.begin()
    try {
      const result = transaction.run(query.text, driverParameters(query.parameters))
      const columns = (await result.keys()) as string[]
      const { records } = await result
      return {
        error: null,
        columns,
        rows: records.map((record) => columns.map((name) => ofDriverValue(record.get(name), numbers))),
      }
    } catch (fault) {
      // A failed statement ends its transaction.
      await this.end()
      return { error: errorOf(fault) }
    }
  }

  private async end(): Promise<void> {
    const { written } = this
    this.written = null
    if (written === null) return
    const { transaction } = await written
    if (transaction.isOpen()) await transaction.rollback().catch(() => undefined)
  }

  async close(): Promise<void> {
    await this.end()
  }
}

async function write(driver: Driver, graph: JudgedGraph): Promise<Written> {
  const transaction = driver.session().beginTransaction()
  const nodes = await transaction.run(
    'UNWIND $nodes AS one CREATE (n:$(one.labels)) SET n = one.properties RETURN one.index AS index, elementId(n) AS id',
    {
      nodes: graph.nodes.map(({ key, isIdentity, labels, properties }, index) => ({
        index,
        labels,
        properties: {
          ...driverProperties(properties),
          ...(key === null ? {} : { external_id: key.externalId, type: key.type, is_identity: isIdentity }),
        },
      })),
    },
  )
  const ids: string[] = []
  for (const record of nodes.records) ids[Number(record.get('index'))] = record.get('id') as string
  const relationships = await transaction.run(
    `UNWIND $relationships AS one MATCH (s), (t) WHERE elementId(s) = one.source AND elementId(t) = one.target
     CREATE (s)-[r:$(one.type)]->(t) SET r = one.properties RETURN one.index AS index, elementId(r) AS id`,
    {
      relationships: graph.relationships.map(({ source, target, type, properties }, index) => ({
        index,
        source: ids[source],
        target: ids[target],
        type,
        properties: driverProperties(properties),
      })),
    },
  )
  return {
    transaction,
    numbers: {
      nodes: new Map(ids.map((id, index) => [id, index])),
      relationships: new Map(relationships.records.map((record) => [record.get('id'), Number(record.get('index'))])),
    },
  }
}

// ---------------------------------------------------------------- values

function driverProperties(properties: ReadonlyMap<string, PropertyValue>): Record<string, unknown> {
  return Object.fromEntries([...properties].map(([name, value]) => [name, toDriver(value)]))
}

function driverParameters(parameters: ReadonlyMap<string, Value>): Record<string, unknown> {
  return Object.fromEntries([...parameters].map(([name, value]) => [name, toDriver(value)]))
}

function toDriver(value: Value): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string' || typeof value === 'bigint')
    return value
  if (typeof value === 'number') return BigInt(value)
  if (value instanceof Float) return value.value
  if (isTemporal(value)) return temporalToDriver(value)
  if (Array.isArray(value)) return (value as readonly Value[]).map(toDriver)
  if (value instanceof Map)
    return Object.fromEntries([...(value as ReadonlyMap<string, Value>)].map(([key, item]) => [key, toDriver(item)]))
  throw new Error('an element of a graph cannot be a parameter')
}

function temporalToDriver(value: AnyTemporal): unknown {
  const { types } = neo4j
  const date = (day: number): [number, number, number] => {
    const { year, month, day: ofMonth } = calendarDate(day)
    return [year, month, ofMonth]
  }
  const time = (nanos: number): [number, number, number, number] => {
    const seconds = Math.floor(nanos / 1e9)
    return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60, nanos - seconds * 1e9]
  }
  if (value instanceof DateValue) return new types.Date(...date(value.day))
  if (value instanceof LocalTimeValue) return new types.LocalTime(...time(value.nanos))
  if (value instanceof TimeValue) return new types.Time(...time(value.nanos), value.offset)
  if (value instanceof LocalDateTimeValue) return new types.LocalDateTime(...date(value.day), ...time(value.nanos))
  if (value instanceof DateTimeValue)
    return new types.DateTime(...date(value.day), ...time(value.nanos), value.offset, value.zone ?? undefined)
  const { months, days, nanos } = value as DurationValue
  return new types.Duration(months, days, (nanos / 1_000_000_000n) as never, (nanos % 1_000_000_000n) as never)
}

function ofDriverValue(value: unknown, numbers: ElementNumbers): JudgedValue {
  if (value === null || value === undefined) return null
  if (typeof value !== 'object') return value as JudgedValue
  if (Array.isArray(value)) return value.map((item) => ofDriverValue(item, numbers))
  if (neo4j.isNode(value)) return new ElementNumber('node', numbers.nodes.get(value.elementId)!)
  if (neo4j.isRelationship(value)) return new ElementNumber('relationship', numbers.relationships.get(value.elementId)!)
  if (neo4j.isPath(value)) {
    return new JudgedPath([
      ofDriverValue(value.start, numbers) as ElementNumber,
      ...value.segments.flatMap(({ relationship, end }) => [
        ofDriverValue(relationship, numbers) as ElementNumber,
        ofDriverValue(end, numbers) as ElementNumber,
      ]),
    ])
  }
  if (neo4j.isDate(value)) return ofDriver.date(value as never)
  if (neo4j.isTime(value)) return ofDriver.time(value as never)
  if (neo4j.isLocalTime(value)) return ofDriver.localTime(value as never)
  if (neo4j.isDateTime(value)) return ofDriver.dateTime(value as never)
  if (neo4j.isLocalDateTime(value)) return ofDriver.localDateTime(value as never)
  if (neo4j.isDuration(value)) return ofDriver.duration(value as never)
  if (neo4j.isPoint(value)) return new OtherValue(String(value))
  return new Map(Object.entries(value).map(([key, item]) => [key, ofDriverValue(item, numbers)]))
}

// ---------------------------------------------------------------- errors

/** The kinds of run-time errors by the last part of Neo4j's code. */
const kinds: Readonly<Record<string, string>> = {
  TypeError: 'type',
  ArgumentError: 'argument',
  ArithmeticError: 'arithmetic',
  ParameterMissing: 'missing-parameter',
  EntityNotFound: 'entity',
  // A function refuses a value, such as a temporal one.
  ProcedureCallFailed: 'argument',
}

/** Whether the time or the memory of a transaction is used up. */
const isTransactionLimit = (fault: unknown): boolean =>
  /^Neo\.(ClientError|TransientError)\.(Transaction|General)\.\w*(TimedOut|OutOfMemory|Terminated)/.test(
    (fault as { code?: string }).code ?? '',
  )

function errorOf(fault: unknown): JudgedError {
  const { code, message } = fault as { code?: string; message: string }
  // The code of this refusal is that of a failure of the server.
  if (message.startsWith('The shortest path algorithm does not work'))
    return { phase: 'run', kind: 'argument', message }
  // An expression that fails within the server, such as a null where it expects a number.
  if (code === 'Neo.DatabaseError.Statement.ExecutionFailed') return { phase: 'run', kind: 'internal', message }
  const [, category, title] = /^Neo\.ClientError\.(\w+)\.(\w+)$/.exec(code ?? '') ?? []
  // Everything else is a failure of the server, not an answer.
  if ((category !== 'Statement' && category !== 'Procedure') || title === undefined) throw fault
  if (title === 'SyntaxError' || title === 'SemanticError') return { phase: 'compile', kind: 'syntax', message }
  return { phase: 'run', kind: kinds[title] ?? title, message }
}
