// The places of the nodes of a picture.
import { describe, expect, test } from 'vitest'
import { arrange, type PicturePlaces } from '../../../../src/console/page/parts/graph-picture/arrange.ts'
import type { PictureEdge, PictureNode } from '../../../../src/console/page/parts/graph-picture/picture.ts'

function graph(nodes: readonly string[], edges: readonly (readonly [string, string])[]) {
  return {
    nodes: nodes.map((key): PictureNode => ({ key, title: key, kind: key.charAt(0) })),
    edges: edges.map(([source, target], index): PictureEdge => ({ key: `e${index}`, source, target, title: 'E' })),
  }
}

async function placed(
  { nodes, edges }: ReturnType<typeof graph>,
  places: PicturePlaces = new Map(),
  more: { readonly isAgain?: boolean; readonly pinned?: readonly string[]; readonly anchor?: string } = {},
): Promise<PicturePlaces> {
  const { isAgain = false, pinned = [], anchor } = more
  await arrange(nodes, edges, places, {
    pinned: new Set(pinned),
    isAgain,
    anchorOf: () => anchor,
    onStep: () => undefined,
    signal: new AbortController().signal,
  })
  return places
}

function distance(places: PicturePlaces, a: string, b: string): number {
  const [from, to] = [places.get(a), places.get(b)]
  return from === undefined || to === undefined ? Number.NaN : Math.hypot(from.x - to.x, from.y - to.y)
}

const star = graph(
  ['c', 'a1', 'a2', 'a3', 'a4', 'b1', 'b2', 's1', 's2'],
  [
    ['c', 'a1'],
    ['c', 'a2'],
    ['c', 'a3'],
    ['a4', 'c'],
    ['b1', 'b2'],
    ['b1', 'b1'],
  ],
)

describe('arrange', () => {
  test('gives all nodes different places: neighbours near each other, parts apart', async () => {
    const places = await placed(star)
    expect([...places.keys()].sort()).toEqual(star.nodes.map(({ key }) => key).sort())
    const near = ['a1', 'a2', 'a3', 'a4'].map((key) => distance(places, 'c', key))
    for (const one of near) expect(one).toBeLessThan(220)
    for (const { key } of star.nodes)
      for (const other of star.nodes)
        if (other.key !== key) expect(distance(places, key, other.key)).toBeGreaterThan(30)
  })

  test('is the same for the same graph', async () => {
    // Rounded, because the parts are also moved as a whole between slices.
    const rounded = async (): Promise<unknown> =>
      [...(await placed(star))].map(([key, { x, y }]) => [key, Math.round(x), Math.round(y)])
    expect(await rounded()).toEqual(await rounded())
  })

  test('keeps the nodes that have a place, and puts new ones next to their anchor', async () => {
    const places = await placed(star)
    const before = new Map([...places].map(([key, point]) => [key, { ...point }]))
    const larger = graph(
      [...star.nodes.map(({ key }) => key), 'n1', 'n2'],
      [...star.edges.map(({ source, target }) => [source, target] as const), ['a1', 'n1'], ['a1', 'n2']],
    )
    await placed(larger, places, { anchor: 'a1' })
    for (const [key, point] of before) expect([key, places.get(key)]).toEqual([key, point])
    for (const key of ['n1', 'n2']) expect(distance(places, 'a1', key)).toBeLessThan(260)
  })

  test('forgets nodes that are gone, and arranges the others again around pinned ones', async () => {
    const places = await placed(star)
    const rest = graph(['c', 'a1', 'a2', 'a3'], [['c', 'a1']])
    await placed(rest, places)
    expect([...places.keys()].sort()).toEqual(['a1', 'a2', 'a3', 'c'])
    places.set('c', { x: 1000, y: -500 })
    await placed(rest, places, { isAgain: true, pinned: ['c'] })
    expect(places.get('c')).toEqual({ x: 1000, y: -500 })
  })

  test('places many nodes without edges, an empty graph, and a graph with one node', async () => {
    const many = graph(
      Array.from({ length: 1000 }, (_, index) => `n${index}`),
      [],
    )
    const places = await placed(many)
    expect(new Set([...places.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(1000)
    expect((await placed(graph([], []))).size).toBe(0)
    expect((await placed(graph(['a'], []))).size).toBe(1)
  })

  test('ends when it is aborted', async () => {
    const control = new AbortController()
    control.abort()
    const places: PicturePlaces = new Map()
    const { nodes, edges } = star
    const options = { pinned: new Set<string>(), isAgain: false, anchorOf: () => undefined, onStep: () => undefined }
    await arrange(nodes, edges, places, { ...options, signal: control.signal })
    expect(places.size).toBe(nodes.length)
  })
})
