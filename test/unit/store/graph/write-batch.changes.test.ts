import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ElementChange, NodeImage, NodeKey, RelationshipImage } from '../../../../src/engine/store.ts'
import { openEnvironment } from '../../../../src/store/graph/environment.ts'
import { step, take } from '../../../generate/store-inputs.ts'
import { GraphModel } from '../../../oracle/store-model.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const nameOf = ({ type, externalId }: NodeKey): string => JSON.stringify([type, externalId])

const fieldsOf = (image: NodeImage | RelationshipImage): object => ({
  type: image.type,
  createdMs: image.createdMs,
  updatedMs: image.updatedMs,
  properties: [...image.properties()].sort(([a], [b]) => (a < b ? -1 : 1)),
})

function nodeFields(node: NodeImage): object {
  const { externalId, labels, isIdentity, location } = node
  return { ...fieldsOf(node), externalId, labels: [...labels].sort(), isIdentity, location }
}

const relationshipName = ({ source, target, type }: RelationshipImage): string =>
  `${nameOf(source)} ${type} ${nameOf(target)}`

/** A graph that is built from changes alone, as a receiver of events builds it. */
class Copy {
  readonly nodes = new Map<string, object>()
  readonly relationships = new Map<string, object>()

  apply(change: ElementChange): void {
    if (change.element === 'node') {
      const { before, after } = change
      const name = nameOf((after ?? before) as NodeImage)
      if (before !== null) expect(this.nodes.get(name)).toEqual(nodeFields(before))
      if (after === null) this.nodes.delete(name)
      else this.nodes.set(name, nodeFields(after))
    } else {
      const { before, after } = change
      const { source, target } = (after ?? before) as RelationshipImage
      const name = relationshipName((after ?? before) as RelationshipImage)
      if (before !== null) expect(this.relationships.get(name)).toEqual(fieldsOf(before))
      for (const end of [source, target]) expect(this.nodes.has(nameOf(end)), `${name} has both ends`).toBe(true)
      if (after === null) this.relationships.delete(name)
      else this.relationships.set(name, fieldsOf(after))
    }
  }
}

describe('the changes of a batch', () => {
  test('build the same graph in another place, in their order', async () => {
    // A receiver cannot identify elements without key.
    const keyed = step.filter(({ do: what }) => !what.startsWith('create'))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(keyed, { maxLength: 12 }), { maxLength: 8 }), async (batches) => {
        const clock = new ManualClock(1_750_000_000_000)
        const copy = new Copy()
        const environment = openEnvironment(temporaryFolder(), {
          clock,
          sync: false,
          onWritten: (batch) => {
            for (const change of batch.changes()) copy.apply(change)
          },
        })
        const model = new GraphModel(clock)
        for (const steps of batches) {
          clock.advance(1000)
          for (const one of steps) take(one, model)
          await environment.write((batch) => {
            for (const one of steps) take(one, batch)
          })
          const nodes = [...model.nodes.values()].map(({ key }) => model.nodeImage(key!)!)
          expect(copy.nodes).toEqual(new Map(nodes.map((node) => [nameOf(node), nodeFields(node)])))
          const keyOf = (id: number): NodeKey => model.nodes.get(id)!.key!
          const relationships = [...model.relationships.values()].map(
            ({ source, target, type }) =>
              model.relationshipImage({ source: keyOf(source), target: keyOf(target), type })!,
          )
          expect(copy.relationships).toEqual(
            new Map(relationships.map((one) => [relationshipName(one), fieldsOf(one)])),
          )
        }
        await environment.close()
      }),
      { numRuns: 60 },
    )
  })

  test('show an element that was created and deleted in one batch not at all, and a replaced one as both', async () => {
    const seen: string[] = []
    const environment = openEnvironment(temporaryFolder(), {
      clock: new ManualClock(1),
      sync: false,
      onWritten: (batch) => {
        for (const { element, before, after } of batch.changes())
          seen.push(`${element} ${before?.id.slice(0, 4) ?? null} ${after?.id.slice(0, 4) ?? null}`)
      },
    })
    const car = { type: 'Car', externalId: 'c' }
    await environment.write((batch) => {
      batch.upsertNode(car)
      batch.deleteNode(car)
    })
    expect(seen.splice(0)).toEqual([])
    await environment.write((batch) => batch.upsertNode(car))
    expect(seen.splice(0)).toEqual(['node null gid:'])
    await environment.write((batch) => {
      batch.deleteNode(car)
      batch.upsertNode(car)
    })
    expect(seen).toEqual(['node gid: null', 'node null gid:'])
    await environment.close()
  })

  test('are refused with the batch if the listener throws', async () => {
    const environment = openEnvironment(temporaryFolder(), {
      clock: new ManualClock(1),
      sync: false,
      onWritten: () => {
        throw new Error('not now')
      },
    })
    await expect(environment.write((batch) => batch.upsertNode({ type: 'Car', externalId: 'c' }))).rejects.toThrow(
      'not now',
    )
    const snapshot = environment.snapshot()
    expect(snapshot.nodeCount(null)).toBe(0)
    snapshot.close()
    await environment.close()
  })
})
