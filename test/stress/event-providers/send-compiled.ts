// A program with all drivers, which the stress program compiles to one file: `<program> <JSON>` sends 20 events.
import { connectProvider, type ProviderConfiguration } from '../../../src/events/connect-provider.ts'
import { outgoingEvents, providerDeps } from '../../support/outgoing-events.ts'

const { provider, authorities } = JSON.parse(process.argv[2] ?? '') as {
  readonly provider: ProviderConfiguration
  readonly authorities: string
}
const connection = connectProvider(provider, providerDeps('127.0.0.1,::1', authorities))
console.log(JSON.stringify(await connection.send(outgoingEvents(0, 20), 30_000)))
await connection.close()
process.exit(0)
