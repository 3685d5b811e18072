// One pass: scores all nodes of a type in the graphs of a project. It reads in batches, each from one snapshot, and writes the
// changed scores of a batch in one transaction, so that a reader sees the old or the new score of a node. A pass that is
// repeated for the same time writes the same scores: after a crash it continues from the last saved state.
import { readGraph, readGraphRows } from '../engine/read-graph.ts'
import {
  type Chunk,
  createChunk,
  type GraphStore,
  type NodeId,
  type NodeKey,
  type PropertyInput,
  type ScannedNode,
  type Snapshot,
  type SymbolId,
  type WriteBatch,
} from '../engine/store.ts'
import { TRUST_SCORE_LABEL } from '../kernel/element-rules.ts'
import { Float } from '../kernel/float.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { FORMULA_VERSION, scoreNode, type TrustScore } from './dimensions.ts'
import { improvementsOf, ReportCollector, type WorstNode } from './report.ts'
import type { RunState } from './run-state.ts'
import {
  compileRules,
  dimensionNames,
  needsUsualProperties,
  type ScoringOptions,
  type ScoringRules,
  usualProperties,
} from './scoring-rules.ts'

/** The type of the relationship from a node to its score. */
const SCORE_RELATIONSHIP = '_HAS'
/** The property of the weighted mean. */
export const FINAL_SCORE = '_final_score'
/** The property with the version of the formulas. */
const FORMULA_VERSION_PROPERTY = 'formula_version'

/** Nodes of a batch. A capture waits at most for the write of one batch. */
const BATCH_NODES = 1000
/** The state is saved after this time: what a crash costs at most. */
const SAVE_INTERVAL_MS = 1000

/** Collaborators of a pass. */
interface ScoringPassDeps {
  /** The graphs with nodes of the type, in a fixed order. */
  readonly graphs: readonly GraphStore[]
  readonly nodeType: string
  readonly options: ScoringOptions
  readonly clock: Clock
  /** Nodes of a batch, and milliseconds between saved states. Smaller values are for tests. */
  readonly batchNodes?: number
  readonly saveIntervalMs?: number
  /** Stores the state. Resolves with false if the pass must end: its profile has changed, or the process stops. */
  save(state: RunState): Promise<boolean>
}

/** Scores the nodes of one type. */
export class ScoringPass {
  private readonly deps: ScoringPassDeps
  private state: RunState
  private rules: ScoringRules
  private report: ReportCollector
  /** Nodes that have a property, by its name. */
  private readonly counts: Map<string, number>
  private readonly wanted = new ScoreValues()
  /** The graph had no scores when this pass began with it: only this pass has written some, of nodes that it has left behind. */
  private isWithoutScores = false
  private savedMs = performance.now()
  private writing: Promise<void> = Promise.resolve()

  /** `state`: a new pass, or one to continue. */
  constructor(deps: ScoringPassDeps, state: RunState) {
    this.deps = deps
    this.state = state
    this.rules = compileRules(deps.options, state.usual)
    this.report = new ReportCollector(state.report)
    this.counts = new Map(Object.entries(state.propertyCounts))
  }

  /** Runs the pass to its end. Null: it must end before that, because `save` resolved with false. */
  async run(): Promise<RunState | null> {
    if (this.state.phase === 'count') {
      if (needsUsualProperties(this.deps.options) && !(await this.eachGraph((graph) => this.count(graph)))) return null
      const usual = usualProperties(this.counts, this.state.nodesCounted)
      this.counts.clear()
      this.rules = compileRules(this.deps.options, usual)
      const scoringMs = this.deps.clock.now()
      if (!(await this.enter({ ...this.state, phase: 'score', usual, scoringMs }))) return null
    }
    if (this.state.phase === 'score') {
      if (!(await this.eachGraph((graph) => this.score(graph)))) return null
      if (!(await this.enter({ ...this.current(), phase: 'sweep' }))) return null
    }
    if (!(await this.eachGraph((graph) => this.sweep(graph)))) return null
    return this.current()
  }

  private current(): RunState {
    return { ...this.state, propertyCounts: Object.fromEntries(this.counts), report: this.report.state() }
  }

  private enter(state: RunState): Promise<boolean> {
    this.state = { ...state, graph: 0, from: 0 }
    return this.deps.save(this.current())
  }

  /** Calls `batch` until it returns true, for each graph. */
  private async eachGraph(batch: (graph: GraphStore) => Promise<boolean>): Promise<boolean> {
    const { graphs, save, saveIntervalMs = SAVE_INTERVAL_MS } = this.deps
    while (this.state.graph < graphs.length) {
      const isDone = await batch(graphs[this.state.graph]!)
      if (isDone) this.state = { ...this.state, graph: this.state.graph + 1, from: 0 }
      if (performance.now() - this.savedMs < saveIntervalMs) continue
      await this.writing
      if (!(await save(this.current()))) return false
      this.savedMs = performance.now()
    }
    await this.writing
    return true
  }

  /** Counts the properties of one batch of nodes. */
  private async count(graph: GraphStore): Promise<boolean> {
    const { counts } = this
    let nodes = 0
    const next = await this.readNodes(graph, false, ({ node }) => {
      nodes += 1
      for (const { name } of node.properties) counts.set(name, (counts.get(name) ?? 0) + 1)
    })
    this.state = { ...this.state, nodesCounted: this.state.nodesCounted + nodes, from: next ?? 0 }
    if (next !== null) await yieldToOthers()
    return next === null
  }

  /** Scores one batch of nodes. */
  private async score(graph: GraphStore): Promise<boolean> {
    const changes: ScoreChange[] = []
    let nodes = 0
    if (this.state.from === 0) {
      this.isWithoutScores = (await readGraph([graph], (snapshots) => countNodes(snapshots, TRUST_SCORE_LABEL))) === 0
    }
    const next = await this.readNodes(graph, !this.isWithoutScores, (one) => {
      const change = this.scoreOne(one)
      nodes += 1
      if (change !== null) changes.push(change)
    })
    // The next batch is read while this one is written to disk.
    await this.writing
    if (changes.length > 0) {
      this.writing = graph.write((batch) => writeScores(batch, changes))
      // A failure ends the pass at the next `await`, and not the process before that.
      this.writing.catch(() => undefined)
    } else await yieldToOthers()
    const { nodesScored, scoresWritten } = this.state
    this.state = {
      ...this.state,
      nodesScored: nodesScored + nodes,
      scoresWritten: scoresWritten + changes.length,
      from: next ?? 0,
    }
    return next === null
  }

  /** Null: the score is unchanged. */
  private scoreOne({ id, node, stored }: ReadNode): ScoreChange | null {
    const { wanted } = this
    const score = scoreNode(node, this.rules, this.state.startedMs)
    if (this.report.add(score)) this.report.addWorst(this.describe(node, score))
    wanted.set(score)
    if (stored === null) {
      // A score that an earlier node of the same key had is not found, because it is not linked to this one.
      return { scoreId: node.id, link: { node: id, location: node.location }, ...wanted.changesSince(NO_VALUES) }
    }
    const { externalId: scoreId, values } = stored
    return wanted.equals(values) ? null : { scoreId, link: null, ...wanted.changesSince(values) }
  }

  private describe(node: ScannedNode, score: TrustScore): WorstNode {
    const { externalId, location } = node
    return {
      external_id: externalId,
      ...(location !== null && { location }),
      final_score: score.final as number,
      dimensions: Object.fromEntries(score.dimensions),
      improvements: improvementsOf(node, score, this.rules, this.state.startedMs),
    }
  }

  /** Removes the scores of one batch that belong to no node any more. */
  private async sweep(graph: GraphStore): Promise<boolean> {
    const { next, removed } = await sweepScores(graph, this.state.from, null)
    this.state = { ...this.state, scoresRemoved: this.state.scoresRemoved + removed, from: next ?? 0 }
    return next === null
  }

  /** Reads one batch of nodes of the type. Returns where the next batch begins; null at the end. */
  private readNodes(
    graph: GraphStore,
    withScores: boolean,
    use: (read: ReadNode) => void,
  ): NodeId | null | Promise<NodeId | null> {
    const { from } = this.state
    const { nodeType, batchNodes } = this.deps
    const look = (snapshot: Snapshot, emit: (read: ReadNode) => void): NodeId | null => {
      const scores = createChunk()
      return readBatch(snapshot, nodeType, from, batchNodes, (id, type) => {
        const stored = withScores ? readScore(id, snapshot, scores) : null
        const node = snapshot.scanNode(id)
        // The label may also be a further label of nodes of another type.
        if (node !== null && node.type === type) emit({ id, node, stored })
      })
    }
    return readGraphRows(graph, look, use)
  }
}

/**
 * Removes all scores of nodes of a type. `isStopping`: true: end before that. Resolves with false if it was stopped.
 */
export async function removeScores(
  graphs: readonly GraphStore[],
  nodeType: string,
  isStopping: () => boolean,
): Promise<boolean> {
  for (const graph of graphs) {
    for (let from: NodeId | null = 0; from !== null; ) {
      if (isStopping()) return false
      const swept = await sweepScores(graph, from, nodeType)
      from = swept.next
    }
  }
  return true
}

interface Swept {
  /** Where the next batch begins; null at the end. */
  readonly next: NodeId | null
  readonly removed: number
}

/** Removes scores without node, and those of nodes whose type is `unwanted`. */
async function sweepScores(graph: GraphStore, from: NodeId, unwanted: string | null): Promise<Swept> {
  if (unwanted === null && !(await readGraph(graph, hasLooseScores))) return { next: null, removed: 0 }
  const { next, keys } = await readGraph(graph, (snapshot) => {
    const owners = createChunk()
    const keys: NodeKey[] = []
    const next = readBatch(snapshot, TRUST_SCORE_LABEL, from, BATCH_NODES, (id) => {
      snapshot.neighbours(id, 'in', snapshot.symbol('type', SCORE_RELATIONSHIP), 0, owners)
      const isKept = owners.length > 0 && (unwanted === null || snapshot.nodeField(owners.ids[0]!, 'type') !== unwanted)
      const externalId = isKept ? null : snapshot.nodeField(id, 'external_id')
      if (typeof externalId === 'string') keys.push({ type: TRUST_SCORE_LABEL, externalId })
    })
    return { next, keys }
  })
  if (keys.length > 0) {
    await graph.write((batch) => {
      for (const key of keys) batch.deleteNode(key)
    })
  } else await yieldToOthers()
  return { next, removed: keys.length }
}

/** Whether there are scores without node. Only scores have relationships of this type, each one. */
function hasLooseScores(snapshot: Snapshot): boolean {
  const scores = snapshot.nodeCount(snapshot.symbol('label', TRUST_SCORE_LABEL))
  return scores !== snapshot.relationshipCount(snapshot.symbol('type', SCORE_RELATIONSHIP))
}

/** Visits a batch of nodes with a label. Returns where the next batch begins; null at the end. */
function readBatch(
  snapshot: Snapshot,
  label: string,
  from: NodeId,
  batchNodes = BATCH_NODES,
  visit: (id: NodeId, label: SymbolId) => void,
): NodeId | null {
  const chunk = createChunk()
  const symbol = snapshot.symbol('label', label)
  let left = batchNodes
  for (let at = from; ; at = chunk.next) {
    snapshot.nodesWithLabel(symbol, at, chunk)
    const { length, ids } = chunk
    for (let i = 0; i < length; i++) {
      const id = ids[i]!
      if (id < from) continue
      if (left === 0) return id
      left -= 1
      visit(id, symbol)
    }
    if (!chunk.more) return null
  }
}

/** A node with its score. */
interface ReadNode {
  readonly id: NodeId
  readonly node: ScannedNode
  /** Null: it has none. */
  readonly stored: StoredScore | null
}

interface StoredScore {
  readonly externalId: string
  readonly values: ScoreValues
}

/** A score to write. */
interface ScoreChange {
  /** External id of the score. */
  readonly scoreId: string
  /** The node of a new score; null: the score exists. */
  readonly link: { readonly node: NodeId; readonly location: string | null } | null
  readonly properties: readonly PropertyInput[]
  readonly removed: readonly string[]
}

function writeScores(batch: WriteBatch, changes: readonly ScoreChange[]): void {
  for (const { scoreId, link, properties, removed } of changes) {
    const score: NodeKey = { type: TRUST_SCORE_LABEL, externalId: scoreId }
    if (link === null) {
      // Removed since the snapshot was read: the next pass scores its node again.
      if (batch.findNode(score) === 0) continue
      batch.upsertNode({ ...score, properties })
      if (removed.length > 0) batch.deleteNodeProperties(score, removed)
      continue
    }
    const { node, location } = link
    // Deleted since the snapshot was read.
    if (!batch.hasNode(node)) continue
    const { id } = batch.upsertNode({ ...score, properties, ...(location !== null && { location }) })
    batch.createRelationship(node, SCORE_RELATIONSHIP, id, NO_NAMES)
  }
}

const NO_NAMES: readonly never[] = []

/** The properties of a score, with their places in `ScoreValues`. */
const scoreProperties = [FINAL_SCORE, ...dimensionNames.map((name) => name.toLowerCase()), FORMULA_VERSION_PROPERTY]
const placeOfProperty = new Map(scoreProperties.map((name, place) => [name, place]))
const placeOfDimension = new Map(dimensionNames.map((name, i) => [name, i + 1]))
const VERSION_PLACE = scoreProperties.length - 1

/** The values of a score, by place. NaN: the score does not have the property. */
class ScoreValues {
  private readonly values = new Float64Array(scoreProperties.length).fill(Number.NaN)
  /** Properties that no version of the formulas writes. */
  private readonly unknown: string[] = []

  /** The values of a computed score. */
  set({ dimensions, final }: TrustScore): void {
    const { values } = this
    values.fill(Number.NaN)
    if (final !== null) values[0] = final
    values[VERSION_PLACE] = FORMULA_VERSION
    for (const [name, value] of dimensions) values[placeOfDimension.get(name)!] = value
  }

  /** The values of a stored score. */
  read(score: ScannedNode): void {
    const { values, unknown } = this
    values.fill(Number.NaN)
    unknown.length = 0
    for (const { name, value } of score.properties) {
      const place = placeOfProperty.get(name)
      // A number of the wrong kind is not NaN either, and is written again.
      if (place === undefined) unknown.push(name)
      else if (place === VERSION_PLACE) values[place] = typeof value === 'number' ? value : Number.POSITIVE_INFINITY
      else values[place] = value instanceof Float ? value.value : Number.POSITIVE_INFINITY
    }
  }

  equals({ values, unknown }: ScoreValues): boolean {
    for (let i = 0; i < values.length; i++) if (!Object.is(this.values[i], values[i])) return false
    return unknown.length === 0
  }

  /** The properties to write and to remove if the score has the values `before`. */
  changesSince(before: ScoreValues): Pick<ScoreChange, 'properties' | 'removed'> {
    const properties: PropertyInput[] = []
    const removed = [...before.unknown]
    for (const [place, name] of scoreProperties.entries()) {
      const value = this.values[place]!
      if (Object.is(value, before.values[place])) continue
      if (Number.isNaN(value)) removed.push(name)
      // Numbers from 0 to 1 are floats, also 0 and 1.
      else properties.push({ name, value: place === VERSION_PLACE ? value : new Float(value) })
    }
    return { properties, removed }
  }
}

const NO_VALUES = new ScoreValues()

/** The score of a node, or null. */
function readScore(node: NodeId, snapshot: Snapshot, scores: Chunk): StoredScore | null {
  const has = snapshot.symbol('type', SCORE_RELATIONSHIP)
  const label = snapshot.symbol('label', TRUST_SCORE_LABEL)
  if (has === 0 || label === 0) return null
  snapshot.neighbours(node, 'out', has, 0, scores)
  for (let i = 0; i < scores.length; i++) {
    const id = scores.ids[i]!
    const score = snapshot.scanNode(id)
    if (score === null || score.type !== label) continue
    const values = new ScoreValues()
    values.read(score)
    return { externalId: score.externalId, values }
  }
  return null
}

/** The nodes of a type in all graphs. */
export function countNodes(snapshots: readonly Snapshot[], nodeType: string): number {
  let nodes = 0
  for (const snapshot of snapshots) {
    const label = snapshot.symbol('label', nodeType)
    if (label !== 0) nodes += snapshot.typedNodeCount(label)
  }
  return nodes
}

function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
