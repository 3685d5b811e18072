// Writes to both environments of a project in turn until it is killed: batch i adds node i, connects it to the previous
// one, and sets a property of two nodes to i. So a consistent state has all of 1 to i, both properties i, and nothing
// of i + 1.
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'

const [folder = '', project = ''] = process.argv.slice(2)
const catalog = openCatalog(folder, { clock: systemClock })
const eu = { database: 'eu' }
await catalog.create(project, { isComposite: false, locations: new Map([['eu', eu]]) })
const graphs = [catalog.graph(project, 'default')!, catalog.graph(project, eu)!]
for (let i = 1; ; i++) {
  for (const graph of graphs) {
    await graph.write((batch) => {
      batch.upsertNode({ type: 'Item', externalId: `${i}` })
      for (const externalId of ['left', 'right'])
        batch.upsertNode({ type: 'Hand', externalId, properties: [{ name: 'shows', value: i }] })
      batch.upsertRelationship({
        source: { type: 'Item', externalId: `${i}` },
        type: 'AFTER',
        target: { type: 'Item', externalId: `${Math.max(1, i - 1)}` },
      })
    })
  }
  process.stdout.write(`${i}\n`)
}
