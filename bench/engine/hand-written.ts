// The lower bound: each question hand-written on the keys and blocks of the store, without an engine and without a
// cache. Checks search from both ends. As for a decision, each question has its own read transaction.
import type { Direction, NodeId, SymbolId } from '../../src/engine/store.ts'
import { edgeListId } from '../../src/store/format/keys.ts'
import { CHUNK_HEAD_BYTES, LONG_LIST_HEAD_BYTES } from '../../src/store/format/packed-lists.ts'
import { checkVersion, externalIdOf, propertyOf } from '../../src/store/format/records.ts'
import type { LmdbEnvironment } from '../../src/store/graph/environment.ts'
import type { Databases } from '../../src/store/lmdb/databases.ts'
import type { ReadOptions } from '../../src/store/lmdb/raw-database.ts'
import { KNOWS_MAX, PARENTS_MAX, type RelationshipType, type Type } from './authorization-graph.ts'
import type { BenchAnswer, BenchmarkedEngine } from './benchmarked-engine.ts'

/** A reusable list of node ids. */
class ExternalIds {
  words = new Uint32Array(1024)
  length = 0

  push(id: NodeId): void {
    if (this.length === this.words.length) {
      const grown = new Uint32Array(this.length * 2)
      grown.set(this.words)
      this.words = grown
    }
    this.words[this.length++] = id
  }
}

/** A set of node ids that is cleared by one addition. */
class VisitedNodes {
  private readonly stamps: Uint32Array
  private stamp = 0

  constructor(nodes: number) {
    this.stamps = new Uint32Array(nodes + 1)
  }

  clear(): void {
    this.stamp += 1
  }

  has(id: NodeId): boolean {
    return this.stamps[id] === this.stamp
  }

  /** False if it was there. */
  add(id: NodeId): boolean {
    if (this.stamps[id] === this.stamp) return false
    this.stamps[id] = this.stamp
    return true
  }
}

export function handWritten(store: LmdbEnvironment): BenchmarkedEngine {
  const symbols = store.snapshot()
  const label = (type: Type): SymbolId => symbols.symbol('label', type)
  const edgeList = (direction: Direction, type: RelationshipType): number =>
    edgeListId(direction, symbols.symbol('type', type))
  const user = label('User')
  const document = label('Document')
  const account = label('Account')
  const level = symbols.symbol('property', 'level')
  const kind = symbols.symbol('property', 'kind')
  const size = symbols.symbol('property', 'size')
  const owns = edgeList('out', 'OWNS')
  const isOwned = edgeList('in', 'OWNS')
  const memberOf = edgeList('out', 'MEMBER_OF')
  const childOf = edgeList('out', 'CHILD_OF')
  const canView = edgeList('out', 'CAN_VIEW')
  const isViewed = edgeList('in', 'CAN_VIEW')
  const liesIn = edgeList('out', 'IN')
  const holds = edgeList('in', 'IN')
  const knows = edgeList('out', 'KNOWS')
  const isKnown = edgeList('in', 'KNOWS')
  const nodes = symbols.header().nodes
  symbols.close()

  const upsertKey = { type: 0, externalId: '' }
  const listKey = { node: 0, edgeList: 0 }
  let databases: Databases
  let reading: ReadOptions

  const find = (type: SymbolId, externalId: string): NodeId => {
    upsertKey.type = type
    upsertKey.externalId = externalId
    return databases.upsertKeys.get(upsertKey, reading)?.words[0] ?? 0
  }

  /** Appends the neighbours on one side, all of them or those not yet marked. */
  const append = (node: NodeId, edgeList: number, ids: ExternalIds, marks: VisitedNodes | null): void => {
    listKey.node = node
    listKey.edgeList = edgeList
    const list = databases.adjacency.get(listKey, reading)
    if (list === null) return
    let { words } = list
    let first = 0
    let count = list.byteLength >>> 3
    let next = 0
    if (list.byteLength === LONG_LIST_HEAD_BYTES) {
      next = words[1]!
      count = 0
    }
    for (;;) {
      for (let at = first; at < first + count; at++) {
        const neighbour = words[at]!
        if (marks === null || marks.add(neighbour)) ids.push(neighbour)
      }
      if (next === 0) return
      const chunk = databases.chunks.getRequired(next, reading)
      words = chunk.words
      first = 1
      count = (chunk.byteLength - CHUNK_HEAD_BYTES) >>> 3
      next = words[0]!
    }
  }

  const near = new ExternalIds()
  const far = new ExternalIds()
  const other = new ExternalIds()
  const marks = new VisitedNodes(nodes)
  const otherMarks = new VisitedNodes(nodes)

  const fill = (ids: ExternalIds, node: NodeId, edgeList: number): void => {
    ids.length = 0
    append(node, edgeList, ids, null)
  }

  const fillThrough = (ids: ExternalIds, starts: ExternalIds, edgeList: number): void => {
    ids.length = 0
    marks.clear()
    for (let at = 0; at < starts.length; at++) append(starts.words[at]!, edgeList, ids, marks)
  }

  const externalIds = (ids: ExternalIds): string[] => {
    const found: string[] = []
    for (let at = 0; at < ids.length; at++) {
      const window = databases.nodes.getRequired(ids.words[at]!, reading)
      checkVersion(window)
      found.push(externalIdOf(window))
    }
    return found
  }

  /** Marks the groups that may view a folder of the document. */
  const markViewers = (resource: NodeId): void => {
    fill(near, resource, liesIn)
    far.length = 0
    marks.clear()
    for (let at = 0; at < near.length; at++) append(near.words[at]!, isViewed, far, marks)
  }

  const viewsThroughGroups = (subject: NodeId, resource: NodeId): boolean => {
    markViewers(resource)
    if (far.length === 0) return false
    fill(other, subject, memberOf)
    for (let at = 0; at < other.length; at++) if (marks.has(other.words[at]!)) return true
    return false
  }

  const viewsThroughParents = (subject: NodeId, resource: NodeId): boolean => {
    markViewers(resource)
    if (far.length === 0) return false
    otherMarks.clear()
    other.length = 0
    append(subject, memberOf, other, otherMarks)
    let done = 0
    for (let up = 0; ; up++) {
      const level = other.length
      for (let at = done; at < level; at++) if (marks.has(other.words[at]!)) return true
      if (up === PARENTS_MAX) return false
      for (let at = done; at < level; at++) append(other.words[at]!, childOf, other, otherMarks)
      done = level
    }
  }

  /** Searches from both ends in turn, the smaller frontier first. */
  const areConnected = (from: NodeId, to: NodeId): boolean => {
    near.length = 0
    far.length = 0
    marks.clear()
    otherMarks.clear()
    near.push(from)
    far.push(to)
    marks.add(from)
    otherMarks.add(to)
    let nearDone = 0
    let farDone = 0
    for (let step = 0; step < KNOWS_MAX; step++) {
      const ahead = near.length - nearDone <= far.length - farDone
      const ids = ahead ? near : far
      const start = ahead ? nearDone : farDone
      const level = ids.length
      if (level === start) return false
      for (let at = start; at < level; at++) {
        append(ids.words[at]!, ahead ? knows : isKnown, ids, ahead ? marks : otherMarks)
      }
      for (let at = level; at < ids.length; at++) {
        if ((ahead ? otherMarks : marks).has(ids.words[at]!)) return true
      }
      if (ahead) nearDone = level
      else farDone = level
    }
    return false
  }

  const documentsOf = (subject: NodeId): void => {
    fill(near, subject, memberOf)
    fillThrough(far, near, canView)
    fillThrough(other, far, holds)
  }

  const byKind = (subject: NodeId): BenchAnswer => {
    documentsOf(subject)
    const counts = new Map<string, { count: number; sum: number }>()
    for (let at = 0; at < other.length; at++) {
      const window = databases.nodes.getRequired(other.words[at]!, reading)
      checkVersion(window)
      const key = propertyOf(window, kind) as string
      let found = counts.get(key)
      if (found === undefined) {
        found = { count: 0, sum: 0 }
        counts.set(key, found)
      }
      found.count += 1
      found.sum += propertyOf(window, size) as number
    }
    return Array.from(counts, ([key, { count, sum }]) => [key, count, sum])
  }

  const ownsDirectly = (subject: NodeId, resource: NodeId): boolean => {
    fill(near, resource, isOwned)
    if (near.length < 16) {
      for (let at = 0; at < near.length; at++) if (near.words[at] === subject) return true
      return false
    }
    fill(far, subject, owns)
    for (let at = 0; at < far.length; at++) if (far.words[at] === resource) return true
    return false
  }

  /** One read transaction per question, as for a decision. */
  const viewed = (ask: (first: string, second: string) => BenchAnswer) => {
    let first = ''
    let second = ''
    const look = (of: Databases, through: ReadOptions): BenchAnswer => {
      databases = of
      reading = through
      return ask(first, second)
    }
    return (asked: { readonly first: string; readonly second: string }): BenchAnswer => {
      first = asked.first
      second = asked.second
      return store.inspect(look)
    }
  }
  const check = (
    subjectType: SymbolId,
    resourceType: SymbolId,
    holdsBetween: (subject: NodeId, resource: NodeId) => boolean,
  ) =>
    viewed((first, second) => {
      const subject = find(subjectType, first)
      if (subject === 0) return false
      const resource = find(resourceType, second)
      return resource !== 0 && holdsBetween(subject, resource)
    })

  return {
    name: 'floor',
    answers: {
      node_by_id: viewed((first) => {
        const window = databases.nodes.getRequired(find(user, first), reading)
        checkVersion(window)
        return propertyOf(window, level) as number
      }),
      owns: check(user, document, ownsDirectly),
      can_view: check(user, document, viewsThroughGroups),
      can_view_with_parents: check(user, document, viewsThroughParents),
      folders_of_user: viewed((first) => {
        fill(near, find(user, first), memberOf)
        fillThrough(far, near, canView)
        return externalIds(far)
      }),
      knows_1_to_8: check(account, account, areConnected),
      search_10000: viewed((first) => {
        documentsOf(find(user, first))
        return externalIds(other)
      }),
      aggregate_10000: viewed((first) => byKind(find(user, first))),
    },
    close: () => {},
  }
}
