// One run: reads the nodes of both types, compares them, and makes the relationships in the graph those of the matches. It keeps no
// state between processes: the comparison is deterministic and only differences are written, so a run that was interrupted begins
// again and ends as if it had not been.

import type { ConfigWriter, StoredDocument } from '../config/kind.ts'
import { readGraph, readGraphRows } from '../engine/read-graph.ts'
import type { GraphStore, NodeId, Snapshot, WriteBatch } from '../engine/store.ts'
import { decisionOf, decisionsOf, findDecision, orderedPair } from './decisions.ts'
import { type MatchedTypes, typesOf } from './entity-matching-pipeline.ts'
import { detectKind } from './linkage/kinds.ts'
import { Linkage } from './linkage/linkage.ts'
import { sortInSteps } from './linkage/record-table.ts'
import type { DecidedPairs, EntityMatch, LinkageMapping, LinkageResult } from './linkage/types.ts'
import {
  type MatchBatch,
  type MatchedGraphs,
  type NodeValues,
  readMatches,
  readValues,
  type StoredMatch,
  sampleProperties,
} from './node-batches.ts'
import { LISTED_MAX, type MatchReport, MatchReportCollector, reportGroup, rounded } from './report.ts'
import type { LabelledPair, MatchingPhase, MatchingRunState, NodePair } from './run-state.ts'
import { type FoundMatch, isAsWanted, onlyOwn, ownOrKept, sameAsKey, wantedProperties, writeSameAs } from './same-as.ts'

/** Source nodes of a batch. A capture waits at most for the write of one batch. */
const BATCH_NODES = 500
/** The progress is stored after this time. */
const SAVE_INTERVAL_MS = 1000
/** After this time other work of the process gets control. */
const STEP_MS = 20
/** Values of each type from which the kind of a property is detected. */
const DETECTION_VALUES = 5000
/** The comparison draws samples. With the same number it draws the same ones. */
const SEED = 1

/** Collaborators of a run. */
interface MatchingRunDeps {
  readonly documents: ConfigWriter
  readonly graphs: MatchedGraphs
  readonly pipeline: StoredDocument
  readonly run: MatchingRunState
  readonly labels: readonly LabelledPair[]
  /** Stores the progress. Resolves with false if the run must end: its pipeline was deleted, or the process stops. */
  save(phase: MatchingPhase, done: number): Promise<boolean>
}

/** How a run has ended. */
export type RunOutcome =
  | { readonly kind: 'completed'; readonly report: Omit<MatchReport, 'run_end_time'> }
  | { readonly kind: 'nothing to compare'; readonly message: string }
  /** `save` resolved with false. */
  | { readonly kind: 'abandoned' }

const abandoned: RunOutcome = { kind: 'abandoned' }

/** The nodes of one side. */
interface NodeTable {
  externalIds: string[]
  /** Index of the graph of each node. */
  graphs: number[]
}

/** Compares the nodes of a pipeline and writes the relationships. */
export class MatchingRun {
  private readonly deps: MatchingRunDeps
  private readonly types: MatchedTypes
  private readonly isSameType: boolean
  private readonly sources: NodeTable = { externalIds: [], graphs: [] }
  private readonly targets: NodeTable
  /** By mapping: whether some node of the sources, and of the targets, has a value. */
  private readonly valuesSeen: readonly [boolean[], boolean[]]
  private savedMs = performance.now()
  private pausedMs = performance.now()
  private written = 0
  private removed = 0

  constructor(deps: MatchingRunDeps) {
    this.deps = deps
    this.types = typesOf(deps.pipeline)
    this.isSameType = this.types.source === this.types.target
    this.targets = this.isSameType ? this.sources : { externalIds: [], graphs: [] }
    const seen = deps.run.mappings.map(() => false)
    this.valuesSeen = [seen, this.isSameType ? seen : [...seen]]
  }

  /** Runs to the end. Rejects if the graph cannot be read or written. */
  async run(): Promise<RunOutcome> {
    const linkage = await this.read()
    if (linkage === null) return abandoned
    const { source, target } = this.types
    const isTooSmall = this.isSameType && this.sources.externalIds.length < 2
    for (const [type, { externalIds }] of [[source, this.sources] as const, [target, this.targets] as const]) {
      if (externalIds.length === 0)
        return { kind: 'nothing to compare', message: `the project has no \`${type}\` nodes` }
    }
    if (isTooSmall) return { kind: 'nothing to compare', message: `the project has only one \`${source}\` node` }
    if (!this.isComparable) return { kind: 'nothing to compare', message: this.withoutValues() }
    const result = await this.link(linkage)
    if (result === null) return abandoned
    const wanted = this.wantedByGraph(result)
    const stores = [...this.deps.graphs.nodes, ...(this.deps.graphs.global === null ? [] : [this.deps.graphs.global])]
    let done = 0
    for (const [index, graph] of stores.entries()) {
      for (let from: NodeId | null = 0; from !== null; ) {
        const batch: { nodes: number; next: NodeId | null } = await this.writeBatch(
          graph,
          from,
          wanted.get(index) ?? new Map(),
          result,
        )
        from = batch.next
        done += batch.nodes
        // The global graph has a proxy of each node.
        const share = done / (this.sources.externalIds.length * (this.deps.graphs.global === null ? 1 : 2))
        if (!(await this.proceed('write', Math.min(1, share)))) return abandoned
      }
    }
    return { kind: 'completed', report: this.report(result) }
  }

  private async read(): Promise<Linkage | null> {
    const { graphs, run } = this.deps
    const { mappings, cutoff } = run
    const linkage = new Linkage(await this.mappingsWithKinds(), { seed: SEED, cutoff, isSameType: this.isSameType })
    const sides = [
      { type: this.types.source, table: this.sources, names: mappings.map(({ sourceProperty }) => sourceProperty) },
      { type: this.types.target, table: this.targets, names: mappings.map(({ targetProperty }) => targetProperty) },
    ]
    for (const [side, { type, table, names }] of sides.entries()) {
      if (side === 1 && this.isSameType) break
      for (const [index, graph] of graphs.nodes.entries()) {
        const seen = this.valuesSeen[side]!
        const look = (snapshot: Snapshot, emit: (node: NodeValues) => void): number =>
          readValues(snapshot, type, names, emit)
        await readGraphRows(graph, look, ({ externalId, values }) => {
          for (let i = 0; i < values.length; i++) if (values[i] !== null) seen[i] = true
          const node = table.externalIds.length
          table.externalIds.push(externalId)
          table.graphs.push(index)
          if (side === 0) linkage.addSource(node, values)
          else linkage.addTarget(node, values)
        })
        if (!(await this.proceed('read', (side + (index + 1) / graphs.nodes.length) / 2))) return null
      }
    }
    const sources = await this.sort(this.sources)
    linkage.renumber(sources, this.isSameType ? sources : await this.sort(this.targets))
    return linkage
  }

  /** Kinds that were not given, from samples of both types. */
  private async mappingsWithKinds(): Promise<readonly LinkageMapping[]> {
    const { graphs, run } = this.deps
    const { mappings } = run
    if (mappings.every(({ kind }) => kind !== undefined && kind !== null)) return mappings
    const { source, target } = this.types
    const [ofSources, ofTargets] = await readGraph(graphs.nodes, (snapshots) => [
      sampleProperties(snapshots, source).properties,
      this.isSameType ? new Map<string, never>() : sampleProperties(snapshots, target).properties,
    ])
    return mappings.map((mapping) => {
      const { sourceProperty, targetProperty, kind } = mapping
      if (kind !== undefined && kind !== null) return mapping
      const values = [ofSources.get(sourceProperty) ?? [], ofTargets.get(targetProperty) ?? []]
      const samples = values.flatMap((all) => all.slice(0, DETECTION_VALUES))
      return { ...mapping, kind: detectKind([sourceProperty, targetProperty], samples) }
    })
  }

  /** Orders the nodes by external id, so that the order in which the graph has them has no effect. Returns their numbers by the numbers before. */
  private async sort(table: NodeTable): Promise<Uint32Array> {
    const { externalIds, graphs } = table
    const sorting = sortInSteps(externalIds.length, (a, b) => {
      const first = externalIds[a]!
      const second = externalIds[b]!
      return first < second ? -1 : first > second ? 1 : graphs[a]! - graphs[b]!
    })
    let step = sorting.next()
    for (; step.done !== true; step = sorting.next()) await this.pause()
    const numbers = new Uint32Array(externalIds.length)
    for (const [number, node] of step.value.entries()) numbers[node] = number
    table.externalIds = Array.from(step.value, (node) => externalIds[node]!)
    table.graphs = Array.from(step.value, (node) => graphs[node]!)
    return numbers
  }

  /** Whether both sides have values of some mapping. */
  private get isComparable(): boolean {
    const [sources, targets] = this.valuesSeen
    return sources.some((isSeen, i) => isSeen && targets[i])
  }

  private withoutValues(): string {
    const missing = this.deps.run.mappings.map(({ sourceProperty, targetProperty }, i) =>
      this.valuesSeen[0][i]
        ? `no \`${this.types.target}\` node has a property \`${targetProperty}\``
        : `no \`${this.types.source}\` node has a property \`${sourceProperty}\``,
    )
    return [...new Set(missing)].join(', and ')
  }

  private async link(linkage: Linkage): Promise<LinkageResult | null> {
    const running = linkage.run(this.decided())
    for (;;) {
      const step = running.next()
      if (step.done === true) return step.value
      if (!(await this.proceed('link', step.value.done))) return null
    }
  }

  /** Lets other work run, and stores the progress once a second. False: the run must end. */
  private async proceed(phase: MatchingPhase, done: number): Promise<boolean> {
    const nowMs = performance.now()
    if (nowMs - this.savedMs >= SAVE_INTERVAL_MS) {
      const isCurrent = await this.deps.save(phase, done)
      this.savedMs = performance.now()
      return isCurrent
    }
    await this.pause()
    return true
  }

  /** Lets other work run. */
  private async pause(): Promise<void> {
    if (performance.now() - this.pausedMs < STEP_MS) return
    await new Promise((resolve) => setImmediate(resolve))
    this.pausedMs = performance.now()
  }

  /** The decisions about nodes that exist, by their numbers. A person's decision holds in whatever graph the nodes are. */
  private decided(): DecidedPairs {
    const { documents, pipeline } = this.deps
    documents.catchUp()
    const decisions = decisionsOf(documents, pipeline.id).map(decisionOf)
    if (decisions.length === 0) return { same: [], different: [] }
    const sources = positionsOf(this.sources)
    const targets = this.isSameType ? sources : positionsOf(this.targets)
    const same: [number, number][] = []
    const different: [number, number][] = []
    for (const { source, target, decision } of decisions) {
      const from = sources.get(source)
      const to = targets.get(target)
      if (from !== undefined && to !== undefined) (decision === 'SAME' ? same : different).push([from, to])
    }
    return { same, different }
  }

  private pairOf(source: number, target: number): NodePair {
    return orderedPair(this.types, {
      source: this.sources.externalIds[source]!,
      target: this.targets.externalIds[target]!,
    })
  }

  /** The indexes of the matches by the graph of their relationship and the external id of the source node. */
  private wantedByGraph({ matches }: LinkageResult): ReadonlyMap<number, ReadonlyMap<string, readonly number[]>> {
    const wanted = new Map<number, Map<string, number[]>>()
    const global = this.deps.graphs.nodes.length
    for (let i = 0; i < matches.length; i++) {
      const { source, target } = matches.at(i)
      const pair = this.pairOf(source, target)
      // Two graphs of a composite project may have the same node.
      if (this.isSameType && pair.source === pair.target) continue
      const graph = this.sources.graphs[source]!
      const at = graph === this.targets.graphs[target] ? graph : global
      let ofGraph = wanted.get(at)
      if (ofGraph === undefined) {
        ofGraph = new Map()
        wanted.set(at, ofGraph)
      }
      const ofNode = ofGraph.get(pair.source)
      if (ofNode === undefined) ofGraph.set(pair.source, [i])
      else ofNode.push(i)
    }
    return wanted
  }

  /** Makes the relationships of one batch of source nodes those of the matches, in one transaction. */
  private async writeBatch(
    graph: GraphStore,
    from: NodeId,
    wanted: ReadonlyMap<string, readonly number[]>,
    { matches }: LinkageResult,
  ): Promise<{ readonly nodes: number; readonly next: NodeId | null }> {
    const { documents, pipeline } = this.deps
    const owns = ownOrKept(documents, pipeline.id)
    const wantedMatches = { types: this.types, owns }
    const {
      sources,
      matches: stored,
      next,
    } = await readGraph(graph, (snapshot) => readMatches(snapshot, wantedMatches, from, BATCH_NODES))
    const found = new Map<string, { pair: NodePair; match: FoundMatch | null; before: StoredMatch | null }>()
    for (const one of stored)
      found.set(JSON.stringify([one.source, one.target]), { pair: one, match: null, before: one })
    for (const source of sources) {
      for (const index of wanted.get(source) ?? []) {
        const match = matches.at(index)
        const pair = this.pairOf(match.source, match.target)
        const key = JSON.stringify([pair.source, pair.target])
        found.set(key, { pair, match: this.foundMatch(match), before: found.get(key)?.before ?? null })
      }
    }
    const wantedOf = (pair: NodePair, match: FoundMatch | null) =>
      wantedProperties(pipeline.id, match, findDecision(documents, pipeline, pair))
    documents.catchUp()
    const changes = [...found.values()].filter(({ pair, match, before }) => {
      const properties = wantedOf(pair, match)
      if (properties === null || before === null) return properties !== null || before !== null
      return !isAsWanted(before.properties, properties)
    })
    if (changes.length > 0) {
      const counts = await graph.write((batch: WriteBatch) => {
        let written = 0
        let removed = 0
        // A decision is stored before its relationship is written. Read within the transaction, it is never undone by this run.
        documents.catchUp()
        for (const { pair, match } of changes) {
          const done = writeSameAs(batch, owns, sameAsKey(this.types, pair), wantedOf(pair, match))
          if (done === 'written') written += 1
          if (done === 'removed') removed += 1
        }
        return { written, removed }
      })
      this.written += counts.written
      this.removed += counts.removed
    }
    return { nodes: sources.length, next }
  }

  private foundMatch({ score, properties }: EntityMatch): FoundMatch {
    const { mappings, runId } = this.deps.run
    const speaking = properties
      .filter(({ weight, similarity }) => weight > 0 && similarity !== null)
      .sort((a, b) => b.weight - a.weight || a.mapping - b.mapping)
    return {
      runId,
      score: rounded(score),
      properties: speaking.map(({ mapping }) => {
        const { sourceProperty, targetProperty } = mappings[mapping]!
        return sourceProperty === targetProperty ? sourceProperty : `${sourceProperty}/${targetProperty}`
      }),
      similarities: speaking.map(({ similarity }) => rounded(similarity ?? 0)),
    }
  }

  private report(result: LinkageResult): Omit<MatchReport, 'run_end_time'> {
    const { documents, pipeline, run, labels } = this.deps
    const { matches, groups, conflicts, conflictCount, comparedPairs } = result
    const collector = new MatchReportCollector(labels)
    const matched = [new Set<number>(), this.isSameType ? null : new Set<number>()] as const
    for (let i = 0; i < matches.length; i++) {
      const match = matches.at(i)
      matched[0].add(match.source)
      ;(matched[1] ?? matched[0]).add(match.target)
      collector.add(match, this.pairOf(match.source, match.target))
    }
    const same = decisionsOf(documents, pipeline.id).filter((one) => decisionOf(one).decision === 'SAME').length
    const idsOf = (nodes: readonly number[], { externalIds }: NodeTable) => nodes.map((node) => externalIds[node]!)
    const largest = [...groups]
      .sort((a, b) => b.sources.length + b.targets.length - a.sources.length - a.targets.length)
      .slice(0, LISTED_MAX)
    return {
      pipeline_id: pipeline.id,
      run_id: run.runId,
      run_start_time: new Date(run.startedMs).toISOString(),
      source_node_type: this.types.source,
      target_node_type: this.types.target,
      similarity_score_cutoff: run.cutoff,
      property_mappings: run.mappings.map(({ sourceProperty, targetProperty }, i) => ({
        source_node_property: sourceProperty,
        target_node_property: targetProperty,
        kind: result.mappings[i]?.kind ?? '',
      })),
      source_nodes: this.sources.externalIds.length,
      target_nodes: this.targets.externalIds.length,
      compared_pairs: comparedPairs,
      matched_pairs: matches.length,
      matched_entities: matched[0].size + (matched[1]?.size ?? 0),
      relationships_written: this.written,
      relationships_removed: this.removed,
      groups: {
        count: groups.length,
        largest: largest.map(({ sources, targets }) =>
          reportGroup(idsOf(sources, this.sources), idsOf(targets, this.targets)),
        ),
      },
      conflicts: {
        count: conflictCount,
        pairs: [...conflicts]
          .sort((a, b) => b.score - a.score)
          .slice(0, LISTED_MAX)
          .map(({ source, target, score, reason }) => {
            const pair = this.pairOf(source, target)
            return {
              source_external_id: pair.source,
              target_external_id: pair.target,
              score: rounded(score),
              reason,
            }
          }),
      },
      decisions: { same, not_same: decisionsOf(documents, pipeline.id).length - same },
      ...collector.members(run.mappings),
    }
  }
}

function positionsOf({ externalIds }: NodeTable): ReadonlyMap<string, number> {
  return new Map(externalIds.map((externalId, i) => [externalId, i]))
}

/** Removes all relationships of a pipeline. `isStopping`: true: end before that. Resolves with false if it was stopped. */
export async function removeMatches(
  graphs: MatchedGraphs,
  { pipelineId, types }: { readonly pipelineId: string; readonly types: MatchedTypes },
  isStopping: () => boolean,
): Promise<boolean> {
  const owns = onlyOwn(pipelineId)
  for (const graph of [...graphs.nodes, ...(graphs.global === null ? [] : [graphs.global])]) {
    for (let from: NodeId | null = 0; from !== null; ) {
      if (isStopping()) return false
      const begin: NodeId = from
      const batch: MatchBatch = await readGraph(graph, (snapshot) =>
        readMatches(snapshot, { types, owns }, begin, BATCH_NODES),
      )
      from = batch.next
      if (batch.matches.length > 0) {
        await graph.write((writing: WriteBatch) => {
          for (const match of batch.matches) writeSameAs(writing, owns, sameAsKey(types, match), null)
        })
      } else await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return true
}
