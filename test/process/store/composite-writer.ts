// Writes to a composite project until it is killed: nodes at three locations are created and deleted, and relationships
// connect them in the global graph. Prints each node before it is written, and again afterwards. Arguments: folder,
// project, a number that is unique to the run.
import { writeSync } from 'node:fs'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'

const [folder = '', project = '', run = ''] = process.argv.slice(2)
const places = [null, 'db1', 'db2'] as const
const layout = {
  isComposite: true,
  locations: new Map(places.flatMap((database) => (database === null ? [] : [[database, { database }] as const]))),
}
const catalog = openCatalog(folder, { clock: systemClock })
await catalog.create(project, layout)
await catalog.replayIntents(project)
await catalog.completeProxies(project)
const graphs = places.map((database) => catalog.graph(project, database === null ? 'default' : { database })!)
const global = catalog.graph(project, 'global')!

async function writer(place: number): Promise<never> {
  const location = places[place]!
  for (let i = 0; ; i++) {
    const externalId = `${run}-${place}-${i}`
    const key = { type: 'Item', externalId }
    await graphs[place]!.write((batch) => batch.upsertNode({ ...key, ...(location === null ? {} : { location }) }))
    writeSync(1, `made ${place} ${externalId}\n`)
    const target = { type: 'Item', externalId: `${run}-${(place + 1) % 3}-0` }
    await global.write((batch) => batch.upsertRelationship({ source: key, type: 'NEXT', target }))
    if (i % 3 !== 2) continue
    writeSync(1, `removing ${place} ${externalId}\n`)
    await graphs[place]!.write((batch) => batch.deleteNode(key))
    writeSync(1, `removed ${place} ${externalId}\n`)
  }
}
await Promise.all(places.map((_, place) => writer(place)))
