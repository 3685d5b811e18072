// Compares two graphs of any size with bounded memory: each element is hashed on both sides, the hashes are added up, which does not
// depend on their order, in total and for each of many buckets by key. If they differ, the elements of some differing buckets are read
// again and compared with each other.
import { createHash } from 'node:crypto'
import type { Symbols } from '../../bolt/stored-elements.ts'
import type { NodeRecord } from '../../store/format/records.ts'
import {
  type CopiedRelationship,
  type ElementPage,
  type GraphReader,
  keyOfNode,
  keyOfRelationship,
  textOfNode,
  textOfRelationship,
} from './graph-reader.ts'

const BUCKETS = 65_536
const WORDS = 8
/** Of these buckets, and of this many elements, differences are described. */
const EXAMINED_BUCKETS_MAX = 32
const DESCRIBED_MAX = 10

/** The result of a comparison. */
export interface GraphComparison {
  /** Of the first graph, 32 hexadecimal digits: graphs with equal contents have equal hashes. */
  readonly hash: string
  readonly nodes: number
  readonly relationships: number
  /** Empty: the graphs are equal. */
  readonly differences: readonly string[]
}

/** The sums of the hashes of the elements of one kind. */
class ElementSums {
  count = 0
  readonly types = new Map<string, number>()
  readonly counts = new Uint32Array(BUCKETS)
  readonly buckets = new Uint32Array(BUCKETS)
  private readonly words = new Uint32Array(WORDS)

  add(type: string, key: string, text: string): void {
    const digest = createHash('sha256').update(text).digest()
    const { words, types } = this
    for (let i = 0; i < WORDS; i++) words[i] = words[i]! + digest.readUInt32LE(i * 4)
    const bucket = bucketOf(key)
    this.counts[bucket]! += 1
    this.buckets[bucket] = this.buckets[bucket]! + digest.readUInt32LE(0)
    this.count += 1
    types.set(type, (types.get(type) ?? 0) + 1)
  }

  get sums(): readonly number[] {
    return [this.count, ...this.words]
  }

  equals(other: ElementSums): boolean {
    return this.sums.every((sum, i) => sum === other.sums[i])
  }
}

function bucketOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) & (BUCKETS - 1)
}

/** How the elements of one kind are read. */
interface ComparedKind<T> {
  readonly name: 'node' | 'relationship'
  page(graph: GraphReader, from: number): Promise<ElementPage<T>>
  type(item: T, symbols: Symbols): string
  key(item: T, symbols: Symbols): string
  text(item: T, symbols: Symbols): string
}

const comparedNodes: ComparedKind<NodeRecord> = {
  name: 'node',
  page: (graph, from) => graph.nodes(from),
  type: ({ type }, symbols) => symbols.name('label', type),
  key: keyOfNode,
  text: textOfNode,
}

const comparedRelationships: ComparedKind<CopiedRelationship> = {
  name: 'relationship',
  page: (graph, from) => graph.relationships(from),
  type: ({ record }, symbols) => symbols.name('type', record.type),
  key: keyOfRelationship,
  text: textOfRelationship,
}

/** Calls `visit` for each element; the next page is read at the same time. */
async function visitAll<T>(kind: ComparedKind<T>, graph: GraphReader, visit: (item: T) => void): Promise<void> {
  let reading: Promise<ElementPage<T>> | null = kind.page(graph, 0)
  while (reading !== null) {
    const { items, next }: ElementPage<T> = await reading
    reading = next === null ? null : kind.page(graph, next)
    // Its failure is reported when the page is used, or not at all after an earlier one.
    reading?.catch(() => undefined)
    for (const item of items) visit(item)
  }
}

/** Compares two graphs. `progress`: elements read of both, and their number. Rejects as the readers do. */
export async function compareGraphs(
  left: GraphReader,
  right: GraphReader,
  progress: (done: number, total: number) => void,
): Promise<GraphComparison> {
  const counts = await Promise.all([left.counts(), right.counts()])
  const total = counts.reduce((sum, { nodes, relationships }) => sum + nodes + relationships, 0)
  let done = 0
  const compare = async <T>(kind: ComparedKind<T>): Promise<readonly [ElementSums, readonly string[]]> => {
    const sumsOf = async (graph: GraphReader): Promise<ElementSums> => {
      const sums = new ElementSums()
      const { symbols } = graph
      await visitAll(kind, graph, (item) => {
        sums.add(kind.type(item, symbols), kind.key(item, symbols), kind.text(item, symbols))
        done += 1
        if (done % 1000 === 0) progress(done, total)
      })
      return sums
    }
    const [a, b] = await Promise.all([sumsOf(left), sumsOf(right)])
    return [a, a.equals(b) ? [] : await describe(kind, left, right, a, b)]
  }
  const [nodes, nodeDifferences] = await compare(comparedNodes)
  const [relationships, relationshipDifferences] = await compare(comparedRelationships)
  const hash = createHash('sha256')
    .update(JSON.stringify([nodes.sums, relationships.sums]))
    .digest('hex')
    .slice(0, 32)
  return {
    hash,
    nodes: nodes.count,
    relationships: relationships.count,
    differences: [...nodeDifferences, ...relationshipDifferences],
  }
}

async function describe<T>(
  kind: ComparedKind<T>,
  left: GraphReader,
  right: GraphReader,
  a: ElementSums,
  b: ElementSums,
): Promise<readonly string[]> {
  const lines: string[] = []
  for (const type of [...new Set([...a.types.keys(), ...b.types.keys()])].sort()) {
    const [here, there] = [a.types.get(type) ?? 0, b.types.get(type) ?? 0]
    if (here !== there)
      lines.push(`${kind.name}s of the type ${type}: ${here} in ${left.place}, ${there} in ${right.place}`)
  }
  const examined = new Set<number>()
  for (let at = 0; at < BUCKETS && examined.size < EXAMINED_BUCKETS_MAX; at++)
    if (a.counts[at] !== b.counts[at] || a.buckets[at] !== b.buckets[at]) examined.add(at)
  const textsOf = async (graph: GraphReader): Promise<Map<string, string[]>> => {
    const texts = new Map<string, string[]>()
    await visitAll(kind, graph, (item) => {
      const key = kind.key(item, graph.symbols)
      if (!examined.has(bucketOf(key))) return
      const found = texts.get(key)
      const text = kind.text(item, graph.symbols)
      if (found === undefined) texts.set(key, [text])
      else found.push(text)
    })
    return texts
  }
  const [here, there] = await Promise.all([textsOf(left), textsOf(right)])
  const described: string[] = []
  for (const key of new Set([...here.keys(), ...there.keys()])) {
    const difference = differenceOf(here.get(key) ?? [], there.get(key) ?? [], left.place, right.place)
    if (difference !== null) described.push(`${kind.name} ${key}: ${difference}`)
  }
  lines.push(...described.slice(0, DESCRIBED_MAX))
  if (described.length > DESCRIBED_MAX || examined.size === EXAMINED_BUCKETS_MAX)
    lines.push(`more ${kind.name}s differ`)
  return lines.length === 0 ? [`the hashes of the ${kind.name}s differ`] : lines
}

/** How the elements with one key differ; null: they do not. */
function differenceOf(here: readonly string[], there: readonly string[], left: string, right: string): string | null {
  if (there.length === 0) return `only in ${left}`
  if (here.length === 0) return `only in ${right}`
  if (here.length !== there.length) return `${here.length} times in ${left}, ${there.length} times in ${right}`
  const [a, b] = [[...here].sort(), [...there].sort()]
  const at = a.findIndex((text, i) => text !== b[i])
  return at < 0 ? null : `different ${membersThatDiffer(JSON.parse(a[at]!), JSON.parse(b[at]!)).join(', ')}`
}

type ElementMembers = Readonly<Record<string, unknown>>

function membersThatDiffer(a: ElementMembers, b: ElementMembers): readonly string[] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]),
  )
  return names.flatMap((name) =>
    name === 'properties'
      ? membersThatDiffer(a[name] as ElementMembers, b[name] as ElementMembers).map((one) => `\`${one}\``)
      : [name],
  )
}
