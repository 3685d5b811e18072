// The elements of the picture of the screen Graph: the maximum, expanding, collapsing, hiding, pinning.
import { describe, expect, test } from 'vitest'
import type { GraphElements, ShownEdge, ShownNode } from '../../../../src/console/page/graph/elements.ts'
import {
  collapsed,
  PICTURE_MAX,
  type PictureContent,
  viewOf,
  visibleOf,
  withElements,
  withHidden,
  withNeighbours,
  withoutHidden,
  withPin,
} from '../../../../src/console/page/graph/picture-content.ts'

function elements(names: readonly string[], edges: readonly (readonly [string, string])[] = []): GraphElements {
  const node = (key: string): ShownNode => ({
    key,
    type: 'T',
    externalId: key,
    title: key,
    location: null,
    answered: null,
  })
  const edge = ([source, target]: readonly [string, string]): ShownEdge => ({
    key: `${source}>${target}`,
    type: 'R',
    source,
    target,
    answered: {
      kind: 'relationship',
      id: `${source}>${target}`,
      type: 'R',
      source: { type: 'T', external_id: source },
      target: { type: 'T', external_id: target },
      properties: {},
    },
  })
  return {
    nodes: new Map(names.map((name) => [name, node(name)])),
    edges: new Map(edges.map((one) => [edge(one).key, edge(one)])),
  }
}

const keys = (view: PictureContent): readonly string[] => {
  const { nodes, edges } = visibleOf(view)
  return [...nodes, ...edges].map(({ key }) => key).sort()
}

describe('the elements of a picture', () => {
  test('are at most the maximum; connected ones come first, and the rest is counted', () => {
    const pairs = Array.from({ length: 2000 }, (_, index) => [`a${index}`, `b${index}`] as const)
    const single = Array.from({ length: 500 }, (_, index) => `s${index}`)
    const view = viewOf(elements([...single, ...pairs.flat()], pairs))
    expect(view.nodes.size + view.edges.size).toBeLessThanOrEqual(PICTURE_MAX)
    expect(view.nodes.size + view.edges.size + view.leftOut).toBeGreaterThanOrEqual(2000 * 2 + 500)
    for (const { source, target } of view.edges.values())
      expect([view.nodes.has(source), view.nodes.has(target)]).toEqual([true, true])
    expect(view.nodes.has('a0')).toBe(true)
  })

  test('are added and removed with a node that is expanded and collapsed, over several steps', () => {
    const first = viewOf(elements(['a']))
    const second = withNeighbours(
      first,
      'a',
      elements(
        ['a', 'b', 'c'],
        [
          ['a', 'b'],
          ['c', 'a'],
          ['a', 'a'],
        ],
      ),
      9,
    )
    expect(second.expansions.get('a')).toEqual({ added: 3, total: 9 })
    const third = withNeighbours(second, 'b', elements(['b', 'd'], [['b', 'd']]), 2)
    expect(keys(third)).toEqual(['a', 'a>a', 'a>b', 'b', 'b>d', 'c', 'c>a', 'd'])
    expect(keys(collapsed(third, 'b'))).toEqual(['a', 'a>a', 'a>b', 'b', 'c', 'c>a'])
    expect(keys(collapsed(third, 'a'))).toEqual(['a'])
    expect(collapsed(third, 'a').expansions.size).toBe(0)
    // A pinned node stays, with what it has added.
    expect(keys(collapsed(withPin(third, 'b', true), 'a'))).toEqual(['a', 'b', 'b>d', 'd'])
  })

  test('are hidden with their relationships, and shown again', () => {
    const view = viewOf(
      elements(
        ['a', 'b', 'c'],
        [
          ['a', 'b'],
          ['b', 'c'],
        ],
      ),
    )
    const hidden = withHidden(view, 'b')
    expect(keys(hidden)).toEqual(['a', 'c'])
    expect(keys(withHidden(view, 'a>b'))).toEqual(['a', 'b', 'b>c', 'c'])
    expect(keys(withoutHidden(hidden))).toEqual(keys(view))
    // Found again, it is not hidden.
    expect(keys(withElements(hidden, elements(['b']), null))).toEqual(keys(view))
  })
})
