// Starts the server of the npm package `cerbos` with default settings: no audit log, policies from a folder, plain
// HTTP.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServedProcess } from '../http/processes.ts'
import { policy } from './facts.ts'

const WAIT_MS = 20_000

/** Null if the package is not installed. */
export async function startCerbos(folder: string, children: Bun.Subprocess[]): Promise<ServedProcess | null> {
  const name = `cerbos-${process.platform}-${process.arch}`
  const program = join(import.meta.dirname, 'node_modules', '@cerbos', name, name)
  if (!existsSync(program)) return null
  const policies = join(folder, 'policies')
  mkdirSync(policies)
  // JSON is valid YAML.
  writeFileSync(join(policies, 'document.yaml'), JSON.stringify(policy))
  const [http, grpc] = [freePort(), freePort()]
  const settings = {
    server: { httpListenAddr: `127.0.0.1:${http}`, grpcListenAddr: `127.0.0.1:${grpc}` },
    storage: { driver: 'disk', disk: { directory: policies, watchForChanges: false } },
    telemetry: { disabled: true },
  }
  const config = join(folder, 'cerbos.yaml')
  writeFileSync(config, JSON.stringify(settings))
  const child = Bun.spawn([program, 'server', `--config=${config}`, '--log-level=error'], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  })
  children.push(child)
  const url = `http://127.0.0.1:${http}`
  const endsMs = performance.now() + WAIT_MS
  while (!(await answers(url))) {
    if (performance.now() > endsMs || child.exitCode !== null) throw new Error('cerbos did not start')
    await Bun.sleep(50)
  }
  return { url, pid: child.pid }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/.well-known/authzen-configuration`)).ok
  } catch {
    return false
  }
}

function freePort(): number {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = server
  server.stop(true)
  return port
}
