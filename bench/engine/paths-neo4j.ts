// The same graph in Neo4j Community, and the same questions over Bolt: one session, one question after the other.
import neo4j, { type Driver, type Session } from 'neo4j-driver-lite'
import { type Neo4jServer, startNeo4j } from '../../test/support/counterparts/neo4j.ts'
import { median, mustEqual } from '../harness.ts'

const ROWS_PER_TRANSACTION = 20_000

/** What the store has loaded, to be loaded into Neo4j, too. */
export class RecordedGraph {
  readonly nodes: { id: number; type: string; externalId: string; labels: readonly string[] }[] = []
  readonly relationships = new Map<string, [source: number, target: number][]>()

  addRelationship(source: number, type: string, target: number): void {
    const ofType = this.relationships.get(type) ?? []
    if (ofType.length === 0) this.relationships.set(type, ofType)
    ofType.push([source, target])
  }
}

/** The external ids of two nodes. */
interface Neo4jQuestion {
  readonly a: string
  readonly b: string
}

/** A running Neo4j with the graph of the bench. */
export class Neo4jGraph {
  private readonly server: Neo4jServer
  private readonly driver: Driver
  private readonly session: Session

  private constructor(server: Neo4jServer, driver: Driver) {
    this.server = server
    this.driver = driver
    this.session = driver.session()
  }

  /** Starts Neo4j and loads the graph. Throws CounterpartMissing without Java or Maven. */
  static async load({ nodes, relationships }: RecordedGraph): Promise<Neo4jGraph> {
    const server = await startNeo4j({ purpose: 'measured' })
    const driver = neo4j.driver(
      server.url,
      { scheme: 'none', principal: '', credentials: '' },
      { disableLosslessIntegers: true },
    )
    const graph = new Neo4jGraph(server, driver)
    await graph.session.run('CREATE CONSTRAINT FOR (n:Node) REQUIRE n.id IS UNIQUE')
    const byLabels = Map.groupBy(nodes, ({ type, labels }) => [type, ...labels].join(':'))
    for (const [labels, members] of byLabels) {
      const rows = members.map(({ id, externalId }) => [id, externalId])
      await graph.writeAll(rows, `CREATE (:Node:${labels} {id: row[0], external_id: row[1]})`)
    }
    for (const type of new Set(nodes.map((node) => node.type)))
      await graph.session.run(`CREATE CONSTRAINT FOR (n:${type}) REQUIRE n.external_id IS UNIQUE`)
    await graph.session.run('CALL db.awaitIndexes()')
    for (const [type, pairs] of relationships) {
      await graph.writeAll(pairs, `MATCH (a:Node {id: row[0]}) MATCH (b:Node {id: row[1]}) CREATE (a)-[:${type}]->(b)`)
    }
    return graph
  }

  /**
   * Asks all questions in one form after the other. Returns the answers, and the smallest median in microseconds. Each form
   * warms up for some seconds, because Java compiles while it runs. Throws if two forms answer differently.
   */
  async ask(
    forms: readonly string[],
    questions: readonly Neo4jQuestion[],
    seconds: number,
  ): Promise<{ readonly answers: readonly number[]; readonly p50Us: number }> {
    let best: { answers: readonly number[]; p50Us: number } | null = null
    for (const text of forms) {
      const { answers } = await this.askFor(text, questions, seconds)
      const { times } = await this.askFor(text, questions, seconds)
      const p50Us = median(times)
      best?.answers.forEach((answer, i) => {
        mustEqual(`${text} with ${JSON.stringify(questions[i])}`, answers[i], answer)
      })
      if (best === null || p50Us < best.p50Us) best = { answers, p50Us }
    }
    if (best === null) throw new Error('a question needs a form for Neo4j')
    return best
  }

  /** Asks each question once, and all again until the time is over. `answers` are those of the first round. */
  private async askFor(
    text: string,
    questions: readonly Neo4jQuestion[],
    seconds: number,
  ): Promise<{ readonly answers: readonly number[]; readonly times: readonly number[] }> {
    const answers: number[] = []
    const times: number[] = []
    const end = Bun.nanoseconds() + seconds * 1e9
    for (let asked = 0; asked < questions.length || Bun.nanoseconds() < end; asked++) {
      const { a, b } = questions[asked % questions.length]!
      const start = Bun.nanoseconds()
      const { records } = await this.session.run(text, { a, b })
      times.push((Bun.nanoseconds() - start) / 1000)
      if (asked < questions.length) answers.push(Number(records[0]?.get(0) ?? -1))
    }
    return { answers, times }
  }

  async stop(): Promise<void> {
    await this.driver.close()
    await this.server.stop()
  }

  private async writeAll(rows: readonly (readonly unknown[])[], clauses: string): Promise<void> {
    for (let from = 0; from < rows.length; from += ROWS_PER_TRANSACTION) {
      const batch = rows.slice(from, from + ROWS_PER_TRANSACTION)
      await this.session.executeWrite((transaction) => transaction.run(`UNWIND $batch AS row ${clauses}`, { batch }))
    }
  }
}
