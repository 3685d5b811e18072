// Writes to one constituent of a composite project and kills itself before it writes to the global environment: a real
// SIGKILL between two commits. Arguments: folder of the constituent, of the global environment, `upsert` or `delete`.
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { LmdbEnvironment } from '../../../src/store/graph/environment.ts'
import { ConstituentStore } from '../../../src/store/tenancy/composite.ts'

class SelfKillingEnvironment extends LmdbEnvironment {
  override write(): Promise<never> {
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => undefined)
  }
}

const [own = '', global = '', action = '', location = ''] = process.argv.slice(2)
const options = { clock: systemClock }
const environment = new LmdbEnvironment(own, options)
const deadly = new SelfKillingEnvironment(global, options)
const constituent = new ConstituentStore(environment, {
  global: async () => deadly,
  constituents: async () => [environment],
  openConstituents: () => [environment],
})
const key = { type: 'Person', externalId: 'zoe' }
await constituent.write((batch) => {
  if (action === 'delete') batch.deleteNode(key)
  else batch.upsertNode({ ...key, location })
})
