// Starts the programs of the tests of generated clients: the generators, the compilers and the generated clients.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from '../../clients/run-program.ts'
import { startService, type TestService } from '../support/service.ts'

const here = import.meta.dirname

/** A live server with a decision policy that takes a parameter, and a folder for the clients of its description. */
export class ClientFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'verdigraph-clients-'))
  private readonly service: TestService

  private constructor(service: TestService) {
    this.service = service
  }

  static async start(): Promise<ClientFixture> {
    const service = await startService()
    await service.ask('/capture/v1/nodes', {
      nodes: [
        { type: 'Person', external_id: 'ann', is_identity: true },
        { type: 'Truck', external_id: 't1', properties: [{ type: 'load_max_kg', value: 2000 }] },
      ],
    })
    await service.ask('/capture/v1/relationships', {
      relationships: [
        {
          source: { type: 'Person', external_id: 'ann' },
          type: 'DRIVES',
          target: { type: 'Truck', external_id: 't1' },
        },
      ],
    })
    await service.addPolicy({
      name: 'drive-loaded',
      resource: 'Truck',
      cypher: 'MATCH (subject:Person)-[:DRIVES]->(resource:Truck) WHERE resource.load_max_kg >= $load_kg',
    })
    const fixture = new ClientFixture(service)
    symlinkSync(join(here, 'node_modules'), join(fixture.folder, 'node_modules'))
    for (const [name, path] of Object.entries(descriptions)) {
      writeFileSync(fixture.path(name), (await service.send(path)).text)
    }
    return fixture
  }

  get serviceUrl(): string {
    return this.service.url
  }

  /** The key of an agent that may ask for decisions. */
  get agentKey(): string {
    return this.service.key
  }

  path(...names: readonly string[]): string {
    return join(this.folder, ...names)
  }

  /** Runs a command in the folder, or below it. Returns its standard output; throws with all output if it fails. */
  async run(command: readonly string[], more: CommandOptions = {}): Promise<string> {
    return runProgram(command, {
      cwd: this.path(more.below ?? '.'),
      environment: {
        VERDIGRAPH_URL: this.service.url,
        AGENT_KEY: this.service.key,
        ADMIN_TOKEN: this.service.token,
        PROJECT_ID: this.service.projectId,
        ...more.environment,
      },
    })
  }

  /** Runs a program of `test/clients/node_modules`. */
  tool(name: string, args: readonly string[]): Promise<string> {
    return this.run([join(here, 'node_modules', '.bin', name), ...args])
  }

  async stop(): Promise<void> {
    await this.service.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export interface CommandOptions {
  /** The folder below the one of the fixture. */
  readonly below?: string
  readonly environment?: Readonly<Record<string, string>>
}

/** The files of the fixture: the whole description in both versions, and the two parts. */
const descriptions = {
  'openapi.json': '/openapi.json',
  'openapi-3.2.json': '/openapi-3.2.json',
  'requests.json': '/openapi.json?paths=/access,/capture,/contx-iq,/data-schema',
  'configuration.json': '/openapi.json?paths=/configs',
}
