// Places the nodes of a path: the subject first, the resource last, and between them by their distance from the subject.
import type { ElementName, ShownElements, ShownPolicy } from './explanation.ts'
import type { AskedQuestion } from './question.ts'

/** `met`: the graph has it. `absent`: the policy needs it, and the graph does not have it. `forbidden`: the policy excludes it. */
type PartState = 'met' | 'absent' | 'forbidden'

/** A node to draw. */
interface PathNode {
  readonly key: string
  readonly type: string
  readonly id: string
  readonly role: 'subject' | 'resource' | 'other'
  readonly state: PartState
}

/** A relationship to draw, between the keys of two nodes. */
export interface PathEdge {
  readonly from: string
  readonly to: string
  readonly label: string
  readonly state: PartState
}

/** Nodes and relationships to draw. */
export interface PathPicture {
  readonly nodes: readonly PathNode[]
  readonly edges: readonly PathEdge[]
}

/** The place of a node: `layer` grows from the subject to the resource. */
export interface PathPlace extends PathNode {
  readonly layer: number
  readonly row: number
  readonly rows: number
}

/** Returns the picture of a policy's outcome. */
export function pictureOf(question: AskedQuestion, policy: ShownPolicy | null): PathPicture {
  const builder = new PictureBuilder(question, policy?.unknown ?? [])
  if (policy?.matched !== undefined) builder.add(policy.matched, 'met')
  const miss = policy?.nearest_miss
  if (miss === undefined) return builder.picture
  if (miss.reached !== null) builder.add(miss.reached.sample, 'met')
  if (miss.stopped.found !== undefined) builder.add(miss.stopped.found, 'forbidden')
  else builder.addMissing(miss.stopped.says, miss.reached?.sample)
  return builder.picture
}

const keyOf = ({ type, id }: ElementName): string => JSON.stringify([type, id])

class PictureBuilder {
  private readonly nodes = new Map<string, PathNode>()
  private readonly edges = new Map<string, PathEdge>()
  private readonly question: AskedQuestion

  constructor(question: AskedQuestion, unknown: readonly string[]) {
    this.question = question
    for (const role of ['subject', 'resource'] as const) {
      const { type, id } = question[role]
      const state = unknown.includes(role) ? 'absent' : 'met'
      this.nodes.set(keyOf({ type, id }), { key: keyOf({ type, id }), type, id, role, state })
    }
  }

  get picture(): PathPicture {
    return { nodes: [...this.nodes.values()], edges: [...this.edges.values()] }
  }

  add({ nodes, relationships }: ShownElements, state: PartState): void {
    for (const node of nodes) this.addNode(node, 'met')
    for (const { type, source, target } of relationships)
      this.addEdge(this.addNode(source, 'met'), this.addNode(target, 'met'), type, state)
  }

  /** Adds the pattern in a sentence such as `no relationship matches (subject)-[:MEMBER]->(:Team)`. */
  addMissing(sentence: string, sample: ShownElements | undefined): void {
    const pattern = /\(([^()]*)\)(<?)-(?:\[([^\]]*)\])?-(>?)\(([^()]*)\)/
    let rest = sentence
    for (let found = pattern.exec(rest); found !== null; found = pattern.exec(rest)) {
      const [whole, left = '', back = '', middle = '', , right = ''] = found
      const from = this.nodeOfPattern(left, sample)
      const to = this.nodeOfPattern(right, sample)
      const label = /:([^*{]+)/.exec(middle)?.[1]?.trim() ?? ''
      this.addEdge(back === '' ? from : to, back === '' ? to : from, label, 'absent')
      // The right node begins the next part of a longer pattern.
      rest = rest.slice(found.index + whole.length - right.length - 2)
    }
  }

  private nodeOfPattern(text: string, sample: ShownElements | undefined): string {
    const [name = '', type = ''] = text.replace(/\{.*$/, '').split(':')
    const variable = name.trim()
    if (variable === 'subject' || variable === 'resource') return keyOf(this.question[variable])
    const bound = sample?.nodes.find((node) => node.variable === variable && variable !== '')
    if (bound !== undefined) return this.addNode(bound, 'met')
    const named = sample?.nodes.find((node) => node.variable === null && node.type === type.trim() && variable === '')
    if (named !== undefined) return this.addNode(named, 'met')
    return this.addNode(
      { type: type.trim() === '' ? 'any type' : type.trim(), id: variable === '' ? '?' : variable },
      'absent',
    )
  }

  private addNode({ type, id }: ElementName, state: PartState): string {
    const key = keyOf({ type, id })
    if (!this.nodes.has(key)) this.nodes.set(key, { key, type: type ?? '', id: id ?? '?', role: 'other', state })
    return key
  }

  private addEdge(from: string, to: string, label: string, state: PartState): void {
    const key = JSON.stringify([from, to, label])
    // A forbidden relationship that was met is drawn as forbidden.
    if (!this.edges.has(key) || state === 'forbidden') this.edges.set(key, { from, to, label, state })
  }
}

/** Places each node. Nodes that only the resource reaches are placed by their distance from it; others are in the middle. */
export function placed({ nodes, edges }: PathPicture): readonly PathPlace[] {
  const subject = nodes.find(({ role }) => role === 'subject')
  const resource = nodes.find(({ role }) => role === 'resource')
  const fromSubject = distancesFrom(subject, resource, edges)
  const fromResource = distancesFrom(resource, subject, edges)
  const depth = (distances: ReadonlyMap<string, number>, isCounted: (key: string) => boolean): number =>
    Math.max(0, ...[...distances].filter(([key]) => isCounted(key)).map(([, distance]) => distance))
  const isOther = (key: string): boolean => key !== subject?.key && key !== resource?.key
  const last =
    1 +
    Math.max(
      depth(fromSubject, isOther),
      depth(fromResource, (key) => isOther(key) && !fromSubject.has(key)),
    )
  const layerOf = ({ key, role }: PathNode): number => {
    if (role === 'subject') return 0
    if (role === 'resource') return last
    const near = fromSubject.get(key)
    const far = fromResource.get(key)
    return near ?? (far === undefined ? Math.min(1, last) : last - far)
  }
  const layers = Map.groupBy(nodes, layerOf)
  return [...layers].flatMap(([layer, members]) =>
    members.map((node, row) => ({ ...node, layer, row, rows: members.length })),
  )
}

/** The number of relationships from a node to each node that it reaches. The search does not pass through `end`. */
function distancesFrom(
  start: PathNode | undefined,
  end: PathNode | undefined,
  edges: readonly PathEdge[],
): ReadonlyMap<string, number> {
  const distances = new Map<string, number>()
  if (start === undefined) return distances
  distances.set(start.key, 0)
  const queue = [start.key]
  for (let key = queue.shift(); key !== undefined; key = queue.shift()) {
    if (key === end?.key) continue
    for (const { from, to } of edges) {
      const other = from === key ? to : to === key ? from : null
      if (other === null || distances.has(other)) continue
      distances.set(other, (distances.get(key) ?? 0) + 1)
      queue.push(other)
    }
  }
  return distances
}

/** The picture as a text, for people who do not see it. */
export function describePicture({ nodes, edges }: PathPicture): string {
  const nameOf = (key: string): string => {
    const node = nodes.find((one) => one.key === key)
    return node === undefined ? '' : `${node.type} ${node.id}`
  }
  const absent = nodes.filter(({ state, role }) => state === 'absent' && role !== 'other')
  const lines = edges.map(({ from, to, label, state }) => {
    const text = `${nameOf(from)} ${label} ${nameOf(to)}`
    return state === 'met' ? text : state === 'absent' ? `missing: ${text}` : `excluded by the policy: ${text}`
  })
  return (
    [...absent.map(({ type, id }) => `the graph has no ${type} ${id}`), ...lines].join('; ') ||
    'no relationship is known'
  )
}
