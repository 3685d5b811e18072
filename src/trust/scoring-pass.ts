// One pass: scores all nodes of a type in the graphs of a project. It reads in batches, each from one snapshot, and writes the
// changed scores of a batch in one transaction, so that a reader sees the old or the new score of a node. A pass that is
// repeated for the same time writes the same scores: after a crash it continues from the last saved state.
import {
  type Chunk,
  createChunk,
  type GraphStore,
  type NodeId,
  type NodeKey,
  type PropertyInput,
  type Snapshot,
  type WriteBatch,
} from '../engine/store.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import type { Clock } from '../kernel/clock.ts'
import { Float } from '../kernel/float.ts'
import { FORMULA_VERSION, type ScoredNode, scoreNode, type TrustScore } from './dimensions.ts'
import { improvementsOf, ReportCollector, type WorstNode } from './report.ts'
import type { RunState } from './run-state.ts'
import {
  compileRules,
  needsUsualProperties,
  type ScoringOptions,
  type ScoringRules,
  usualProperties,
} from './scoring-rules.ts'

/** The label of scores. */
export const SCORE_LABEL = '_TrustScore'
/** The type of the relationship from a node to its score. */
export const SCORE_RELATIONSHIP = '_HAS'
/** The property of the weighted mean. */
export const FINAL_SCORE = '_final_score'
/** The property with the version of the formulas. */
export const FORMULA_VERSION_PROPERTY = 'formula_version'

/** Nodes of a batch. A capture waits at most for the write of one batch. */
const BATCH_NODES = 1000
/** The state is saved after this time: what a crash costs at most. */
const SAVE_INTERVAL_MS = 1000

/** Collaborators of a pass. */
export interface ScoringPassDeps {
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
  private readonly chunk: Chunk = createChunk()
  private readonly scores: Chunk = createChunk()
  private savedMs = performance.now()
  private writing: Promise<void> = Promise.resolve()

  /** `state`: a new pass, or one to continue. */
  constructor(deps: ScoringPassDeps, state: RunState) {
    this.deps = deps
    this.state = state
    this.rules = compileRules(deps.options, state.usual)
    this.report = new ReportCollector(state.report)
  }

  /** Runs the pass to its end. Null: it must end before that, because `save` resolved with false. */
  async run(): Promise<RunState | null> {
    if (this.state.phase === 'count') {
      if (needsUsualProperties(this.deps.options) && !(await this.eachGraph((graph) => this.count(graph)))) return null
      const { propertyCounts, nodesCounted } = this.state
      const usual = usualProperties(new Map(Object.entries(propertyCounts)), nodesCounted)
      this.rules = compileRules(this.deps.options, usual)
      const scoringMs = this.deps.clock.now()
      if (!(await this.enter({ ...this.state, phase: 'score', usual, propertyCounts: {}, scoringMs }))) return null
    }
    if (this.state.phase === 'score') {
      if (!(await this.eachGraph((graph) => this.score(graph)))) return null
      if (!(await this.enter({ ...this.current(), phase: 'sweep' }))) return null
    }
    if (!(await this.eachGraph((graph) => this.sweep(graph)))) return null
    return this.current()
  }

  private current(): RunState {
    return { ...this.state, report: this.report.state() }
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
    const counts = new Map(Object.entries(this.state.propertyCounts))
    let nodes = 0
    let isOnlyType: boolean | null = null
    const next = this.readBatch(graph, this.deps.nodeType, (id, snapshot, type) => {
      isOnlyType ??= snapshot.nodeCount(type) === snapshot.typedNodeCount(type)
      // The label may also be a further label of nodes of another type.
      if (!isOnlyType && snapshot.nodeType(id) !== type) return
      nodes += 1
      for (const property of snapshot.nodePropertySymbols(id)) {
        const name = snapshot.symbolName('property', property)
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
    })
    const { nodesCounted } = this.state
    const propertyCounts = Object.fromEntries(counts)
    this.state = { ...this.state, propertyCounts, nodesCounted: nodesCounted + nodes, from: next ?? 0 }
    if (next !== null) await yieldToOthers()
    return next === null
  }

  /** Scores one batch of nodes. */
  private async score(graph: GraphStore): Promise<boolean> {
    const changes: ScoreChange[] = []
    let nodes = 0
    const next = this.readBatch(graph, this.deps.nodeType, (id, snapshot) => {
      const change = this.scoreOne(id, snapshot)
      if (change === null) return
      nodes += 1
      if (change !== 'unchanged') changes.push(change)
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

  /** Null: the node does not have the type. */
  private scoreOne(id: NodeId, snapshot: Snapshot): ScoreChange | 'unchanged' | null {
    const stored = snapshot.storedNode(id)
    const { nodeType } = this.deps
    if (stored === null || stored.type !== nodeType) return null
    const { startedMs } = this.state
    const node: ScoredNode = stored
    const score = scoreNode(node, this.rules, startedMs)
    const externalId = stored.externalId as string
    const { location } = stored
    this.report.add(score, () => this.describe(externalId, location, node, score))
    const wanted = propertiesOf(score)
    const found = findScore(id, snapshot, this.scores)
    const before = found === 0 ? NO_PROPERTIES : snapshot.nodeProperties(found)
    const properties: PropertyInput[] = []
    for (const [name, value] of wanted) if (!isEqual(before.get(name), value)) properties.push({ name, value })
    const removed = [...before.keys()].filter((name) => !wanted.has(name))
    if (found !== 0 && properties.length === 0 && removed.length === 0) return 'unchanged'
    return {
      node: { type: nodeType, externalId },
      // A score that an earlier node of the same key had is not found, because it is not linked to this one.
      scoreId: found === 0 ? stored.id : (snapshot.nodeField(found, 'external_id') as string),
      isNew: found === 0,
      location,
      properties,
      removed,
    }
  }

  private describe(externalId: string, location: string | null, node: ScoredNode, score: TrustScore): WorstNode {
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
    const { next, removed } = await sweepScores(graph, this.state.from, this.chunk, () => false)
    this.state = { ...this.state, scoresRemoved: this.state.scoresRemoved + removed, from: next ?? 0 }
    return next === null
  }

  private readBatch(
    graph: GraphStore,
    label: string,
    read: (id: NodeId, snapshot: Snapshot, label: number) => void,
  ): NodeId | null {
    return readBatch(graph, label, this.state.from, this.chunk, read, this.deps.batchNodes)
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
  const chunk = createChunk()
  for (const graph of graphs) {
    for (let from: NodeId | null = 0; from !== null; ) {
      if (isStopping()) return false
      const swept = await sweepScores(graph, from, chunk, (type) => type === nodeType)
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

/** Removes scores without node, and those of nodes whose type `isUnwanted`. */
async function sweepScores(
  graph: GraphStore,
  from: NodeId,
  chunk: Chunk,
  isUnwanted: (type: string | null) => boolean,
): Promise<Swept> {
  const unwanted: NodeKey[] = []
  const owners = createChunk()
  const next = readBatch(graph, SCORE_LABEL, from, chunk, (id, snapshot) => {
    snapshot.neighbours(id, 'in', snapshot.symbol('type', SCORE_RELATIONSHIP), 0, owners)
    const isKept = owners.length > 0 && !isUnwanted(snapshot.nodeField(owners.ids[0]!, 'type') as string | null)
    const externalId = isKept ? null : snapshot.nodeField(id, 'external_id')
    if (typeof externalId === 'string') unwanted.push({ type: SCORE_LABEL, externalId })
  })
  if (unwanted.length > 0) {
    await graph.write((batch) => {
      for (const key of unwanted) batch.deleteNode(key)
    })
  } else await yieldToOthers()
  return { next, removed: unwanted.length }
}

/** Reads a batch of nodes with a label, on one snapshot. Returns where the next batch begins; null at the end. */
function readBatch(
  graph: GraphStore,
  label: string,
  from: NodeId,
  chunk: Chunk,
  read: (id: NodeId, snapshot: Snapshot, label: number) => void,
  batchNodes = BATCH_NODES,
): NodeId | null {
  const snapshot = graph.snapshot()
  try {
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
        read(id, snapshot, symbol)
      }
      if (!chunk.more) return null
    }
  } finally {
    snapshot.close()
  }
}

/** A score to write. */
interface ScoreChange {
  readonly node: NodeKey
  /** External id of the score. */
  readonly scoreId: string
  readonly isNew: boolean
  readonly location: string | null
  readonly properties: readonly PropertyInput[]
  readonly removed: readonly string[]
}

function writeScores(batch: WriteBatch, changes: readonly ScoreChange[]): void {
  for (const { node, scoreId, isNew, location, properties, removed } of changes) {
    // Deleted since the snapshot was read.
    if (batch.findNode(node) === 0) continue
    const score: NodeKey = { type: SCORE_LABEL, externalId: scoreId }
    batch.upsertNode({ ...score, properties, ...(location !== null && { location }) })
    if (removed.length > 0) batch.deleteNodeProperties(score, removed)
    if (isNew) batch.upsertRelationship({ source: node, target: score, type: SCORE_RELATIONSHIP })
  }
}

const NO_PROPERTIES: ReadonlyMap<string, PropertyValue> = new Map()

/** The properties of a score. Numbers from 0 to 1 are floats, also 0 and 1. */
function propertiesOf({ dimensions, final }: TrustScore): Map<string, PropertyValue> {
  const properties = new Map<string, PropertyValue>()
  if (final !== null) properties.set(FINAL_SCORE, new Float(final))
  for (const [name, value] of dimensions) properties.set(name.toLowerCase(), new Float(value))
  properties.set(FORMULA_VERSION_PROPERTY, FORMULA_VERSION)
  return properties
}

function isEqual(before: PropertyValue | undefined, value: PropertyValue): boolean {
  if (before instanceof Float && value instanceof Float) return before.value === value.value
  return before === value
}

/** The score of a node, or 0. */
function findScore(node: NodeId, snapshot: Snapshot, scores: Chunk): NodeId {
  const has = snapshot.symbol('type', SCORE_RELATIONSHIP)
  const label = snapshot.symbol('label', SCORE_LABEL)
  if (has === 0 || label === 0) return 0
  snapshot.neighbours(node, 'out', has, 0, scores)
  for (let i = 0; i < scores.length; i++) if (snapshot.hasLabel(scores.ids[i]!, label)) return scores.ids[i]!
  return 0
}

function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
