// The elements that the picture shows, and how expanding, collapsing, hiding and pinning change them.
import type { GraphElements, ShownEdge, ShownNode } from './elements.ts'

/** Maximum elements in the picture: it is drawn without a pause up to this number. */
export const PICTURE_MAX = 5000

/** The neighbours of a node that were added. */
export interface Expansion {
  readonly added: number
  /** Relationships of the node in the graph; null: too many to count. */
  readonly total: number | null
}

/** The elements of the picture. */
export interface PictureContent extends GraphElements {
  /** The node that was expanded to show an element; absent: the query, or a search, showed it. */
  readonly addedBy: ReadonlyMap<string, string>
  readonly hidden: ReadonlySet<string>
  readonly pinned: ReadonlySet<string>
  readonly expansions: ReadonlyMap<string, Expansion>
  /** Elements that were not added because of the maximum. */
  readonly leftOut: number
}

/** A view of elements, the first of them if they are too many. */
export function viewOf(elements: GraphElements): PictureContent {
  const empty: PictureContent = {
    nodes: new Map(),
    edges: new Map(),
    addedBy: new Map(),
    hidden: new Set(),
    pinned: new Set(),
    expansions: new Map(),
    leftOut: 0,
  }
  return withElements(empty, elements, null)
}

/** Adds elements; `from`: the node that was expanded. */
export function withElements(view: PictureContent, elements: GraphElements, from: string | null): PictureContent {
  const nodes = new Map(view.nodes)
  const edges = new Map(view.edges)
  const addedBy = new Map(view.addedBy)
  const hidden = new Set(view.hidden)
  let leftOut = view.leftOut
  const hasSpace = (): boolean => nodes.size + edges.size < PICTURE_MAX
  const addNode = (node: ShownNode | undefined): void => {
    if (node === undefined) return
    hidden.delete(node.key)
    const known = nodes.get(node.key)
    if (known !== undefined) {
      if (node.answered !== null) nodes.set(node.key, node)
    } else if (!hasSpace()) leftOut += 1
    else {
      nodes.set(node.key, node)
      if (from !== null) addedBy.set(node.key, from)
    }
  }
  // Edges bring their nodes with them, so that a part of a large answer is connected.
  for (const edge of elements.edges.values()) {
    if (edges.has(edge.key)) continue
    if (!hasSpace()) {
      leftOut += 1
      continue
    }
    addNode(elements.nodes.get(edge.source))
    addNode(elements.nodes.get(edge.target))
    if (hasSpace() && nodes.has(edge.source) && nodes.has(edge.target)) {
      edges.set(edge.key, edge)
      if (from !== null) addedBy.set(edge.key, from)
    } else leftOut += 1
  }
  for (const node of elements.nodes.values()) if (!nodes.has(node.key) || hidden.has(node.key)) addNode(node)
  return { ...view, nodes, edges, addedBy, hidden, leftOut }
}

/** Adds neighbours of a node. `total`: relationships that the node has; null: too many to count. */
export function withNeighbours(
  view: PictureContent,
  key: string,
  elements: GraphElements,
  total: number | null,
): PictureContent {
  const added = (view.expansions.get(key)?.added ?? 0) + elements.edges.size
  const expansions = new Map(view.expansions).set(key, { added, total })
  return { ...withElements(view, elements, key), expansions }
}

/** Removes the elements that expanding a node has added, with those that they have added; pinned nodes stay. */
export function collapsed(view: PictureContent, key: string): PictureContent {
  const removed = new Set<string>()
  const expansions = new Map(view.expansions)
  const queue = [key]
  for (const from of queue) {
    expansions.delete(from)
    for (const [added, by] of view.addedBy)
      if (by === from && !view.pinned.has(added) && !removed.has(added)) {
        removed.add(added)
        queue.push(added)
      }
  }
  return { ...without(view, removed), expansions }
}

function without(view: PictureContent, removed: ReadonlySet<string>): PictureContent {
  const stays = (key: string): boolean => !removed.has(key)
  return {
    ...view,
    nodes: new Map([...view.nodes].filter(([key]) => stays(key))),
    edges: new Map([...view.edges].filter(([key, { source, target }]) => stays(key) && stays(source) && stays(target))),
    addedBy: new Map([...view.addedBy].filter(([key]) => stays(key))),
    hidden: new Set([...view.hidden].filter(stays)),
  }
}

/** Hides a node or a relationship. */
export function withHidden(view: PictureContent, key: string): PictureContent {
  return { ...view, hidden: new Set(view.hidden).add(key) }
}

/** Shows all hidden elements. */
export function withoutHidden(view: PictureContent): PictureContent {
  return { ...view, hidden: new Set() }
}

/** Pins a node, or releases it. */
export function withPin(view: PictureContent, key: string, isPinned: boolean): PictureContent {
  const pinned = new Set(view.pinned)
  if (isPinned) pinned.add(key)
  else pinned.delete(key)
  return { ...view, pinned }
}

/** The elements that are not hidden. */
export function visibleOf({ nodes, edges, hidden }: PictureContent): {
  readonly nodes: readonly ShownNode[]
  readonly edges: readonly ShownEdge[]
} {
  if (hidden.size === 0) return { nodes: [...nodes.values()], edges: [...edges.values()] }
  return {
    nodes: [...nodes.values()].filter(({ key }) => !hidden.has(key)),
    edges: [...edges.values()].filter(
      ({ key, source, target }) => !hidden.has(key) && !hidden.has(source) && !hidden.has(target),
    ),
  }
}
