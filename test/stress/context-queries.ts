// Random context policies and queries over HTTP, compared with the service oracle: records, the order over pages, and
// the graph after writes, read back from an export. `bun test/stress/context-queries.ts --cases 5000 [--seed N]`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportFolder } from '../../src/transfer/export/export.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { INPUT, randomCase } from '../oracle/service/context-case.ts'
import { type NaiveContextCase, naiveAnswer, naiveCovers, writesOf } from '../oracle/service/context-query.ts'
import { canonical, recordText } from '../oracle/service/context-records.ts'
import { policyDocument, queryDocument } from '../oracle/service/context-text.ts'
import { naiveSchema } from '../oracle/service/data-schema.ts'
import { type NaiveGraph, readExport } from '../oracle/service/graph.ts'
import { NaiveTooManyRowsError } from '../oracle/service/match.ts'
import { randomGraph } from '../oracle/service/random-graph.ts'
import { UnmodelledError } from '../oracle/service/terms.ts'
import { type ContextService, startContextService } from '../support/context-service.ts'

const argument = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}
const cases = argument('cases', 1000)
const seed = argument('seed', stressSeed())
/** After this many cases a new graph is created, in another data folder. */
const CASES_PER_WORLD = 100
const DRAWS = 6
const CLAIMS = { level: 2, roles: ['n1', 'p0'], act: { sub: 'p3' }, email: 'p1@example.org' }

const counts = new Map<string, number>()
const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)
const differ: string[] = []

async function exported(service: ContextService): Promise<NaiveGraph> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-naive-'))
  const out = join(folder, 'graph.ndjson')
  try {
    await exportFolder({ dataDir: service.service.dataDir, out, progress: () => undefined })
    return readExport(readFileSync(out, 'utf8'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function world(number: number, upTo: number): Promise<void> {
  const random = new Random(seed + number)
  const service = await startContextService({ logLevel: 'silent' })
  try {
    const { nodes, relationships } = randomGraph(random, service.service.applicationId)
    for (const [path, body] of [
      ['nodes', { nodes }],
      ['relationships', { relationships }],
    ] as const) {
      const captured = await service.capture(path, body)
      if (captured.status !== 200) throw new Error(captured.text)
    }
    const tokens = new Map<string, string>()
    for (const sub of ['p0', 'p1', 'p2']) tokens.set(sub, await service.tokenOf(sub, CLAIMS))
    let graph = await exported(service)
    for (let i = 0; i < upTo; i++) {
      const subjectType = random.weighted([
        [5, 'Person'],
        [1, '_Application'],
        [1, 'Car'],
      ] as const)
      const sub = subjectType === '_Application' ? null : random.pick([...tokens.keys()])
      const one = fruitful(() => randomCase(random, subjectType), graph, sub)
      const token = sub
      const text = `seed ${seed} world ${number} case ${i}\n${JSON.stringify(policyDocument(one))}\n${JSON.stringify(queryDocument(one))}`
      try {
        graph = await tried(service, one, {
          name: `q${i}`,
          token: token === null ? undefined : tokens.get(token),
          sub: token,
          graph,
          text,
          random,
        })
      } catch (fault) {
        if (!(fault instanceof NaiveTooManyRowsError) && !(fault instanceof UnmodelledError))
          throw new Error(text, { cause: fault })
        count(fault instanceof NaiveTooManyRowsError ? 'too large' : 'not modelled')
      }
    }
    await compareSchema(service, graph, `seed ${seed} world ${number}`)
  } finally {
    await service.stop()
  }
}

async function compareSchema(service: ContextService, graph: NaiveGraph, text: string): Promise<void> {
  const headers = { 'x-svc-clientkey': service.key }
  const { body } = await service.service.send('/data-schema/v1', { headers })
  const { nodes, edges } = body.graph as Record<string, unknown>
  const [want, found] = [canonical(naiveSchema(graph)), canonical({ nodes, edges })]
  if (want !== found) differ.push(`${text}\ndata schema: expected ${want}\nfound ${found}`)
}

/** Most conditions find nothing in a small graph: draws several and takes the first that does. */
function fruitful(draw: () => NaiveContextCase, graph: NaiveGraph, sub: string | null): NaiveContextCase {
  for (let draws = 0; ; draws++) {
    const one = draw()
    if (draws === DRAWS) return one
    try {
      const answer = naiveAnswer(one, graph.copy(), parametersOf(sub))
      if (!Array.isArray(answer) || answer.length > 0) return one
    } catch (fault) {
      if (!(fault instanceof NaiveTooManyRowsError) && !(fault instanceof UnmodelledError)) throw fault
    }
  }
}

function parametersOf(sub: string | null): Record<string, unknown> {
  return { ...INPUT, token: sub === null ? {} : { ...CLAIMS, sub } }
}

interface Turn {
  readonly name: string
  readonly token: string | undefined
  readonly sub: string | null
  readonly graph: NaiveGraph
  readonly text: string
  readonly random: Random
}

/** The graph afterwards. */
async function tried(
  service: ContextService,
  one: NaiveContextCase,
  { name, token, sub, graph, text, random }: Turn,
): Promise<NaiveGraph> {
  const after = graph.copy()
  const expected = naiveAnswer(one, after, parametersOf(sub))
  const id = await service.addQuery(name, policyDocument(one), queryDocument(one)).catch((refusal: Error) => {
    differ.push(`${text}\nnot stored: ${refusal.message}`)
    return null
  })
  if (id === null) return graph
  const writes = writesOf(one) > 0
  const narrowed = random.odds(0.08) ? narrowedPolicy(one, random) : null
  if (narrowed !== null) {
    await refused(service, id, narrowed, one, token, text)
    return compareGraph(service, graph, text)
  }
  const ask = (more: object) => service.execute(id, { input_params: INPUT, page_size: 10_000, ...more }, token)
  const { status, body } = await ask({})
  if (!Array.isArray(expected)) {
    count('refused')
    if (!expected.statuses.includes(status))
      differ.push(`${text}\nexpected ${expected.statuses}, found ${status} ${JSON.stringify(body).slice(0, 500)}`)
    return compareGraph(service, graph, text)
  }
  if (status !== 200) {
    differ.push(`${text}\nexpected 200, found ${status} ${JSON.stringify(body)}`)
    return writes ? exported(service) : graph
  }
  const data = body.data as Record<string, unknown>[]
  const [want, found] = [expected.map((record) => recordText({ ...record })).sort(), data.map(recordText).sort()]
  if (JSON.stringify(want) !== JSON.stringify(found)) {
    differ.push(
      `${text}\nexpected ${want.length}: ${want.slice(0, 5).join('\n  ')}\nfound ${found.length}: ${found.slice(0, 5).join('\n  ')}`,
    )
  }
  count(writes ? (data.length === 0 ? 'wrote nothing' : 'wrote') : data.length === 0 ? 'no rows' : 'rows')
  if (writes) return data.length === 0 && !random.odds(0.2) ? graph : compareGraph(service, after, text)
  if (data.length > 1) await pages(ask, data, random, text)
  return graph
}

/** For a policy that allows less than the query needs: the query is not run, and no similar one is stored. */
async function refused(
  service: ContextService,
  id: string,
  narrowed: NaiveContextCase,
  one: NaiveContextCase,
  token: string | undefined,
  text: string,
): Promise<void> {
  count('narrowed')
  const { policy_id } = (await service.service.configure('GET', `knowledge-queries/${id}`)).body
  const policy = JSON.stringify(policyDocument(narrowed))
  await service.service.configure('PUT', `authorization-policies/${policy_id}`, { policy, status: 'ACTIVE' })
  const { status } = await service.execute(id, { input_params: INPUT, page_size: 10_000 }, token)
  if (status !== 403) differ.push(`${text}\nnarrowed to ${policy}, and answered ${status}`)
  const body = {
    project_id: service.service.projectId,
    name: 'beyond',
    status: 'ACTIVE',
    policy_id,
    query: JSON.stringify(queryDocument(one)),
  }
  const stored = await service.service.configure('POST', 'knowledge-queries', body)
  if (stored.status !== 422) differ.push(`${text}\nnarrowed to ${policy}, and stored with ${stored.status}`)
}

function narrowedPolicy(one: NaiveContextCase, random: Random): NaiveContextCase | null {
  const others = <T>(items: readonly T[], kept: (item: T) => boolean) => items.filter(kept)
  const ways: (() => NaiveContextCase)[] = []
  for (const member of ['nodes', 'relationships'] as const) {
    for (const path of one[member].filter((path) => !/^(made|joined)/.test(path))) {
      const paths = others(one.allowedReads[member], (allowed) => !naiveCovers(allowed, path))
      ways.push(() => ({ ...one, allowedReads: { ...one.allowedReads, [member]: paths } }))
    }
  }
  for (const name of one.aggregates) {
    const aggregate_values = others(one.allowedReads.aggregate_values, (other) => other !== name)
    ways.push(() => ({ ...one, allowedReads: { ...one.allowedReads, aggregate_values } }))
  }
  for (const { name, key } of one.nodeWrites) {
    if (key === null) ways.push(() => ({ ...one, existingNodes: others(one.existingNodes, (other) => other !== name) }))
    else ways.push(() => ({ ...one, nodeTypes: others(one.nodeTypes, (type) => type !== key.type) }))
  }
  for (const { name, key } of one.relationshipWrites) {
    if (key === null) {
      const existingRelationships = others(one.existingRelationships, (other) => other !== name)
      ways.push(() => ({ ...one, existingRelationships }))
    } else ways.push(() => ({ ...one, joinRules: others(one.joinRules, ({ type }) => type !== key.type) }))
  }
  for (const [member, paths] of [
    ['nodes', one.deleteNodes],
    ['relationships', one.deleteRelationships],
  ] as const) {
    for (const path of paths) {
      // `var.*` allows the deletion of all properties, including this one.
      const left = others(
        one.allowedDeletes[member],
        (allowed) => allowed !== path && !(naiveCovers(allowed, path) && path.includes('.')),
      )
      ways.push(() => ({ ...one, allowedDeletes: { ...one.allowedDeletes, [member]: left } }))
    }
  }
  return ways.length === 0 ? null : random.pick(ways)()
}

async function pages(
  ask: (more: object) => ReturnType<ContextService['execute']>,
  whole: readonly unknown[],
  random: Random,
  text: string,
): Promise<void> {
  const size = Math.max(2, Math.ceil(whole.length / random.between(1, 6)))
  const joined: unknown[] = []
  for (let token = 0; ; token += size) {
    const { body } = await ask({ page_token: token, page_size: size })
    const page = body.data as unknown[]
    joined.push(...page)
    if (page.length < size) break
  }
  count('paged')
  if (JSON.stringify(joined) !== JSON.stringify(whole))
    differ.push(`${text}\npages of ${size} joined are not the whole`)
}

async function compareGraph(service: ContextService, expected: NaiveGraph, text: string): Promise<NaiveGraph> {
  const found = await exported(service)
  const [want, has] = [expected.lines(), found.lines()]
  const missing = want.filter((line) => !has.includes(line))
  const beyond = has.filter((line) => !want.includes(line))
  count('graphs compared')
  if (missing.length + beyond.length > 0)
    differ.push(`${text}\nmissing ${missing.join('\n  ')}\nbeyond ${beyond.join('\n  ')}`)
  return found
}

console.log(`VERDIGRAPH_SEED=${seed}`)
for (let number = 0, left = cases; left > 0; number++, left -= CASES_PER_WORLD) {
  await world(number, Math.min(left, CASES_PER_WORLD))
  if (differ.length > 20) break
}
console.log(JSON.stringify(Object.fromEntries(counts)))
if (differ.length > 0) {
  console.error(differ.slice(0, 5).join('\n\n'))
  console.error(`${differ.length} differ`)
}
// Without enough results and writes the run would prove nothing.
const few = (['rows', 'paged', 'wrote', 'narrowed'] as const).filter((what) => (counts.get(what) ?? 0) < cases / 50)
if (few.length > 0) console.error(`hardly any: ${few.join(', ')}`)
process.exit(differ.length + few.length > 0 ? 1 : 0)
