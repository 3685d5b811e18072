// Neo4j as judge: runs queries on Verdigraph and on Neo4j, and compares the answers. See test/judge/README.md; --help lists the options.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { stressSeed } from '../generate/random.ts'
import { CounterpartMissing } from '../support/counterparts/install.ts'
import { NEO4J_VERSION, startNeo4j } from '../support/counterparts/neo4j.ts'
import { readGraph } from '../support/graph-notation.ts'
import { runCampaign } from './campaign.ts'
import { readTemplates } from './features.ts'
import { JudgeFindings } from './findings.ts'
import { emptyJudgedGraph, ofReference } from './judge-graph.ts'
import { openBench } from './judged-case.ts'
import { BeyondLimits, type JudgedQuery, outcomeText } from './judged-outcome.ts'
import { Neo4jConnection } from './neo4j-side.ts'
import { readParameters } from './read-parameters.ts'
import { runSuite, staleEntries } from './run-suites.ts'
import { type SuiteName, suites } from './suites.ts'

const REPORT_EVERY_MS = 20_000
const parts = [...(Object.keys(suites) as SuiteName[]), 'known', 'generated'] as const

const HELP = `Neo4j as judge: runs queries on Verdigraph and on Neo4j Community, and compares the answers (test/judge/README.md).

npm run judge                                     the suites, the known differences, and 1,000 random queries
npm run judge -- --suite NAME                     only that part, may be repeated: ${parts.join(', ')}
npm run judge -- --queries N --seed N --graphs N  so many random queries, each on so many graphs (default: 1000, a new seed, 1)
npm run judge -- --differences N                  ends after so many differences (default: 10)
npm run judge -- --query TEXT                     prints both answers to one query, may be repeated
npm run judge -- --file FILE                      the same for the queries of a file, which end with ;
    --graph FILE                                  their graph, in the arrow notation of scenarios (default: empty)
    --parameters JSON                             their parameters
npm run judge -- --serve [--port N]               only starts Neo4j
    --bolt URL                                    asks a Neo4j that --serve has started, instead of starting one

Exit code 1: there are differences or failures.`

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    suite: { type: 'string', multiple: true, default: [...parts] },
    queries: { type: 'string', default: '1000' },
    graphs: { type: 'string', default: '1' },
    seed: { type: 'string' },
    differences: { type: 'string', default: '10' },
    query: { type: 'string', multiple: true, default: [] },
    file: { type: 'string' },
    graph: { type: 'string' },
    parameters: { type: 'string', default: '{}' },
    serve: { type: 'boolean', default: false },
    port: { type: 'string' },
    bolt: { type: 'string' },
  },
})
if (values.help) {
  console.log(HELP)
  process.exit()
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} takes a whole number, not ${text}`)
  return Number(text)
}

async function withNeo4j(use: (url: string) => Promise<void>): Promise<void> {
  if (values.bolt !== undefined) return use(values.bolt)
  const started = performance.now()
  const server = await startNeo4j(values.port === undefined ? {} : { port: wholeNumber('port', values.port) })
  console.log(`Neo4j ${NEO4J_VERSION} at ${server.url}, started in ${seconds(started)} s`)
  try {
    await use(server.url)
  } finally {
    await server.stop()
  }
}

const seconds = (since: number): number => Math.round((performance.now() - since) / 1000)

/** Prints both answers to each query. */
async function showAnswers(texts: readonly string[], connection: Neo4jConnection): Promise<void> {
  const graph =
    values.graph === undefined ? emptyJudgedGraph : ofReference(readGraph(readFileSync(values.graph, 'utf8')))
  const parameters = readParameters(JSON.parse(values.parameters))
  const bench = await openBench(graph, connection)
  let different = 0
  try {
    for (const text of texts) {
      const query: JudgedQuery = { text, parameters, orderedBy: [], bags: [] }
      const verdict = await bench.judge(query)
      const line = text.trim().replaceAll(/\s+/g, ' ')
      if (verdict instanceof BeyondLimits) {
        different += 1
        console.log(`${verdict.limit.toUpperCase()} ${line}: ${verdict.message}`)
        continue
      }
      const { ours, theirs, difference, known } = verdict
      if (difference !== null) different += 1
      console.log(`${difference === null ? 'equal    ' : 'DIFFERENT'} ${line}${known === null ? '' : ` (known: ${known.id})`}
  Verdigraph: ${outcomeText(query, ours)}
  Neo4j:      ${outcomeText(query, theirs)}`)
    }
  } finally {
    await bench.close()
  }
  console.log(`${texts.length - different} equal, ${different} different`)
  process.exitCode = different > 0 ? 1 : 0
}

async function runParts(
  chosen: readonly (typeof parts)[number][],
  connection: Neo4jConnection,
): Promise<JudgeFindings> {
  const all = new JudgeFindings()
  for (const part of chosen) {
    const started = performance.now()
    const found = await runPart(part, connection)
    if (found === null) {
      console.log(`skipped: ${part}: its folder is not next to the checkout`)
      continue
    }
    if (part !== 'generated') for (const { text } of found.differences) console.log(`\n${text}\n`)
    console.log(`${part}: ${found.counts()} (${seconds(started)} s)`)
    all.add(found)
  }
  return all
}

function runPart(part: (typeof parts)[number], connection: Neo4jConnection): Promise<JudgeFindings | null> {
  if (part === 'generated') return runGenerated(connection)
  return part === 'known' ? staleEntries(connection) : runSuite(part, connection)
}

async function runGenerated(connection: Neo4jConnection): Promise<JudgeFindings> {
  const graphs = wholeNumber('graphs', values.graphs)
  const seed = values.seed === undefined ? stressSeed() : wholeNumber('seed', values.seed)
  const readBy = await readTemplates(connection)
  for (const reader of ['Verdigraph', 'Neo4j', 'none'] as const) {
    const templates = [...readBy].filter(([, by]) => by === reader).map(([template]) => template)
    console.log(
      `not judged, read by ${reader === 'none' ? 'neither' : `only ${reader}`}: ${templates.join('   ') || 'none'}`,
    )
  }
  console.log(`seed ${seed}`)
  const started = performance.now()
  let reported = started
  let shown = 0
  const { found, nextSeed } = await runCampaign(
    {
      seed,
      judgements: wholeNumber('queries', values.queries) * graphs,
      graphs,
      differencesMax: wholeNumber('differences', values.differences),
      isUsed: (template) => readBy.get(template) === 'both',
    },
    connection,
    (soFar, next) => {
      for (; shown < soFar.differences.length; shown++) console.log(`\n${soFar.differences[shown]?.text}\n`)
      if (performance.now() - reported < REPORT_EVERY_MS) return
      reported = performance.now()
      console.log(`${soFar.judged} judged in ${seconds(started)} s; continue with --seed ${next}`)
    },
  )
  console.log(
    `${Math.ceil(found.judged / graphs)} generated queries on ${graphs} graphs each: ${found.judged} judged in ${seconds(started)} s; continue with --seed ${nextSeed}`,
  )
  return found
}

function chosenParts(): (typeof parts)[number][] {
  return values.suite.map((name) => {
    const part = parts.find((each) => each === name)
    if (part === undefined) throw new Error(`--suite takes one of ${parts.join(', ')}, not ${name}`)
    return part
  })
}

async function judge(url: string): Promise<void> {
  const texts = [
    ...values.query,
    ...(values.file === undefined ? [] : readFileSync(values.file, 'utf8').split(/;\s*$/m)),
  ].filter((text) => text.trim() !== '')
  const connection = new Neo4jConnection(url)
  try {
    if (texts.length > 0) return await showAnswers(texts, connection)
    const found = await runParts(chosenParts(), connection)
    for (const line of found.lastLines()) console.log(line)
    process.exitCode = found.failed > 0 ? 1 : 0
  } finally {
    await connection.close()
  }
}

try {
  await withNeo4j(async (url) => {
    if (!values.serve) return judge(url)
    console.log('Serves until this process is interrupted.')
    await new Promise<void>((resolve) => {
      process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve())
    })
  })
} catch (fault) {
  if (!(fault instanceof CounterpartMissing)) throw fault
  console.log(`skipped: Neo4j as judge: ${fault.message}`)
  console.log('0 passed, 0 failed')
}
